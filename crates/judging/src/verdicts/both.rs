//! Judges a claim by the judge alone, or together with a language model.

use corroborate_domain::evidence::{JudgedPassage, MatchedReview};
use corroborate_domain::result::Decision;
use corroborate_domain::verdict::{Note, Stance, Tier, Verdict};

use super::{Assessment, ClaimContext, assess_by_one, read_by_model};
use crate::adjudication;
use crate::decision::{JudgeKind, LANGUAGE_MODEL_SUFFIX};
use crate::features::{self, groups_of};
use crate::scoring::Scoring;

/// Judges one claim from its passages and matched reviews. The order affects only the indices in `citations`.
///
/// With a language model both readings are combined ([`adjudication`]), under three rules:
/// * A verdict that the judge alone makes decisive stays.
/// * No verdict is decisive unless the judge alone reaches it.
/// * If the model supports none of the cited passages, a decisive verdict becomes provisional.
pub fn assess(context: &ClaimContext, passages: &[JudgedPassage], reviews: &[MatchedReview]) -> Assessment {
    let own = assess_by_one(context, passages, reviews);
    let Some(combined) = adjudication::combined(context.judge, &context.scoring, passages) else { return own };
    if own.by_fact_check {
        return own;
    }
    if own.decisive {
        // A fact at another time or place is no plain support.
        let elsewhere_counts = own.verdict != Verdict::Supported;
        let is_supported = own.citations.iter().filter_map(|cited| passages.get(*cited)).any(|passage| {
            passage.adjudication.is_none_or(|adjudication| {
                adjudication.stance == passage.stance()
                    && passage.stance() != Stance::Neutral
                    && (elsewhere_counts || !adjudication.elsewhere)
            })
        });
        if is_supported {
            return own;
        }
        let mut doubted = lean(own, &context.scoring);
        doubted.notes.push(Note::JudgesDisagree);
        return doubted;
    }
    // Combined figures resemble a model's, whatever the judge.
    let as_read = ClaimContext { judge: JudgeKind::Model, ..context.clone() };
    let both = assess_by_one(&as_read, &combined, reviews);
    let table = format!("{}{}", context.judge.as_str(), LANGUAGE_MODEL_SUFFIX);
    let decisive = context.judge.is_model()
        && both.decisive
        && own.verdict == both.verdict
        && is_shown_alone(context, passages, both.verdict);
    let both = if decisive { both } else { lean(both, &context.scoring) };
    Assessment {
        // Support by the language model alone is no high corroboration.
        tier: if own.verdict == both.verdict || both.tier != Tier::High { both.tier } else { Tier::Medium },
        decision: both.decision.map(|decision| Decision { table, ..decision }),
        by_both: true,
        ..both
    }
}

/// The assessment as provisional: score and tier are limited accordingly.
fn lean(firm: Assessment, scoring: &Scoring) -> Assessment {
    let most = features::cap(firm.verdict, false, &scoring.curve);
    Assessment {
        decisive: false,
        score: firm.score.map(|score| score.min(most)),
        tier: if firm.decisive && firm.tier == Tier::High { Tier::Medium } else { firm.tier },
        ..firm
    }
}

/// Whether the judge alone finds enough passages of that side to be decisive.
fn is_shown_alone(context: &ClaimContext, passages: &[JudgedPassage], verdict: Verdict) -> bool {
    let side = match verdict {
        Verdict::Supported | Verdict::Misleading => Stance::Supports,
        _ => Stance::Contradicts,
    };
    let deciding = read_by_model(&features::deciding(passages, context.scoring.relevance_floor));
    let own = deciding.iter().filter(|passage| passage.stance() == side);
    let is_credible = own.clone().any(|passage| passage.credibility >= context.scoring.limits.lone_credibility);
    is_credible || groups_of(&deciding, side).len() > 1
}

#[cfg(test)]
mod tests {
    use corroborate_domain::evidence::Adjudication;
    use proptest::prelude::*;

    use super::*;
    use crate::samples::{any_passages, context, passage};

    fn adjudicated(id: &str, entail: f64, contradict: f64, stance: Stance) -> JudgedPassage {
        let adjudication = Some(Adjudication { stance, elsewhere: false });
        JudgedPassage { adjudication, ..passage(id, entail, contradict) }
    }

    fn any_stance() -> impl Strategy<Value = Option<Adjudication>> {
        let stance = prop_oneof![Just(Stance::Supports), Just(Stance::Contradicts), Just(Stance::Neutral)];
        proptest::option::of((stance, any::<bool>()).prop_map(|(stance, elsewhere)| Adjudication { stance, elsewhere }))
    }

    fn any_judge() -> impl Strategy<Value = JudgeKind> {
        prop_oneof![Just(JudgeKind::Model), Just(JudgeKind::Rules)]
    }

    fn side(verdict: Verdict) -> Option<Stance> {
        match verdict {
            Verdict::Supported | Verdict::Misleading => Some(Stance::Supports),
            Verdict::Refuted | Verdict::Outdated => Some(Stance::Contradicts),
            Verdict::Contested | Verdict::NotEnoughEvidence | Verdict::NotVerifiable => None,
        }
    }

    #[test]
    fn firm_verdict_becomes_a_lean_when_the_model_supports_no_passage() {
        let firm = ["a", "b", "c"].map(|id| passage(id, 0.97, 0.0));
        assert!(assess(&context(), &firm, &[]).decisive);
        for stance in [Stance::Contradicts, Stance::Neutral] {
            let doubted = ["a", "b", "c"].map(|id| adjudicated(id, 0.97, 0.0, stance));
            let found = assess(&context(), &doubted, &[]);
            assert_eq!((found.verdict, found.decisive), (Verdict::Supported, false));
            assert!(found.notes.contains(&Note::JudgesDisagree));
            let most = features::cap(Verdict::Supported, false, &context().scoring.curve);
            assert!(found.score.is_some_and(|score| score <= most) && found.tier != Tier::High, "{found:?}");
        }
        let elsewhere = firm.clone().map(|one| {
            let adjudication = Some(Adjudication { stance: Stance::Supports, elsewhere: true });
            JudgedPassage { adjudication, ..one }
        });
        assert!(!assess(&context(), &elsewhere, &[]).decisive, "true of another time bears no plain support out");
        let agreed = ["a", "b", "c"].map(|id| adjudicated(id, 0.97, 0.0, Stance::Supports));
        assert!(assess(&context(), &agreed, &[]).decisive);
    }

    #[test]
    fn where_only_words_were_compared_the_model_gives_a_lean_and_never_more() {
        let context = ClaimContext { judge: JudgeKind::Rules, ..context() };
        let words = |stance| ["a", "b", "c"].map(|id| adjudicated(id, 0.3, 0.05, stance));
        for (stance, verdict) in [(Stance::Supports, Verdict::Supported), (Stance::Contradicts, Verdict::Refuted)] {
            let found = assess(&context, &words(stance), &[]);
            assert_eq!((found.verdict, found.decisive), (verdict, false));
            assert!(found.tier != Tier::High);
        }
        assert_eq!(assess(&context, &words(Stance::Neutral), &[]).verdict, Verdict::NotEnoughEvidence);
    }

    proptest! {
        #[test]
        fn whatever_the_model_says_no_verdict_turns_without_a_passage_whose_own_reading_allows_it(
            passages in any_passages(),
            stances in proptest::collection::vec(any_stance(), 12),
            judge in any_judge(),
        ) {
            let context = ClaimContext { judge, ..context() };
            let own = assess(&context, &passages, &[]);
            let adjudicated: Vec<JudgedPassage> = passages
                .iter()
                .zip(stances.into_iter().cycle())
                .map(|(one, adjudication)| JudgedPassage { adjudication, ..one.clone() })
                .collect();
            let both = assess(&context, &adjudicated, &[]);
            if own.decisive {
                prop_assert_eq!(both.verdict, own.verdict, "what is firm without it stands");
            }
            if both.decisive {
                prop_assert_eq!(both.verdict, own.verdict, "it makes nothing firm that is not so without it");
            }
            if let Some(side) = side(both.verdict) {
                let other = if side == Stance::Supports { Stance::Contradicts } else { Stance::Supports };
                let leans = |p: &JudgedPassage| match side {
                    Stance::Supports => p.entail > p.contradict,
                    _ => p.contradict > p.entail,
                };
                let allows = |p: &&JudgedPassage| {
                    p.stance() != other
                        && (leans(p) || p.adjudication.is_some_and(|adjudication| adjudication.stance == side))
                };
                prop_assert!(adjudicated.iter().any(|p| allows(&p)), "{:?}", both.verdict);
            }
        }
    }
}
