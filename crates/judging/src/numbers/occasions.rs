//! Figures of another day: strikes, matches and quarterly figures recur, and tolls grow. Another day's report neither
//! supports nor contradicts; a newer toll does not refute an older one.

use chrono::{NaiveTime, TimeDelta};

use super::{PEOPLE, sentence_at, thing};
use crate::profile::TextProfile;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::Quantity;
use corroborate_language::word_list::WordList;

/// A weapon alone is no event: a rocket is 40 metres tall on any day.
static DAILY_EVENTS: Words = Words::of("occasion.daily");

/// Weapons and words for their use; together an attack of one day.
static WEAPONS: Words = Words::of("occasion.weapon");
static FIRING_WORDS: Words = Words::of("occasion.fired");

static QUARTERLY_FIGURES: Words = Words::of("occasion.quarterly");

/// Maximum distance of reports, and growth time of a toll.
const MAX_OCCASION_DISTANCE: TimeDelta = TimeDelta::hours(36);
const MAX_TOLL_GROWTH: TimeDelta = TimeDelta::days(3);
/// Assumed time of day of an event.
const DEFAULT_EVENT_TIME: TimeDelta = TimeDelta::hours(12);

const MAX_QUARTER_DISTANCE: TimeDelta = TimeDelta::days(45);

/// The relation of two days, for a recurring event without a day of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// No sign of another event.
    Same,
    /// Days older: an earlier event.
    Earlier,
    /// Days later: another event, or a grown figure.
    Later,
    LongAfter,
}

pub(crate) fn occasion(claim: &TextProfile, passage: &TextProfile) -> Occasion {
    let own = claim.dates.iter().find(|date| !date.is_relative);
    let claimed = match own {
        // The claim's stated day. A passage with its own day needs no comparison.
        Some(date) if date.start == date.end && passage.dates.iter().all(|date| date.is_relative) => {
            Some(date.start.and_time(NaiveTime::MIN).and_utc() + DEFAULT_EVENT_TIME)
        }
        Some(_) => None,
        None => claim.reference,
    };
    let Some((claimed, published)) = claimed.zip(passage.reference) else { return Occasion::Same };
    let mentions = |list: &WordList| claim.sentences.iter().flat_map(|own| &own.words).any(|word| list.has(&word.text));
    let later = published.signed_duration_since(claimed);
    let (least, long) = if mentions(&DAILY_EVENTS) || mentions(&WEAPONS) && mentions(&FIRING_WORDS) {
        (MAX_OCCASION_DISTANCE, MAX_TOLL_GROWTH)
    } else if mentions(&QUARTERLY_FIGURES) {
        (MAX_QUARTER_DISTANCE, MAX_QUARTER_DISTANCE)
    } else {
        return Occasion::Same;
    };
    if later < -least {
        Occasion::Earlier
    } else if later > long {
        Occasion::LongAfter
    } else if later > least {
        Occasion::Later
    } else {
        Occasion::Same
    }
}

/// Stems of growing counts: deaths, injuries, cases, votes. A beginning matches only if marked: "diesel" is not "die".
static RUNNING_COUNT_STEMS: Words = Words::of("figures.running");

/// Whether the count grows: "killed 50 people", "the death toll reached 50". "Fired 50 missiles, killing 7" counts
/// missiles.
pub(super) fn is_running(claim: &TextProfile, ours: &Quantity, theirs: &Quantity) -> bool {
    let counts = |counted: &String| RUNNING_COUNT_STEMS.has(counted);
    let is_other_thing =
        |stem: &String| !PEOPLE.has(stem) && !claim.name_stems.iter().flatten().any(|name| name == stem);
    ours.counted.iter().chain(&theirs.counted).any(counts)
        || (!thing(ours).is_some_and(is_other_thing) && mentions(claim, ours, &RUNNING_COUNT_STEMS))
}

fn mentions(claim: &TextProfile, figure: &Quantity, stems: &WordList) -> bool {
    sentence_at(claim, figure.start).is_some_and(|sentence| sentence.stems.iter().any(|stem| stems.has(stem)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::{NumberCheck, compare};

    fn at(text: &str, language: &str, day: &str) -> TextProfile {
        TextProfile::new(text, Some(language), format!("{day}T12:00:00Z").parse().ok(), &[])
    }

    fn held(claim: (&str, &str), passage: (&str, &str), language: &str) -> NumberCheck {
        compare(&at(claim.0, language, claim.1), &at(passage.0, language, passage.1))
    }

    #[test]
    fn another_days_strike_match_or_quarter_is_silent() {
        for (claim, passage, language) in [
            (
                ("В результате удара по Харькову ранены 5 человек.", "2026-05-11"),
                ("В результате удара по Харькову ранены 12 человек.", "2026-05-01"),
                "ru",
            ),
            (
                ("В результате удара по Харькову ранены 5 человек.", "2026-05-01"),
                ("В результате удара по Харькову ранены 12 человек.", "2026-05-11"),
                "ru",
            ),
            (
                ("В результате удара по Харькову 11 мая ранены 5 человек.", "2026-05-11"),
                ("В результате удара по Харькову 1 мая ранены 12 человек.", "2026-05-01"),
                "ru",
            ),
            (
                ("В результате удара по Харькову 11 мая 2026 года ранены 5 человек.", "2026-05-12"),
                ("В результате удара по Харькову ранены 12 человек.", "2026-05-01"),
                "ru",
            ),
            (
                ("Внаслідок обстрілу Нікополя поранено 3 людини.", "2026-05-11"),
                ("Внаслідок обстрілу Нікополя поранено 7 людей.", "2026-05-05"),
                "uk",
            ),
            (
                ("The strike on Kharkiv wounded 5 people.", "2026-05-11"),
                ("The strike on Kharkiv wounded 12 people.", "2026-05-01"),
                "en",
            ),
            (
                ("Telisk made a profit of 40 million euros.", "2026-08-11"),
                ("Telisk made a profit of 55 million euros.", "2026-05-10"),
                "en",
            ),
            (
                ("Сборная Орлеска обыграла Кастору, забив 3 мяча.", "2026-05-11"),
                ("Сборная Орлеска обыграла Кастору, забив 2 мяча.", "2026-03-01"),
                "ru",
            ),
        ] {
            let check = held(claim, passage, language);
            assert_ne!(check.num_ok, Some(false), "{} / {}: {check:?}", claim.0, passage.0);
        }
    }

    #[test]
    fn the_same_days_strike_differs_and_its_toll_grows() {
        let claim = ("The strike on Kharkiv wounded 5 people.", "2026-05-11");
        let same = held(claim, ("The strike on Kharkiv wounded 12 people.", "2026-05-11"), "en");
        assert_eq!((same.num_ok, same.newer_total), (Some(false), false));
        let later = held(claim, ("The strike on Kharkiv wounded 12 people.", "2026-05-13"), "en");
        assert!(later.num_ok == Some(false) && later.newer_total, "{later:?}");
        let quake = ("The earthquake in Nepal killed 50 people.", "2026-05-11");
        let long_after = held(quake, ("The earthquake in Nepal killed 700 people.", "2026-05-25"), "en");
        assert!(long_after.newer_total, "an earthquake is one, and its toll grows for weeks");
    }
}
