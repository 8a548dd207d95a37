//! A superlative that a sentence narrows: "one of the largest", "the second largest", "the deadliest since 2023".

use crate::judging::profile::{SentenceProfile, TextProfile};
use crate::language::cut;

use super::reserve::says;

/// Beginnings of words that leave room for one alone.
const SUPERLATIVE: &str = "most largest biggest best worst highest lowest oldest deadliest самый самая самое самым самой лучш худш крупнейш \
    найб найк найг найс найв найд";
const FIRST: &str = "first only перв единственн перш єдин";

const ONE_OF: &[&str] = &[
    "one of",
    "один из",
    "одна из",
    "одно из",
    "одним из",
    "одной из",
    "один з",
    "одна з",
    "одне з",
    "одним з",
    "однією з",
    "один із",
    "одна із",
    "одним із",
];

const SECOND: &[&str] = &[
    "second",
    "third",
    "fourth",
    "второй",
    "вторая",
    "второе",
    "третий",
    "третья",
    "третье",
    "другий",
    "друга",
    "друге",
    "третій",
    "третя",
];

/// Whether the claim says that something has no like, and the sentence that it has.
pub(super) fn is_one_of_several(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let claims = |beginnings: &str| beginnings.split_whitespace().any(|beginning| says(claim, beginning));
    let is_superlative = claims(SUPERLATIVE);
    if !is_superlative && !claims(FIRST) {
        return false;
    }
    let written = cut(&passage.text, sentence.start, sentence.end);
    let (text, own) = (written.to_lowercase(), claim.text.to_lowercase());
    let only_here = |phrase: &str| text.contains(phrase) && !own.contains(phrase);
    let words: Vec<&str> = written.split_whitespace().collect();
    let is_next = || {
        words.windows(2).any(|pair| {
            let [one, other] = pair else { return false };
            let is_after = ["after", "после", "після"].contains(one)
                && other.starts_with(char::is_uppercase)
                && only_here(&one.to_lowercase());
            let is_second = SECOND.contains(&one.to_lowercase().as_str())
                && !own.contains(&one.to_lowercase())
                && SUPERLATIVE.split_whitespace().any(|beginning| other.to_lowercase().starts_with(beginning));
            is_after || is_second
        })
    };
    ONE_OF.iter().any(|phrase| only_here(phrase)) || only_here("since ") || is_superlative && is_next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_and_one_of_several_are_not_the_first() {
        let narrowed = |claim: &str, text: &str| {
            let language = if crate::language::has_cyrillic(claim) { "uk" } else { "en" };
            let profile = |text: &str| TextProfile::new(text, Some(language), None, &[]);
            let (claim, passage) = (profile(claim), profile(text));
            passage.sentences.iter().any(|sentence| is_one_of_several(&claim, &passage, sentence))
        };
        let deadliest = "It was the deadliest fire in Greece.";
        for (claim, text) in [
            (deadliest, "It was the deadliest fire in Greece since 2018."),
            (deadliest, "It was one of the deadliest fires in Greece."),
            (deadliest, "It was the second deadliest fire in Greece."),
            ("Львів став найбільшим містом.", "Львів став найбільшим містом після Києва."),
        ] {
            assert!(narrowed(claim, text), "{text}");
        }
        for (claim, text) in [
            (deadliest, "It was the deadliest fire in Greece, officials said."),
            ("Macron made his first visit to Kyiv.", "Macron made his first visit to Kyiv after Friday's attack."),
            ("The bridge fell.", "The bridge fell, one of several this year."),
        ] {
            assert!(!narrowed(claim, text), "{text}");
        }
    }
}
