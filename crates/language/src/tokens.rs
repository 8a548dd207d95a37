//! Splits text into words that other modules compare: [`spans`] finds them, [`normalise_word`] normalises them. Each
//! has a stem and marks for function words, numbers and capitals.

use std::borrow::Cow;

use unicode_normalization::char::compose;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::{is_cyrillic, stemming, stopwords};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Normalised; see [`normalise_word`].
    pub text: String,
    /// See [`super::stemming`]; numbers stay.
    pub stem: String,
    /// A function word.
    pub stop: bool,
    /// Begins with a digit: `1,234.5`, `5g`.
    pub number: bool,
    pub capitalised: bool,
}

/// Returns the words in order. Without a language each word's alphabet decides.
pub fn tokens(text: &str, language: Option<&str>) -> Vec<Token> {
    spans(text)
        .into_iter()
        .map(|(start, end)| token(super::cut(text, start, end), language))
        .filter(|token| !token.text.is_empty())
        .collect()
}

/// Returns the stems of content words in order.
pub fn content_stems(text: &str, language: Option<&str>) -> Vec<String> {
    tokens(text, language).into_iter().filter(|token| !token.stop).map(|token| token.stem).collect()
}

fn token(surface: &str, language: Option<&str>) -> Token {
    let text = normalise_word(surface);
    let number = text.chars().next().is_some_and(|first| first.is_ascii_digit());
    let stop = stopwords::is_stop_word(&text, language);
    let stem = if number { text.clone() } else { stemming::stem(&text, language) };
    let capitalised = surface.chars().find(|letter| letter.is_alphabetic()).is_some_and(char::is_uppercase);
    Token { text, stem, stop, number, capitalised }
}

/// Returns lower case, NFKC, `ё` as `е`, straight apostrophes, no stress marks (U+0301 on Cyrillic vowels), no soft
/// hyphens.
pub fn normalise_word(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    if word.chars().all(is_plain_cyrillic) {
        return word.chars().map(plain_lower).collect();
    }
    let fold = |letters: &mut dyn Iterator<Item = char>| -> String {
        letters
            .flat_map(char::to_lowercase)
            .filter(|letter| {
                !matches!(letter, '\u{0301}' | '\u{0300}' | '\u{00AD}' | '\u{200B}' | '\u{200D}' | '\u{FEFF}')
            })
            .map(|letter| match letter {
                'ё' => 'е',
                letter if is_apostrophe(letter) => '\'',
                letter => letter,
            })
            .collect()
    };
    if is_nfkc_quick(word.chars()) == IsNormalized::Yes { fold(&mut word.chars()) } else { fold(&mut word.nfkc()) }
}

/// Removes stress marks, which encyclopaedias use but vocabularies do not, and recombines "й" and "ї".
///
/// Only vowels have stress: on "г" and "к" the acute makes Macedonian letters. "ѐ" and "ѝ" lose their grave. Byte
/// offsets change.
pub fn unstressed(text: &str) -> Cow<'_, str> {
    let is_mark =
        |letter: char| matches!(letter, '\u{0300}' | '\u{0301}' | '\u{0306}' | '\u{0308}' | 'Ѐ' | 'Ѝ' | 'ѐ' | 'ѝ');
    if text.is_ascii() || !text.contains(is_mark) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut before = None::<char>;
    for letter in text.chars() {
        let vowel = before.is_some_and(is_stressable);
        let whole = before.filter(|before| is_cyrillic(*before)).and_then(|before| match letter {
            '\u{0306}' | '\u{0308}' => compose(before, letter),
            _ => None,
        });
        let next = match letter {
            '\u{0300}' | '\u{0301}' if vowel => continue,
            'Ѐ' => 'Е',
            'Ѝ' => 'И',
            'ѐ' => 'е',
            'ѝ' => 'и',
            letter => letter,
        };
        if whole.is_some() {
            plain.pop();
        }
        let next = whole.unwrap_or(next);
        plain.push(next);
        before = Some(next);
    }
    Cow::Owned(plain)
}

/// Whether it is a vowel of a Slavic alphabet.
fn is_stressable(letter: char) -> bool {
    matches!(
        letter,
        'а' | 'е'
            | 'ё'
            | 'и'
            | 'о'
            | 'у'
            | 'ы'
            | 'э'
            | 'ю'
            | 'я'
            | 'і'
            | 'ї'
            | 'є'
            | 'ъ'
            | 'А'
            | 'Е'
            | 'Ё'
            | 'И'
            | 'О'
            | 'У'
            | 'Ы'
            | 'Э'
            | 'Ю'
            | 'Я'
            | 'І'
            | 'Ї'
            | 'Є'
            | 'Ъ'
    )
}

/// Whether it is a Russian or Ukrainian letter, which normalisation never changes.
fn is_plain_cyrillic(letter: char) -> bool {
    matches!(letter, 'А'..='я' | 'Ё' | 'ё' | 'І' | 'і' | 'Ї' | 'ї' | 'Є' | 'є' | 'Ґ' | 'ґ')
}

/// Returns lower case, `ё` as `е`.
fn plain_lower(letter: char) -> char {
    match letter {
        'А'..='Я' => char::from_u32(letter as u32 + 0x20).unwrap_or(letter),
        'Ё' | 'ё' => 'е',
        'І' => 'і',
        'Ї' => 'ї',
        'Є' => 'є',
        'Ґ' => 'ґ',
        letter => letter,
    }
}

/// Replaces [`char::is_alphabetic`], but is faster.
pub(crate) fn is_letter(character: char) -> bool {
    character.is_ascii_alphabetic()
        || is_plain_cyrillic(character)
        || (!character.is_ascii() && character.is_alphabetic())
}

/// Whether it is an apostrophe, not a double quote or prime.
pub(crate) fn is_apostrophe(character: char) -> bool {
    matches!(character, '\'' | '’' | 'ʼ' | '‘' | '＇' | '´')
}

/// Returns byte ranges. A word may contain an apostrophe ("п'ять"), a separator between digits ("1,234.5") and a hyphen
/// between letters and digits ("F-16").
pub(crate) fn spans(text: &str) -> Vec<(usize, usize)> {
    let characters: Vec<(usize, char)> = text.char_indices().collect();
    let mut spans = Vec::new();
    let mut start: Option<usize> = None;
    for (index, &(offset, character)) in characters.iter().enumerate() {
        let inside = is_word_character(character)
            || (start.is_some()
                && joins(
                    index.checked_sub(1).and_then(|before| characters.get(before)).map(|pair| pair.1),
                    character,
                    characters.get(index + 1).map(|pair| pair.1),
                ));
        match (inside, start) {
            (true, None) => start = Some(offset),
            (false, Some(begin)) => {
                spans.push((begin, offset));
                start = None;
            }
            _ => {}
        }
    }
    if let Some(begin) = start {
        spans.push((begin, text.len()));
    }
    spans
}

fn is_word_character(character: char) -> bool {
    is_letter(character)
        || character.is_ascii_digit()
        || (!character.is_ascii() && character.is_numeric())
        || matches!(character, '\u{0300}'..='\u{036F}' | '\u{00AD}' | '\u{0483}'..='\u{0487}')
}

/// Whether the character is inside a word.
fn joins(before: Option<char>, character: char, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    if is_apostrophe(character) {
        return before.is_alphabetic() && after.is_alphabetic();
    }
    match character {
        '.' | ',' => before.is_ascii_digit() && after.is_ascii_digit(),
        '-' | '‑' => {
            (before.is_alphabetic() && after.is_ascii_digit())
                || (before.is_ascii_digit() && after.is_alphabetic() && !is_cyrillic(after))
        }
        // Vowel points and similar marks.
        _ => !character.is_ascii() && !character.is_whitespace() && before.is_alphabetic() && is_mark(character),
    }
}

/// Whether it is a combining mark, which some tables call not alphabetic.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{0900}'..='\u{0DFF}' | '\u{0E00}'..='\u{0EFF}' | '\u{0591}'..='\u{05C7}' | '\u{064B}'..='\u{065F}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Vec<String> {
        tokens(text, None).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn words_keep_what_belongs_to_them() {
        assert_eq!(
            texts("Don’t pay 1,234.5 for COVID-19, F-16s."),
            ["don't", "pay", "1,234.5", "for", "covid-19", "f-16s"]
        );
        assert_eq!(texts("П’ять зёрен, п'ять — Сло́во"), ["п'ять", "зерен", "п'ять", "слово"]);
        assert_eq!(texts("ﬁne ½ Ⅳ"), ["fine", "1⁄2", "iv"]);
        assert_eq!(texts("«Нью-Йорк» 'quoted'"), ["нью", "йорк", "quoted"]);
        assert!(texts("🔥🔥 — …").is_empty());
    }

    #[test]
    fn stress_marks_go_and_letters_stay_whole() {
        for (text, plain) in [
            ("Володи\u{301}мир Зеле\u{301}нський", "Володимир Зеленський"),
            ("О\u{301}дер, за\u{300}мок", "Одер, замок"),
            ("Украі\u{308}\u{301}на", "Україна"),
            ("Киі\u{301}\u{308}в", "Київ"),
            ("Ї\u{301}хали", "Їхали"),
            ("маи\u{306}бутніи\u{306} е\u{308}ж", "майбутній ёж"),
            ("ле\u{300}топись и лѐтопись", "летопись и летопись"),
            // Other alphabets keep their combining marks.
            ("café, cafe\u{301}", "café, cafe\u{301}"),
            ("Г\u{301}орче, к\u{301}е", "Г\u{301}орче, к\u{301}е"),
            ("plain", "plain"),
            ("Київ", "Київ"),
        ] {
            assert_eq!(unstressed(text), plain, "{text:?}");
        }
        assert!(matches!(unstressed("Київ і Харків"), Cow::Borrowed(_)), "nothing is copied for nothing");
    }

    #[test]
    fn tokens_are_marked() {
        let all = tokens("The Prices rose 5 %", Some("en"));
        assert!(all[0].stop && all[0].capitalised);
        assert!(!all[1].stop && all[1].capitalised && all[1].stem == "price");
        assert!(all[3].number);
        assert_eq!(content_stems("It was not the vaccines", Some("en")), ["vaccin"]);
        assert_eq!(content_stems("Это была не вакцина", Some("ru")), ["вакцин"]);
    }

    proptest! {
        #[test]
        fn any_text_gives_lower_case_tokens(text in "\\PC{0,80}") {
            for token in tokens(&text, None) {
                prop_assert!(!token.text.is_empty());
                prop_assert_eq!(token.text.to_lowercase(), token.text.clone());
            }
        }
    }
}
