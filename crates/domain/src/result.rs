//! What the daemon publishes, and what the API and the command line print.

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
    /// Causes such as `provider_open:gdelt`, `deadline`, `budget`; empty when everything could be asked.
    pub degraded: Vec<String>,
    pub language: Option<String>,
    pub tier: Option<Tier>,
    /// 0–100; null where nothing was found or nothing can be verified.
    pub score: Option<u32>,
    /// Similarity of the passages to the main claim, 0–1. It does not say that sources agree.
    pub agreement: f64,
    pub contradiction: bool,
    pub notes: Vec<Note>,
    pub also_reported_by: Vec<String>,
    /// Why there is nothing to verify, in a sentence for a reader.
    pub explanation: Option<String>,
    pub overall_summary: Option<String>,
    /// Hosts and providers consulted, our own knowledge among them; also those that had nothing.
    pub sources_checked: Vec<String>,
    pub fact_checks: Vec<FactCheck>,
    pub claims: Vec<ClaimResult>,
    /// The claim whose figures the item carries: the most check-worthy one.
    #[serde(default)]
    pub main_claim: Option<String>,
    pub context: Context,
    pub cost: Cost,
    /// What each stage did, in a line each.
    pub trace: Vec<String>,
}

impl ItemResult {
    /// The claim whose figures the item carries; the first one where none is named.
    pub fn main_claim(&self) -> Option<&ClaimResult> {
        let named = |claim: &&ClaimResult| Some(&claim.claim_id) == self.main_claim.as_ref();
        self.claims.iter().find(named).or_else(|| self.claims.first())
    }
}

/// A published review related to the item.
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
    /// The claim of ours it was held against.
    pub claim_id: String,
    pub relation: Relation,
    pub language: Option<String>,
}

/// One claim with its verdict and evidence.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct ClaimResult {
    pub claim_id: String,
    /// The statement as it was checked; behind one that counts from its day ("yesterday") stands when it was written.
    pub text: String,
    pub kind: ClaimKind,
    /// Position of the text it was taken from: 0 is the item's own, `sources` follow, then pages that it links to.
    pub source: usize,
    /// People, organisations, places and things it names, where a language model found the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// Why it can be checked, in the words of the language model that found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_checkable: Option<String>,
    /// `rules`, `model:<name>` or `fact_check`, joined by `+` where passages in several languages had several; `+llm:<name>` (or
    /// `+own:<name>`) where an adjudicator was heard beside them.
    pub judge: String,
    pub verdict: Verdict,
    pub decisive: bool,
    pub confidence: f64,
    pub score: Option<u32>,
    pub tier: Tier,
    /// Mean similarity of the three best-ranked passages to the claim, 0–1. It does not say that sources agree.
    pub agreement: f64,
    pub contradiction: bool,
    pub notes: Vec<Note>,
    pub features: Features,
    /// What the decision model made of the passages; absent where nothing was on topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Reasoning with `[N]` citations.
    pub justification: String,
    pub citations: Vec<u32>,
    pub evidence: Vec<EvidenceRow>,
    pub correction: Option<Correction>,
}

/// The features the score is made of.
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

/// The figures from which the decision model judged a claim, and the posterior it came to.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Decision {
    /// The table of coefficients: `model` or `rules`, by who judged the passages; behind it `+llm` where a language model
    /// was heard beside it.
    pub table: String,
    /// The three strongest supports of independent groups, as log-odds above a floor; 0 where there is none.
    pub support: [f64; 3],
    /// The three strongest contradictions, likewise.
    pub against: [f64; 3],
    pub posterior: Posterior,
    /// What rules saw in its passages beside the judge, when they were judged; those of which no rule holds are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PassageRules>,
}

/// The rules that held of one passage, by their ids (`docs/scoring.md`, relations).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct PassageRules {
    pub evidence_id: String,
    pub rules: Vec<String>,
}

/// How likely a claim is to be each of these, judged by its passages alone. The shares sum to 1.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Posterior {
    pub supported: f64,
    pub refuted: f64,
    pub contested: f64,
    pub open: f64,
}

impl Posterior {
    /// The side that has at least that share, and the share. Of equal ones the more cautious: contested, then refuted.
    pub fn side(&self, least: f64) -> Option<(Verdict, f64)> {
        let sides = [
            (Verdict::Contested, self.contested),
            (Verdict::Refuted, self.refuted),
            (Verdict::Supported, self.supported),
        ];
        let best = sides.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.filter(|(_, share)| *share >= least)
    }

    /// The side of the largest share, or not enough evidence.
    pub fn likeliest(&self) -> Verdict {
        self.side(self.open).map_or(Verdict::NotEnoughEvidence, |(side, _)| side)
    }
}

/// One passage as shown.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct EvidenceRow {
    /// The number justifications cite.
    pub n: u32,
    pub evidence_id: String,
    pub url: String,
    pub domain: String,
    pub title: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    pub passage: String,
    /// By the judge, and by the language model as well where one was heard.
    pub stance: Stance,
    /// Who gave the three probabilities below, which depends on the language: `model:<name>` or `rules`, with `+translated` where
    /// it read a translation. Absent where an older version stored the passage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// What the language model alone said; absent where none was asked.
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

/// A proposed mend of the claim.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Correction {
    #[serde(rename = "type")]
    pub kind: CorrectionType,
    pub original: String,
    pub corrected: String,
    pub confidence: f64,
    pub note: String,
    pub apply: Apply,
    /// URLs.
    pub sources: Vec<String>,
    /// How far the judge found the corrected text borne out by each cited passage it was asked about, the one it comes from
    /// first. Empty where a passage's own sentence is quoted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub borne_out: Vec<BorneOut>,
}

/// What the judge said of a corrected text beside one passage.
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

/// What the item cost.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Cost {
    pub usd: f64,
    /// Requests sent to providers outside, by provider. Answers from a cache, our own knowledge and the operator's folders
    /// are none.
    pub provider_calls: BTreeMap<String, u32>,
    pub llm_calls: u32,
    pub llm_tokens: u32,
    pub millis: u64,
}
