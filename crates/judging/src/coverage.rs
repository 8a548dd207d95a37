//! Share of a claim's words that another text has, and relevance by words, without a model.

use super::agreement;
use super::names::Names;
use super::profile::{SentenceProfile, TextProfile, Word};

/// The first of equals, with its share.
pub fn best_sentence<'a>(
    claim: &TextProfile,
    passage: &'a TextProfile,
    names: &Names,
) -> Option<(&'a SentenceProfile, f64)> {
    passage
        .sentences
        .iter()
        .map(|sentence| (sentence, coverage_in(claim, passage, sentence, names)))
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// Weighted share of the claim's content words in a sentence, 0–1.
pub fn sentence_coverage(claim: &TextProfile, sentence: &SentenceProfile) -> f64 {
    share(claim, |word| sentence.stems.binary_search(&word.stem).is_ok())
}

/// The same, with names from other sentences if this one has no other name, so that "he" or "the city" refers to it.
pub(crate) fn coverage_in(
    claim: &TextProfile,
    passage: &TextProfile,
    sentence: &SentenceProfile,
    names: &Names,
) -> f64 {
    let plain = sentence_coverage(claim, sentence);
    if plain >= 1.0 || claim.entities.is_empty() {
        return plain;
    }
    let names_others = sentence.names.iter().any(|position| !names.holds(*position));
    let named = names.accepted_stems(claim, passage, |twins| {
        !names_others || twins.iter().any(|position| sentence.names.contains(position))
    });
    share(claim, |word| sentence.stems.binary_search(&word.stem).is_ok() || named.contains(&&word.stem))
}

/// [`sentence_coverage`] with names from other sentences.
pub fn coverage_of_sentence(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> f64 {
    coverage_in(claim, passage, sentence, &Names::new(claim, passage))
}

/// Weighted share of the claim's content words in a text, 0–1. Names match across alphabets.
pub fn coverage(claim: &TextProfile, other: &TextProfile) -> f64 {
    let plain = share(claim, |word| other.has_stem(&word.stem));
    if plain >= 1.0 || claim.entities.is_empty() || other.entities.is_empty() {
        return plain;
    }
    coverage_with(claim, other, &Names::new(claim, other))
}

/// [`coverage`] with names already compared.
pub fn coverage_with(claim: &TextProfile, other: &TextProfile, names: &Names) -> f64 {
    let named = names.accepted_stems(claim, other, |_| true);
    share(claim, |word| other.has_stem(&word.stem) || named.contains(&&word.stem))
}

fn share(claim: &TextProfile, found: impl Fn(&Word) -> bool) -> f64 {
    let all: f64 = claim.words.iter().map(|word| word.weight).sum();
    let held: f64 = claim.words.iter().filter(|word| found(word)).map(|word| word.weight).sum();
    if all > 0.0 { held / all } else { 0.0 }
}

/// Words carry the subject, names separate similar events, and hashed words add inflections and transliterated names.
const WORDS: f64 = 0.5;
const NAMES: f64 = 0.25;
const MEANING: f64 = 0.25;

/// A passage on topic has about 0.5, because most of its words are not the claim's.
const COSINE_SCALE: f64 = 1.6;

/// Relevance of a passage to a claim, 0–1.
pub fn lexical_relevance(claim: &TextProfile, passage: &TextProfile) -> f64 {
    let names = Names::new(claim, passage);
    let words = coverage_with(claim, passage, &names);
    let meaning = (COSINE_SCALE * agreement::cosine(claim, passage)).clamp(0.0, 1.0);
    let relevance = if claim.entities.is_empty() {
        // Without names the other parts share the weight.
        (WORDS * words + MEANING * meaning) / (WORDS + MEANING)
    } else {
        WORDS * words + NAMES * names.found() + MEANING * meaning
    };
    relevance.clamp(0.0, 1.0)
}
