//! The words by which a sentence repeats a claim and does not state it: the lists, and how they
//! are asked. Their entries stand in the lexicon, `factuality.tsv`.

use corroborate_language::lexicon::Words;
use corroborate_language::word_list::WordList;

use crate::profile::{SentenceProfile, TextProfile};

/// What calls untrue, or a joke, what stands with it in one sentence.
pub(super) static FRAMES: Words = Words::of("factuality.framed");

/// What does so for the clause it governs alone: "accused X of", "refused to". Elsewhere in the sentence it is another story's.
pub(super) static GOVERNING: Words = Words::of("factuality.governing");

/// Phrases that say so of the whole sentence.
pub(super) static PHRASES: Words = Words::of("factuality.framing");

/// Beginnings of sentences that tell of a film or a book.
pub(super) static INVENTED: Words = Words::of("factuality.invented");

/// Words by which somebody says that it is not so.
pub(super) static DENIALS: Words = Words::of("factuality.denied_by_somebody");

/// Words of a verdict on a claim that stands beside it.
pub(super) static VERDICTS: Words = Words::of("factuality.rated");

/// What joins the clause of what is told.
pub(super) static CONJUNCTIONS: Words = Words::of("factuality.conjunction");

/// What denies before such a clause, or before a word that confirms.
pub(super) static NEGATIONS: Words = Words::of("factuality.negation");

/// Whether a sentence has a word of a list, no name, of whose entry the claim has none.
pub(super) fn begins(claim: &TextProfile, sentence: &SentenceProfile, list: &WordList) -> bool {
    sentence.spoken.iter().any(|word| !word.name && list.has(&word.text) && !says_too(claim, list, &word.text))
}

/// Whether the claim has a word of the same entry.
pub(super) fn says_too(claim: &TextProfile, list: &WordList, word: &str) -> bool {
    let mut own = claim.sentences.iter().flat_map(|own| &own.spoken).filter(|own| !own.name);
    own.any(|own| list.is_same_entry(&own.text, word))
}
