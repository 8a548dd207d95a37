//! Handles free word order. Russian and Ukrainian endings mark the actor, so a verb or prepositional phrase may move:
//! "Телебашня в Харькове рухнула", "В Харькове рухнула телебашня". "Киев обвинил Будапешт" is not "Будапешт обвинил
//! Киев".

use crate::profile::{SentenceProfile, Spoken, TextProfile};
use crate::relations::roles::PREPOSITIONS;
use corroborate_language::{has_cyrillic, verbs};

/// Whether all words have the same form, and at most the one verb and one prepositional phrase have moved. Two phrases
/// would be unclear.
pub(super) fn is_only_moved(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let ours: Vec<&Spoken> = claim.sentences.iter().flat_map(|own| &own.spoken).collect();
    let is_verb = |word: &&&Spoken| word.content && verbs::is_past_cyrillic(&word.text);
    if !has_cyrillic(&claim.text) || claim.sentences.len() != 1 || ours.iter().filter(is_verb).count() > 1 {
        return false;
    }
    let theirs: Vec<&str> = sentence.spoken.iter().map(|word| word.text.as_str()).collect();
    let mut places: Vec<(usize, Option<usize>)> = Vec::new();
    let (mut at, mut phrases) = (0, 0);
    while let Some(word) = ours.get(at) {
        let rest = ours.get(at..).unwrap_or_default();
        if let Some((place, length)) = phrase(rest, &theirs) {
            places.push((place, Some(phrases)));
            phrases += 1;
            at += length;
            continue;
        }
        at += 1;
        if is_verb(&word) {
            if !sentence.spoken.iter().any(|other| other.stem == word.stem) {
                return false;
            }
        } else if word.content {
            let Some(place) = theirs.iter().position(|other| *other == word.text) else { return false };
            places.push((place, None));
        }
    }
    let is_sorted_without = |moved: Option<usize>| {
        places.iter().filter(|(_, of)| moved.is_none() || *of != moved).is_sorted_by_key(|(place, _)| *place)
    };
    is_sorted_without(None) || (0..phrases).any(|moved| is_sorted_without(Some(moved)))
}

/// Place in the other text and length of the prepositional phrase.
fn phrase(ours: &[&Spoken], theirs: &[&str]) -> Option<(usize, usize)> {
    if !ours.first().is_some_and(|word| is_preposition(&word.text)) {
        return None;
    }
    let ends = |word: &&&Spoken| is_preposition(&word.text) || verbs::is_past_cyrillic(&word.text);
    // Nouns may end like verbs ("торговли"), and a noun follows a preposition.
    let longest = 2 + ours.iter().skip(2).take_while(|word| !ends(word)).count();
    let place = |length: usize| {
        let phrase: Vec<&str> = ours.iter().take(length).map(|word| word.text.as_str()).collect();
        theirs.windows(length).position(|window| window == phrase)
    };
    (2..=longest).rev().find_map(|length| Some((place(length)?, length)))
}

fn is_preposition(word: &str) -> bool {
    PREPOSITIONS.has(word)
}

pub(super) struct Place {
    /// Scattered words belong to other clauses.
    pub(super) together: bool,
    pub(super) in_order: bool,
}

/// Maximum stretch: words per claim word, plus.
const STRETCH: usize = 2;
const STRETCH_MORE: usize = 4;
/// Minimum share of words in order. One of four may move; two exchanged words change the statement.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(claim: &str, passage: &str) -> bool {
        let profile = |text: &str| TextProfile::new(text, Some("ru"), None, &[]);
        let (claim, passage) = (profile(claim), profile(passage));
        passage.sentences.iter().any(|sentence| is_only_moved(&claim, sentence))
    }

    #[test]
    fn verbs_and_phrases_may_move_and_nouns_of_one_form_may_not() {
        for (claim, passage) in [
            ("Телебашня в Харькове рухнула.", "В Харькове рухнула телебашня."),
            ("Турист погиб на севере Италии.", "На севере Италии погиб турист, сообщила полиция."),
            ("Міст у Києві закрили 3 травня.", "У Києві закрили міст 3 травня."),
            ("Польша передала Германии танки.", "Польша Германии передала танки."),
        ] {
            assert!(moved(claim, passage), "{passage}");
        }
        for (claim, passage) in [
            ("Киев обвинил Будапешт.", "Будапешт обвинил Киев."),
            ("Автобус сбил трамвай.", "Трамвай сбил автобус."),
            ("Врач ударил пациента.", "Врача ударил пациент."),
            ("Телебашня в Харькове рухнула.", "В Харькове строили телебашню, рухнул мост."),
            (
                "Трамп поздравил Путина и раскритиковал Зеленского.",
                "Трамп раскритиковал Путина и поздравил Зеленского.",
            ),
            ("Суд арестовал мэра и отпустил судью.", "Суд отпустил мэра и арестовал судью."),
            ("Сборы от туристов растут, от торговли падают.", "Сборы от торговли растут, от туристов падают."),
            ("Взрыв на складе в Туле вызвал пожар на заводе.", "Взрыв на заводе в Туле вызвал пожар на складе."),
            (
                "Банк поднял ставку по вкладам ради ставки по кредитам.",
                "Банк поднял ставку по кредитам ради ставки по вкладам.",
            ),
            ("The tower in Kharkiv fell.", "In Kharkiv fell the tower."),
        ] {
            assert!(!moved(claim, passage), "{passage}");
        }
    }
}
