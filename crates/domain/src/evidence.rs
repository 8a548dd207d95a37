//! Evidence for judging: passages with their scores, and matched fact-checks.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::limits::serialize_date;
use super::verdict::{Origin, RatingClass, Relation, SourceType, Stance};

/// NLI probabilities of a passage for a claim. They sum to 1, unless a rule changed them (contradicting numbers).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StanceProbabilities {
    pub entail: f64,
    pub contradict: f64,
    pub neutral: f64,
}

impl StanceProbabilities {
    pub const NEUTRAL: Self = Self { entail: 0.0, contradict: 0.0, neutral: 1.0 };
}

/// A language model's stance on a passage, separate from the judge's probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adjudication {
    pub stance: Stance,
    /// The passage supports the claim, but for another time or place.
    pub elsewhere: bool,
}

/// One passage, judged for one claim, with all inputs of the score. A stored row can be scored again: the JSON has the
/// columns of `item_evidence`. It is read with the columns of the page and written without them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedPassage {
    pub evidence_id: String,
    #[serde(skip_serializing)]
    pub url: String,
    #[serde(skip_serializing)]
    pub domain: String,
    #[serde(skip_serializing)]
    pub title: Option<String>,
    #[serde(skip_serializing)]
    pub published_at: Option<DateTime<Utc>>,
    #[serde(skip_serializing)]
    pub language: Option<String>,
    pub passage: String,
    pub entail: f64,
    pub contradict: f64,
    pub neutral: f64,
    /// Similarity of the passage to the claim, 0–1: mean of the cosine and the overlap of names. If the passage takes a
    /// side, only its most similar sentence is compared.
    #[serde(rename = "agreement_score")]
    pub agreement: f64,
    /// 0–1. Below the threshold a passage is off topic and decides nothing.
    pub relevance: f64,
    /// 0–1.
    pub credibility: f64,
    /// Above 0, at most 1.
    pub freshness: f64,
    /// 0–1.
    pub specificity: f64,
    /// 0.30·credibility + 0.25·freshness + 0.25·relevance + 0.20·specificity.
    pub quality: f64,
    /// Whether the aligned numbers agree; `None` without aligned numbers.
    pub num_ok: Option<bool>,
    pub independent_group: String,
    pub source_type: SourceType,
    pub origin: Origin,
    /// The provider that found it.
    pub provider: String,
    /// Rank among the judged passages, 1 is best.
    pub rank: u32,
    /// The fact is true, but for another time or place.
    pub out_of_context: bool,
    /// Source of the three probabilities: `model:<name>` or `rules`, with `+translated` for a translation. `None` for
    /// older rows.
    pub judge: Option<String>,
    /// Stance of the language model, if one was queried. It never changes the figures above.
    #[serde(skip)]
    pub adjudication: Option<Adjudication>,
}

/// Probability from which a passage takes a side (`docs/scoring.md`, a passage's own stance).
pub const MIN_SIDE_PROBABILITY: f64 = 0.5;

impl JudgedPassage {
    /// Returns the side with the largest of the three probabilities, if it is at least 0.5. Equal probabilities give
    /// `Neutral`.
    pub fn stance(&self) -> Stance {
        if self.contradict >= MIN_SIDE_PROBABILITY && self.contradict > self.entail && self.contradict > self.neutral {
            Stance::Contradicts
        } else if self.entail >= MIN_SIDE_PROBABILITY && self.entail > self.contradict && self.entail > self.neutral {
            Stance::Supports
        } else {
            Stance::Neutral
        }
    }

    /// True for social posts and satire, which never corroborate.
    pub fn is_context(&self) -> bool {
        matches!(self.source_type, SourceType::Social | SourceType::Satire)
    }

    /// True for social posts.
    pub fn is_social(&self) -> bool {
        self.source_type == SourceType::Social
    }
}

/// A published fact-check, as a provider returned it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// The reviewed claim.
    pub claim: String,
    pub claimant: Option<String>,
    pub url: String,
    pub publisher: String,
    pub title: Option<String>,
    /// The rating in the publisher's words.
    pub rating: String,
    pub language: Option<String>,
    #[serde(serialize_with = "serialize_date")]
    pub review_date: Option<DateTime<Utc>>,
}

/// A fact-check that was compared with our claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchedReview {
    #[serde(flatten)]
    pub review: Review,
    pub relation: Relation,
    pub rating_class: RatingClass,
    /// Similarity of the two claims, 0–1.
    pub similarity: f64,
}
