//! Compares numbers and dates of a claim with those of a passage by rule, next to the NLI model.
//!
//! Two figures are compared only if they count the same thing in the same unit, in a sentence about the claim's subject
//! ([`subject`]). All other figures neither agree nor disagree. [`compare`] finds agreement or a mismatch; [`apply`]
//! changes the model's probabilities. To add a rule, extend a submodule and its table test.

mod dated;
pub(crate) mod occasions;
mod periods;
mod subject;

use chrono::{Datelike as _, TimeDelta};

use corroborate_domain::evidence::StanceProbabilities;
use corroborate_language::dates::DateMention;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{Comparator, Quantity, Unit};

use super::profile::{SentenceProfile, TextProfile};
use crate::names::Names;

use dated::date;
use occasions::{Occasion, is_running, occasion};
use periods::periods;
use subject::Subject;

pub(crate) use dated::{Occasions, Recurrence, recurrence};
pub(crate) use subject::{has_count, is_about_part, is_of_another_group};

/// Probability limits if a figure disagrees (`docs/scoring.md`, numbers and dates).
pub const MIN_REFUTING_CONTRADICTION: f64 = 0.70;
const MAX_DISAGREEING_ENTAILMENT: f64 = 0.30;

/// Contradiction by a newer, larger total: outdated, not refuted. Between the stance threshold (0.5)
/// and the refuting one (0.7).
const RUNNING_TOTAL_CONTRADICTION: f64 = 0.65;

/// Whole counts up to here are exact; no text rounds 37 dead.
const MAX_EXACT_COUNT: f64 = 100.0;
/// Relative tolerance for larger figures; one unit of the last stated digit applies if it is wider.
const TOLERANCE: f64 = 0.02;

/// Relative tolerance of "about 300".
const ABOUT_TOLERANCE: f64 = 0.1;

/// Minimum share of the claim's words in the figure's sentence: with the same counted noun, and with only the unit.
const MIN_SHARE_COUNTED: f64 = 0.4;
const MIN_SHARE_UNIT: f64 = 0.6;

/// The same shares for a disagreement, which refutes. Without a name only the words identify the subject: "7.2 cents
/// per litre" of another tax shares half of them. A unit alone is the weakest sign.
const MIN_DISAGREEMENT_NAMED: f64 = 0.45;
const MIN_DISAGREEMENT_UNNAMED: f64 = 0.65;
const MIN_DISAGREEMENT_UNIT: f64 = 0.7;

/// Maximum age of a passage's date for a claim without one, which is about the present.
const MAX_DATE_AGE: TimeDelta = TimeDelta::days(200);

/// Words for people: "11 people were killed" and "11 killed" count the same.
static PEOPLE: Words = Words::of("figures.people");

/// Stems that do not name the counted thing.
static REPORTING_STEMS: Words = Words::of("figures.reporting");

#[derive(Debug, Clone, Default, PartialEq)]
pub struct NumberCheck {
    /// True: all aligned figures agree. False: one disagrees. `None`: no figures are aligned.
    pub num_ok: Option<bool>,
    /// The mismatch is a newer, larger total, a sign of "outdated".
    pub newer_total: bool,
    /// The figures that disagree, as written in the claim and in the passage.
    pub mismatch: Option<(String, String)>,
}

impl NumberCheck {
    /// The id of the rule that the verdict stores: `quantity.agrees`, `quantity.differs` or `quantity.newer_total`.
    pub const fn rule(&self) -> Option<&'static str> {
        match (self.num_ok, self.newer_total) {
            (Some(true), _) => Some("quantity.agrees"),
            (Some(false), false) => Some("quantity.differs"),
            (Some(false), true) => Some("quantity.newer_total"),
            (None, _) => None,
        }
    }
}

enum FigureMatch<'a> {
    Agreement,
    Difference(&'a str),
    Total(&'a str),
}

pub fn has_numbers(text: &TextProfile) -> bool {
    !text.quantities.is_empty() || !text.dates.is_empty()
}

pub fn compare(claim: &TextProfile, passage: &TextProfile) -> NumberCheck {
    if !has_numbers(claim) || !has_numbers(passage) {
        return NumberCheck::default();
    }
    compare_with(claim, passage, &Names::new(claim, passage))
}

/// [`compare`] with the names already compared.
pub fn compare_with(claim: &TextProfile, passage: &TextProfile, names: &Names) -> NumberCheck {
    let mut check = NumberCheck::default();
    if !has_numbers(claim) || !has_numbers(passage) {
        return check;
    }
    let subject = Subject::new(claim, passage, names);
    let of_quantities = claim
        .quantities
        .iter()
        .filter_map(|ours| Some((ours.text.as_str(), quantity(ours, claim, passage, &subject)?)));
    let theirs = periods(passage);
    let of_dates = periods(claim)
        .into_iter()
        .filter_map(|ours| Some((ours.mention.text.as_str(), date(&ours, claim, passage, &theirs, &subject)?)));
    let mut totals_only = true;
    // Other figures do not contradict a denial ("is not 6,000 years old") or a statement on a part ("some fell by 5
    // %").
    let denies = claim.negations % 2 == 1 && passage.negations.is_multiple_of(2);
    let leaves_open = denies || (is_about_part(claim) && !is_about_part(passage));
    for (ours, found) in of_quantities.chain(of_dates) {
        match found {
            FigureMatch::Agreement => check.num_ok = Some(check.num_ok.unwrap_or(true)),
            FigureMatch::Difference(_) | FigureMatch::Total(_) if leaves_open => {}
            FigureMatch::Difference(theirs) | FigureMatch::Total(theirs) => {
                let total = matches!(found, FigureMatch::Total(_));
                // A plain disagreement outweighs a running total.
                if check.mismatch.is_none() || (totals_only && !total) {
                    check.mismatch = Some((ours.to_owned(), theirs.to_owned()));
                }
                totals_only &= total;
                check.num_ok = Some(false);
            }
        }
    }
    check.newer_total = check.num_ok == Some(false) && totals_only;
    check
}

/// Whether the quantity is compared as a figure. Years are compared as dates, and "40 years ago" depends on the day.
fn is_a_figure(quantity: &Quantity) -> bool {
    quantity.unit != Unit::Year && !quantity.counts_back()
}

/// Whether a figure or date disagrees with every comparable one of theirs. Two texts with the same words are then
/// different claims.
pub fn may_differ(ours: &TextProfile, theirs: &TextProfile) -> bool {
    let figures = ours.quantities.iter().filter(|figure| is_a_figure(figure)).any(|figure| {
        let mut answers = theirs.quantities.iter().filter(|other| other.unit == figure.unit).peekable();
        answers.peek().is_some() && answers.all(|other| agree(figure, other) == Some(false))
    });
    let times = periods(theirs);
    let dates = || {
        periods(ours)
            .iter()
            .any(|date| times.iter().all(|other| date.period.is_supported_by(&other.period) == Some(false)))
    };
    figures || (!times.is_empty() && dates())
}

/// Compares one quantity: any aligned figure that agrees decides; otherwise the best aligned one differs. Another
/// identifier is another subject, unless the sentence states it ("the port is 4711").
fn quantity<'a>(
    ours: &Quantity,
    claim: &TextProfile,
    passage: &'a TextProfile,
    subject: &Subject<'_>,
) -> Option<FigureMatch<'a>> {
    if !is_a_figure(ours) || (ours.unit == Unit::Identifier && !is_stated(claim, ours)) {
        return None;
    }
    let mut differing: Option<(f64, &Quantity)> = None;
    for theirs in passage.quantities.iter().filter(|theirs| theirs.unit == ours.unit && is_a_figure(theirs)) {
        let closeness = aligned(ours, theirs, claim, passage);
        let Some(sentence) = sentence_at(passage, theirs.start).filter(|_| closeness > 0.0) else { continue };
        if !subject.is_of(sentence) {
            continue;
        }
        match agree(ours, theirs) {
            Some(true) => return Some(FigureMatch::Agreement),
            // "Is not 330 m long" states no other length.
            Some(false)
                if sentence.denials % 2 == claim.negations % 2
                    && may_disagree(ours, theirs, claim, passage, sentence)
                    && differing.is_none_or(|(best, _)| closeness > best) =>
            {
                differing = Some((closeness, theirs));
            }
            _ => {}
        }
    }
    let (_, theirs) = differing?;
    // An equal figure may have no noun of its own: "rose from 300 to 500", "12 of 20 suspects".
    let near = sentence_at(passage, theirs.start)?;
    let is_near = |other: &Quantity| (near.start..near.end).contains(&other.start);
    if passage.quantities.iter().any(|other| is_near(other) && agree(ours, other) == Some(true))
        || claim.quantities.iter().any(|other| agree(other, theirs) == Some(true))
    {
        return None;
    }
    if matches!(occasion(claim, passage), Occasion::Earlier | Occasion::LongAfter) {
        return None;
    }
    let times = claim.reference.zip(passage.reference);
    let is_newer = times.is_some_and(|(claimed, published)| published > claimed);
    let is_older = times.is_some_and(|(claimed, published)| published < claimed);
    if ours.unit == Unit::None && is_running(claim, ours, theirs) {
        if is_newer && theirs.low > ours.high {
            return Some(FigureMatch::Total(&theirs.text));
        }
        // An older count does not contradict a later one.
        if is_older && theirs.high < ours.low {
            return None;
        }
    }
    Some(FigureMatch::Difference(&theirs.text))
}

/// The nearest word that does not only join ("the toll reached 50").
fn thing(quantity: &Quantity) -> Option<&String> {
    quantity.counted.iter().find(|stem| !REPORTING_STEMS.has(stem))
}

/// Whether both count the same thing, or one "people" and the other their fate.
fn same_counted(ours: &Quantity, theirs: &Quantity) -> bool {
    let (Some(mine), Some(other)) = (thing(ours), thing(theirs)) else { return false };
    let is_person = |stem: &String| PEOPLE.has(stem);
    mine == other
        || (is_person(other) && theirs.counted.contains(mine))
        || (is_person(mine) && ours.counted.contains(other))
}

fn may_disagree(
    ours: &Quantity,
    theirs: &Quantity,
    claim: &TextProfile,
    passage: &TextProfile,
    sentence: &SentenceProfile,
) -> bool {
    let is_named = !claim.entities.is_empty();
    let enough = match (ours.unit, same_counted(ours, theirs)) {
        // A rank needs an owner: "the first law" and "the second law" are two laws.
        (Unit::Ordinal, _) if !is_named => return false,
        (Unit::Identifier, false) => return false,
        (_, true) if is_named => MIN_DISAGREEMENT_NAMED,
        (_, true) => MIN_DISAGREEMENT_UNNAMED,
        _ => MIN_DISAGREEMENT_UNIT,
    };
    crate::coverage::sentence_coverage(claim, sentence) >= enough && !is_of_another_time(ours, claim, passage, sentence)
}

/// Whether the sentence's dates give it another time: another year, a month for a year, or long before a claim about
/// the present.
fn is_of_another_time(ours: &Quantity, claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let mut dates = passage.dates.iter().filter(|date| within(passage, sentence, &date.text)).peekable();
    if dates.peek().is_none() {
        return false;
    }
    if claim.dates.is_empty() {
        let Some(now) = claim.reference.map(|moment| moment.date_naive()) else { return false };
        let latest = passage.reference.map_or(now, |published| published.date_naive().max(now));
        return dates.all(|date| now.signed_duration_since(date.end) > MAX_DATE_AGE || date.start > latest);
    }
    // A year's profit is not its quarter's, but a ship that sank in April may have sunk on the 15th.
    let adds = matches!(ours.unit, Unit::Percent | Unit::Currency(_));
    !dates.any(|theirs| {
        claim.dates.iter().any(|ours| dates_meet(ours, theirs) && (!adds || length_class(ours) == length_class(theirs)))
    })
}

/// Returns 0 for days, 1 for months, 2 for longer.
fn length_class(date: &DateMention) -> u8 {
    match date.end.signed_duration_since(date.start).num_days() {
        0..=6 => 0,
        7..=92 => 1,
        _ => 2,
    }
}

/// Words after which a value is stated.
static STATING_WORDS: Words = Words::of("figures.stating");

/// Whether the sentence states the figure ("the port is 4711", "port: 4711"), not as part of a name.
fn is_stated(text: &TextProfile, quantity: &Quantity) -> bool {
    let before = text.text.get(..quantity.start).unwrap_or_default().trim_end();
    let last = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
    before.ends_with([':', '=', '—', '–', '|']) || last == "-" || STATING_WORDS.has(&last)
}

/// Certainty that two figures of one unit count the same thing; 0 is none.
fn aligned(ours: &Quantity, theirs: &Quantity, claim: &TextProfile, passage: &TextProfile) -> f64 {
    let shared =
        sentence_at(passage, theirs.start).map_or(0.0, |sentence| crate::coverage::sentence_coverage(claim, sentence));
    let same = same_counted(ours, theirs);
    let enough = match (ours.unit, same) {
        (_, true) => MIN_SHARE_COUNTED,
        // "340 aircraft" and "12 orders": a bare number needs the same counted noun.
        (Unit::None | Unit::Ordinal | Unit::Identifier, false) => return 0.0,
        // The unit names the measure but not the thing measured.
        _ => MIN_SHARE_UNIT,
    };
    if shared >= enough { shared + f64::from(u8::from(same)) } else { 0.0 }
}

/// The range of values that a figure allows.
fn span(quantity: &Quantity) -> (f64, f64) {
    // "More than 50" of a counted thing begins at 51.
    let beyond = if is_exact(quantity) { 1.0 } else { 0.0 };
    match quantity.comparator {
        Comparator::Exact => (quantity.low, quantity.high),
        Comparator::About => {
            (quantity.low - ABOUT_TOLERANCE * quantity.low.abs(), quantity.high + ABOUT_TOLERANCE * quantity.high.abs())
        }
        Comparator::AtLeast => (quantity.low, f64::INFINITY),
        Comparator::MoreThan => (quantity.low + beyond, f64::INFINITY),
        Comparator::AtMost => (f64::NEG_INFINITY, quantity.high),
        Comparator::LessThan => (f64::NEG_INFINITY, quantity.high - beyond),
    }
}

/// Whether the passage's figure is within the claim's range ("9,210" for "more than 9,000"). `None` if the ranges only
/// overlap or the units differ.
pub fn agree(ours: &Quantity, theirs: &Quantity) -> Option<bool> {
    if ours.unit != theirs.unit {
        return None;
    }
    if ours.unit == Unit::Identifier {
        return Some(ours.text.trim_end_matches('.') == theirs.text.trim_end_matches('.'));
    }
    let slack = match ours {
        ours if is_exact(ours) => 0.0,
        ours if ours.is_precise => theirs.last_digit.abs() / 2.0,
        _ => tolerance(ours, theirs),
    };
    // Margin for binary rounding: 3.5 ± 0.1 must reach 3.6.
    let hair = 1e-9 * (1.0 + ours.high.abs().max(theirs.high.abs()));
    let (low, high) = span(ours);
    let (low, high) = (low - slack - hair, high + slack + hair);
    // "About" in the passage is rounding, not another figure.
    let (from, to) = if theirs.comparator == Comparator::About { (theirs.low, theirs.high) } else { span(theirs) };
    if low <= from && to <= high {
        // A share is rounded to its own last digit: 61.37 % is 61 %, and neither plainly 62 % nor plainly not.
        let rounding = ours.last_digit.abs().max(theirs.last_digit.abs()) / 2.0 + hair;
        let is_rounded = low + slack - rounding <= from && to <= high - slack + rounding;
        (ours.unit != Unit::Percent || is_rounded).then_some(true)
    } else if ours.is_precise && theirs.comparator == Comparator::About {
        None
    } else if to < low || high < from {
        Some(false)
    } else {
        None
    }
}

fn is_exact(quantity: &Quantity) -> bool {
    let whole = quantity.low.fract() == 0.0 && quantity.high.fract() == 0.0;
    match quantity.unit {
        Unit::Year | Unit::Ordinal | Unit::Identifier => true,
        Unit::None => whole && quantity.high.abs() <= MAX_EXACT_COUNT && quantity.last_digit <= 1.0,
        _ => false,
    }
}

/// The coarser figure may round the other: "1.9 million" is "2 million", "1.2 million" is not.
fn tolerance(ours: &Quantity, theirs: &Quantity) -> f64 {
    let (one, other) = (ours.last_digit.abs(), theirs.last_digit.abs());
    (TOLERANCE * ours.high.abs().max(ours.low.abs())).max(one.min(other)).max(one.max(other) / 2.0)
}

/// Whether the passage supports all figures and dates of the claim, as needed for support.
pub fn all_found(claim: &TextProfile, passage: &TextProfile) -> bool {
    let theirs = periods(passage);
    let is_found = |ours: &Quantity| passage.quantities.iter().any(|other| agree(ours, other) == Some(true));
    claim.quantities.iter().filter(|ours| is_a_figure(ours)).all(is_found)
        && periods(claim).iter().all(|ours| {
            // "On Monday" of an undated page is taken as the same Monday.
            let is_same_text = passage.reference.is_none() && passage.text.contains(&ours.mention.text);
            is_same_text || theirs.iter().any(|other| ours.period.is_supported_by(&other.period) == Some(true))
        })
}

fn within(passage: &TextProfile, sentence: &SentenceProfile, mention: &str) -> bool {
    passage.text.get(sentence.start..sentence.end).is_some_and(|text| text.contains(mention))
}

/// Whether the spans of two mentions overlap ("2024" and "3 May 2024").
pub fn dates_meet(a: &DateMention, b: &DateMention) -> bool {
    a.start <= b.end && b.start <= a.end
}

pub(super) fn years(profile: &TextProfile) -> impl Iterator<Item = i32> {
    profile.dates.iter().map(|date| date.start.year())
}

fn sentence_at(passage: &TextProfile, offset: usize) -> Option<&SentenceProfile> {
    passage.sentences.iter().find(|sentence| (sentence.start..sentence.end).contains(&offset))
}

/// Sets c = max(c, 0.7) and e = min(e, 0.3) on a disagreement, before any feature. A newer total stays below the
/// refuting contradiction.
pub fn apply(p: StanceProbabilities, check: &NumberCheck) -> StanceProbabilities {
    if check.num_ok != Some(false) {
        return p;
    }
    let entail = p.entail.min(MAX_DISAGREEING_ENTAILMENT);
    let contradict =
        if check.newer_total { RUNNING_TOTAL_CONTRADICTION } else { p.contradict.max(MIN_REFUTING_CONTRADICTION) };
    // The three probabilities may no longer sum to 1 otherwise.
    StanceProbabilities { entail, contradict, neutral: p.neutral.min((1.0 - entail - contradict).max(0.0)) }
}

#[cfg(test)]
mod tests;
