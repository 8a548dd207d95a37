//! Word lists of sentences that repeat a claim without stating it (`factuality.tsv` of the lexicon).

use corroborate_language::lexicon::Words;
use corroborate_language::word_list::WordList;

use crate::profile::{SentenceProfile, TextProfile};

/// Words that call the sentence untrue or a joke.
pub(super) static FRAMES: Words = Words::of("factuality.framed");

/// The same for the governed clause: "accused X of".
pub(super) static GOVERNING: Words = Words::of("factuality.governing");

/// Phrases for the whole sentence.
pub(super) static PHRASES: Words = Words::of("factuality.framing");

/// Beginnings about a film or book.
pub(super) static INVENTED: Words = Words::of("factuality.invented");

pub(super) static DENIALS: Words = Words::of("factuality.denied_by_somebody");

/// Words of a verdict on a nearby claim.
pub(super) static VERDICTS: Words = Words::of("factuality.rated");

pub(super) static CONJUNCTIONS: Words = Words::of("factuality.conjunction");

/// Negations before such a clause or a confirming word.
pub(super) static NEGATIONS: Words = Words::of("factuality.negation");

/// Whether the sentence has a listed word outside names, from no entry that the claim uses.
pub(super) fn begins(claim: &TextProfile, sentence: &SentenceProfile, list: &WordList) -> bool {
    sentence.spoken.iter().any(|word| !word.name && list.has(&word.text) && !says_too(claim, list, &word.text))
}

pub(super) fn says_too(claim: &TextProfile, list: &WordList, word: &str) -> bool {
    let mut own = claim.sentences.iter().flat_map(|own| &own.spoken).filter(|own| !own.name);
    own.any(|own| list.is_same_entry(&own.text, word))
}
