//! Relevance of a passage by words, without a model.

use super::agreement;
use super::profile::TextProfile;

/// Words carry the subject, names separate similar events, and hashed words add inflections and transliterated names.
const WORDS: f64 = 0.5;
const NAMES: f64 = 0.25;
const MEANING: f64 = 0.25;

/// A passage on topic has about 0.5, because most of its words are not the claim's.
const COSINE_SCALE: f64 = 1.6;

/// Relevance of a passage to a claim, 0–1.
pub fn lexical_relevance(claim: &TextProfile, passage: &TextProfile) -> f64 {
    let names = crate::names::Names::new(claim, passage);
    let words = crate::coverage::coverage_with(claim, passage, &names);
    let meaning = (COSINE_SCALE * agreement::cosine(claim, passage)).clamp(0.0, 1.0);
    let relevance = if claim.entities.is_empty() {
        // Without names the other parts share the weight.
        (WORDS * words + MEANING * meaning) / (WORDS + MEANING)
    } else {
        WORDS * words + NAMES * names.found() + MEANING * meaning
    };
    relevance.clamp(0.0, 1.0)
}
