//! The numbers of the scoring rules. Fractions are within 0 and 1 unless said otherwise.

use std::time::Duration;

use serde::Deserialize;

use crate::domain::verdict::SourceType;

/// How evidence becomes a score and a verdict.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoringConfig {
    pub relevance_floor: f64,
    #[serde(with = "humantime_serde")]
    pub half_life: Duration,
    #[serde(with = "humantime_serde")]
    pub half_life_breaking: Duration,
    #[serde(with = "humantime_serde")]
    pub half_life_science: Duration,
    #[serde(with = "humantime_serde")]
    pub half_life_history: Duration,
    pub quality: QualityWeights,
    pub weights: FeatureWeights,
    pub score: ScoreCurve,
    pub verdict: VerdictThresholds,
    pub credibility: CredibilityByType,
    pub numbers: NumberTolerance,
}

/// What a passage's quality is made of; sums to 1.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QualityWeights {
    pub credibility: f64,
    pub freshness: f64,
    pub relevance: f64,
    pub specificity: f64,
}

/// What the raw score is made of.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureWeights {
    pub e_max: f64,
    pub e_mean3: f64,
    pub agree_dom: f64,
    /// Groups from which more add nothing.
    pub agree_dom_full: u32,
    pub rel_avg: f64,
    pub rec_max: f64,
    /// Taken away.
    pub c_max: f64,
    pub num_ok: f64,
}

/// From the raw score to 0–100.
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

/// Where one verdict ends and the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictThresholds {
    pub support: f64,
    pub groups: u32,
    pub conflict: f64,
    pub contest: f64,
    pub refute: f64,
    pub single_source_credibility: f64,
}

/// Credibility of sites without a rule of their own.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredibilityByType {
    pub fact_checker: f64,
    pub government: f64,
    pub academic: f64,
    pub reference: f64,
    pub news: f64,
    pub social: f64,
    pub blog: f64,
    pub link_farm: f64,
    pub unknown: f64,
}

impl CredibilityByType {
    /// The credibility of a kind of site.
    pub const fn of(&self, kind: SourceType) -> f64 {
        match kind {
            SourceType::FactChecker => self.fact_checker,
            SourceType::Government => self.government,
            SourceType::Academic => self.academic,
            SourceType::Reference => self.reference,
            SourceType::News => self.news,
            SourceType::Social => self.social,
            SourceType::Blog => self.blog,
            SourceType::LinkFarm => self.link_farm,
            SourceType::Unknown => self.unknown,
        }
    }
}

/// When two numbers count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberTolerance {
    /// Relative.
    pub tolerance: f64,
    /// Counts up to this must be equal.
    pub exact_up_to: u32,
}
