//! Words that changed places. Russian and Ukrainian endings tell who did it, so a verb, or a phrase behind its preposition, may
//! stand elsewhere: "Телебашня в Харькове рухнула" and "В Харькове рухнула телебашня" say the same, "Киев обвинил Будапешт" and
//! "Будапешт обвинил Киев" do not.

use crate::profile::{SentenceProfile, Spoken, TextProfile};
use crate::relations::roles::PREPOSITIONS;
use corroborate_language::{has_cyrillic, verbs};

/// Whether a Russian or Ukrainian sentence has every word of the claim in the claim's own form, and of them only its one verb and one
/// phrase behind a preposition stand elsewhere: of two, each would have to stay with what it belongs to.
pub(super) fn is_only_moved(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let ours: Vec<&Spoken> = claim.sentences.iter().flat_map(|own| &own.spoken).collect();
    let is_verb = |word: &&&Spoken| word.content && verbs::is_past_cyrillic(&word.text);
    if !has_cyrillic(&claim.text) || claim.sentences.len() != 1 || ours.iter().filter(is_verb).count() > 1 {
        return false;
    }
    let theirs: Vec<&str> = sentence.spoken.iter().map(|word| word.text.as_str()).collect();
    // Where each of the other words stands, and the phrase it is of.
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

/// Where the other text has the phrase, as it stands, that begins with a preposition here, and how many words it has.
fn phrase(ours: &[&Spoken], theirs: &[&str]) -> Option<(usize, usize)> {
    if !ours.first().is_some_and(|word| is_preposition(&word.text)) {
        return None;
    }
    let ends = |word: &&&Spoken| is_preposition(&word.text) || verbs::is_past_cyrillic(&word.text);
    // Nouns may end like verbs ("торговли"), and what follows a preposition is one.
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
