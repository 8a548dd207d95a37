//! Decides whether a sentence denies the claim or the reverse, by denial of a word or by antonym. The NLI model decides this
//! if it reads both texts. These rules are used for fact-checks, figures and other languages.

use corroborate_language::lexicon::Words;
use corroborate_language::negation;

use crate::profile::{Denial, SentenceProfile, TextProfile, Word};

/// Whether the text denies as a whole; two denials cancel.
pub(crate) fn negated(text: &TextProfile) -> bool {
    text.negations % 2 == 1
}

/// Whether there is an antonym between words that only one text has.
pub(crate) fn antonym_between(a: &TextProfile, b: &TextProfile) -> bool {
    let only = |from: &TextProfile, other: &TextProfile| -> Vec<String> {
        from.words.iter().filter(|word| !other.has_stem(&word.stem)).map(|word| word.stem.clone()).collect()
    };
    let (mine, theirs) = (only(a, b), only(b, a));
    mine.iter().any(|word| theirs.iter().any(|other| negation::antonyms(word, other)))
}

pub(crate) fn has_antonym(word: &Word, claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    sentence.stems.iter().any(|other| !claim.has_stem(other) && negation::antonyms(&word.stem, other))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parity {
    /// Both deny, or neither.
    Same,
    /// One denies exactly a word that the other states.
    Opposite,
    /// They differ, and the rules cannot find the denied word.
    Unclear,
}

pub(crate) fn parity(claim: &TextProfile, sentence: &SentenceProfile) -> Parity {
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

/// Whether both deny or neither, as far as grammar shows.
pub(crate) fn agree_in_denial(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    parity(claim, sentence) == Parity::Same && !no_evidence(claim, sentence)
}

/// Whether "there is no evidence that …" denies all words.
pub(crate) fn no_evidence(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let whole = |denial: &Denial| denial.denied.is_none() && denial.reached.len() > claim.words.len();
    let denies_all = |denial: &Denial| claim.words.iter().all(|word| denial.reached.contains(&word.stem));
    let plain_claim = claim.sentences.iter().all(|own| own.denials.is_empty());
    matches!(sentence.denials.as_slice(), [denial] if plain_claim && whole(denial) && denies_all(denial))
}

/// Words for a part of a whole.
static PARTIAL_WORDS: Words = Words::of("stance.partial");

/// Whether a text is about a part only. "Some 300" and "a few 100" are figures.
pub(crate) fn is_about_part(text: &TextProfile) -> bool {
    let begins_with_digit = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    text.sentences.iter().any(|sentence| {
        let next = |at: usize| sentence.words.get(at + 1).is_some_and(|next| begins_with_digit(&next.text));
        sentence.words.iter().enumerate().any(|(at, word)| PARTIAL_WORDS.has(&word.text) && !next(at))
    })
}

/// Whether a word other than a name, or its opposite, is shared; always true for a claim of names only.
pub(crate) fn shares_more_than_names(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let is_name = |word: &&Word| claim.name_stems.iter().flatten().any(|name| *name == word.stem);
    let mut others = claim.words.iter().filter(|word| !is_name(word)).peekable();
    others.peek().is_none()
        || others.any(|word| sentence.stems.binary_search(&word.stem).is_ok() || has_antonym(word, claim, sentence))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(claim: &str, sentence: &str) -> (Parity, bool, bool) {
        let profile = |text: &str| TextProfile::new(text, None, None, &[]);
        let (claim, passage) = (profile(claim), profile(sentence));
        let sentence = &passage.sentences[0];
        (parity(&claim, sentence), no_evidence(&claim, sentence), antonym_between(&claim, &passage))
    }

    #[test]
    fn denials_and_antonyms_differ_and_two_denials_agree() {
        for (claim, sentence, expected) in [
            ("The mayor of Odesa resigned.", "The mayor of Odesa has not resigned.", (Parity::Opposite, false, false)),
            ("The mayor of Odesa has not resigned.", "The mayor of Odesa resigned.", (Parity::Opposite, false, false)),
            (
                "The mayor of Odesa has not resigned.",
                "The mayor of Odesa has not resigned.",
                (Parity::Same, false, false),
            ),
            ("The mayor of Odesa resigned.", "The mayor of Odesa resigned on Monday.", (Parity::Same, false, false)),
            ("Мэр Одессы подал в отставку.", "Мэр Одессы не подал в отставку.", (Parity::Opposite, false, false)),
            (
                "Vaccines cause autism.",
                "There is no evidence that vaccines cause autism.",
                (Parity::Unclear, true, false),
            ),
            ("Exports of grain increased.", "Exports of grain decreased.", (Parity::Same, false, true)),
        ] {
            assert_eq!(of(claim, sentence), expected, "{claim} / {sentence}");
        }
    }

    proptest! {
        #[test]
        fn a_text_never_denies_itself(words in "[a-z]{3,9}( [a-z]{3,9}){2,8}", denies: bool) {
            let text = if denies { format!("The mayor did not sign {words}.") } else { words };
            let profile = TextProfile::new(&text, Some("en"), None, &[]);
            for sentence in &profile.sentences {
                prop_assert_ne!(parity(&profile, sentence), Parity::Opposite);
            }
        }
    }
}
