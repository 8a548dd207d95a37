//! The numbers of `docs/scoring.md` that an operator may set. The defaults are its; `config/default.toml` says the same with
//! the reasons, and a test of `app` holds the two together. What is not here is part of a rule and stands, with its
//! reason, beside the function that uses it.

use super::calibration::Calibration;
use super::decision::DecisionTables;

/// Everything that can be set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scoring {
    /// Relevance under which a passage is off topic and decides nothing, 0–1.
    pub relevance_floor: f64,
    pub half_lives: HalfLives,
    pub quality: QualityShares,
    pub weights: FeatureWeights,
    pub curve: ScoreCurve,
    pub limits: VerdictLimits,
    pub sufficiency: SufficiencyLimits,
    /// Coefficients of the decision model.
    pub decision: DecisionTables,
    /// Share of stances in which a language model is taken to be right, where one judges as well; 1/3 is chance.
    pub llm_reliability: f64,
    /// Curves fitted on labelled claims; `None` without a file of them.
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

/// Days after which a source counts half as fresh, by topic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfLives {
    pub usual: f64,
    /// What broke today is another story next week.
    pub breaking: f64,
    /// Science and history stay as they are for years.
    pub lasting: f64,
}

impl Default for HalfLives {
    fn default() -> Self {
        Self { usual: 365.0, breaking: 7.0, lasting: 3650.0 }
    }
}

/// What a passage's quality is made of; sums to 1.
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

/// What the raw score is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureWeights {
    pub e_max: f64,
    pub e_mean3: f64,
    pub agree_dom: f64,
    /// Independent groups from which more add nothing.
    pub agree_dom_full: u32,
    pub rel_avg: f64,
    pub rec_max: f64,
    /// Taken away.
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

/// From the raw score to 0–100.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreCurve {
    /// The raw score that gives 50.
    pub center: f64,
    /// Width of the sigmoid, above 0.
    pub scale: f64,
    /// A claim nothing has borne out shows no score a reader takes for "true".
    pub cap_unsupported: u32,
    /// A refuted claim shows a score a reader takes for "false".
    pub cap_refuted: u32,
}

impl Default for ScoreCurve {
    fn default() -> Self {
        Self { center: 0.5, scale: 0.15, cap_unsupported: 69, cap_refuted: 30 }
    }
}

/// Where one verdict ends and the next begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VerdictLimits {
    /// Posterior from which a side is the verdict (step 5).
    pub lean: f64,
    /// Contradiction from which sources conflict: no verdict is decisive against it, and no tier above low.
    pub conflict: f64,
    /// A lone group less credible than this makes nothing decisive.
    pub lone_credibility: f64,
}

impl Default for VerdictLimits {
    fn default() -> Self {
        Self { lean: 0.50, conflict: 0.40, lone_credibility: 0.8 }
    }
}

/// When what is already known settles a claim, so that nobody else need be asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SufficiencyLimits {
    /// Entailment from which a stored passage clearly supports.
    pub support: f64,
    /// Contradiction from which one clearly contradicts.
    pub refute: f64,
    /// Independent groups that must agree.
    pub groups: usize,
}

impl Default for SufficiencyLimits {
    fn default() -> Self {
        Self { support: 0.70, refute: 0.70, groups: 2 }
    }
}
