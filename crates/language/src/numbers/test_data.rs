//! Measures quantities and dates against labelled sentences (`tests/data/quantities.tsv`).
//!
//! `docs/quality.md` has results before and after the rows were inspected.

use std::fmt::Write as _;
use std::path::Path;

use chrono::{Datelike as _, NaiveDate};

use super::{Comparator, Quantity, Unit, quantities};
use crate::dates::{self, DateMention};

/// A labelled value of a sentence.
#[derive(Debug, Clone, PartialEq)]
enum LabelledValue {
    Quantity { comparator: Comparator, low: f64, high: f64, unit: String },
    Date(NaiveDate, NaiveDate),
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-3 * a.abs().max(b.abs()).max(1e-9)
}

impl LabelledValue {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Quantity { comparator, low, high, unit },
                Self::Quantity { comparator: theirs, low: from, high: to, unit: of },
            ) => comparator == theirs && near(*low, *from) && near(*high, *to) && unit == of,
            _ => self == other,
        }
    }

    fn read(word: &str) -> Self {
        if let Some(date) = Self::date(word) {
            return date;
        }
        let marks = [
            (">=", Comparator::AtLeast),
            ("<=", Comparator::AtMost),
            (">", Comparator::MoreThan),
            ("<", Comparator::LessThan),
            ("~", Comparator::About),
        ];
        let (comparator, rest) = marks
            .into_iter()
            .find_map(|(mark, comparator)| Some((comparator, word.strip_prefix(mark)?)))
            .unwrap_or((Comparator::Exact, word));
        let (value, unit) = rest.split_once(':').unwrap_or((rest, ""));
        let (low, high) = value.split_once("..").unwrap_or((value, value));
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{word}"));
        Self::Quantity { comparator, low: number(low), high: number(high), unit: unit.to_owned() }
    }

    /// Reads 2019-05-17, 2019-05 or 1990s.
    fn date(word: &str) -> Option<Self> {
        if let Some(decade) = word.strip_suffix('s').and_then(|year| year.parse().ok()) {
            return Some(Self::Date(
                NaiveDate::from_ymd_opt(decade, 1, 1)?,
                NaiveDate::from_ymd_opt(decade + 9, 12, 31)?,
            ));
        }
        let (sign, rest) = word.strip_prefix('-').map_or((1, word), |rest| (-1, rest));
        let parts: Vec<u32> = rest.split('-').map(str::parse).collect::<Result<_, _>>().ok()?;
        let year = |year: u32| Some(sign * i32::try_from(year).ok()?);
        match parts.as_slice() {
            [y, month] => dates::month_of(year(*y)?, *month).map(|(from, to)| Self::Date(from, to)),
            [y, month, day] => NaiveDate::from_ymd_opt(year(*y)?, *month, *day).map(|day| Self::Date(day, day)),
            _ => None,
        }
    }
}

fn unit(unit: Unit) -> Option<String> {
    Some(match unit {
        Unit::None => String::new(),
        Unit::Percent => "%".to_owned(),
        Unit::Currency(code) => code.to_owned(),
        Unit::Measure(base) => base.to_owned(),
        Unit::Ordinal => "ord".to_owned(),
        Unit::Year => "y".to_owned(),
        Unit::Identifier => return None,
    })
}

/// Returns the values: a period gives two years, an identifier none.
fn stated(quantity: &Quantity) -> Vec<LabelledValue> {
    let Some(unit) = unit(quantity.unit) else { return Vec::new() };
    let Quantity { comparator, low, high, .. } = *quantity;
    let one = |low, high| LabelledValue::Quantity { comparator, low, high, unit: unit.clone() };
    if quantity.unit == Unit::Year && low < high {
        return vec![one(low, low), one(high, high)];
    }
    vec![one(low, high)]
}

fn found(text: &str, language: &str) -> Vec<LabelledValue> {
    let years = |date: &DateMention| {
        (date.start.format("%m-%d").to_string(), date.end.format("%m-%d").to_string())
            == ("01-01".into(), "12-31".into())
            && date.end.format("%Y").to_string() == date.start.format("%Y").to_string()
    };
    let dates = dates::dates(text, None).into_iter().filter(|date| !years(date));
    let mut all: Vec<LabelledValue> = quantities(text, Some(language)).iter().flat_map(stated).collect();
    for date in dates {
        let (from, to) = (date.start.year(), date.end.year());
        let of_one_month = from == to && date.start.month() == date.end.month() && date.start < date.end;
        let whole = dates::month_of(from, date.start.month()) == Some((date.start, date.end));
        if (date.start.ordinal(), date.end.month(), date.end.day()) == (1, 12, 31)
            && !(from % 10 == 0 && to == from + 9)
        {
            // The years of a period.
            all.extend([from, to].map(|year| year_of(f64::from(year))));
        } else if of_one_month && !whole {
            // "November 14–16, 2003": first and last day.
            all.extend([date.start, date.end].map(|day| LabelledValue::Date(day, day)));
        } else {
            all.push(LabelledValue::Date(date.start, date.end));
        }
    }
    all
}

fn year_of(year: f64) -> LabelledValue {
    LabelledValue::Quantity { comparator: Comparator::Exact, low: year, high: year, unit: "y".to_owned() }
}

#[derive(Default)]
struct Tally {
    labelled: usize,
    right: usize,
    extra: usize,
    report: String,
}

impl Tally {
    fn add(&mut self, text: &str, expected: &[LabelledValue], mut found: Vec<LabelledValue>) {
        self.labelled += expected.len();
        let mut missed = Vec::new();
        for one in expected {
            match found.iter().position(|other| one.is(other)) {
                Some(at) => {
                    found.swap_remove(at);
                    self.right += 1;
                }
                None => missed.push(one),
            }
        }
        self.extra += found.len();
        if !missed.is_empty() || !found.is_empty() {
            let _infallible = writeln!(self.report, "  {text}\n    missed {missed:?}\n    extra {found:?}");
        }
    }

    fn share(&self) -> f64 {
        self.right as f64 / self.labelled as f64
    }

    /// Returns the right ones as a share of all labelled and extra ones.
    fn exact(&self) -> f64 {
        self.right as f64 / (self.labelled + self.extra) as f64
    }
}

#[test]
fn quantities_of_real_sentences_are_read_as_a_reader_reads_them() {
    let table =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/quantities.tsv")).unwrap();
    let mut all = Tally::default();
    let mut rows = 0;
    for line in table.lines() {
        let [language, _source, labels, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let expected: Vec<LabelledValue> = labels.split_whitespace().map(LabelledValue::read).collect();
        all.add(text, &expected, found(text, language));
        rows += 1;
    }
    println!("{}", all.report);
    println!(
        "{} of {} as labelled ({:.3}) in {rows} sentences, {} more found ({:.3} of both)",
        all.right,
        all.labelled,
        all.share(),
        all.extra,
        all.exact()
    );
    assert!(rows >= 300);
    // Slightly below the current result.
    assert!(all.share() >= 0.95 && all.exact() >= 0.87, "{:.3} {:.3}", all.share(), all.exact());
}
