//! Figures that grow or move while a story runs: a newer one is news, and refutes no older report.

use chrono::TimeDelta;

use super::counted::{PEOPLE, thing};
use super::{sentence_at, within};
use crate::profile::TextProfile;
use corroborate_language::lexicon::{Parts, Words};
use corroborate_language::numbers::Quantity;
use corroborate_language::word_list::WordList;

/// Stems of words whose counts only grow while a story runs: deaths, injuries, cases, votes counted. A beginning only
/// where it says so: a diesel does not die.
static RUNNING: Words = Words::of("figures.running");

/// The same of what has another level every month.
static LEVELS: Words = Words::of("figures.level");

/// Central banks and statistics offices report monthly at most; a week is more than a day's noise.
const LEVELS_MOVE: TimeDelta = TimeDelta::days(7);

/// What moves in weeks does not double; ten euros for a litre of petrol were never true.
const FARTHEST_MOVE: f64 = 2.0;

/// A date no longer than a month tells when a level was measured; a year leaves that open.
const ONE_MONTH: TimeDelta = TimeDelta::days(31);

/// "Killed 50 people", or "the death toll reached 50", where what is counted stands before the verb. "Fired 50 missiles,
/// killing 7" counts missiles, whoever dies of them.
pub(super) fn is_running(claim: &TextProfile, ours: &Quantity, theirs: &Quantity) -> bool {
    let counts = |counted: &String| RUNNING.has(counted);
    let is_other_thing =
        |stem: &String| !PEOPLE.has(stem) && !claim.name_stems.iter().flatten().any(|name| name == stem);
    ours.counted.iter().chain(&theirs.counted).any(counts)
        || (!thing(ours).is_some_and(is_other_thing) && speaks_of(claim, ours, &RUNNING))
}

/// Whether the claim's figure is of what moves every month, and the passage's may be a later one of the same: it is so
/// much newer, near enough, and not dated by its sentence to the claim's day or before.
pub(super) fn has_moved(claim: &TextProfile, ours: &Quantity, passage: &TextProfile, theirs: &Quantity) -> bool {
    let Some((claimed, published)) = claim.reference.zip(passage.reference) else { return false };
    let (less, more) = if ours.low < theirs.low { (ours.high, theirs.low) } else { (theirs.high, ours.low) };
    claim.dates.is_empty()
        && published.signed_duration_since(claimed) >= LEVELS_MOVE
        && less > 0.0
        && more <= FARTHEST_MOVE * less
        && speaks_of(claim, ours, &LEVELS)
        && !sentence_at(passage, theirs.start).is_some_and(|sentence| {
            passage.dates.iter().any(|date| {
                date.start <= claimed.date_naive()
                    && date.end.signed_duration_since(date.start) <= ONE_MONTH
                    && within(passage, sentence, &date.text)
            })
        })
}

/// Whether the passage's figure is an earlier level of what the claim tells a later one of: as near, and so much older.
pub(super) fn lags(claim: &TextProfile, ours: &Quantity, passage: &TextProfile, theirs: &Quantity) -> bool {
    let Some((claimed, published)) = claim.reference.zip(passage.reference) else { return false };
    let (less, more) = if ours.low < theirs.low { (ours.high, theirs.low) } else { (theirs.high, ours.low) };
    claim.dates.is_empty()
        && claimed.signed_duration_since(published) >= LEVELS_MOVE
        && less > 0.0
        && more <= FARTHEST_MOVE * less
        && speaks_of(claim, ours, &LEVELS)
}

/// Whether the claim's figure is of one night or day that it does not name.
pub(super) fn is_of_one_day(claim: &TextProfile, ours: &Quantity) -> bool {
    static DAYS: Parts = Parts::of("figures.of_one_day");
    sentence_at(claim, ours.start)
        .and_then(|own| claim.text.get(own.start..own.end))
        .is_some_and(|own| DAYS.stands_in(&own.to_lowercase()))
}

/// Whether the claim's sentence with that figure has one of the words.
fn speaks_of(claim: &TextProfile, figure: &Quantity, stems: &WordList) -> bool {
    sentence_at(claim, figure.start).is_some_and(|sentence| sentence.stems.iter().any(|stem| stems.has(stem)))
}
