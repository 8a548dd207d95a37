//! Limits stance probabilities of passages about another time, place or group, or with exchanged roles.
//!
//! The NLI model does not see publication dates, and takes "B invaded A" for "A invaded B". On pairs of public sets these
//! rules change almost nothing; on dated claims they prevent conclusive errors (`docs/research/011-rule-ablation.md`). A limit
//! never raises a side. To add a rule, add a row to [`RULES`] and to the test, and measure it on sets that it was not
//! written for.

use chrono::TimeDelta;
use corroborate_domain::evidence::StanceProbabilities;
use corroborate_language::cut;
use corroborate_language::entities::kind::EntityKind;
use corroborate_language::lexicon::Parts;

use crate::coverage::sentence_coverage;
use crate::names::Names;
use crate::numbers::occasions::{Occasion, occasion};
use crate::numbers::{Occasions, Recurrence, has_count, is_of_another_group, recurrence};
use crate::profile::{SentenceProfile, TextProfile};
use crate::roles::are_exchanged;
use crate::stance::MAX_UNDECIDED;

/// Maximum contradiction by another time of an event that may recur. Between a side (0.5) and a plain contradiction (0.7).
const MAX_UNCERTAIN_TIME: f64 = 0.65;

/// Minimum share of the best sentence's claim words for another one that may be the basis.
const MIN_SHARE_OF_BEST: f64 = 0.85;

/// Maximum age of dates for a claim about the present.
const MAX_DATE_AGE: TimeDelta = TimeDelta::days(200);

struct Rule {
    /// As stored with the verdict.
    id: &'static str,
    max_entail: f64,
    max_contradict: f64,
    holds: fn(&Pair<'_>, &SentenceProfile) -> bool,
}

const RULES: [Rule; 8] = [
    Rule {
        id: "roles.exchanged",
        max_entail: MAX_UNDECIDED,
        max_contradict: 1.0,
        holds: |pair, sentence| are_exchanged(pair.claim, pair.passage, sentence),
    },
    // Another year of an annual event.
    Rule {
        id: "time.another_occasion",
        max_entail: MAX_UNDECIDED,
        max_contradict: MAX_UNDECIDED,
        holds: |pair, sentence| pair.occasions.another(sentence) == Some(Recurrence::Again),
    },
    Rule {
        id: "time.may_be_another",
        max_entail: MAX_UNDECIDED,
        max_contradict: MAX_UNCERTAIN_TIME,
        holds: |pair, sentence| pair.occasions.another(sentence) == Some(Recurrence::Unknown),
    },
    // Another day's strike, match or quarter.
    Rule {
        id: "time.another_day",
        max_entail: MAX_UNDECIDED,
        max_contradict: MAX_UNDECIDED,
        holds: |pair, _| is_of_another_day(pair.claim, pair.passage),
    },
    // Before the claim's day, when it had not happened.
    Rule {
        id: "time.not_yet",
        max_entail: MAX_UNDECIDED,
        max_contradict: MAX_UNDECIDED,
        holds: |pair, sentence| is_not_yet(pair.claim, pair.passage, sentence),
    },
    // An old figure does not refute a present one. It may support it: the year may be that of another event.
    Rule {
        id: "time.long_before",
        max_entail: 1.0,
        max_contradict: MAX_UNDECIDED,
        holds: |pair, sentence| is_of_long_before(pair.claim, pair.passage, sentence),
    },
    Rule {
        id: "scope.other_group",
        max_entail: MAX_UNDECIDED,
        max_contradict: MAX_UNDECIDED,
        holds: |pair, sentence| is_of_another_group(pair.claim, sentence),
    },
    Rule {
        id: "scope.elsewhere",
        max_entail: 1.0,
        max_contradict: MAX_UNDECIDED,
        holds: |pair, _| is_elsewhere(pair.claim, pair.passage),
    },
];

struct Pair<'a> {
    claim: &'a TextProfile,
    passage: &'a TextProfile,
    occasions: Occasions<'a>,
}

/// Returns the rules that hold for all sentences with nearly the most claim words: one plain sentence states the claim.
fn matching(claim: &TextProfile, passage: &TextProfile) -> Vec<&'static Rule> {
    let shares: Vec<f64> = passage.sentences.iter().map(|sentence| sentence_coverage(claim, sentence)).collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    let near: Vec<&SentenceProfile> = passage
        .sentences
        .iter()
        .zip(&shares)
        .filter(|(_, share)| **share >= MIN_SHARE_OF_BEST * most)
        .map(|(sentence, _)| sentence)
        .collect();
    let pair = Pair { claim, passage, occasions: Occasions::new(claim, passage) };
    let holds = |rule: &&Rule| !near.is_empty() && near.iter().all(|sentence| (rule.holds)(&pair, sentence));
    RULES.iter().filter(holds).collect()
}

/// Ids of the rules that hold.
pub fn rule_ids(claim: &TextProfile, passage: &TextProfile) -> Vec<&'static str> {
    matching(claim, passage).into_iter().map(|rule| rule.id).collect()
}

/// Applies the limits of all rules that hold.
pub fn capped(claim: &TextProfile, passage: &TextProfile, given: StanceProbabilities) -> StanceProbabilities {
    let (mut entail, mut contradict) = (given.entail, given.contradict);
    for rule in matching(claim, passage) {
        entail = entail.min(rule.max_entail);
        contradict = contradict.min(rule.max_contradict);
    }
    if (entail, contradict) == (given.entail, given.contradict) {
        return given;
    }
    StanceProbabilities { entail, contradict, neutral: (1.0 - entail - contradict).max(0.0) }
}

/// Whether the passage reports another day's event: a strike ten days ago. A later denial concerns this one.
fn is_of_another_day(claim: &TextProfile, passage: &TextProfile) -> bool {
    has_count(claim)
        && match occasion(claim, passage) {
            Occasion::Earlier => true,
            Occasion::LongAfter => passage.negations.is_multiple_of(2),
            Occasion::Same | Occasion::Later => false,
        }
}

/// Whether an older passage reports that the event has not happened yet.
fn is_not_yet(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    static NOT_YET: Parts = Parts::of("time.yet");
    let Some((claimed, published)) = claim.reference.zip(passage.reference) else { return false };
    let text = format!(" {}", cut(&passage.text, sentence.start, sentence.end).to_lowercase());
    let own = claim.text.to_lowercase();
    published.date_naive() < claimed.date_naive()
        && NOT_YET.all().iter().any(|yet| text.contains(yet.as_str()) && !own.contains(yet.as_str()))
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
        && dates.all(|date| now.date_naive().signed_duration_since(date.end) > MAX_DATE_AGE)
        && recurrence(claim) == Recurrence::Again
}

/// Whether a claim about one of many ("a fire in Leeds") meets only other places. A unique thing ("the treaty") has one
/// place. Only English, whose article shows the difference.
fn is_elsewhere(claim: &TextProfile, passage: &TextProfile) -> bool {
    let may_be_place = |kind: EntityKind| matches!(kind, EntityKind::Loc | EntityKind::Misc);
    let first = claim.sentences.first().and_then(|own| own.words.first()).map_or("", |word| word.text.as_str());
    matches!(first, "a" | "an")
        && passage.negations == 0
        && !claim.entities.is_empty()
        && claim.entities.iter().all(|name| may_be_place(name.kind))
        && passage.entities.iter().any(|name| may_be_place(name.kind))
        && Names::new(claim, passage).found() <= 0.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SURE: StanceProbabilities = StanceProbabilities { entail: 0.95, contradict: 0.02, neutral: 0.03 };
    const AGAINST: StanceProbabilities = StanceProbabilities { entail: 0.02, contradict: 0.95, neutral: 0.03 };

    fn at(text: &str, day: &str) -> TextProfile {
        TextProfile::new(text, None, format!("{day}T09:00:00Z").parse().ok(), &[])
    }

    fn after(claim: &str, passage: &str, given: StanceProbabilities) -> StanceProbabilities {
        let profile = |text: &str| TextProfile::new(text, None, None, &[]);
        capped(&profile(claim), &profile(passage), given)
    }

    #[test]
    fn rules_hold_for_another_time_place_group_or_doer() {
        let day = "2026-10-14";
        for (claim, passage, expected) in [
            (
                "Inflation in Turkey was 44.4% in 2024.",
                "Inflation in Turkey was 30.9% in 2025.",
                "time.another_occasion",
            ),
            ("Inflation in Turkey was 44.4% in 2024.", "Inflation in Turkey was 44.4% in 2024.", ""),
            ("Telisk has 12 million customers.", "Telisk had 8 million customers in 2018.", "time.long_before"),
            ("Telisk has 12 million customers.", "Telisk has 8 million customers in 2026.", ""),
            ("The treaty was ratified in 1958.", "The treaty was ratified in 1957.", ""),
            (
                "Women in Kastoria live to 84 on average.",
                "Average male life expectancy in Kastoria is 77 years.",
                "scope.other_group",
            ),
            (
                "Larn imported 7 million tonnes of grain.",
                "Larn exported 7 million tonnes of grain.",
                "scope.other_group",
            ),
            (
                "Середня пенсія в Ларні — 14 тисяч гривень.",
                "Середня зарплата в Ларні — 14 тисяч гривень.",
                "scope.other_group",
            ),
            (
                "Прибыль завода составила 900 млн рублей.",
                "Выручка завода составила 900 млн рублей.",
                "scope.other_group",
            ),
            ("Завод нанял 400 рабочих.", "Завод уволил 400 рабочих.", "scope.other_group"),
            (
                "The firm's profit was 9 million euros.",
                "The firm's profit was 9 million euros on revenue of 90 million.",
                "",
            ),
            ("The north tower is 180 metres tall.", "The north tower is 150 metres tall and the south one 90.", ""),
            (
                "A mosque was set on fire in Birmingham.",
                "In Malmö in Sweden a fire broke out in a school, police said.",
                "scope.elsewhere",
            ),
            ("Telisk acquired Norvatel.", "Norvatel acquired Telisk.", "roles.exchanged"),
            ("A mosque was set on fire in Birmingham.", "No mosque was set on fire in Birmingham, police said.", ""),
        ] {
            assert_eq!(rule_ids(&at(claim, day), &at(passage, day)).join(" "), expected, "{claim} / {passage}");
        }
        let strike = "В результате удара по Харькову ранены 5 человек.";
        assert_eq!(rule_ids(&at(strike, "2026-05-11"), &at(strike, "2026-05-01")), ["time.another_day"]);
        assert_eq!(rule_ids(&at(strike, "2026-05-11"), &at(strike, "2026-05-11")), [""; 0]);
        let (claim, passage) = ("Рада приняла закон о рынке.", "Рада пока не приняла закон о рынке.");
        assert_eq!(rule_ids(&at(claim, "2026-05-11"), &at(passage, "2026-05-01")), ["time.not_yet"]);
    }

    #[test]
    fn another_year_refutes_only_what_happens_once() {
        for (claim, passage) in [
            (
                "Vladimir Putin visited Beijing in October 2023.",
                "Vladimir Putin visited Beijing in September 2025 for a parade.",
            ),
            (
                "Boeing delivered 348 aircraft in 2024.",
                "Boeing delivered 600 aircraft in 2025, its best year since 2018.",
            ),
            ("There were 61,070 measles cases in 2023.", "There were 127,350 measles cases in 2024."),
            ("Toyota recalled 440,000 cars in March 2025.", "Toyota recalled 394,000 cars in October 2025."),
        ] {
            assert!(after(claim, passage, AGAINST).contradict < 0.6, "{passage}");
        }
        for (claim, passage) in [
            ("The treaty was ratified in 1958.", "The treaty was ratified in 1957."),
            ("Marie Curie died in 1930.", "Marie Curie died in 1934."),
            ("Macron resigned on Monday.", "Macron resigned on Wednesday."),
            ("Putin visited Beijing in October 2023.", "Putin did not visit Beijing in October 2023."),
        ] {
            assert_eq!(after(claim, passage, AGAINST), AGAINST, "{passage}");
        }
    }

    #[test]
    fn a_year_of_another_event_does_not_take_support_away() {
        let (claim, passage) =
            ("Arlen University has 12,000 students.", "Founded in 1871, Arlen University has 12,000 students.");
        let profile = |text: &str| at(text, "2026-10-14");
        assert_eq!(capped(&profile(claim), &profile(passage), SURE), SURE);
    }

    proptest! {
        #[test]
        fn no_rule_holds_for_a_text_and_itself(year in 1990..2026i32) {
            let text = at(&format!("Inflation in Turkey was 44.4% in {year}."), "2026-10-14");
            let found = rule_ids(&text, &text);
            prop_assert!(found.is_empty(), "{found:?}");
        }

        #[test]
        fn a_cap_never_raises_a_side(
            claim in "\\PC{0,60}",
            passage in "\\PC{0,120}",
            entail in 0.0..=1.0f64,
            share in 0.0..=1.0f64,
        ) {
            let contradict = (1.0 - entail) * share;
            let given = StanceProbabilities { entail, contradict, neutral: 1.0 - entail - contradict };
            let capped = after(&claim, &passage, given);
            prop_assert!(capped.entail <= given.entail && capped.contradict <= given.contradict);
            prop_assert!((capped.entail + capped.contradict + capped.neutral - 1.0).abs() < 1e-9);
        }
    }
}
