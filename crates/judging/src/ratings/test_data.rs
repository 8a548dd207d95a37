//! Measures labels and rules on ratings that people classified.

use std::collections::BTreeMap;

use super::{classify, classify_without, normalise};
use corroborate_domain::verdict::RatingClass;
use corroborate_labelled as labelled;

/// A rating, its language, its human class.
type Row = (String, String, String);

#[derive(Default)]
struct Outcome {
    by_pair: BTreeMap<(String, &'static str), usize>,
    misses: Vec<String>,
}

impl Outcome {
    fn of(rows: &[Row], classify: impl Fn(&str, &str) -> RatingClass) -> Self {
        let mut outcome = Self::default();
        for (rating, language, class) in rows {
            let found = classify(rating, language).as_str();
            *outcome.by_pair.entry((class.clone(), found)).or_default() += 1;
            if found != class {
                outcome.misses.push(format!("{language} {rating:?}: {class}, found {found}"));
            }
        }
        outcome
    }

    fn count(&self, keep: impl Fn(&str, &str) -> bool) -> usize {
        self.by_pair.iter().filter(|((class, found), _)| keep(class, found)).map(|(_, count)| count).sum()
    }

    fn right(&self) -> usize {
        self.count(|class, found| class == found)
    }

    fn unknown(&self) -> usize {
        self.count(|class, found| class != found && found == "unknown")
    }

    fn wrong(&self) -> usize {
        self.count(|class, found| class != found && found != "unknown")
    }

    fn show(&self, title: &str) {
        let all = self.count(|_, _| true);
        println!("{title}: {all} rows, {} right, {} unknown, {} wrong", self.right(), self.unknown(), self.wrong());
        for ((class, found), count) in &self.by_pair {
            println!("  {count:>4}  {class} -> {found}");
        }
        println!("  {}", self.misses.join("\n  "));
    }
}

fn recorded() -> Option<Vec<Row>> {
    let text = labelled::read("ratings.tsv")?;
    let rows = text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split('\t');
        let (rating, language, class) = (fields.next()?, fields.next()?, fields.next()?);
        Some((rating.to_owned(), language.to_owned(), class.replace(' ', "_")))
    });
    Some(rows.collect())
}

#[test]
fn recorded_ratings_are_classed_as_people_classed_them() {
    let Some(rows) = recorded() else { return };
    let outcome = Outcome::of(&rows, |rating, language| classify(rating, Some(language)));
    outcome.show("ratings.tsv");
    assert!(outcome.right() * 100 >= rows.len() * 98, "{:#?}", outcome.misses);
    assert!(outcome.wrong() <= 1, "unknown rather than wrong: {:#?}", outcome.misses);
}

/// Without its own label, a rating must be right or unknown.
#[test]
fn a_rating_the_table_does_not_hold_is_unknown_rather_than_wrong() {
    let Some(rows) = recorded() else { return };
    let outcome = Outcome::of(&rows, |rating, language| {
        let label = normalise(rating);
        classify_without(rating, Some(language), Some(&label))
    });
    outcome.show("ratings.tsv, each held out");
    assert!(outcome.wrong() * 100 <= rows.len() * 2, "{:#?}", outcome.misses);
}

/// Rows of a CSV text, with quoted line breaks.
fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut field)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            '\r' if !is_quoted => {}
            other => field.push(other),
        }
    }
    rows
}

/// The sample labels' meaning by their publishers' scales.
fn meaning(label: &str) -> Option<&'static str> {
    Some(match label.to_lowercase().as_str() {
        "true" | "correct" | "correct attribution" => "true",
        "mostly true" | "somewhat true" => "mostly_true",
        "mixture" | "mixed" | "partly false" | "partlyfalse" => "mixed",
        "misleading" | "missing context" | "decontextualized" => "misleading",
        "false"
        | "fake"
        | "incorrect"
        | "not true"
        | "mostly false"
        | "somewhat false"
        | "pants on fire"
        | "miscaptioned"
        | "misattributed"
        | "altered image"
        | "altered photo/video" => "false",
        "unproven" | "unknown" | "legend" => "unproven",
        "satire" | "originated as satire" => "satire",
        "other" => "none",
        _ => return None,
    })
}

#[test]
fn ratings_of_real_reviews_are_classed_as_their_publishers_mean_them() {
    let publishers = [
        "aap",
        "afpfactcheck",
        "africacheck",
        "checkyourfact",
        "fatabyyano",
        "fullfact",
        "politifact",
        "snopes",
        "truthorfiction",
        "vishvasnews",
    ];
    let mut rows: Vec<Row> = Vec::new();
    for publisher in publishers {
        let Some(text) = labelled::read(&format!("claimreview_samples/output_sample_{publisher}.csv")) else {
            return;
        };
        let table = csv(&text);
        let at = table[0].iter().position(|name| name == "rating_alternateName").unwrap();
        for label in table[1..].iter().filter_map(|row| row.get(at)).filter(|label| !label.is_empty()) {
            let class = meaning(label).unwrap_or_else(|| panic!("{publisher}: {label:?} has no meaning here"));
            rows.push((label.clone(), "en".to_owned(), class.to_owned()));
        }
    }
    assert!(rows.len() > 500, "{}", rows.len());
    let outcome = Outcome::of(&rows, |rating, language| classify(rating, Some(language)));
    outcome.show("claimreview_samples");
    assert!(outcome.right() * 100 >= rows.len() * 98, "{:#?}", outcome.misses);
    assert!(outcome.wrong() == 0, "{:#?}", outcome.misses);
}
