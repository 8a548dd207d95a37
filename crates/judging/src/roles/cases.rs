//! Finds exchanged roles by Russian and Ukrainian endings: "Путина поблагодарил Лукашенко" has the words of "Путин
//! поблагодарил Лукашенко".

use crate::profile::{SentenceProfile, TextProfile};
use corroborate_language::entities::Entity;
use corroborate_language::has_cyrillic;
use corroborate_language::lexicon::Words;
use corroborate_language::word_list::WordList;

/// Russian and Ukrainian prepositions, which set the case of the next name.
static PREPOSITIONS: Words = Words::of("roles.preposition");

/// Whether a name has another case, if the claim has two possible actors.
pub(super) fn differ(claim: &TextProfile, passage: &TextProfile, sentence: &SentenceProfile) -> bool {
    let Some(text) = passage.text.get(sentence.start..sentence.end) else { return false };
    if claim.entities.len() < 2 || !has_cyrillic(&claim.text) || !has_cyrillic(text) {
        return false;
    }
    let of = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '-')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (ours, theirs) = (of(&claim.text), of(text));
    claim.entities.iter().any(|name| {
        let Some(own) = last_word(name) else { return false };
        let own_at = ours.iter().position(|word| word == own);
        let own = own.to_lowercase();
        let mut alike = theirs
            .iter()
            .enumerate()
            .map(|(at, word)| (at, word.to_lowercase()))
            .filter(|(_, word)| is_form_of(&own, word))
            .peekable();
        alike.peek().is_some()
            && !own_at.is_some_and(|at| is_joined(&ours, at))
            && alike.all(|(at, word)| word != own && !is_joined(&theirs, at))
    })
}

/// Whether the name follows a preposition or another name ("с Эммануэлем Макроном", "Путин и Си"). Its ending then does
/// not show the actor.
fn is_joined(words: &[String], at: usize) -> bool {
    let is_among = |word: &String, list: &WordList| list.has(&word.to_lowercase());
    let is_joining = |word: &&String| is_among(word, &PREPOSITIONS) || is_among(word, &JOINING_WORDS);
    let is_of_name = |word: &String| word.starts_with(char::is_uppercase) && !is_joining(&word);
    let before = words.get(..at).unwrap_or_default().iter().rev().find(|word| !is_of_name(word));
    before.is_some_and(|word| is_joining(&word)) || words.get(at + 1).is_some_and(|word| is_among(word, &JOINING_WORDS))
}

static JOINING_WORDS: Words = Words::of("roles.joining");

/// The last word, which is declined like the whole name.
fn last_word(name: &Entity) -> Option<&str> {
    name.text.split_whitespace().next_back()
}

/// Whether two words differ only in endings of at most two letters.
fn is_form_of(own: &str, other: &str) -> bool {
    let (own, other): (Vec<char>, Vec<char>) = (own.chars().collect(), other.chars().collect());
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
        assert!(!differ_in(
            "Владимир Зеленский встретился с Эммануэлем Макроном.",
            "Владимир Зеленский и Эммануэль Макрон встретились."
        ));
    }
}
