//! Combines the NLI model's probabilities with the rules'.
//!
//! Rules are precise but rare: near-verbatim reports, plain denials, differing figures of the same subject. The model
//! reads the rest and confuses shared words with the same meaning. If a rule and the model contradict each other, no
//! side wins.

use corroborate_domain::evidence::{StanceProbabilities, TAKES_A_SIDE};

/// Maximum of either side if rule and model contradict each other, below [`SUPPORTS`].
pub const UNDECIDED: f64 = 0.49;

/// Probability from which a passage takes a side ([`corroborate_domain::evidence::JudgedPassage::stance`]).
pub const SUPPORTS: f64 = TAKES_A_SIDE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    For,
    Against,
    Neither,
}

fn side(p: StanceProbabilities) -> Side {
    if p.contradict >= SUPPORTS {
        Side::Against
    } else if p.entail >= SUPPORTS {
        Side::For
    } else {
        Side::Neither
    }
}

/// Combines both for one pair; figures and dates follow ([`crate::numbers::apply`]).
///
/// * Rules take no side: the model's result.
/// * Both take the same side: the surer one.
/// * The model takes no side: the mean.
/// * Opposite sides: neither reaches [`SUPPORTS`].
pub fn combine(model: StanceProbabilities, rules: StanceProbabilities) -> StanceProbabilities {
    let (ours, theirs) = (side(rules), side(model));
    if ours == Side::Neither {
        return model;
    }
    if ours == theirs {
        let confidence = |p: StanceProbabilities| if ours == Side::For { p.entail } else { p.contradict };
        return if confidence(model) >= confidence(rules) { model } else { rules };
    }
    let entail = f64::midpoint(model.entail, rules.entail);
    let contradict = f64::midpoint(model.contradict, rules.contradict);
    if theirs == Side::Neither {
        return StanceProbabilities { entail, contradict, neutral: (1.0 - entail - contradict).max(0.0) };
    }
    let (entail, contradict) = (entail.min(UNDECIDED), contradict.min(UNDECIDED));
    StanceProbabilities { entail, contradict, neutral: (1.0 - entail - contradict).max(0.0) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn p(entail: f64, neutral: f64, contradict: f64) -> StanceProbabilities {
        StanceProbabilities { entail, contradict, neutral }
    }

    #[test]
    fn who_decides_where_rule_and_model_meet() {
        let silent = p(0.2, 0.75, 0.05);
        let rows = [
            // The rules take no side: the model decides.
            (p(0.9, 0.08, 0.02), silent, Side::For),
            (p(0.1, 0.1, 0.8), silent, Side::Against),
            // Rule and model disagree: no side.
            (p(0.95, 0.03, 0.02), p(0.05, 0.1, 0.85), Side::Neither),
            (p(0.02, 0.0, 0.98), p(0.92, 0.05, 0.03), Side::Neither),
            // Both agree.
            (p(0.7, 0.2, 0.1), p(0.8, 0.17, 0.03), Side::For),
            (p(0.1, 0.2, 0.7), p(0.05, 0.15, 0.8), Side::Against),
        ];
        for (model, rules, expected) in rows {
            assert_eq!(side(combine(model, rules)), expected, "{model:?} with {rules:?}");
        }
    }

    proptest! {
        #[test]
        fn a_disagreement_takes_no_side(e in 0.6..=1.0f64, c in 0.6..=1.0f64) {
            let (for_it, against) = (p(e, 1.0 - e, 0.0), p(0.0, 1.0 - c, c));
            for both in [combine(for_it, against), combine(against, for_it)] {
                prop_assert_eq!(side(both), Side::Neither);
                prop_assert!((both.entail + both.contradict + both.neutral - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn silent_rules_change_nothing(e in 0.0..=1.0f64, share in 0.0..=1.0f64, own in 0.0..0.49f64) {
            let model = p(e, (1.0 - e) * share, (1.0 - e) * (1.0 - share));
            prop_assert_eq!(combine(model, p(own, 1.0 - own, 0.0)), model);
        }
    }
}
