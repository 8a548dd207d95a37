//! Numbers and dates of a claim against those of a passage, by rule, beside whatever model judges the words.
//!
//! Two figures are compared only where they count the same thing in the same unit and stand in a sentence that speaks
//! of the claim's own subject ([`subject`]). A figure that is merely elsewhere is no disagreement, and no agreement either.

mod counted;
mod dated;
mod fates;
mod moving;
mod periods;
pub(crate) mod repeating;
mod roles;
mod standing;
mod subject;

use chrono::{Datelike, TimeDelta};

use corroborate_domain::evidence::StanceProbabilities;
use corroborate_language::dates::DateMention;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{Comparator, Quantity, Unit};
use corroborate_language::{has_cyrillic, tokens};

use super::profile::{SentenceProfile, TextProfile};
use crate::names::Names;
use crate::stance::lexicon::speaks_of_a_part;

use counted::{adds_up, alone_here, alone_there, counts_otherwise, is_step_and_level, is_told_beside, same_counted};
use dated::date;
use fates::fate;
use moving::{has_moved, is_of_one_day, is_running, lags};
use periods::{Dated, periods};
use repeating::Occasion;
use roles::role;
use subject::Subject;

pub use dated::{Occasions, Recurrence, recurrence};
pub use standing::{Standing, standing};

/// What a disagreeing figure does to a judgement (`docs/scoring.md`, numbers and dates).
pub const REFUTING_CONTRADICTION: f64 = 0.70;
const DISAGREEING_ENTAILMENT: f64 = 0.30;

/// A newer and larger running total, or a newer level of what moves, larger or smaller, contradicts the claim as it
/// stands, which makes an older report outdated, and must not refute it: between the stance threshold (0.5) and the
/// refuting one (0.7).
const RUNNING_TOTAL_CONTRADICTION: f64 = 0.65;

/// Counts up to here are exact: nobody rounds 37 dead.
const EXACT_UP_TO: f64 = 100.0;
/// Larger figures agree within this share of the claim's, or one unit of the last digit stated, whichever is wider.
const TOLERANCE: f64 = 0.02;

/// "About 300": a round figure is meant within a tenth.
const ABOUT: f64 = 0.1;

/// Share of the claim's words the figure's sentence must hold for the two to speak of one thing: where they count the
/// same by name, and where only the unit is the same.
const SAME_COUNTED: f64 = 0.4;
const SAME_UNIT: f64 = 0.6;

/// The same before a figure may be called a disagreement, which refutes. Where the claim's names are there, the subject
/// is given by them; without a name only the words say that both speak of one thing ("7.2 cents per litre" of another
/// tax shares half of them). A bare unit says least.
const DISAGREE_NAMED: f64 = 0.45;
const DISAGREE_UNNAMED: f64 = 0.65;
const DISAGREE_UNIT: f64 = 0.7;

/// A claim without a date speaks of about now; what a passage dates longer ago than this is of another time.
const LONG_BEFORE: TimeDelta = TimeDelta::days(200);

/// Two reports of one night are not farther apart.
const ONE_NIGHT: TimeDelta = TimeDelta::hours(20);

/// What comparing the figures of a claim with those of a passage found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NumberCheck {
    /// True: all aligned figures agree. False: one disagrees. `None`: nothing to align.
    pub num_ok: Option<bool>,
    /// The disagreement is a newer and larger running total, or a newer level of what moves: a sign of "outdated", not of
    /// "refuted".
    pub newer_total: bool,
    /// The figures that disagree, as written: in the claim, in the passage.
    pub mismatch: Option<(String, String)>,
}

/// How a claim's figure fares in a passage.
enum Found<'a> {
    Agrees,
    Differs(&'a str),
    Total(&'a str),
}

/// Whether a text states figures or dates.
pub fn has_numbers(text: &TextProfile) -> bool {
    !text.quantities.is_empty() || !text.dates.is_empty()
}

/// Holds the claim's quantities and dates against the passage's.
pub fn compare(claim: &TextProfile, passage: &TextProfile) -> NumberCheck {
    if !has_numbers(claim) || !has_numbers(passage) {
        return NumberCheck::default();
    }
    compare_with(claim, passage, &Names::new(claim, passage))
}

/// [`compare`] with the names already held against each other.
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
    // "Is not 6,000 years old" is not contradicted by another age, nor "was not founded in 1950" by another year: a claim
    // that denies leaves every other figure open. "Some fell by 5 %" leaves what holds in general open.
    let denies = claim.negations % 2 == 1 && passage.negations.is_multiple_of(2);
    let leaves_open = denies || (speaks_of_a_part(claim) && !speaks_of_a_part(passage));
    for (ours, found) in of_quantities.chain(of_dates) {
        match found {
            Found::Agrees => check.num_ok = Some(check.num_ok.unwrap_or(true)),
            Found::Differs(_) | Found::Total(_) if leaves_open => {}
            Found::Differs(theirs) | Found::Total(theirs) => {
                let total = matches!(found, Found::Total(_));
                // A plain disagreement outweighs a running total, and is the one to correct.
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

/// Whether a quantity is held against others: years are as dates, and "40 years ago" is another span tomorrow.
fn is_a_figure(quantity: &Quantity) -> bool {
    quantity.unit != Unit::Year && !quantity.counts_back()
}

/// Whether a figure of ours is told otherwise by every figure of theirs that could answer it: what keeps two texts of
/// the same words from being one claim.
pub fn may_differ(ours: &TextProfile, theirs: &TextProfile) -> bool {
    let figures = ours.quantities.iter().filter(|figure| is_a_figure(figure)).any(|figure| {
        let mut answers = theirs.quantities.iter().filter(|other| other.unit == figure.unit).peekable();
        answers.peek().is_some() && answers.all(|other| agree(figure, other) == Some(false))
    });
    let times = periods(theirs);
    let dates = || {
        periods(ours)
            .iter()
            .any(|date| times.iter().all(|other| date.period.borne_out_by(&other.period) == Some(false)))
    };
    figures || (!times.is_empty() && dates())
}

/// One quantity of the claim: agreement with any aligned figure settles it; else the best-placed one differs. Years are
/// compared as dates; identifiers name and do not count, so another one is another subject, not a disagreement, unless it
/// is what the sentence states ("the port is 4711").
fn quantity<'a>(
    ours: &Quantity,
    claim: &TextProfile,
    passage: &'a TextProfile,
    subject: &Subject<'_>,
) -> Option<Found<'a>> {
    if !is_a_figure(ours) || (ours.unit == Unit::Identifier && !is_stated(claim, ours)) {
        return None;
    }
    let mut differing: Option<(f64, &Quantity)> = None;
    for theirs in passage.quantities.iter().filter(|theirs| theirs.unit == ours.unit && is_a_figure(theirs)) {
        let closeness = aligned(ours, theirs, claim, passage);
        let Some(sentence) = sentence_at(passage, theirs.start).filter(|_| closeness > 0.0) else { continue };
        if !subject.is_of(sentence)
            || is_step_and_level(ours, claim, theirs, passage)
            || role(passage, theirs) != role(claim, ours)
            || is_of_others(ours, claim, theirs, passage)
        {
            continue;
        }
        match agree(ours, theirs) {
            // "Is not 330 m long" tells no other length.
            Some(false) if !crate::relations::polarity::agree_in_denial(claim, sentence) => {}
            Some(true) if !counts_otherwise(ours, theirs, passage) => return Some(Found::Agrees),
            Some(false)
                if alone_here(ours, theirs, claim)
                    && may_disagree(ours, theirs, claim, passage, sentence)
                    && alone_there(ours, theirs, passage)
                    && differing.is_none_or(|(best, _)| closeness > best) =>
            {
                differing = Some((closeness, theirs));
            }
            _ => {}
        }
    }
    let (_, theirs) = differing?;
    if adds_up(ours, passage) || is_told_beside(ours, theirs, passage) {
        return None;
    }
    let occasion = repeating::occasion(claim, passage);
    if matches!(occasion, Occasion::Earlier | Occasion::LongAfter) {
        return None;
    }
    let times = claim.reference.zip(passage.reference);
    let newer = times.is_some_and(|(claimed, published)| published > claimed);
    let older = times.is_some_and(|(claimed, published)| published < claimed);
    if ours.unit == Unit::None && is_running(claim, ours, theirs) {
        if newer && theirs.low > ours.high {
            return Some(Found::Total(&theirs.text));
        }
        // What had been counted by then says nothing of what was counted since.
        if older && theirs.high < ours.low {
            return None;
        }
    }
    // A smaller figure of days later is another day's.
    if occasion == Occasion::Later {
        return None;
    }
    // What was told of one night says nothing of another, and last month's price nothing of today's.
    if (is_of_one_day(claim, ours)
        && times.is_some_and(|(claimed, published)| {
            claimed.date_naive() != published.date_naive() && published.signed_duration_since(claimed).abs() > ONE_NIGHT
        }))
        || lags(claim, ours, passage, theirs)
    {
        return None;
    }
    // The rate of May is not refuted by that of October.
    if has_moved(claim, ours, passage, theirs) {
        return Some(Found::Total(&theirs.text));
    }
    Some(Found::Differs(&theirs.text))
}

/// Whether one figure is of the dead, say, and the other of the hurt.
fn is_of_others(ours: &Quantity, claim: &TextProfile, theirs: &Quantity, passage: &TextProfile) -> bool {
    fate(claim, ours).zip(fate(passage, theirs)).is_some_and(|(mine, other)| mine != other)
}

/// Whether a figure that differs, in a sentence about the claim's subject, speaks of its time and counts what it counts.
fn may_disagree(
    ours: &Quantity,
    theirs: &Quantity,
    claim: &TextProfile,
    passage: &TextProfile,
    sentence: &SentenceProfile,
) -> bool {
    let named = !claim.entities.is_empty();
    let enough = match (ours.unit, same_counted(ours, theirs)) {
        // A rank belongs to someone; "the first law" and "the second law" are two laws.
        (Unit::Ordinal, _) if !named => return false,
        // Another number of another thing's is no disagreement.
        (Unit::Identifier, false) => return false,
        (_, true) if named => DISAGREE_NAMED,
        (_, true) => DISAGREE_UNNAMED,
        _ => DISAGREE_UNIT,
    };
    crate::coverage::sentence_coverage(claim, sentence) >= enough && !is_of_another_time(ours, claim, passage, sentence)
}

/// Whether a passage's sentence tells of another time than the claim, by its dates: a figure of another year is another figure,
/// and so is that of a month beside a year's, and one of long before where the claim speaks of now.
fn is_of_another_time(ours: &Quantity, claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let mut dates = passage.dates.iter().filter(|date| within(passage, sentence, &date.text)).peekable();
    if dates.peek().is_none() {
        return false;
    }
    if claim.dates.is_empty() {
        let Some(now) = claim.reference.map(|moment| moment.date_naive()) else { return false };
        let latest = passage.reference.map_or(now, |published| published.date_naive().max(now));
        return dates.all(|date| now.signed_duration_since(date.end) > LONG_BEFORE || date.start > latest);
    }
    // A year's profit is not its quarter's; but the ship that sank in April sank on the 15th.
    let adds = matches!(ours.unit, Unit::Percent | Unit::Currency(_));
    !dates.any(|theirs| {
        claim.dates.iter().any(|ours| dates_meet(ours, theirs) && (!adds || length_class(ours) == length_class(theirs)))
    })
}

/// A day, a month, or longer.
fn length_class(date: &DateMention) -> u8 {
    match date.end.signed_duration_since(date.start).num_days() {
        0..=6 => 0,
        7..=92 => 1,
        _ => 2,
    }
}

/// Behind which stands what something is.
static STATING: Words = Words::of("figures.stating");

/// Whether a figure is what its sentence says of something ("the port is 4711", "port: 4711"), not part of a name.
fn is_stated(text: &TextProfile, quantity: &Quantity) -> bool {
    let before = text.text.get(..quantity.start).unwrap_or_default().trim_end();
    let last = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
    before.ends_with([':', '=', '—', '–', '|']) || last == "-" || STATING.has(&last)
}

/// Names of one alphabet that are only alike ("Minor League", "Major League") are two names where a figure is to refute:
/// all words of the claim's name must be there, or a shorter form of it ("Wagner" for "Honus Wagner"). Names in another
/// alphabet are compared by sound alone.
fn says_every_name(claim: &TextProfile, passage: &TextProfile) -> bool {
    let language = claim.language.as_deref();
    let passage_names: Vec<Vec<String>> =
        passage.entities.iter().map(|name| tokens::content_stems(&name.text, passage.language.as_deref())).collect();
    claim.entities.iter().all(|name| {
        let ours = tokens::content_stems(&name.text, language);
        if has_cyrillic(&name.text) != has_cyrillic(&passage.text) || ours.len() < 2 {
            return crate::names::has_name(passage, name);
        }
        let whole = ours.iter().all(|stem| passage.has_stem(stem));
        let shorter = |theirs: &Vec<String>| {
            ours.last().is_some_and(|last| theirs.contains(last)) && theirs.iter().all(|stem| ours.contains(stem))
        };
        whole || passage_names.iter().any(shorter)
    })
}

/// How surely two figures of one unit count the same thing: 0 not at all, higher is surer.
fn aligned(ours: &Quantity, theirs: &Quantity, claim: &TextProfile, passage: &TextProfile) -> f64 {
    let shared =
        sentence_at(passage, theirs.start).map_or(0.0, |sentence| crate::coverage::sentence_coverage(claim, sentence));
    let same = same_counted(ours, theirs);
    let enough = match (ours.unit, same) {
        (_, true) => SAME_COUNTED,
        // "340 aircraft" and "12 orders": a bare number is a number of something, and so is a name's.
        (Unit::None | Unit::Ordinal | Unit::Identifier, false) => return 0.0,
        // Percent, money, metres: the unit says what is measured but not of what.
        _ => SAME_UNIT,
    };
    if shared >= enough { shared + f64::from(u8::from(same)) } else { 0.0 }
}

/// The span of values a figure leaves open.
fn span(quantity: &Quantity) -> (f64, f64) {
    // "More than 50" of a counted thing begins at 51.
    let beyond = if is_exact(quantity) { 1.0 } else { 0.0 };
    match quantity.comparator {
        Comparator::Exact => (quantity.low, quantity.high),
        Comparator::About => (quantity.low - ABOUT * quantity.low.abs(), quantity.high + ABOUT * quantity.high.abs()),
        Comparator::AtLeast => (quantity.low, f64::INFINITY),
        Comparator::MoreThan => (quantity.low + beyond, f64::INFINITY),
        Comparator::AtMost => (f64::NEG_INFINITY, quantity.high),
        Comparator::LessThan => (f64::NEG_INFINITY, quantity.high - beyond),
    }
}

/// Whether the passage's figure bears the claim's out: yes where all it leaves open is within the claim's (so "9,210"
/// bears out "more than 9,000"), no where nothing is, `None` where it may be either or the units differ.
pub fn agree(ours: &Quantity, theirs: &Quantity) -> Option<bool> {
    if ours.unit != theirs.unit {
        return None;
    }
    if ours.unit == Unit::Identifier {
        return Some(ours.text.trim_end_matches('.') == theirs.text.trim_end_matches('.'));
    }
    let slack = if is_exact(ours) { 0.0 } else { tolerance(ours, theirs) };
    // A hair for sums that binary fractions cannot hold: 3.5 ± 0.1 reaches 3.6.
    let hair = 1e-9 * (1.0 + ours.high.abs().max(theirs.high.abs()));
    let (low, high) = span(ours);
    let (low, high) = (low - slack - hair, high + slack + hair);
    // An "about" in the passage is one more rounding, not another figure.
    let (from, to) = if theirs.comparator == Comparator::About { (theirs.low, theirs.high) } else { span(theirs) };
    if low <= from && to <= high {
        Some(true)
    } else if (to < low || high < from) && !touching(ours, theirs) {
        Some(false)
    } else {
        None
    }
}

/// "Ten times" and "more than ten times" state one figure, the second one more strictly: neither confirmed nor denied.
fn touching(ours: &Quantity, theirs: &Quantity) -> bool {
    let open = |q: &Quantity| matches!(q.comparator, Comparator::MoreThan | Comparator::LessThan);
    (open(ours) || open(theirs)) && (ours.low - theirs.low).abs() <= 1e-9 * (1.0 + ours.low.abs())
}

/// No tolerance for years, ranks, identifiers and whole counts up to 100.
fn is_exact(quantity: &Quantity) -> bool {
    let whole = quantity.low.fract() == 0.0 && quantity.high.fract() == 0.0;
    match quantity.unit {
        Unit::Year | Unit::Ordinal | Unit::Identifier => true,
        Unit::None => whole && quantity.high.abs() <= EXACT_UP_TO && quantity.last_digit <= 1.0,
        _ => false,
    }
}

/// Two hundredths, or one unit of the last digit stated, whichever is wider. Of figures told to different digits one is
/// rounded to the other's: "1.9 million" is "2 million", and "1.2 million" is not.
fn tolerance(ours: &Quantity, theirs: &Quantity) -> f64 {
    let (one, other) = (ours.last_digit.abs(), theirs.last_digit.abs());
    (TOLERANCE * ours.high.abs().max(ours.low.abs())).max(one.min(other)).max(one.max(other) / 2.0)
}

/// Whether every figure of the claim is borne out by a sentence of the passage that speaks of the same thing, identifiers
/// and dates included: what a passage must give before it supports. An identifier is a name and may stand anywhere.
pub fn all_found(claim: &TextProfile, passage: &TextProfile, names: &Names) -> bool {
    if !has_numbers(claim) {
        return true;
    }
    let subject = Subject::new(claim, passage, names);
    let borne_out = |ours: &Quantity| {
        passage.quantities.iter().any(|theirs| {
            agree(ours, theirs) == Some(true)
                && !counts_otherwise(ours, theirs, passage)
                && !is_step_and_level(ours, claim, theirs, passage)
                && role(passage, theirs) == role(claim, ours)
                && !is_of_others(ours, claim, theirs, passage)
                && (ours.unit == Unit::Identifier
                    || sentence_at(passage, theirs.start)
                        .is_some_and(|sentence| subject.is_borne_in(sentence, passage)))
        })
    };
    let theirs = periods(passage);
    let dated = |ours: &Dated<'_>| {
        passage.sentences.iter().filter(|sentence| subject.is_borne_in(sentence, passage)).any(|sentence| {
            let mut inside = theirs.iter().filter(|date| date.is_in(sentence));
            inside.any(|date| ours.period.borne_out_by(&date.period) == Some(true))
        })
    };
    // A page without a date says "on Monday" of the same Monday, as far as anyone can tell.
    let told_alike = |words: &str| {
        let mut sentences = passage.sentences.iter().filter(|_| passage.reference.is_none());
        sentences.any(|sentence| subject.is_borne_in(sentence, passage) && within(passage, sentence, words))
    };
    claim.quantities.iter().filter(|ours| is_a_figure(ours)).all(borne_out)
        && periods(claim).iter().all(|ours| dated(ours) || told_alike(&ours.mention.text))
}

fn within(passage: &TextProfile, sentence: &SentenceProfile, mention: &str) -> bool {
    passage.text.get(sentence.start..sentence.end).is_some_and(|text| text.contains(mention))
}

/// Whether two mentions can mean the same time: their spans overlap ("2024" and "3 May 2024").
pub fn dates_meet(a: &DateMention, b: &DateMention) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// The years a text names.
pub(super) fn years(profile: &TextProfile) -> impl Iterator<Item = i32> {
    profile.dates.iter().map(|date| date.start.year())
}

fn sentence_at(passage: &TextProfile, offset: usize) -> Option<&SentenceProfile> {
    passage.sentences.iter().find(|sentence| (sentence.start..sentence.end).contains(&offset))
}

/// A disagreement sets c = max(c, 0.7) and e = min(e, 0.3) before any feature is taken. A newer and larger running
/// total, or a newer level of what moves, stays below the contradiction that refutes.
pub fn apply(p: StanceProbabilities, check: &NumberCheck) -> StanceProbabilities {
    if check.num_ok != Some(false) {
        return p;
    }
    let entail = p.entail.min(DISAGREEING_ENTAILMENT);
    let contradict =
        if check.newer_total { RUNNING_TOTAL_CONTRADICTION } else { p.contradict.max(REFUTING_CONTRADICTION) };
    // What is left over is neutral; a model's three figures no longer sum to 1 where both were high.
    StanceProbabilities { entail, contradict, neutral: p.neutral.min((1.0 - entail - contradict).max(0.0)) }
}

#[cfg(test)]
mod tests;
