//! Decides whether a sentence denies the claim or the reverse, by denial of a word or by antonym.

use corroborate_language::negation;

use crate::profile::{Denial, SentenceProfile, TextProfile, Word};

use super::{Answer, Held, Rule};

/// A denied word, an antonym, then a denial of everything.
pub(super) const RULES: &[Rule] = &[
    Rule { id: "polarity.no_evidence", answer: Answer::Differs, holds: |held, at| is(held, at, no_evidence) },
    Rule {
        id: "polarity.denied_word",
        answer: Answer::Differs,
        holds: |held, at| meets(held, at) == Some(Parity::Opposite),
    },
    Rule { id: "polarity.antonym", answer: Answer::Differs, holds: |held, at| is(held, at, has_an_antonym) },
    Rule {
        id: "polarity.unclear",
        answer: Answer::Unknown,
        holds: |held, at| meets(held, at) == Some(Parity::Unclear),
    },
    Rule {
        id: "polarity.same",
        answer: Answer::Agrees,
        holds: |held, at| held.repeats() && meets(held, at) == Some(Parity::Same),
    },
];

fn is(held: &Held<'_>, at: usize, holds: fn(&TextProfile, &SentenceProfile) -> bool) -> bool {
    held.at(at).is_some_and(|sentence| holds(held.claim, sentence))
}

fn meets(held: &Held<'_>, at: usize) -> Option<Parity> {
    held.at(at).map(|sentence| parity(held.claim, sentence))
}

/// Whether the sentence has the antonym of a claim word that it lacks.
fn has_an_antonym(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let mut missing = claim.words.iter().filter(|word| sentence.stems.binary_search(&word.stem).is_err());
    missing.any(|word| has_antonym(word, claim, sentence))
}

/// Whether the text denies as a whole; two denials cancel.
pub fn negated(text: &TextProfile) -> bool {
    text.negations % 2 == 1
}

/// Whether there is an antonym between words that only one text has.
pub fn antonym_between(a: &TextProfile, b: &TextProfile) -> bool {
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
pub fn agree_in_denial(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    parity(claim, sentence) == Parity::Same && !no_evidence(claim, sentence)
}

/// Whether "there is no evidence that …" denies all words.
pub(crate) fn no_evidence(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let whole = |denial: &Denial| denial.denied.is_none() && denial.reached.len() > claim.words.len();
    let denies_all = |denial: &Denial| claim.words.iter().all(|word| denial.reached.contains(&word.stem));
    let plain_claim = claim.sentences.iter().all(|own| own.denials.is_empty());
    matches!(sentence.denials.as_slice(), [denial] if plain_claim && whole(denial) && denies_all(denial))
}

/// Whether a word other than a name, or its opposite, is shared; always true for a claim of names only.
pub fn shares_more_than_names(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let is_name = |word: &&Word| claim.name_stems.iter().flatten().any(|name| *name == word.stem);
    let mut others = claim.words.iter().filter(|word| !is_name(word)).peekable();
    others.peek().is_none()
        || others.any(|word| sentence.stems.binary_search(&word.stem).is_ok() || has_antonym(word, claim, sentence))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::relations::{Relation, relations};

    fn rule(claim: &str, passage: &str) -> &'static str {
        let profile = |text: &str| TextProfile::new(text, None, None, &[]);
        let found = relations(&profile(claim), &profile(passage));
        found
            .findings()
            .iter()
            .find(|finding| finding.relation == Relation::Polarity)
            .map_or("", |finding| finding.rule)
    }

    #[test]
    fn denials_and_antonyms_differ_and_two_denials_agree() {
        for (claim, passage, expected) in [
            ("The mayor of Odesa resigned.", "The mayor of Odesa has not resigned.", "polarity.denied_word"),
            ("The mayor of Odesa has not resigned.", "The mayor of Odesa resigned.", "polarity.denied_word"),
            ("The mayor of Odesa has not resigned.", "The mayor of Odesa has not resigned.", "polarity.same"),
            ("The mayor of Odesa resigned.", "The mayor of Odesa resigned on Monday.", "polarity.same"),
            ("Мэр Одессы подал в отставку.", "Мэр Одессы не подал в отставку.", "polarity.denied_word"),
            ("Vaccines cause autism.", "There is no evidence that vaccines cause autism.", "polarity.no_evidence"),
            ("Exports of grain increased.", "Exports of grain decreased.", "polarity.antonym"),
            ("The mayor of Odesa resigned.", "A bridge was opened in Lviv.", ""),
        ] {
            assert_eq!(rule(claim, passage), expected, "{claim} / {passage}");
        }
    }

    proptest! {
        #[test]
        fn a_text_never_denies_itself(words in "[a-z]{3,9}( [a-z]{3,9}){2,8}") {
            let profile = TextProfile::new(&words, Some("en"), None, &[]);
            prop_assert!(!relations(&profile, &profile).differs(Relation::Polarity));
        }
    }
}
