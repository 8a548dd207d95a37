//! The settings of `docs/scoring.md`. Other constants are next to their rule.

use super::calibration::Calibration;
use super::decision::DecisionTables;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scoring {
    /// Minimum relevance of evidence, 0–1. Not yet measured.
    pub relevance_floor: f64,
    pub half_lives: HalfLives,
    pub quality: QualityShares,
    pub weights: FeatureWeights,
    pub curve: ScoreCurve,
    pub limits: VerdictLimits,
    pub sufficiency: SufficiencyLimits,
    pub decision: DecisionTables,
    /// Assumed share of right stances; 1/3 is chance.
    pub llm_reliability: f64,
    pub calibration: Option<Calibration>,
}

impl Default for Scoring {
    fn default() -> Self {
        Self {
            relevance_floor: 0.30,
            half_lives: HalfLives::default(),
            quality: QualityShares::default(),
            weights: FeatureWeights::default(),
            curve: ScoreCurve::default(),
            limits: VerdictLimits::default(),
            sufficiency: SufficiencyLimits::default(),
            decision: DecisionTables::default(),
            llm_reliability: 0.82,
            calibration: None,
        }
    }
}

/// Days after which freshness halves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfLives {
    pub usual: f64,
    pub breaking: f64,
    /// Science and history.
    pub lasting: f64,
}

impl Default for HalfLives {
    fn default() -> Self {
        Self { usual: 365.0, breaking: 7.0, lasting: 3650.0 }
    }
}

/// Shares of quality; they sum to 1. The publisher weighs most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QualityShares {
    pub credibility: f64,
    pub freshness: f64,
    pub relevance: f64,
    pub specificity: f64,
}

impl Default for QualityShares {
    fn default() -> Self {
        Self { credibility: 0.30, freshness: 0.25, relevance: 0.25, specificity: 0.20 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureWeights {
    pub e_max: f64,
    pub e_mean3: f64,
    pub agree_dom: f64,
    /// Groups after which more add nothing. Three are as good as ten.
    pub agree_dom_full: u32,
    pub rel_avg: f64,
    pub rec_max: f64,
    /// Subtracted.
    pub c_max: f64,
    pub num_ok: f64,
}

impl Default for FeatureWeights {
    fn default() -> Self {
        Self {
            e_max: 0.40,
            e_mean3: 0.20,
            agree_dom: 0.15,
            agree_dom_full: 3,
            rel_avg: 0.15,
            rec_max: 0.10,
            c_max: 0.25,
            num_ok: 0.05,
        }
    }
}

/// Maps the raw score to 0–100.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreCurve {
    /// Raw score of 50.
    pub center: f64,
    /// Width of the sigmoid, above 0.
    pub scale: f64,
    /// Highest score without support, below "true" for readers.
    pub cap_unsupported: u32,
    /// Highest score if refuted, in the range of "false".
    pub cap_refuted: u32,
}

impl Default for ScoreCurve {
    fn default() -> Self {
        Self { center: 0.5, scale: 0.15, cap_unsupported: 69, cap_refuted: 30 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VerdictLimits {
    /// Posterior from which a side is the verdict (step 5). On labelled claims, 0.55 gave fewer sides, and more of them
    /// were right.
    pub lean: f64,
    /// From here sources conflict: not decisive, tier low.
    pub conflict: f64,
    /// A single group below this is never decisive.
    pub lone_credibility: f64,
}

impl Default for VerdictLimits {
    fn default() -> Self {
        Self { lean: 0.50, conflict: 0.40, lone_credibility: 0.8 }
    }
}

/// When stored evidence settles a claim without a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SufficiencyLimits {
    /// Entailment of clear support.
    pub support: f64,
    /// Contradiction of a clear refutation.
    pub refute: f64,
    /// Minimum independent groups. One source is a report, two are corroboration.
    pub groups: usize,
}

impl Default for SufficiencyLimits {
    fn default() -> Self {
        Self { support: 0.70, refute: 0.70, groups: 2 }
    }
}
