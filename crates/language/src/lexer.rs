//! Splits text into words, numbers and signs with positions, for `numbers` and `dates`.

use super::{cut, is_cyrillic, tokens};

/// The kind of a lexeme.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// Digits with separators as written: `1,234.5`, `1 234,5`.
    Number,
    /// Normalised, lower case.
    Word(String),
    /// Another visible character.
    Sign(char),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lexeme<'a> {
    pub(crate) kind: Kind,
    /// As written.
    pub(crate) text: &'a str,
    /// Byte offsets in the whole text.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Lexeme<'_> {
    /// Returns the normalised word, if it is one.
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(crate) fn is_sign(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }

    pub(crate) fn is_number(&self) -> bool {
        self.kind == Kind::Number
    }

    /// Returns at most nine digits as a number.
    pub(crate) fn integer(&self) -> Option<u32> {
        (self.is_number() && self.text.len() <= 9).then(|| self.text.parse().ok()).flatten()
    }
}

/// Splits text. White space is dropped, except between groups of three digits: a no-break space always, others if
/// `spaced_groups`.
pub(crate) fn lex(text: &str, spaced_groups: bool) -> Vec<Lexeme<'_>> {
    let characters: Vec<(usize, char)> = text.char_indices().collect();
    let offset = |index: usize| characters.get(index).map_or(text.len(), |pair| pair.0);
    let mut lexemes = Vec::new();
    let mut index = 0;
    while let Some(&(start, first)) = characters.get(index) {
        if first.is_whitespace() || matches!(first, '\u{200B}' | '\u{FEFF}' | '\u{0301}') {
            index += 1;
            continue;
        }
        let (next, kind) = if first.is_ascii_digit() {
            (number_end(&characters, index, spaced_groups), Kind::Number)
        } else if tokens::is_letter(first) {
            let next = word_end(&characters, index);
            (next, Kind::Word(word_of(cut(text, start, offset(next)))))
        } else {
            (index + 1, Kind::Sign(first))
        };
        let end = offset(next);
        lexemes.push(Lexeme { kind, text: cut(text, start, end), start, end });
        index = next;
    }
    lexemes
}

/// Normalises a word, with a Latin "i" in "рокiв" and a quote in "п\"ять" corrected.
fn word_of(written: &str) -> String {
    let word = tokens::normalise_word(written);
    let cyrillic = word.chars().any(is_cyrillic);
    let meant = |letter: char| match letter {
        'i' => 'і',
        '"' => '\'',
        letter => letter,
    };
    if cyrillic && word.contains(['i', '"']) { word.chars().map(meant).collect() } else { word }
}

/// Whether a double quote is an apostrophe: "об\"єкт".
fn is_typed_apostrophe(before: Option<char>, character: char, after: Option<char>) -> bool {
    character == '"' && before.is_some_and(is_cyrillic) && after.is_some_and(|next| "яюєї".contains(next))
}

fn word_end(characters: &[(usize, char)], start: usize) -> usize {
    let at = |index: usize| characters.get(index).map(|pair| pair.1);
    let mut index = start;
    while let Some(character) = at(index) {
        let joins = (tokens::is_apostrophe(character) && at(index + 1).is_some_and(tokens::is_letter))
            || is_typed_apostrophe(at(index.wrapping_sub(1)), character, at(index + 1));
        if !(tokens::is_letter(character) || joins || matches!(character, '\u{0300}'..='\u{036F}' | '\u{00AD}')) {
            break;
        }
        index += 1;
    }
    index
}

fn number_end(characters: &[(usize, char)], start: usize, spaced_groups: bool) -> usize {
    let at = |index: usize| characters.get(index).map(|pair| pair.1);
    let digit = |index: usize| at(index).is_some_and(|c| c.is_ascii_digit());
    let mut index = start;
    while digit(index) {
        index += 1;
    }
    let mut first_group = index - start <= 3;
    loop {
        let group = (1..=3).all(|step| digit(index + step)) && !digit(index + 4);
        match at(index) {
            Some('.' | ',') if digit(index + 1) => {
                index += 1;
                while digit(index) {
                    index += 1;
                }
            }
            Some('\u{A0}' | '\u{202F}' | '\u{2009}' | '\'' | '’') if first_group && group => index += 4,
            // "5 300" may be two numbers in English; "25 000" is one.
            Some(' ')
                if first_group && group && (spaced_groups || (1..=3).all(|step| at(index + step) == Some('0'))) =>
            {
                index += 4;
            }
            _ => return index,
        }
        first_group &= index > start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, spaced: bool) -> Vec<&str> {
        lex(text, spaced).into_iter().map(|lexeme| lexeme.text).collect()
    }

    #[test]
    fn numbers_keep_their_separators() {
        assert_eq!(texts("1,234.5 — 1 234,5 км", true), ["1,234.5", "—", "1 234,5", "км"]);
        assert_eq!(texts("25 000 cases, 5 300 more", false), ["25 000", "cases", ",", "5", "300", "more"]);
        assert_eq!(texts("in 2020 100 people", false), ["in", "2020", "100", "people"]);
        assert_eq!(texts("в 2020 100 человек", true), ["в", "2020", "100", "человек"]);
        assert_eq!(texts("12 345 678", true), ["12 345 678"]);
        assert_eq!(texts("$5bn, 5.", false), ["$", "5", "bn", ",", "5", "."]);
        assert_eq!(texts("5 1000", true), ["5", "1000"]);
        assert_eq!(texts("п’ять don't", false), ["п’ять", "don't"]);
        assert_eq!(texts("п\"ять \"я\"", true), ["п\"ять", "\"", "я", "\""]);
        assert_eq!(lex("рокiв", true)[0].word(), Some("років"));
    }
}
