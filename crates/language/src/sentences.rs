//! Splits text into sentences. "U.S.", "3.5 %", "г. Киев" and "J. K. Rowling" do not end one.
//!
//! To add abbreviations: `sentences.*` in the lexicon.

use super::lexicon::Words;

use super::{cut, is_cyrillic, is_emoji, stopwords};

/// Abbreviations that often end a sentence.
static ENDING_ABBREVIATIONS: Words = Words::of("sentences.ending_abbreviation");

/// Abbreviations inside a sentence, lower case, without the last dot.
static ABBREVIATIONS: Words = Words::of("sentences.abbreviations");

/// Characters searched for a bracket.
const MAX_BRACKET_DISTANCE: usize = 100;

/// Capitalised only at the beginning, in addition to function words.
static OPENERS: Words = Words::of("sentences.openers");

/// Returns trimmed sentences in order, without bullets, decoration and lines without letters or digits.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let characters: Vec<(usize, char)> = text.char_indices().collect();
    let mut index = 0;
    while let Some(&(_, character)) = characters.get(index) {
        let end = match character {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => newline_ends(text, &characters, index, start).then_some(index),
            '.' | '!' | '?' | '…' => terminator_ends(text, &characters, index, start),
            '。' | '！' | '？' | '।' | '؟' | '۔' => Some(index + 1),
            _ => None,
        };
        if let Some(next) = end {
            let offset = characters.get(next).map_or(text.len(), |pair| pair.0);
            push(cut(text, start, offset), &mut found);
            start = offset;
            index = next.max(index + 1);
        } else {
            index += 1;
        }
    }
    push(cut(text, start, text.len()), &mut found);
    found
}

fn push<'a>(piece: &'a str, found: &mut Vec<&'a str>) {
    let piece = piece.trim();
    let piece = piece.trim_start_matches(|c: char| {
        is_emoji(c)
            || c.is_whitespace()
            || matches!(c, '•' | '▪' | '◦' | '·' | '*' | '–' | '—' | '|' | '\u{FEFF}' | '\u{200B}')
    });
    // A bullet before a space, a minus before a digit.
    let piece = piece.strip_prefix("- ").map_or(piece, str::trim_start);
    if piece.chars().any(char::is_alphanumeric) {
        found.push(piece.trim_end_matches(|c: char| is_emoji(c) || c.is_whitespace()));
    }
}

/// Whether a line break ends a sentence. It does not if the next line is lower case and this one is unfinished and
/// longer than a heading.
fn newline_ends(text: &str, characters: &[(usize, char)], index: usize, start: usize) -> bool {
    let mut ahead = characters.iter().skip(index + 1).map(|pair| pair.1);
    let next = ahead.find(|c| !matches!(c, ' ' | '\t' | '\r'));
    let Some(next) = next else { return true };
    if !next.is_lowercase() {
        // "on 5\nMay" is rare: a capital, digit, bullet, emoji or empty line begins a sentence, unless a comma or
        // joining word precedes.
        let line = characters.get(index).map_or("", |pair| cut(text, start, pair.0)).trim_end();
        return next == '\n' || !next.is_alphanumeric() || !goes_on(line);
    }
    false
}

/// Whether a line ends with a comma, dash or function word.
pub(super) fn goes_on(line: &str) -> bool {
    if line.ends_with([',', '—', '–', '-', '(']) {
        return true;
    }
    let last = line.rsplit(char::is_whitespace).next().unwrap_or_default();
    let wrapped = line.chars().count() > 40;
    wrapped && last.chars().next().is_some_and(char::is_lowercase) && stopwords::is_stop_word(last, None)
}

/// Returns the index after the sentence that `index` ends.
fn terminator_ends(text: &str, characters: &[(usize, char)], index: usize, start: usize) -> Option<usize> {
    let at = |position: usize| characters.get(position).map(|pair| pair.1);
    let mut next = index + 1;
    while at(next).is_some_and(|c| matches!(c, '.' | '!' | '?' | '…')) {
        next += 1;
    }
    let single_dot = at(index) == Some('.') && next == index + 1;
    while at(next).is_some_and(|c| matches!(c, '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '“' | '*' | '_')) {
        next += 1;
    }
    let Some(following) = at(next) else { return Some(next) };
    if !following.is_whitespace() && !is_emoji(following) {
        return glued(characters, index, next, single_dot);
    }
    if matches!(following, '\n' | '\r') {
        let dot = characters.get(index)?.0;
        let abbreviated = single_dot && is_abbreviation(last_word(cut(text, start, dot)));
        return (!abbreviated).then_some(next);
    }
    let mut ahead = next;
    while at(ahead).is_some_and(|c| c.is_whitespace() || is_emoji(c) || is_opening(c)) {
        ahead += 1;
    }
    let Some(first) = at(ahead) else { return Some(next) };
    if first.is_lowercase() {
        return None;
    }
    if single_dot && next == index + 1 {
        let dot = characters.get(index)?.0;
        let rest = characters.get(ahead).map_or("", |pair| cut(text, pair.0, text.len()));
        if !dot_ends(cut(text, start, dot), rest) {
            return None;
        }
    }
    Some(next)
}

fn is_opening(character: char) -> bool {
    matches!(character, '"' | '\'' | '“' | '„' | '‘' | '«' | '(' | '[' | '—' | '–' | '-' | '*' | '_')
}

/// Ends "конец.Начало" without a space. Latin words may be a domain name.
fn glued(characters: &[(usize, char)], index: usize, next: usize, single_dot: bool) -> Option<usize> {
    let at = |position: usize| characters.get(position).map(|pair| pair.1);
    let before = index.checked_sub(1).and_then(at)?;
    let earlier = index.checked_sub(2).and_then(at)?;
    let (after, later) = (at(next)?, at(next + 1)?);
    let cyrillic = is_cyrillic(before) && is_cyrillic(after) && before.is_lowercase() && earlier.is_lowercase();
    (cyrillic
        && after.is_uppercase()
        && (later.is_lowercase() || later.is_whitespace())
        && (single_dot || next > index))
        .then_some(next)
}

/// Whether a single dot ends the sentence.
fn dot_ends(before: &str, rest: &str) -> bool {
    let word = last_word(before);
    let next: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '\'').collect();
    // "А. С. Пушкин"
    let another_initial = next.chars().count() == 1 && rest.chars().nth(1) == Some('.');
    let opener = !another_initial && opens_sentence(&next);
    // A list number: "1. First".
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) {
        return before.trim().len() > word.len();
    }
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    if goes_on_behind(word, &next, before) {
        return false;
    }
    let initial = letters == 1 && word.chars().next_back().is_some_and(char::is_uppercase);
    if initial || is_abbreviation(word) || is_acronym(word) {
        let year = matches!(word, "г" | "р" | "гг" | "рр") && number_before(before, word);
        return opener && (initial || is_acronym(word) || year || ends_clause(word));
    }
    true
}

/// Whether the sentence continues: "(c. July 1787 – 1828)", "built c. 1500". "CA" is California.
fn goes_on_behind(word: &str, next: &str, before: &str) -> bool {
    let is_year = || (3..=4).contains(&next.len()) && next.chars().all(|c| c.is_ascii_digit());
    let is_letter = word.len() == 1 && word.chars().all(|c| c.is_ascii_lowercase());
    // A text of dots would take quadratic time.
    let in_brackets = || {
        let near = before.chars().rev().take(MAX_BRACKET_DISTANCE).find(|c| matches!(c, '(' | ')'));
        near == Some('(')
    };
    word == "ca" || (word == "c" && is_year()) || (is_letter && in_brackets())
}

/// Whether it often ends a sentence: "etc.", "Inc.".
fn ends_clause(word: &str) -> bool {
    ENDING_ABBREVIATIONS.has(&word.to_lowercase())
}

fn number_before(before: &str, word: &str) -> bool {
    before
        .strip_suffix(word)
        .and_then(|head| head.trim_end().chars().next_back())
        .is_some_and(|character| character.is_ascii_digit())
}

fn opens_sentence(word: &str) -> bool {
    let lower = word.to_lowercase();
    stopwords::is_stop_word(&lower, None) || OPENERS.has(&lower)
}

fn last_word(before: &str) -> &str {
    before
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '«' | '“' | '[' | ',' | '/' | '—'))
        .next()
        .unwrap_or_default()
}

fn is_abbreviation(word: &str) -> bool {
    !word.is_empty() && ABBREVIATIONS.has(&word.to_lowercase())
}

/// Whether it is like "U.S", "д.м.н".
fn is_acronym(word: &str) -> bool {
    word.contains('.') && word.split('.').all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn abbreviations_decimals_and_initials_end_nothing() {
        for text in [
            "The U.S. Senate passed it.",
            "Prices rose 3.5 % in May.",
            "J. K. Rowling met Dr. Smith at 5 p.m. Tuesday.",
            "Он живёт на ул. Ленина в г. Киев.",
            "А. С. Пушкин родился в 1799 г. в Москве.",
            "Болезни, напр. Грипп А, лечат.",
            "It cost approx. $5bn, e.g. Boeing paid.",
            "«Ура!» — закричал он.",
            "В 2020 г. Украина выросла на 3,2 млн. Человек.",
            "See example.com for No. 5 of it.",
            "King Shaka (c. July 1787 – 22 September 1828) ruled from 1816.",
            "The singer (b. Paris, 1950) left.",
            "It was built c. 1500 and again ca. May 1620.",
        ] {
            assert_eq!(sentences(text), [text], "{text}");
        }
    }

    #[test]
    fn sentences_end_where_readers_stop() {
        assert_eq!(
            sentences("He left the U.S. The law stayed. Why?! Nobody knows…  Yes"),
            ["He left the U.S.", "The law stayed.", "Why?!", "Nobody knows…", "Yes"]
        );
        assert_eq!(
            sentences("Он родился в 1952 г. Он президент.Власти молчат. «Так!» Конец"),
            ["Он родился в 1952 г.", "Он президент.", "Власти молчат.", "«Так!»", "Конец"]
        );
        assert_eq!(
            sentences("They took vitamin c. 12 (of 20) took plan b. Nobody died in Fresno, CA. The fire burned."),
            ["They took vitamin c.", "12 (of 20) took plan b.", "Nobody died in Fresno, CA.", "The fire burned."]
        );
        assert_eq!(
            sentences("She said \"no.\" Then it ended. \"Why?\" asked Ann. 12 people died. 5 were hurt."),
            ["She said \"no.\"", "Then it ended.", "\"Why?\" asked Ann.", "12 people died.", "5 were hurt."]
        );
    }

    #[test]
    fn lines_bullets_and_emoji() {
        assert_eq!(
            sentences("Headline without stop\n\n🔥🔥🔥\n• First thing\n- Second thing\n1. Third thing\n⚡️ Fourth"),
            ["Headline without stop", "First thing", "Second thing", "1. Third thing", "Fourth"]
        );
        assert_eq!(sentences("A line that was\nwrapped by a mailer."), ["A line that was\nwrapped by a mailer."]);
        assert_eq!(sentences("-5 °C in May"), ["-5 °C in May"]);
        assert_eq!(sentences("これは本。あれも本。"), ["これは本。", "あれも本。"]);
        assert!(sentences(" \n 🙂 … ").is_empty());
    }

    proptest! {
        #[test]
        fn no_letter_is_lost(text in "[a-zA-Zа-яА-Я0-9.!? \n«»\"…-]{0,120}") {
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            let joined: String = sentences(&text).concat();
            prop_assert_eq!(letters(&joined), letters(&text));
        }

        #[test]
        fn any_text_is_cut_without_panic(text in "\\PC{0,120}") {
            let _count = sentences(&text).len();
        }
    }
}
