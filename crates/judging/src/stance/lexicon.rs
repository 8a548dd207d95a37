//! The words that keep a sentence from meaning what it repeats.

use crate::profile::{SentenceProfile, TextProfile, Word};
use corroborate_language::lexicon::Words;
use corroborate_language::word_list::WordList;

/// What keeps a sentence from stating what it says, unless the claim has it too: saying, trying, wanting, promising, denying
/// something is not its being so.
static HEDGES: Words = Words::of("stance.hedge");

/// Words with which a sentence calls what it repeats untrue.
static DEBUNKS: Words = Words::of("stance.debunk");

/// Words that widen, order or turn a claim: where the claim has one, the passage must have it too. Most are function
/// words, which the coverage of content words does not see.
static QUANTIFIERS: Words = Words::of("stance.quantifier");

/// Stems of words that name a direction or an outcome. Where the claim has one and the sentence has not, it is never
/// the word that may be missing.
static DIRECTIONS: Words = Words::of("stance.direction");

/// Whether the sentence hedges what the claim states plainly.
pub(crate) fn hedged(sentence: &SentenceProfile, claim: &TextProfile) -> bool {
    let own = || claim.sentences.iter().flat_map(|own| &own.spoken).filter(|own| !own.name);
    let claim_too = |word: &str| own().any(|own| own.text == word);
    sentence.spoken.iter().any(|word| !word.name && HEDGES.has(&word.text) && !claim_too(&word.text))
}

/// Whether the sentence has such a word and the claim has none of them.
fn speaks_of(sentence: &SentenceProfile, claim: &TextProfile, words: &WordList) -> bool {
    let has = |own: &SentenceProfile| own.spoken.iter().any(|word| words.has(&word.text));
    has(sentence) && !claim.sentences.iter().any(has)
}

/// Whether the sentence calls what it repeats untrue, and the claim does not.
pub(crate) fn debunked(sentence: &SentenceProfile, claim: &TextProfile) -> bool {
    speaks_of(sentence, claim, &DEBUNKS)
}

/// Whether the claim has a word that widens, orders or turns it, and the sentence has not.
pub(crate) fn widened(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let own = claim.sentences.iter().flat_map(|own| &own.spoken).filter(|word| QUANTIFIERS.has(&word.text));
    own.into_iter().any(|word| !sentence.spoken.iter().any(|other| other.text == word.text))
}

/// Whether a word names a direction or an outcome.
pub(crate) fn is_direction(word: &Word) -> bool {
    DIRECTIONS.has(&word.stem)
}

/// Words with which a claim speaks of a part only. What holds in general does not contradict it: that vaccines are safe
/// leaves some that are not.
static PARTIAL: Words = Words::of("stance.partial");

/// Words with which a sentence speaks of every one, and so of the part too.
static WHOLE: Words = Words::of("stance.whole");

/// Whether the claim speaks of a part and the sentence neither of that part nor of every one.
pub(crate) fn partial(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    // "Above all, by …" speaks of no every one: the word must stand right before what the claim speaks of.
    let of_every_one = sentence.spoken.iter().enumerate().any(|(at, own)| {
        let mut next = sentence.spoken.iter().skip(at + 1).take(2);
        WHOLE.has(&own.text) && next.any(|word| word.content && claim.has_stem(&word.stem))
    });
    speaks_of_a_part(claim) && !of_every_one && !sentence.spoken.iter().any(|own| PARTIAL.has(&own.text))
}

/// Whether a text speaks of a part only. "Some 300" and "a few 100" are figures.
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
