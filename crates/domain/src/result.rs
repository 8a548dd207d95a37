//! The result of an item, as published and as the API and the command line print it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::{
    Apply, ClaimKind, CorrectionType, Note, Origin, RatingClass, Relation, Stance, Status, Tier, Verdict,
};

/// The result of one item.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
#[schemars(title = "corroborate result")]
pub struct ItemResult {
    /// Version of this shape; 1.
    pub schema: u32,
    pub item_id: String,
    pub message_id: Option<String>,
    pub enriched_at: DateTime<Utc>,
    pub status: Status,
    /// Causes such as `provider_open:gdelt`, `deadline`, `budget`. Empty if everything could be queried.
    pub degraded: Vec<String>,
    pub language: Option<String>,
    pub tier: Option<Tier>,
    /// 0–100; null if nothing was found or nothing can be verified.
    pub score: Option<u32>,
    /// Similarity of the passages to the main claim, 0–1. It does not mean that sources agree.
    pub agreement: f64,
    pub contradiction: bool,
    pub notes: Vec<Note>,
    pub also_reported_by: Vec<String>,
    /// Why there is nothing to verify, for a reader.
    pub explanation: Option<String>,
    pub overall_summary: Option<String>,
    /// Hosts and providers that were consulted, also without a result. The evidence store is included.
    pub sources_checked: Vec<String>,
    pub fact_checks: Vec<FactCheck>,
    pub claims: Vec<ClaimResult>,
    /// Id of the most check-worthy claim. The item's figures are those of this claim.
    #[serde(default)]
    pub main_claim: Option<String>,
    pub context: Context,
    pub cost: Cost,
    /// One line for each stage.
    pub trace: Vec<String>,
}

impl ItemResult {
    /// Returns the main claim, or the first claim if none is named.
    pub fn main_claim(&self) -> Option<&ClaimResult> {
        let named = |claim: &&ClaimResult| Some(&claim.claim_id) == self.main_claim.as_ref();
        self.claims.iter().find(named).or_else(|| self.claims.first())
    }
}

/// A published fact-check related to the item.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct FactCheck {
    /// The reviewed claim.
    pub claim: String,
    pub url: String,
    pub publisher: String,
    pub rating: String,
    pub rating_class: RatingClass,
    pub review_date: Option<DateTime<Utc>>,
    pub similarity: f64,
    /// The claim of ours that it was compared with.
    pub claim_id: String,
    pub relation: Relation,
    pub language: Option<String>,
}

/// One claim with its verdict and evidence.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct ClaimResult {
    pub claim_id: String,
    /// The statement as it was checked. For a relative date ("yesterday"), the date of writing is appended.
    pub text: String,
    pub kind: ClaimKind,
    /// Index of its text: 0 is the item's own, then `sources`, then linked pages.
    pub source: usize,
    /// People, organisations, places and things in the claim, if a language model extracted it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// Why it can be checked, according to the language model that extracted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_checkable: Option<String>,
    /// `rules`, `model:<name>` or `fact_check`, joined by `+` for passages in several languages. `+llm:<name>` or
    /// `+own:<name>` is appended if an adjudicator took part.
    pub judge: String,
    pub verdict: Verdict,
    pub decisive: bool,
    pub confidence: f64,
    pub score: Option<u32>,
    pub tier: Tier,
    /// Mean similarity of the three best passages to the claim, 0–1. It does not mean that sources agree.
    pub agreement: f64,
    pub contradiction: bool,
    pub notes: Vec<Note>,
    pub features: Features,
    /// The decision model's figures; absent if no passage was on topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Explanation with `[N]` citations.
    pub justification: String,
    pub citations: Vec<u32>,
    pub evidence: Vec<EvidenceRow>,
    pub correction: Option<Correction>,
}

/// The inputs of the score.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Features {
    pub e_max: f64,
    pub e_mean3: f64,
    pub c_max: f64,
    pub agree_dom: u32,
    pub rel_avg: f64,
    pub rec_max: f64,
    pub num_ok: Option<bool>,
}

/// Inputs of the decision model and its posterior.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Decision {
    /// The table of coefficients: `model` or `rules`, like the judge. `+llm` is appended if a language model also
    /// judged.
    pub table: String,
    /// The three strongest supports of independent sources, as log-odds above a threshold; 0 if absent.
    pub support: [f64; 3],
    /// The three strongest contradictions, in the same form.
    pub against: [f64; 3],
    pub posterior: Posterior,
    /// Rules that matched when the passages were judged. Passages without a match are omitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PassageRules>,
}

/// Ids of the rules that matched one passage (`docs/scoring.md`, limits on a stance).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct PassageRules {
    pub evidence_id: String,
    pub rules: Vec<String>,
}

/// The posterior of a claim, based on its passages alone. The probabilities sum to 1.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Posterior {
    pub supported: f64,
    pub refuted: f64,
    pub contested: f64,
    pub open: f64,
}

impl Posterior {
    /// Returns the side with the largest probability of at least `least`. Of equal sides the more cautious: contested,
    /// then refuted.
    pub fn side(&self, least: f64) -> Option<(Verdict, f64)> {
        let sides = [
            (Verdict::Contested, self.contested),
            (Verdict::Refuted, self.refuted),
            (Verdict::Supported, self.supported),
        ];
        let best = sides.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.filter(|(_, share)| *share >= least)
    }

    /// The side with the largest probability, or `NotEnoughEvidence`.
    pub fn likeliest(&self) -> Verdict {
        self.side(self.open).map_or(Verdict::NotEnoughEvidence, |(side, _)| side)
    }
}

/// One passage in a result.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct EvidenceRow {
    /// The number that justifications cite.
    pub n: u32,
    pub evidence_id: String,
    pub url: String,
    pub domain: String,
    pub title: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    pub passage: String,
    /// Combined stance of the judge and, if queried, the language model.
    pub stance: Stance,
    /// Source of the three probabilities: `model:<name>` or `rules`, with `+translated` for a translation. Absent for
    /// passages of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// Stance of the language model alone; absent if none was queried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm_stance: Option<Stance>,
    pub entail: f64,
    pub contradict: f64,
    pub neutral: f64,
    /// Similarity of the passage to the claim, 0–1: mean of the cosine and the overlap of names. It is not a stance.
    pub agreement: f64,
    pub relevance: f64,
    pub quality: f64,
    pub credibility: f64,
    pub origin: Origin,
    pub provider: String,
    pub independent_group: String,
    pub extraction_failed: bool,
}

/// A proposed correction of the claim.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Correction {
    #[serde(rename = "type")]
    pub kind: CorrectionType,
    pub original: String,
    pub corrected: String,
    pub confidence: f64,
    pub note: String,
    pub apply: Apply,
    /// URLs of the cited passages.
    pub sources: Vec<String>,
    /// Support for the corrected text by each cited passage that the judge read; its own passage is first. Empty if a
    /// sentence is quoted unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub borne_out: Vec<BorneOut>,
}

/// The judge's figure for the corrected text and one passage.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct BorneOut {
    pub evidence_id: String,
    /// 0–1.
    pub entail: f64,
}

/// Lines for digests and prompts.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct Context {
    pub evidence: Vec<String>,
    pub background: Vec<String>,
    pub digest_lines: Vec<String>,
}

/// Cost of processing the item.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Cost {
    pub usd: f64,
    /// Requests per external provider, without cached answers, evidence store and local folders.
    pub provider_calls: BTreeMap<String, u32>,
    pub llm_calls: u32,
    pub llm_tokens: u32,
    pub millis: u64,
}
