//! The numbers of the scoring rules. Fractions are 0–1 unless stated.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoringConfig {
    pub relevance_floor: f64,
    #[serde(with = "humantime_serde")]
    pub half_life: Duration,
    #[serde(with = "humantime_serde")]
    pub half_life_breaking: Duration,
    #[serde(with = "humantime_serde")]
    pub half_life_lasting: Duration,
    pub quality: QualityWeights,
    pub weights: FeatureWeights,
    pub score: ScoreCurve,
    pub verdict: VerdictThresholds,
    pub sufficiency: SufficiencyThresholds,
    /// Written by `eval --decision`.
    pub decision: Option<PathBuf>,
    /// Written by `eval --calibration`.
    pub calibration: Option<PathBuf>,
}

/// These sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QualityWeights {
    pub credibility: f64,
    pub freshness: f64,
    pub relevance: f64,
    pub specificity: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureWeights {
    pub e_max: f64,
    pub e_mean3: f64,
    pub agree_dom: f64,
    /// The number of groups with full effect.
    pub agree_dom_full: u32,
    pub rel_avg: f64,
    pub rec_max: f64,
    /// Subtracted.
    pub c_max: f64,
    pub num_ok: f64,
}

/// Maps the raw score to 0–100.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreCurve {
    pub center: f64,
    pub scale: f64,
    /// 0–100.
    pub cap_unsupported: u32,
    /// 0–100.
    pub cap_refuted: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictThresholds {
    pub lean: f64,
    pub conflict: f64,
    pub single_source_credibility: f64,
}

/// When stored passages settle a claim without a search.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SufficiencyThresholds {
    pub support: f64,
    pub refute: f64,
    pub groups: u32,
}
