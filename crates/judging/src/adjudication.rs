//! A language model as one more judge: what it says of a passage moves the judge's own figures, as far as it is reliable and
//! as far as they allow.
//!
//! The two are combined as independent readers (naive Bayes): the own probabilities times how often a model of that
//! reliability says what it said of a passage that supports, contradicts or leaves open. It never speaks alone: a stance that
//! the own judge reads the opposite of counts for nothing, and what it makes of a claim is never decisive by itself
//! ([`super::verdicts::assess`]). So whatever it answers, and whatever a page told it to answer, no verdict turns without a
//! passage whose own reading allows it.

use corroborate_domain::evidence::{Adjudication, JudgedPassage, StanceProbabilities};
use corroborate_domain::verdict::Stance;

use super::decision::JudgeKind;
use super::scoring::Scoring;

/// Where only words were compared and no rule takes a side, their share tells nothing of who is right (docs/quality.md).
const UNREAD: StanceProbabilities = StanceProbabilities { entail: 0.25, contradict: 0.25, neutral: 0.5 };

/// Weighted share of the claim's numbers, names and key words that a passage must hold to support it where only words were
/// compared: a text that orders the reader to agree names little of what it is to agree to.
const NAMES_THE_CLAIM: f64 = 0.3;

/// What the language model said of the passage, where the judge's own reading allows it: a side that the own judge does not
/// hear the opposite of, or no side.
pub fn allowed(kind: JudgeKind, scoring: &Scoring, passage: &JudgedPassage) -> Option<Adjudication> {
    let adjudication = passage.adjudication?;
    let heard = scoring.limits.conflict;
    let is_allowed = match adjudication.stance {
        Stance::Neutral => true,
        Stance::Supports => {
            passage.contradict < heard
                && passage.num_ok != Some(false)
                && (kind == JudgeKind::Model || passage.specificity >= NAMES_THE_CLAIM)
        }
        Stance::Contradicts => passage.entail < heard || (kind == JudgeKind::Rules && !takes_a_side(passage)),
    };
    is_allowed.then_some(adjudication)
}

fn takes_a_side(passage: &JudgedPassage) -> bool {
    passage.stance() != Stance::Neutral
}

/// The passages as both judges read them; `None` where no language model was asked about any.
pub fn combined(kind: JudgeKind, scoring: &Scoring, passages: &[JudgedPassage]) -> Option<Vec<JudgedPassage>> {
    let was_asked = passages.iter().any(|passage| passage.adjudication.is_some());
    was_asked.then(|| passages.iter().map(|passage| of_both(kind, scoring, passage)).collect())
}

fn of_both(kind: JudgeKind, scoring: &Scoring, passage: &JudgedPassage) -> JudgedPassage {
    let JudgedPassage { entail, contradict, neutral, .. } = *passage;
    let own = if kind == JudgeKind::Rules && !takes_a_side(passage) {
        UNREAD
    } else {
        StanceProbabilities { entail, contradict, neutral }
    };
    let Some(said) = allowed(kind, scoring, passage) else {
        // Where only words were compared, a share of them is no figure beside a reader's.
        let is_unread = kind == JudgeKind::Rules && !takes_a_side(passage);
        let StanceProbabilities { entail, contradict, neutral } =
            if is_unread { StanceProbabilities::NEUTRAL } else { own };
        return JudgedPassage { entail, contradict, neutral, ..passage.clone() };
    };
    let StanceProbabilities { entail, contradict, neutral } = weighed(own, said.stance, scoring.llm_reliability);
    // Where only words were compared, a report in other words seems off topic; who takes a side on the claim speaks of it.
    let speaks_of_it = kind == JudgeKind::Rules && said.stance != Stance::Neutral;
    JudgedPassage {
        entail,
        contradict,
        neutral,
        relevance: if speaks_of_it { passage.relevance.max(scoring.relevance_floor) } else { passage.relevance },
        out_of_context: passage.out_of_context || (said.stance == Stance::Supports && said.elsewhere),
        ..passage.clone()
    }
}

/// Own probabilities with what a second reader said, who is right in that share and wrong in either way alike.
pub fn weighed(own: StanceProbabilities, said: Stance, reliability: f64) -> StanceProbabilities {
    let wrong = (1.0 - reliability) / 2.0;
    let likelihood = |stance| if said == stance { reliability } else { wrong };
    let entail = own.entail * likelihood(Stance::Supports);
    let contradict = own.contradict * likelihood(Stance::Contradicts);
    let neutral = own.neutral * likelihood(Stance::Neutral);
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

    fn told(own: JudgedPassage, stance: Stance) -> JudgedPassage {
        JudgedPassage { adjudication: Some(Adjudication { stance, elsewhere: false }), ..own }
    }

    fn both(kind: JudgeKind, passage: &JudgedPassage) -> JudgedPassage {
        of_both(kind, &Scoring::default(), passage)
    }

    #[test]
    fn a_second_reader_moves_figures_as_far_as_it_is_reliable() {
        let own = StanceProbabilities { entail: 0.3, contradict: 0.1, neutral: 0.6 };
        let [little, much] = [0.5, 0.9].map(|reliability| weighed(own, Stance::Supports, reliability).entail);
        assert!(own.entail < little && little < much && much < 1.0, "{little} {much}");
        let chance = weighed(own, Stance::Supports, 1.0 / 3.0);
        assert!((chance.entail - own.entail).abs() < 1e-12, "who guesses tells nothing");
    }

    #[test]
    fn a_stance_that_the_own_judge_reads_the_opposite_of_counts_for_nothing() {
        for (own, said) in [(passage("a", 0.02, 0.8), Stance::Supports), (passage("a", 0.8, 0.02), Stance::Contradicts)] {
            let before = (own.entail, own.contradict);
            let after = both(JudgeKind::Model, &told(own, said));
            assert_eq!((after.entail, after.contradict), before);
        }
        let wrong_figure = JudgedPassage { num_ok: Some(false), ..passage("a", 0.2, 0.3) };
        assert_eq!(allowed(JudgeKind::Model, &Scoring::default(), &told(wrong_figure, Stance::Supports)), None);
    }

    #[test]
    fn where_only_words_were_compared_the_model_is_heard_and_shared_words_are_not() {
        let words = || JudgedPassage { entail: 0.4, contradict: 0.05, neutral: 0.55, ..passage("a", 0.0, 0.0) };
        assert_eq!(both(JudgeKind::Rules, &told(words(), Stance::Supports)).stance(), Stance::Supports);
        assert_eq!(both(JudgeKind::Rules, &told(words(), Stance::Contradicts)).stance(), Stance::Contradicts);
        assert!(both(JudgeKind::Rules, &words()).entail <= 0.0);
        let names_nothing = JudgedPassage { specificity: 0.1, ..words() };
        assert!(both(JudgeKind::Rules, &told(names_nothing, Stance::Supports)).entail < 0.1);
    }

    proptest! {
        #[test]
        fn a_stance_never_lowers_its_own_side(e in 0.0..1.0f64, c in 0.0..1.0f64, reliability in 0.34..0.99f64) {
            prop_assume!(e + c <= 1.0);
            let own = StanceProbabilities { entail: e, contradict: c, neutral: 1.0 - e - c };
            prop_assert!(weighed(own, Stance::Supports, reliability).entail >= e - 1e-12);
            prop_assert!(weighed(own, Stance::Contradicts, reliability).contradict >= c - 1e-12);
            let open = weighed(own, Stance::Neutral, reliability);
            prop_assert!(open.entail <= e + 1e-12 && open.contradict <= c + 1e-12);
        }
    }
}
