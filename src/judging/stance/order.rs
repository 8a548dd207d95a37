//! Words that changed places. Russian and Ukrainian endings tell who did it, so a verb, and a phrase behind its preposition, may
//! stand anywhere: "Телебашня в Харькове рухнула" and "В Харькове рухнула телебашня" say the same, "Киев обвинил Будапешт" and
//! "Будапешт обвинил Киев" do not.

use crate::judging::profile::{SentenceProfile, Spoken, TextProfile};
use crate::language::{has_cyrillic, verbs};

const PREPOSITIONS: &str = "в во на с со у к ко о об от до из за по под над при для без через между после перед около против із зі від під про біля після перед до й у";

/// Whether a Russian or Ukrainian sentence has every word of the claim in the claim's own form, and of them only verbs and phrases
/// behind a preposition stand elsewhere.
pub(super) fn is_only_moved(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let ours: Vec<&Spoken> = claim.sentences.iter().flat_map(|own| &own.spoken).collect();
    if !has_cyrillic(&claim.text) || claim.sentences.len() != 1 {
        return false;
    }
    let theirs: Vec<&str> = sentence.spoken.iter().map(|word| word.text.as_str()).collect();
    let mut fixed = Vec::new();
    let mut at = 0;
    while let Some(word) = ours.get(at) {
        let phrase = moving_phrase(ours.get(at..).unwrap_or_default(), &theirs);
        if phrase > 0 {
            at += phrase;
            continue;
        }
        at += 1;
        if verbs::is_past_cyrillic(&word.text) {
            if !sentence.spoken.iter().any(|other| other.stem == word.stem) {
                return false;
            }
        } else if word.content {
            let Some(place) = theirs.iter().position(|other| *other == word.text) else { return false };
            fixed.push(place);
        }
    }
    fixed.is_sorted()
}

/// Words of the phrase that begins with a preposition and that the other text has as it stands; 0 where none begins.
fn moving_phrase(ours: &[&Spoken], theirs: &[&str]) -> usize {
    if !ours.first().is_some_and(|word| is_preposition(&word.text)) {
        return 0;
    }
    let ends = |word: &&Spoken| is_preposition(&word.text) || verbs::is_past_cyrillic(&word.text);
    let longest = 1 + ours.iter().skip(1).take_while(|word| !ends(word)).count();
    let has = |length: usize| {
        let phrase: Vec<&str> = ours.iter().take(length).map(|word| word.text.as_str()).collect();
        theirs.windows(length).any(|window| window == phrase)
    };
    (2..=longest).rev().find(|length| has(*length)).unwrap_or_default()
}

fn is_preposition(word: &str) -> bool {
    PREPOSITIONS.split_whitespace().any(|known| known == word)
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
            ("The tower in Kharkiv fell.", "In Kharkiv fell the tower."),
        ] {
            assert!(!moved(claim, passage), "{passage}");
        }
    }
}
