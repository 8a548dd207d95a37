//! Who did it to whom, by the endings of Russian and Ukrainian names: "Путин поблагодарил Лукашенко" and "Путина поблагодарил
//! Лукашенко" have the same words in the same order.

use crate::judging::profile::{SentenceProfile, TextProfile};
use crate::language::entities::Entity;
use crate::language::has_cyrillic;

/// Whether a name of the claim stands in another case in the sentence, where the claim has two names and either may have done it.
pub(super) fn differ(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let Some(text) = passage.text.get(sentence.start..sentence.end) else { return false };
    if claim.entities.len() < 2 || !has_cyrillic(&claim.text) || !has_cyrillic(text) {
        return false;
    }
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty()).collect();
    claim.entities.iter().any(|name| {
        let Some(own) = last_word(name) else { return false };
        let mut alike = words.iter().filter(|word| is_form_of(own, word)).peekable();
        alike.peek().is_some() && alike.all(|word| word.to_lowercase() != own.to_lowercase())
    })
}

/// The word of a name that is declined as the whole is.
fn last_word(name: &Entity) -> Option<&str> {
    name.text.split_whitespace().next_back()
}

/// Whether two words have one beginning and differ in an ending of two letters at most.
fn is_form_of(own: &str, other: &str) -> bool {
    let (own, other): (Vec<char>, Vec<char>) =
        (own.to_lowercase().chars().collect(), other.to_lowercase().chars().collect());
    let shared = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
    shared >= 3 && own.len() - shared <= 2 && other.len() - shared <= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ_in(claim: &str, passage: &str) -> bool {
        let (claim, passage) =
            (TextProfile::new(claim, Some("ru"), None, &[]), TextProfile::new(passage, Some("ru"), None, &[]));
        passage.sentences.iter().any(|sentence| differ(&claim, &passage, sentence))
    }

    #[test]
    fn another_ending_is_another_part() {
        assert!(differ_in(
            "Владимир Путин поблагодарил Александра Лукашенко.",
            "Владимира Путина поблагодарил Александр Лукашенко."
        ));
        assert!(differ_in("Польша передала Германии танки.", "Польше передала Германия танки."));
        assert!(!differ_in("Польша передала Германии танки.", "Во вторник Польша передала Германии четыре танка."));
        assert!(!differ_in("Путин поблагодарил Лукашенко.", "Путин поблагодарил Лукашенко за помощь."));
        assert!(!differ_in("Путин прилетел.", "Путина встретили."));
    }
}
