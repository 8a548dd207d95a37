//! Caps stance probabilities: a passage that states nothing, is retracted or is about something else takes no side.
//!
//! Caps follow from four relations ([`crate::relations`]); figures and dates have their own
//! ([`crate::numbers::apply`]). A cap never raises a side.

use corroborate_domain::evidence::StanceProbabilities;

use crate::profile::TextProfile;
use crate::relations::factuality::DENIED_BY;
use crate::relations::scope::{ELSEWHERE, OTHER_GROUP};
use crate::relations::time::MAY_BE_OTHER;
use crate::relations::{Relation, Relations, relations};
use crate::stance::UNDECIDED;

/// Maximum contradiction by another time of an event that may recur. Between a side (0.5) and a plain contradiction
/// (0.7).
const MAY_BE_ANOTHER: f64 = 0.65;

pub fn capped(claim: &TextProfile, passage: &TextProfile, given: StanceProbabilities) -> StanceProbabilities {
    capped_by(&relations(claim, passage), given)
}

/// [`capped`] with known relations.
pub fn capped_by(relations: &Relations, given: StanceProbabilities) -> StanceProbabilities {
    let (most_entail, most_contradict) = (most_entail(relations), most_contradict(relations));
    let (entail, contradict) = (given.entail.min(most_entail), given.contradict.min(most_contradict));
    if (entail, contradict) == (given.entail, given.contradict) {
        return given;
    }
    StanceProbabilities { entail, contradict, neutral: (1.0 - entail - contradict).max(0.0) }
}

/// Maximum support: low if the passage states no fact, or has other actors, time or group.
fn most_entail(relations: &Relations) -> f64 {
    let differs = |relation| relations.differs(relation);
    let is_silent = differs(Relation::Factuality)
        || differs(Relation::Roles)
        || differs(Relation::Time)
        || relations.holds(OTHER_GROUP);
    if is_silent { UNDECIDED } else { 1.0 }
}

/// Maximum contradiction: low for another occasion, group or place. A reported denial refutes only if the passage also
/// denies.
fn most_contradict(relations: &Relations) -> f64 {
    let only_told = relations.holds(DENIED_BY) && !relations.differs(Relation::Polarity);
    if relations.holds(MAY_BE_OTHER) {
        return MAY_BE_ANOTHER;
    }
    let is_silent = relations.differs(Relation::Time) || relations.holds(OTHER_GROUP) || relations.holds(ELSEWHERE);
    if only_told || is_silent { UNDECIDED } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SURE: StanceProbabilities = StanceProbabilities { entail: 0.95, contradict: 0.02, neutral: 0.03 };
    const AGAINST: StanceProbabilities = StanceProbabilities { entail: 0.02, contradict: 0.95, neutral: 0.03 };

    fn after(claim: &str, passage: &str, given: StanceProbabilities) -> StanceProbabilities {
        let profile = |text: &str| TextProfile::new(text, None, None, &[]);
        capped(&profile(claim), &profile(passage), given)
    }

    #[test]
    fn what_states_it_keeps_its_side() {
        for (claim, passage) in [
            ("Украинские войска оставили Покровск.", "Генштаб подтвердил, что украинские войска оставили Покровск."),
            (
                "Украинские войска оставили Покровск.",
                "Украинские войска оставили Покровск, сообщил Генштаб. Слухи об этом шли давно.",
            ),
            ("Russia signed the treaty with Iran.", "Russia signed the treaty with Iran, which it will ratify in May."),
            ("The report that Iraq had weapons was a hoax.", "The report that Iraq had weapons was a hoax."),
            ("Trump was found guilty of fraud.", "Trump was found guilty of fraud over alleged hush money payments."),
            ("Matthew Perry died at 54.", "Matthew Perry, who starred in the series Friends, died at 54."),
            ("SpaceX launched Starship.", "SpaceX managed to launch Starship."),
            ("Zelensky fired Valery Zaluzhny.", "Zelensky fired Valery Zaluzhny. Fake images spread online."),
            ("Суд признал Трампа виновным.", "Суд признал Трампа виновным по всем пунктам обвинения."),
            ("Суд выдал ордер на арест Путина.", "Суд выдает ордер на арест Путина."),
            ("Smoking causes cancer.", "Studies suggest that smoking causes cancer and may cause strokes."),
            ("Armenia did not confirm the deal.", "Officials said that Armenia did not confirm the deal."),
        ] {
            assert_eq!(after(claim, passage, SURE), SURE, "{passage}");
        }
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
            ("Inflation in Turkey was 44.4% in 2024.", "Inflation in Turkey was 30.9% in 2025."),
            ("Harlow's profit was $3.1 billion in 2024.", "Harlow's profit was $4.0 billion in 2025."),
            (
                "Jannik Sinner won the Australian Open in January 2024.",
                "Jannik Sinner won the Australian Open in January 2025.",
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
    fn a_denial_that_is_only_told_refutes_nothing() {
        let told = "Lance Armstrong denied that he used banned drugs.";
        assert!(after("Lance Armstrong used banned drugs.", told, AGAINST).contradict < 0.6);
        for (claim, passage) in [
            ("Barack Obama was born in Kenya.", "Barack Obama was born in Hawaii."),
            ("Tom Hanks was arrested.", "Tom Hanks was not arrested; his agent denied the reports."),
            ("The treaty was signed in Vienna.", "The treaty was signed in Rome in 1957."),
            ("A mosque was set on fire in Birmingham.", "No mosque was set on fire in Birmingham, police said."),
        ] {
            assert_eq!(after(claim, passage, AGAINST), AGAINST, "{passage}");
        }
    }

    proptest! {
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
