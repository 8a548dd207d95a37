//! How a claim and a sentence are built: what each denies, in which order the words stand, who does what to whom.

use crate::profile::{Denial, SentenceProfile, TextProfile, Word};
use corroborate_language::{negation, transliterate};

/// Whether a text denies, on the whole: two denials make none.
pub fn negated(text: &TextProfile) -> bool {
    text.negations % 2 == 1
}

/// Whether a word that only one text has is the antonym of one that only the other has.
pub fn antonym_between(a: &TextProfile, b: &TextProfile) -> bool {
    let only = |from: &TextProfile, other: &TextProfile| -> Vec<String> {
        from.words.iter().filter(|word| !other.has_stem(&word.stem)).map(|word| word.stem.clone()).collect()
    };
    let (mine, theirs) = (only(a, b), only(b, a));
    mine.iter().any(|word| theirs.iter().any(|other| negation::antonyms(word, other)))
}

pub(super) fn has_antonym(word: &Word, claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    sentence.stems.iter().any(|other| !claim.has_stem(other) && negation::antonyms(&word.stem, other))
}

/// Whether two texts give the same two names opposite parts ("A beat B", "B beat A").
pub fn swapped_roles(a: &TextProfile, b: &TextProfile) -> bool {
    let passive = |text: &TextProfile| text.sentences.iter().any(is_passive);
    reversed(a, &b.text, b, passive(a), passive(b)) == Some(true)
}

pub(super) fn swapped_roles_in(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> Option<bool> {
    let text = passage.text.get(sentence.start..sentence.end)?;
    reversed(claim, text, passage, claim.sentences.iter().any(is_passive), is_passive(sentence))
}

/// Whether the first two shared names stand the other way round, once a passive is turned back. `None` with fewer than
/// two shared names.
fn reversed(a: &TextProfile, text: &str, b: &TextProfile, a_passive: bool, b_passive: bool) -> Option<bool> {
    let mut places: Vec<(usize, usize)> = a
        .entities
        .iter()
        .filter_map(|name| {
            let here = a.text.find(&name.text)?;
            let there = b
                .entities
                .iter()
                .filter(|other| transliterate::same_key(&other.key, &name.key))
                .filter_map(|other| text.find(&other.text))
                .min()?;
            Some((here, there))
        })
        .collect();
    places.sort_unstable();
    let [(_, first), (_, second), ..] = places.as_slice() else {
        return None;
    };
    Some((first > second) != (a_passive != b_passive))
}

/// An English passive that names the doer: "was beaten by".
pub(super) fn is_passive(sentence: &SentenceProfile) -> bool {
    let has = |words: &[&str]| sentence.spoken.iter().any(|spoken| words.contains(&spoken.text.as_str()));
    has(&["by"]) && has(&["was", "were", "been", "is", "are", "being", "be"])
}

/// How the denials of a claim and a sentence meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parity {
    /// Both deny, or neither.
    Same,
    /// One denies exactly a word that the other states.
    Opposite,
    /// They differ, and which word is denied, or how many denials meet, is grammar that no rule here knows.
    Unclear,
}

/// Whether the sentence denies what the claim says or the reverse.
pub(super) fn parity(claim: &TextProfile, sentence: &SentenceProfile) -> Parity {
    let touching =
        sentence.denials.iter().filter(|denial| denial.reached.iter().any(|stem| claim.has_stem(stem))).count();
    let mut ours = claim.sentences.iter().flat_map(|own| &own.denials);
    let stated = |denial: &Denial, there: &dyn Fn(&str) -> bool| denial.denied.as_deref().is_some_and(there);
    match (ours.next(), ours.next(), sentence.denials.as_slice()) {
        (None, _, []) => Parity::Same,
        (None, _, _) if touching == 0 => Parity::Same,
        (None, _, [denial]) if stated(denial, &|stem| claim.has_stem(stem)) => Parity::Opposite,
        (Some(denial), None, [])
            if stated(denial, &|stem| sentence.stems.binary_search_by(|own| own.as_str().cmp(stem)).is_ok()) =>
        {
            Parity::Opposite
        }
        (Some(mine), None, [theirs]) if mine.denied == theirs.denied || (touching == 1 && mine.denied.is_none()) => {
            Parity::Same
        }
        _ => Parity::Unclear,
    }
}

/// Whether a claim and a sentence deny alike, as far as grammar tells: both, or neither.
pub fn agree_in_denial(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    parity(claim, sentence) == Parity::Same && !no_evidence(claim, sentence)
}

/// "There is no evidence that …" followed by the claim: it denies no single word, and all of them.
pub(super) fn no_evidence(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let whole = |denial: &Denial| denial.denied.is_none() && denial.reached.len() > claim.words.len();
    let denies_all = |denial: &Denial| claim.words.iter().all(|word| denial.reached.contains(&word.stem));
    let plain_claim = claim.sentences.iter().all(|own| own.denials.is_empty());
    matches!(sentence.denials.as_slice(), [denial] if plain_claim && whole(denial) && denies_all(denial))
}

/// Where the claim's words stand in a sentence.
pub(super) struct Place {
    /// Within a stretch not much longer than the claim: words scattered wider belong to other clauses.
    pub(super) together: bool,
    /// Mostly in the claim's order.
    pub(super) in_order: bool,
}

/// Words of the stretch per word of the claim, and on top.
const STRETCH: usize = 2;
const STRETCH_MORE: usize = 4;
/// Share of the shared words that must stand in the claim's order. One of four may move; two that change places make
/// another statement.
const ORDERED: f64 = 0.75;

pub(super) fn place(claim: &TextProfile, sentence: &SentenceProfile) -> Place {
    let own: Vec<&str> = claim
        .sentences
        .iter()
        .flat_map(|own| &own.spoken)
        .filter(|word| word.content)
        .map(|word| word.stem.as_str())
        .collect();
    let length: usize = claim.sentences.iter().map(|own| own.spoken.len()).sum();
    let at: Vec<usize> =
        own.iter().filter_map(|stem| sentence.spoken.iter().position(|word| word.stem == *stem)).collect();
    let (Some(first), Some(last)) = (at.iter().min(), at.iter().max()) else {
        return Place { together: false, in_order: false };
    };
    let ordered = longest_ascent(&at);
    Place {
        together: last - first < STRETCH * length + STRETCH_MORE,
        in_order: ordered as f64 >= ORDERED * at.len() as f64,
    }
}

/// Length of the longest ascending subsequence.
pub(super) fn longest_ascent(values: &[usize]) -> usize {
    let mut tails: Vec<usize> = Vec::new();
    for value in values {
        let at = tails.partition_point(|tail| tail < value);
        match tails.get_mut(at) {
            Some(tail) => *tail = *value,
            None => tails.push(*value),
        }
    }
    tails.len()
}
