//! Handles figures that grow or move: a newer one does not refute an older report.

use chrono::TimeDelta;

use super::{PEOPLE, sentence_at, thing, within};
use crate::profile::TextProfile;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::Quantity;
use corroborate_language::word_list::WordList;

/// Stems of growing counts: deaths, injuries, cases, votes. A beginning matches only if marked: "diesel" is not "die".
static RUNNING_COUNT_STEMS: Words = Words::of("figures.running");

/// Stems of monthly levels.
static LEVELS: Words = Words::of("figures.level");

/// Minimum time for a new level. Offices report monthly, and a week exceeds daily noise.
const MIN_LEVEL_INTERVAL: TimeDelta = TimeDelta::days(7);

/// Maximum ratio of a move; ten euros for a litre of petrol is an error.
const MAX_MOVE_RATIO: f64 = 2.0;

/// Maximum span of a date that dates a level; a year does not.
const MAX_LEVEL_SPAN: TimeDelta = TimeDelta::days(31);

/// Whether the count grows: "killed 50 people", "the death toll reached 50". "Fired 50 missiles, killing 7" counts
/// missiles.
pub(super) fn is_running(claim: &TextProfile, ours: &Quantity, theirs: &Quantity) -> bool {
    let counts = |counted: &String| RUNNING_COUNT_STEMS.has(counted);
    let is_other_thing =
        |stem: &String| !PEOPLE.has(stem) && !claim.name_stems.iter().flatten().any(|name| name == stem);
    ours.counted.iter().chain(&theirs.counted).any(counts)
        || (!thing(ours).is_some_and(is_other_thing) && mentions(claim, ours, &RUNNING_COUNT_STEMS))
}

/// Whether the figure may be a later level: newer by enough, within the maximum ratio, and not dated to the claim's day
/// or before.
pub(super) fn has_moved(claim: &TextProfile, ours: &Quantity, passage: &TextProfile, theirs: &Quantity) -> bool {
    let Some((claimed, published)) = claim.reference.zip(passage.reference) else { return false };
    published.signed_duration_since(claimed) >= MIN_LEVEL_INTERVAL
        && is_near_level(claim, ours, theirs)
        && !sentence_at(passage, theirs.start).is_some_and(|sentence| {
            passage.dates.iter().any(|date| {
                date.start <= claimed.date_naive()
                    && date.end.signed_duration_since(date.start) <= MAX_LEVEL_SPAN
                    && within(passage, sentence, &date.text)
            })
        })
}

/// Whether the figure is an earlier level, by the same limits.
pub(super) fn lags(claim: &TextProfile, ours: &Quantity, passage: &TextProfile, theirs: &Quantity) -> bool {
    let times = claim.reference.zip(passage.reference);
    times.is_some_and(|(claimed, published)| claimed.signed_duration_since(published) >= MIN_LEVEL_INTERVAL)
        && is_near_level(claim, ours, theirs)
}

/// Whether the figures are two values of an undated level within the maximum ratio.
fn is_near_level(claim: &TextProfile, ours: &Quantity, theirs: &Quantity) -> bool {
    let (less, more) = if ours.low < theirs.low { (ours.high, theirs.low) } else { (theirs.high, ours.low) };
    claim.dates.is_empty() && less > 0.0 && more <= MAX_MOVE_RATIO * less && mentions(claim, ours, &LEVELS)
}

fn mentions(claim: &TextProfile, figure: &Quantity, stems: &WordList) -> bool {
    sentence_at(claim, figure.start).is_some_and(|sentence| sentence.stems.iter().any(|stem| stems.has(stem)))
}
