//! Decides whether the time is the same, or another occasion of a recurring event.

use chrono::TimeDelta;
use corroborate_language::cut;
use corroborate_language::lexicon::Parts;

use crate::numbers::repeating::{Occasion, occasion};
use crate::numbers::{Recurrence, recurrence};
use crate::profile::{SentenceProfile, TextProfile};

use super::scope::has_figure;
use super::{Answer, Held, Rule};

/// Certain answers first.
pub(super) const RULES: &[Rule] = &[
    Rule { id: AGAIN, answer: Answer::Differs, holds: |held, at| another(held, at) == Some(Recurrence::Again) },
    Rule { id: OTHER_DAY, answer: Answer::Differs, holds: |held, _| is_of_another_day(held.claim, held.passage) },
    Rule {
        id: LONG_AGO,
        answer: Answer::Differs,
        holds: |held, at| held.at(at).is_some_and(|own| is_of_long_before(held.claim, held.passage, own)),
    },
    Rule {
        id: NOT_YET,
        answer: Answer::Differs,
        holds: |held, at| held.at(at).is_some_and(|own| is_not_yet(held.claim, held.passage, own)),
    },
    Rule {
        id: MAY_BE_OTHER,
        answer: Answer::Differs,
        holds: |held, at| another(held, at) == Some(Recurrence::Unknown),
    },
];

/// Another year of an annual event.
pub const AGAIN: &str = "time.another_occasion";
/// Another day's strike, match or quarter.
pub const OTHER_DAY: &str = "time.another_day";
/// Dated long before.
pub const LONG_AGO: &str = "time.long_before";
/// Before the claim's day, when it had not happened.
pub const NOT_YET: &str = "time.not_yet";
/// Recurrence unknown.
pub const MAY_BE_OTHER: &str = "time.may_be_another";

fn another(held: &Held<'_>, at: usize) -> Option<Recurrence> {
    held.occasions.another(held.at(at)?)
}

/// Maximum age of dates for a claim about the present.
const LONG_BEFORE: TimeDelta = TimeDelta::days(200);

/// Whether an older passage reports that the event has not happened yet.
fn is_not_yet(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    static YET: Parts = Parts::of("time.yet");
    let Some((claimed, published)) = claim.reference.zip(passage.reference) else { return false };
    let text = format!(" {}", cut(&passage.text, sentence.start, sentence.end).to_lowercase());
    let own = claim.text.to_lowercase();
    published.date_naive() < claimed.date_naive()
        && YET.all().iter().any(|yet| text.contains(yet.as_str()) && !own.contains(yet.as_str()))
}

/// Whether the sentence is dated long before an undated claim about a recurring fact: last year's price.
fn is_of_long_before(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let Some(now) =
        claim.reference.or(passage.reference).filter(|_| claim.dates.is_empty() && claim.negations.is_multiple_of(2))
    else {
        return false;
    };
    let text = cut(&passage.text, sentence.start, sentence.end);
    let mut dates = passage.dates.iter().filter(|date| text.contains(&date.text)).peekable();
    dates.peek().is_some()
        && dates.all(|date| now.date_naive().signed_duration_since(date.end) > LONG_BEFORE)
        && recurrence(claim) == Recurrence::Again
}

/// Whether the passage reports another day's event: a strike ten days ago. A later denial concerns this one.
fn is_of_another_day(claim: &TextProfile, passage: &TextProfile) -> bool {
    has_figure(claim)
        && match occasion(claim, passage) {
            Occasion::Earlier => true,
            Occasion::LongAfter => passage.negations.is_multiple_of(2),
            Occasion::Same | Occasion::Later => false,
        }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::relations::{Relation, relations};

    fn at(text: &str, day: &str) -> TextProfile {
        TextProfile::new(text, None, format!("{day}T09:00:00Z").parse().ok(), &[])
    }

    fn rule(claim: &TextProfile, passage: &TextProfile) -> &'static str {
        let found = relations(claim, passage);
        found.findings().iter().find(|finding| finding.relation == Relation::Time).map_or("", |finding| finding.rule)
    }

    #[test]
    fn another_time_of_what_comes_again_differs() {
        let day = "2026-10-14";
        for (claim, passage, expected) in [
            ("Inflation in Turkey was 44.4% in 2024.", "Inflation in Turkey was 30.9% in 2025.", AGAIN),
            ("Inflation in Turkey was 44.4% in 2024.", "Inflation in Turkey was 44.4% in 2024.", ""),
            ("Telisk has 12 million customers.", "Telisk had 8 million customers in 2018.", LONG_AGO),
            ("Telisk has 12 million customers.", "Telisk has 8 million customers in 2026.", ""),
            ("The treaty was ratified in 1958.", "The treaty was ratified in 1957.", ""),
        ] {
            assert_eq!(rule(&at(claim, day), &at(passage, day)), expected, "{claim} / {passage}");
        }
        let strike = "В результате удара по Харькову ранены 5 человек.";
        assert_eq!(rule(&at(strike, "2026-05-11"), &at(strike, "2026-05-01")), OTHER_DAY);
        assert_eq!(rule(&at(strike, "2026-05-11"), &at(strike, "2026-05-11")), "");
        let (claim, passage) = ("Рада приняла закон о рынке.", "Рада пока не приняла закон о рынке.");
        assert_eq!(rule(&at(claim, "2026-05-11"), &at(passage, "2026-05-01")), NOT_YET);
    }

    proptest! {
        #[test]
        fn a_text_is_of_its_own_time(year in 1990..2026i32) {
            let text = at(&format!("Inflation in Turkey was 44.4% in {year}."), "2026-10-14");
            prop_assert_ne!(rule(&text, &text), AGAIN);
        }
    }
}
