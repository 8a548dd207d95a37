//! Words that keep a sentence from meaning what it repeats.

use crate::profile::{SentenceProfile, TextProfile, Word};
use corroborate_language::lexicon::Words;
use corroborate_language::word_list::WordList;

/// Words that keep a sentence from stating its content, unless the claim has them: say, try, want, promise, deny.
static HEDGES: Words = Words::of("stance.hedge");

/// Words that call the repeated text untrue.
static DEBUNKS: Words = Words::of("stance.debunk");

/// Words that widen, order or reverse a claim; the passage needs them too. Most are function words, which content
/// coverage does not see.
static QUANTIFIERS: Words = Words::of("stance.quantifier");

/// Stems for a direction or outcome; never the claim word that may be missing.
static DIRECTIONS: Words = Words::of("stance.direction");

/// Whether the sentence hedges and the claim does not.
pub(crate) fn hedged(sentence: &SentenceProfile, claim: &TextProfile) -> bool {
    let own = || claim.sentences.iter().flat_map(|own| &own.spoken).filter(|own| !own.name);
    let claim_too = |word: &str| own().any(|own| own.text == word);
    sentence.spoken.iter().any(|word| !word.name && HEDGES.has(&word.text) && !claim_too(&word.text))
}

fn speaks_of(sentence: &SentenceProfile, claim: &TextProfile, words: &WordList) -> bool {
    let has = |own: &SentenceProfile| own.spoken.iter().any(|word| words.has(&word.text));
    has(sentence) && !claim.sentences.iter().any(has)
}

/// Whether the sentence, but not the claim, calls the repeated text untrue.
pub(crate) fn debunked(sentence: &SentenceProfile, claim: &TextProfile) -> bool {
    speaks_of(sentence, claim, &DEBUNKS)
}

/// Whether the claim has a quantifier that the sentence lacks.
pub(crate) fn widened(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let own = claim.sentences.iter().flat_map(|own| &own.spoken).filter(|word| QUANTIFIERS.has(&word.text));
    own.into_iter().any(|word| !sentence.spoken.iter().any(|other| other.text == word.text))
}

pub(crate) fn is_direction(word: &Word) -> bool {
    DIRECTIONS.has(&word.stem)
}

/// Words for a part. A general statement does not contradict it: "vaccines are safe" allows some that are not.
static PARTIAL: Words = Words::of("stance.partial");

/// Words for every one, so also for the part.
static WHOLE: Words = Words::of("stance.whole");

/// Whether the claim is about a part, and the sentence neither about that part nor about all.
pub(crate) fn partial(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    // The word must be right before the claim's subject, unlike in "above all, by …".
    let of_every_one = sentence.spoken.iter().enumerate().any(|(at, own)| {
        let mut next = sentence.spoken.iter().skip(at + 1).take(2);
        WHOLE.has(&own.text) && next.any(|word| word.content && claim.has_stem(&word.stem))
    });
    speaks_of_a_part(claim) && !of_every_one && !sentence.spoken.iter().any(|own| PARTIAL.has(&own.text))
}

/// Whether a text is about a part only. "Some 300" and "a few 100" are figures.
pub(crate) fn speaks_of_a_part(text: &TextProfile) -> bool {
    text.sentences.iter().any(|sentence| {
        sentence.spoken.iter().enumerate().any(|(at, word)| {
            let counts = sentence
                .spoken
                .get(at + 1)
                .is_some_and(|next| next.text.chars().next().is_some_and(|c| c.is_ascii_digit()));
            PARTIAL.has(&word.text) && !counts
        })
    })
}
