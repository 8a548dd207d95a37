//! Compares amounts and days of a claim with those of a passage ([`crate::numbers`]).

use crate::numbers::{self, NumberCheck};
use crate::profile::TextProfile;

use super::{Answer, Finding, Relation};

/// All aligned figures and dates agree.
pub const AGREES: &str = "quantity.agrees";
/// One of the same event differs.
pub const DIFFERS: &str = "quantity.differs";
/// A newer, larger running total, or a newer level.
pub const NEWER: &str = "quantity.newer_total";

pub(super) const IDS: [&str; 3] = [AGREES, DIFFERS, NEWER];

pub(super) fn finding(claim: &TextProfile, passage: &TextProfile) -> Finding {
    let check = numbers::compare(claim, passage);
    let (answer, rule) = match check {
        NumberCheck { num_ok: Some(true), .. } => (Answer::Agrees, AGREES),
        NumberCheck { num_ok: Some(false), newer_total: true, .. } => (Answer::Differs, NEWER),
        NumberCheck { num_ok: Some(false), .. } => (Answer::Differs, DIFFERS),
        NumberCheck { num_ok: None, .. } => (Answer::Unknown, ""),
    };
    let shown = check.mismatch.as_ref().map(|(_, theirs)| theirs.as_str());
    let at = shown.and_then(|shown| Some((passage.text.find(shown)?, shown.len())));
    let span = at.map_or((0, 0), |(from, length)| (from, from + length));
    Finding { relation: Relation::Quantity, answer, rule, span }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(claim: &str, passage: &str) -> Finding {
        let profile = |text: &str| TextProfile::new(text, None, None, &[]);
        finding(&profile(claim), &profile(passage))
    }

    #[test]
    fn the_same_figure_agrees_and_another_of_the_same_event_differs() {
        let claim = "The flood in Arlen killed 37 people.";
        let rows = [
            ("The flood in Arlen killed 37 people, police said.", Answer::Agrees),
            ("The flood in Arlen killed 73 people, police said.", Answer::Differs),
            ("The flood in Arlen killed several people.", Answer::Unknown),
            ("A storm in Halden hurt 73 people.", Answer::Unknown),
        ];
        for (passage, answer) in rows {
            assert_eq!(found(claim, passage).answer, answer, "{passage}");
        }
        let differing = found(claim, rows[1].0);
        assert_eq!(rows[1].0.get(differing.span.0..differing.span.1), Some("73"));
    }

    proptest! {
        #[test]
        fn a_span_lies_within_the_passage(one in 0..99u32, other in 0..99u32) {
            let passage = format!("The flood in Arlen killed {other} people.");
            let found = found(&format!("The flood in Arlen killed {one} people."), &passage);
            prop_assert!(found.span.0 <= found.span.1 && found.span.1 <= passage.len());
            prop_assert_eq!(found.answer == Answer::Agrees, one == other && found.answer != Answer::Unknown);
        }
    }
}
