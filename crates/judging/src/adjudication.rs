//! Adds a language model's stance to the judge's probabilities.
//!
//! Both combine as two readers (naive Bayes), with a factor from the language model's reliability. The factor is
//! smaller with an NLI model, because both err on the same passages. If the judge reads the opposite, the language
//! model counts as neutral, and it alone is never decisive ([`super::verdicts::assess`]). So no answer or injected
//! order changes a verdict without a passage that allows it.

use corroborate_domain::evidence::{Adjudication, JudgedPassage, StanceProbabilities};
use corroborate_domain::verdict::Stance;

use super::decision::JudgeKind;
use super::scoring::Scoring;

/// Starting probabilities if the agreement rule takes no side. Common words do not predict the answer
/// (`docs/quality.md`).
const UNREAD_PRIOR: StanceProbabilities = StanceProbabilities { entail: 0.25, contradict: 0.25, neutral: 0.5 };

/// Exponent of the language model's weight next to an NLI model. With .4, a scripted model that is 90 % right raises
/// English news claims from .59 to .71 right. One that is 50 % right costs nothing (`cargo bench --bench adjudication`,
/// `docs/quality.md`).
const EXPONENT_WITH_MODEL: f64 = 0.4;

/// Minimum weighted share of the claim's numbers, names and key words for support, if only words were compared.
/// Excludes texts that only order the reader to agree. Chosen, not measured.
const MIN_SPECIFICITY: f64 = 0.3;

/// Returns the language model's stance, or neutral if the judge takes the opposite side. `None` if it was not asked.
pub fn accepted_stance(kind: JudgeKind, scoring: &Scoring, passage: &JudgedPassage) -> Option<Adjudication> {
    let adjudication = passage.adjudication?;
    let conflict = scoring.limits.conflict;
    let is_allowed = match adjudication.stance {
        Stance::Neutral => true,
        Stance::Supports => {
            passage.contradict < conflict
                && passage.num_ok != Some(false)
                && (kind.is_model() || passage.specificity >= MIN_SPECIFICITY)
        }
        Stance::Contradicts => passage.entail < conflict || (kind == JudgeKind::Rules && !takes_a_side(passage)),
    };
    let doubt = Adjudication { stance: Stance::Neutral, elsewhere: false };
    Some(if is_allowed { adjudication } else { doubt })
}

fn takes_a_side(passage: &JudgedPassage) -> bool {
    passage.stance() != Stance::Neutral
}

/// Returns the passages with combined probabilities; `None` if the language model judged none.
pub fn combined(kind: JudgeKind, scoring: &Scoring, passages: &[JudgedPassage]) -> Option<Vec<JudgedPassage>> {
    let was_asked = passages.iter().any(|passage| passage.adjudication.is_some());
    was_asked.then(|| passages.iter().map(|passage| of_both(kind, scoring, passage)).collect())
}

fn of_both(kind: JudgeKind, scoring: &Scoring, passage: &JudgedPassage) -> JudgedPassage {
    let JudgedPassage { entail, contradict, neutral, .. } = *passage;
    let own = if kind == JudgeKind::Rules && !takes_a_side(passage) {
        UNREAD_PRIOR
    } else {
        StanceProbabilities { entail, contradict, neutral }
    };
    let Some(adjudication) = accepted_stance(kind, scoring, passage) else {
        // A share of common words is not comparable with a model's figure.
        let is_unread = kind == JudgeKind::Rules && !takes_a_side(passage);
        let StanceProbabilities { entail, contradict, neutral } =
            if is_unread { StanceProbabilities::NEUTRAL } else { own };
        return JudgedPassage { entail, contradict, neutral, ..passage.clone() };
    };
    let StanceProbabilities { entail, contradict, neutral } =
        weighed(own, adjudication.stance, likelihood_ratio(kind, scoring));
    // By words alone a paraphrase looks off topic.
    let is_on_topic = kind == JudgeKind::Rules && adjudication.stance != Stance::Neutral;
    JudgedPassage {
        entail,
        contradict,
        neutral,
        relevance: if is_on_topic { passage.relevance.max(scoring.relevance_floor) } else { passage.relevance },
        out_of_context: passage.out_of_context || (adjudication.stance == Stance::Supports && adjudication.elsewhere),
        ..passage.clone()
    }
}

/// Returns how much likelier such a reader gives the right stance than another one.
fn likelihood_ratio(kind: JudgeKind, scoring: &Scoring) -> f64 {
    let reliability = scoring.llm_reliability;
    let ratio = reliability / ((1.0 - reliability) / 2.0);
    match kind {
        JudgeKind::Model => ratio.powf(EXPONENT_WITH_MODEL),
        JudgeKind::Rules => ratio,
    }
}

pub fn weighed(own: StanceProbabilities, reported: Stance, times: f64) -> StanceProbabilities {
    let of = |stance| if reported == stance { times } else { 1.0 };
    let entail = own.entail * of(Stance::Supports);
    let contradict = own.contradict * of(Stance::Contradicts);
    let neutral = own.neutral * of(Stance::Neutral);
    let sum = entail + contradict + neutral;
    if sum <= 0.0 {
        return own;
    }
    StanceProbabilities { entail: entail / sum, contradict: contradict / sum, neutral: neutral / sum }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::passage;
    use super::*;

    fn with_stance(own: JudgedPassage, stance: Stance) -> JudgedPassage {
        JudgedPassage { adjudication: Some(Adjudication { stance, elsewhere: false }), ..own }
    }

    fn both(kind: JudgeKind, passage: &JudgedPassage) -> JudgedPassage {
        of_both(kind, &Scoring::default(), passage)
    }

    #[test]
    fn a_second_reader_moves_figures_as_far_as_it_is_reliable() {
        let own = StanceProbabilities { entail: 0.3, contradict: 0.1, neutral: 0.6 };
        let of = |reliability| Scoring { llm_reliability: reliability, ..Scoring::default() };
        let entail =
            |reliability| weighed(own, Stance::Supports, likelihood_ratio(JudgeKind::Rules, &of(reliability))).entail;
        let [little, much] = [0.5, 0.9].map(entail);
        assert!(own.entail < little && little < much && much < 1.0, "{little} {much}");
        assert!((entail(1.0 / 3.0) - own.entail).abs() < 1e-12, "who guesses tells nothing");
        let ratio_of = |kind| likelihood_ratio(kind, &Scoring::default());
        assert!(ratio_of(JudgeKind::Model) > 1.0 && ratio_of(JudgeKind::Model) < ratio_of(JudgeKind::Rules));
    }

    #[test]
    fn a_stance_that_the_own_judge_reads_the_opposite_of_is_doubt_and_no_side() {
        let against = [(passage("a", 0.02, 0.8), Stance::Supports), (passage("a", 0.8, 0.02), Stance::Contradicts)];
        for (own, stance) in against {
            let after = both(JudgeKind::Model, &with_stance(own.clone(), stance));
            let doubted = both(JudgeKind::Model, &with_stance(own, Stance::Neutral));
            assert_eq!((after.entail, after.contradict), (doubted.entail, doubted.contradict));
        }
        let wrong_figure = JudgedPassage { num_ok: Some(false), ..passage("a", 0.2, 0.3) };
        let accepted =
            accepted_stance(JudgeKind::Model, &Scoring::default(), &with_stance(wrong_figure, Stance::Supports));
        assert_eq!(accepted.map(|adjudication| adjudication.stance), Some(Stance::Neutral));
    }

    #[test]
    fn language_model_counts_and_shared_words_do_not_when_only_words_were_compared() {
        let words = || JudgedPassage { entail: 0.4, contradict: 0.05, neutral: 0.55, ..passage("a", 0.0, 0.0) };
        assert_eq!(both(JudgeKind::Rules, &with_stance(words(), Stance::Supports)).stance(), Stance::Supports);
        assert_eq!(both(JudgeKind::Rules, &with_stance(words(), Stance::Contradicts)).stance(), Stance::Contradicts);
        assert!(both(JudgeKind::Rules, &words()).entail <= 0.0);
        let names_nothing = JudgedPassage { specificity: 0.1, ..words() };
        assert!(both(JudgeKind::Rules, &with_stance(names_nothing, Stance::Supports)).entail < 0.1);
    }

    proptest! {
        #[test]
        fn a_stance_never_lowers_its_own_side(e in 0.0..1.0f64, c in 0.0..1.0f64, times in 1.0..50.0f64) {
            prop_assume!(e + c <= 1.0);
            let own = StanceProbabilities { entail: e, contradict: c, neutral: 1.0 - e - c };
            prop_assert!(weighed(own, Stance::Supports, times).entail >= e - 1e-12);
            prop_assert!(weighed(own, Stance::Contradicts, times).contradict >= c - 1e-12);
            let open = weighed(own, Stance::Neutral, times);
            prop_assert!(open.entail <= e + 1e-12 && open.contradict <= c + 1e-12);
        }
    }
}
