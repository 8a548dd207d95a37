//! Computes features and score from stored rows only, so `rescore` gives the same result.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use corroborate_domain::evidence::JudgedPassage;
use corroborate_domain::result::Features;
use corroborate_domain::verdict::{Stance, Verdict};

use super::numbers::MIN_REFUTING_CONTRADICTION;
use super::scoring::{FeatureWeights, ScoreCurve, Scoring};

/// Returns the passages on topic and not social (`docs/scoring.md`), best rank first. Content breaks ties, so the input
/// order has no effect.
pub fn deciding(passages: &[JudgedPassage], relevance_floor: f64) -> Vec<&JudgedPassage> {
    let mut chosen: Vec<&JudgedPassage> =
        passages.iter().filter(|passage| passage.relevance >= relevance_floor && !passage.is_context()).collect();
    chosen.sort_by(|a, b| by_rank(a, b));
    chosen
}

pub(super) fn by_rank(a: &JudgedPassage, b: &JudgedPassage) -> Ordering {
    a.rank
        .cmp(&b.rank)
        .then_with(|| a.evidence_id.cmp(&b.evidence_id))
        .then_with(|| a.passage.cmp(&b.passage))
        .then_with(|| b.entail.total_cmp(&a.entail))
        .then_with(|| b.contradict.total_cmp(&a.contradict))
        .then_with(|| a.independent_group.cmp(&b.independent_group))
}

pub(super) fn groups_of<'a>(passages: &[&'a JudgedPassage], stance: Stance) -> BTreeSet<&'a str> {
    passages
        .iter()
        .filter(|passage| passage.stance() == stance)
        .map(|passage| passage.independent_group.as_str())
        .collect()
}

/// Whether the passage has a newer, larger total. Only [`super::numbers::apply`] leaves a differing
/// number below the refuting contradiction.
pub fn is_running_total(passage: &JudgedPassage) -> bool {
    passage.num_ok == Some(false)
        && passage.stance() == Stance::Contradicts
        && passage.contradict < MIN_REFUTING_CONTRADICTION
}

/// Computes the features; all zero if no passage may decide.
pub fn features(passages: &[JudgedPassage], relevance_floor: f64) -> Features {
    features_of(&deciding(passages, relevance_floor))
}

/// [`features`] for the result of [`deciding`].
pub(super) fn features_of(deciding: &[&JudgedPassage]) -> Features {
    let highest = |figure: fn(&JudgedPassage) -> f64| deciding.iter().map(|p| figure(p)).fold(0.0, f64::max);
    let top = deciding.get(..3).unwrap_or(deciding);
    let numbers: Vec<bool> = deciding.iter().filter_map(|passage| passage.num_ok).collect();
    Features {
        e_max: highest(|p| p.entail),
        // By three, because one source is not three.
        e_mean3: top.iter().map(|passage| passage.entail).sum::<f64>() / 3.0,
        c_max: highest(|p| p.contradict),
        agree_dom: u32::try_from(groups_of(deciding, Stance::Supports).len()).unwrap_or(u32::MAX),
        rel_avg: mean(top.iter().map(|passage| passage.credibility)),
        rec_max: highest(|p| p.freshness),
        num_ok: if numbers.is_empty() { None } else { Some(numbers.iter().all(|agrees| *agrees)) },
    }
}

/// The mean; 0 without values.
pub(super) fn mean(figures: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = figures.fold((0.0, 0u32), |(sum, count), figure| (sum + figure, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// The raw score, about −0.25 to 1.05 with default weights.
pub fn raw(f: &Features, weights: &FeatureWeights) -> f64 {
    let agreeing = f64::from(f.agree_dom) / f64::from(weights.agree_dom_full.max(1));
    weights.e_max * f.e_max
        + weights.e_mean3 * f.e_mean3
        + weights.agree_dom * agreeing.min(1.0)
        + weights.rel_avg * f.rel_avg
        + weights.rec_max * f.rec_max
        - weights.c_max * f.c_max
        + if f.num_ok == Some(true) { weights.num_ok } else { 0.0 }
}

/// The score, 0–100, by the fitted curve if any: at most 69 unless decisively supported, at most 30 if refuted.
pub fn score(f: &Features, verdict: Verdict, decisive: bool, scoring: &Scoring) -> u32 {
    let ScoreCurve { center, scale, .. } = scoring.curve;
    let raw = raw(f, &scoring.weights);
    let share = match scoring.calibration {
        Some(fitted) => fitted.score.at(raw),
        None => 1.0 / (1.0 + (-(raw - center) / scale).exp()),
    };
    ((100.0 * share).round().clamp(0.0, 100.0) as u32).min(cap(verdict, decisive, &scoring.curve))
}

/// The maximum score. Provisional support is not yet support.
pub const fn cap(verdict: Verdict, decisive: bool, curve: &ScoreCurve) -> u32 {
    match verdict {
        Verdict::Supported if decisive => 100,
        Verdict::Refuted => curve.cap_refuted,
        _ => curve.cap_unsupported,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{any_passages, passage};
    use super::*;

    fn raw(f: &Features) -> f64 {
        super::raw(f, &FeatureWeights::default())
    }

    fn score(f: &Features, verdict: Verdict) -> u32 {
        super::score(f, verdict, true, &Scoring::default())
    }

    #[test]
    fn the_weights_are_the_operators() {
        let features = Features { e_max: 1.0, c_max: 1.0, ..Features::default() };
        let weights = FeatureWeights { e_max: 0.9, c_max: 0.1, ..FeatureWeights::default() };
        assert!((super::raw(&features, &weights) - 0.8).abs() < 1e-12);
        let curve = ScoreCurve { cap_refuted: 5, ..ScoreCurve::default() };
        let scoring = Scoring { weights, curve, ..Scoring::default() };
        assert_eq!(super::score(&features, Verdict::Refuted, true, &scoring), 5);
    }

    #[test]
    fn the_example_of_seed_one_scores_in_the_nineties() {
        let example = Features {
            e_max: 0.95,
            e_mean3: 0.88,
            c_max: 0.12,
            agree_dom: 4,
            rel_avg: 0.85,
            rec_max: 1.0,
            num_ok: None,
        };
        // 0.38 + 0.176 + 0.15 + 0.1275 + 0.1 − 0.03
        assert!((raw(&example) - 0.9035).abs() < 1e-9);
        assert_eq!(score(&example, Verdict::Supported), 94);
        assert_eq!(score(&example, Verdict::Contested), 69);
        assert_eq!(score(&example, Verdict::Refuted), 30);
        assert_eq!(super::score(&example, Verdict::Supported, false, &Scoring::default()), 69, "a lean");
    }

    #[test]
    fn a_number_that_agrees_is_a_small_bonus() {
        let without = Features { e_max: 0.5, ..Features::default() };
        let with = Features { num_ok: Some(true), ..without };
        let against = Features { num_ok: Some(false), ..without };
        assert!((raw(&with) - raw(&without) - 0.05).abs() < 1e-12);
        assert!((raw(&against) - raw(&without)).abs() < 1e-12);
    }

    #[test]
    fn each_feature_is_what_its_name_says() {
        let mut first = passage("a", 0.9, 0.05);
        first.rank = 1;
        first.credibility = 0.8;
        first.freshness = 0.4;
        first.num_ok = Some(true);
        let mut second = passage("b", 0.3, 0.45);
        second.rank = 2;
        second.credibility = 0.6;
        second.freshness = 0.9;
        let mut off_topic = passage("c", 1.0, 0.0);
        off_topic.relevance = 0.29;
        let mut social = passage("d", 1.0, 0.0);
        social.source_type = corroborate_domain::verdict::SourceType::Social;
        let f = features(&[second, off_topic, social, first], 0.30);
        assert!((f.e_max - 0.9).abs() < 1e-12);
        assert!((f.e_mean3 - 0.4).abs() < 1e-12, "a missing third place counts 0: {}", f.e_mean3);
        assert!((f.c_max - 0.45).abs() < 1e-12);
        assert_eq!(f.agree_dom, 1);
        assert!((f.rel_avg - 0.7).abs() < 1e-12);
        assert!((f.rec_max - 0.9).abs() < 1e-12);
        assert_eq!(f.num_ok, Some(true));
    }

    #[test]
    fn one_disagreeing_number_is_a_disagreement() {
        let mut agrees = passage("a", 0.9, 0.0);
        agrees.num_ok = Some(true);
        let mut differs = passage("b", 0.3, 0.7);
        differs.num_ok = Some(false);
        assert_eq!(features(&[agrees, differs], 0.3).num_ok, Some(false));
        assert_eq!(features(&[passage("c", 0.9, 0.0)], 0.3).num_ok, None);
    }

    proptest! {
        #[test]
        fn scores_stay_within_their_bounds(passages in any_passages(), which in 0..Verdict::ALL.len()) {
            let verdict = Verdict::ALL[which];
            let score = score(&features(&passages, 0.3), verdict);
            prop_assert!(score <= 100);
            prop_assert!(verdict == Verdict::Supported || score <= 69);
            prop_assert!(verdict != Verdict::Refuted || score <= 30);
        }

        #[test]
        fn more_support_never_lowers_the_raw_score(passages in any_passages(), at in any::<prop::sample::Index>(), by in 0.0..1.0f64) {
            prop_assume!(!passages.is_empty());
            let before = raw(&features(&passages, 0.3));
            let mut raised = passages.clone();
            let passage = &mut raised[at.index(passages.len())];
            passage.entail = (passage.entail + by).min(1.0);
            prop_assert!(raw(&features(&raised, 0.3)) >= before - 1e-9);
        }
    }
}
