//! Repairs text that was encoded as UTF-8 twice: "Ð¨ÐºÐ¾Ð»Ð°" and "РЁРєРѕР»Р°" are "Школа".
//!
//! A program read UTF-8 as windows-1252, Latin-1 or windows-1251, and wrote the result as UTF-8. The test is the way
//! back: the characters of a word, as bytes of such an encoding, are valid UTF-8. Texts between tags and quotation
//! marks are repaired one by one, because templates are often right when a title is not.
//!
//! One short word is no proof: "«CAFÉ»" has two characters that are one character of UTF-8. A text is repaired if one
//! of its words is certain; then its other words are too.

use std::borrow::Cow;
use std::sync::LazyLock;

use encoding_rs::{Encoding, WINDOWS_1251, WINDOWS_1252};

/// An encoding whose bytes 0x80 to 0xFF are one character each.
struct SingleByteEncoding {
    /// Sorted.
    bytes: Vec<(char, u8)>,
    /// The bytes 0x80 to 0x9F may also be control characters, as in Latin-1.
    has_controls: bool,
}

static WRONG_ENCODINGS: LazyLock<[SingleByteEncoding; 2]> =
    LazyLock::new(|| [SingleByteEncoding::of(WINDOWS_1252, true), SingleByteEncoding::of(WINDOWS_1251, false)]);

impl SingleByteEncoding {
    fn of(encoding: &'static Encoding, has_controls: bool) -> Self {
        let upper: Vec<u8> = (0x80..=0xFF).collect();
        let (characters, _) = encoding.decode_without_bom_handling(&upper);
        let mut bytes: Vec<(char, u8)> = characters.chars().zip(upper.iter().copied()).collect();
        bytes.sort_unstable();
        Self { bytes, has_controls }
    }

    fn byte_of(&self, character: char) -> Option<u8> {
        let latin = u8::try_from(u32::from(character)).ok();
        if let Some(byte) = latin.filter(|byte| self.has_controls && *byte >= 0x80) {
            return Some(byte);
        }
        let at = self.bytes.binary_search_by_key(&character, |known| known.0).ok()?;
        self.bytes.get(at).map(|known| known.1)
    }

    /// Returns the text whose UTF-8 was read as `word`, which has no ASCII characters.
    fn original(&self, word: &str) -> Option<String> {
        let mut characters = word.chars();
        let (first, second) = (self.byte_of(characters.next()?)?, self.byte_of(characters.next()?)?);
        // Most words end here: two letters are no UTF-8.
        if !(0xC2..=0xF4).contains(&first) || second >= 0xC0 {
            return None;
        }
        let bytes: Option<Vec<u8>> = word.chars().map(|character| self.byte_of(character)).collect();
        String::from_utf8(bytes?).ok().filter(|text| !text.contains(char::is_control))
    }

    /// True if `word` is certainly a text read wrongly, and not a letter before a punctuation mark.
    fn is_certain(&self, word: &str) -> bool {
        let Some(original) = self.original(word) else { return false };
        if original.chars().nth(1).is_some() {
            return true;
        }
        // In windows-1251 the Ukrainian "дії" is one character of UTF-8.
        let last = word.chars().next_back().unwrap_or_default();
        let is_pair = word.starts_with(['Â', 'Ã']) && !matches!(last, '\u{2013}'..='\u{2026}' | '»' | '›');
        self.has_controls && (is_pair || word.chars().nth(2).is_some())
    }

    fn repaired(&self, part: &str) -> Option<String> {
        // A piece is a word without ASCII characters and the ASCII character behind it.
        let pieces = || part.split_inclusive(|character: char| character.is_ascii());
        if !pieces().any(|piece| self.is_certain(word_of(piece))) {
            return None;
        }
        let mut text = String::with_capacity(part.len());
        for piece in pieces() {
            let (word, end) = piece.split_at(word_of(piece).len());
            text.push_str(self.original(word).as_deref().unwrap_or(word));
            text.push_str(end);
        }
        Some(text)
    }
}

fn word_of(piece: &str) -> &str {
    piece.trim_end_matches(|last: char| last.is_ascii())
}

/// Repairs the parts of a page, feed or text that were encoded twice.
pub(super) fn repaired(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut whole: Option<String> = None;
    let mut at = 0;
    for part in text.split_inclusive(['<', '>', '"']) {
        let better = WRONG_ENCODINGS.iter().find_map(|encoding| encoding.repaired(part));
        if better.is_some() && whole.is_none() {
            whole = text.get(..at).map(str::to_owned);
        }
        if let Some(whole) = &mut whole {
            whole.push_str(better.as_deref().unwrap_or(part));
        }
        at += part.len();
    }
    whole.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// True if a title has remains of such text that no way back repairs: a step replaced or removed some characters.
pub(super) fn is_garbled(title: &str) -> bool {
    let marks = title.chars().filter(|character| matches!(character, 'Ð' | 'Ñ')).count();
    let letters = title.chars().filter(|character| character.is_alphabetic()).count();
    let is_cyrillic = title.contains(|character: char| matches!(character, '\u{400}'..='\u{4FF}'));
    marks > 0 && (is_cyrillic || marks * 3 > letters)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Encodes a text twice; `None` is Latin-1.
    fn twice(text: &str, wrong: Option<&'static Encoding>) -> String {
        match wrong {
            Some(encoding) => encoding.decode_without_bom_handling(text.as_bytes()).0.into_owned(),
            None => text.bytes().map(char::from).collect(),
        }
    }

    #[test]
    fn text_is_repaired_when_it_was_encoded_twice() {
        for text in [
            "Школа в Їжаківці отримає новий дах",
            "Правительство и суд: что решили в Ларне",
            "“Quoted” — it’s over",
            "São Paulo",
            "L'été à Genève",
            "Größe",
            "地震",
        ] {
            for wrong in [Some(WINDOWS_1252), None, Some(WINDOWS_1251)] {
                let spoilt = twice(text, wrong);
                // Single letters between ASCII characters are no proof in windows-1251.
                if wrong == Some(WINDOWS_1251) && !text.contains('а') {
                    continue;
                }
                assert_eq!(repaired(&spoilt), text, "{spoilt}");
                let page = format!("<title>{spoilt}</title><h1 lang=\"uk\">Їжаківка — «Школа»</h1>");
                assert_eq!(repaired(&page), page.replace(&spoilt, text), "{spoilt}");
            }
        }
    }

    #[test]
    fn text_stays_when_it_only_resembles_text_encoded_twice() {
        for text in [
            "«CAFÉ» im „MENÜ“",
            "A LETRA “Ñ”",
            "GUERRA NO IRÃ… “NÃO AO IRÔ",
            "BRAGÐ — HÁÐ",
            "Ці дії: ВІ РІ Її",
            "Їжаківка – «Школа» №5…",
            "École, Größe, naïve",
            "plain",
        ] {
            assert!(matches!(repaired(text), Cow::Borrowed(same) if same == text), "{text}: {}", repaired(text));
            assert!(!is_garbled(text), "{text}");
        }
    }

    #[test]
    fn a_title_is_garbled_when_characters_of_it_were_lost() {
        for title in ["Ð¨ÐºÐ¾Ð»Ð° Ð² Ð?Ð¶Ð°ÐºÑ?Ð²Ñ?Ñ?", "Школа в Ð\u{FFFD}жаківці"]
        {
            assert!(is_garbled(title), "{title}");
        }
    }

    proptest! {
        #[test]
        fn any_cyrillic_text_is_repaired(words in prop::collection::vec("[А-яёіїєґ]{2,12}", 1..12)) {
            let text = words.join(" ");
            for wrong in [Some(WINDOWS_1252), None, Some(WINDOWS_1251)] {
                let spoilt = twice(&text, wrong);
                prop_assert_eq!(&*repaired(&spoilt), text.as_str());
            }
        }

        #[test]
        fn any_text_is_read(text in "\\PC{0,80}") {
            let _ = repaired(&text);
        }
    }
}
