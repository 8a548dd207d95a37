//! Evidence as the judging room sees it: passages with their figures, and matched fact-checks.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::verdict::{Origin, RatingClass, Relation, SourceType, Stance};

/// The three probabilities of (passage → claim); they sum to 1 as a model gives them, and may not after a rule
/// (a number that disagrees) has moved them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StanceProbabilities {
    pub entail: f64,
    pub contradict: f64,
    pub neutral: f64,
}

impl StanceProbabilities {
    pub const NEUTRAL: Self = Self { entail: 0.0, contradict: 0.0, neutral: 1.0 };
}

/// What a language model made of a passage, beside the judge's own figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adjudication {
    pub stance: Stance,
    /// It supports what the claim says, but of another time or place.
    pub elsewhere: bool,
}

/// One passage, judged for one claim. Everything the score needs is in here, so that a stored row can be scored anew.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedPassage {
    pub evidence_id: String,
    pub url: String,
    pub domain: String,
    pub title: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    pub passage: String,
    pub entail: f64,
    pub contradict: f64,
    pub neutral: f64,
    /// Similarity of the passage to the claim, 0–1: mean of the cosine and the overlap of names. If the passage takes a side,
    /// its best single sentence is compared, else the whole passage.
    pub agreement: f64,
    /// 0–1; under the floor a passage is off topic and decides nothing.
    pub relevance: f64,
    /// 0–1.
    pub credibility: f64,
    /// (0, 1].
    pub freshness: f64,
    /// 0–1.
    pub specificity: f64,
    /// 0.30·credibility + 0.25·freshness + 0.25·relevance + 0.20·specificity.
    pub quality: f64,
    /// Whether the aligned numbers agree; `None` with nothing to align.
    pub num_ok: Option<bool>,
    pub independent_group: String,
    pub source_type: SourceType,
    pub origin: Origin,
    /// The provider that found it.
    pub provider: String,
    /// Rank among the judged passages, 1 is best.
    pub rank: u32,
    /// The fact holds, but at another time or place than the claim says.
    pub out_of_context: bool,
    /// Who gave the three probabilities: `model:<name>` or `rules`, with `+translated` where it read a translation. `None` where the
    /// row was stored before this was kept.
    pub judge: Option<String>,
    /// What a language model made of it, where one was asked; the figures above are never its.
    pub adjudication: Option<Adjudication>,
}

/// Probability from which a passage takes a side (`docs/scoring.md`, a passage's own stance).
pub const TAKES_A_SIDE: f64 = 0.5;

impl JudgedPassage {
    /// Supports when e is the largest of the three and at least 0.5, contradicts when c is. Of equal ones the passage says
    /// both, and takes neither side.
    pub fn stance(&self) -> Stance {
        if self.contradict >= TAKES_A_SIDE && self.contradict > self.entail && self.contradict > self.neutral {
            Stance::Contradicts
        } else if self.entail >= TAKES_A_SIDE && self.entail > self.contradict && self.entail > self.neutral {
            Stance::Supports
        } else {
            Stance::Neutral
        }
    }

    /// Social posts and satire are context: they never count as agreement.
    pub fn is_context(&self) -> bool {
        matches!(self.source_type, SourceType::Social | SourceType::Satire)
    }

    /// A post.
    pub fn is_social(&self) -> bool {
        self.source_type == SourceType::Social
    }
}

/// One review a fact-checker published, as a provider returned it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// The claim that was reviewed.
    pub claim: String,
    pub claimant: Option<String>,
    pub url: String,
    pub publisher: String,
    pub title: Option<String>,
    /// The publisher's words.
    pub rating: String,
    pub language: Option<String>,
    pub review_date: Option<DateTime<Utc>>,
}

/// A review held against our claim.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedReview {
    pub review: Review,
    pub relation: Relation,
    pub rating_class: RatingClass,
    /// Similarity of the two claims, 0–1.
    pub similarity: f64,
}
