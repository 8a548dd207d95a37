//! How much a passage is about a claim, by words: for where no model says it.

use super::agreement;
use super::profile::TextProfile;

/// What each part of the relevance weighs. Words carry the subject; names tell one event from another of its kind; the
/// cosine of hashed words adds what stems miss (inflections, transliterated names).
const WORDS: f64 = 0.5;
const NAMES: f64 = 0.25;
const MEANING: f64 = 0.25;

/// A hashed embedding reads about 0.5 for a passage that is plainly on topic, since most of a passage's words are not
/// the claim's; this brings it to the scale of the other parts.
const COSINE_SCALE: f64 = 1.6;

/// Relevance in [0, 1] of a passage to a claim.
pub fn lexical_relevance(claim: &TextProfile, passage: &TextProfile) -> f64 {
    let names = crate::names::Names::new(claim, passage);
    let words = crate::coverage::coverage_with(claim, passage, &names);
    let meaning = (COSINE_SCALE * agreement::cosine(claim, passage)).clamp(0.0, 1.0);
    let relevance = if claim.entities.is_empty() {
        // Without names the words and the meaning share their weight.
        (WORDS * words + MEANING * meaning) / (WORDS + MEANING)
    } else {
        WORDS * words + NAMES * names.found() + MEANING * meaning
    };
    relevance.clamp(0.0, 1.0)
}
