//! Language: text in, structure out.
//!
//! What a text is written in ([`detect`]), where its sentences end ([`sentences`]), its words and stems ([`tokens`]), whom
//! and what it names ([`entities`], [`transliterate`]), what Russian and Ukrainian words share ([`cognates`]), which
//! quantities and dates it states ([`numbers`], [`dates`]), whether it denies ([`negation`]), what it is about
//! ([`keywords`]), what it claims ([`statements`]) and which names of code it holds ([`identifiers`]).
//!
//! English, Russian and Ukrainian are done with care; any other language gets a sane answer, never a panic.
//!
//! This room never reads a file, a clock or the network, never waits, and never judges: whether two quantities agree is
//! for `judging` to say. Offsets are bytes into the text that was handed in.
//!
//! To add a language: `docs/adding-a-language.md`, step by step. Its words are a folder of the [`lexicon`]. To add a module:
//! one file, a pure function of text, listed below.

pub mod cognates;
pub mod dates;
pub mod detect;
pub mod entities;
pub mod gazetteer;
pub mod hashed;
pub mod identifiers;
pub mod keywords;
pub mod lemmas;
pub mod lexicon;
pub mod names;
pub mod negation;
pub mod numbers;
pub mod patterns;
pub mod queries;
pub mod sentences;
pub mod statements;
pub mod stemming;
pub mod stopwords;
pub mod tokens;
pub mod transliterate;
pub mod verbs;
pub mod word_list;

mod function_words;
mod lexer;
#[cfg(test)]
mod regression;
/// Bytes `start..end` of a text; empty where that is no character boundary. Offsets of this room always are.
pub fn cut(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

/// Whether the character belongs to a Cyrillic alphabet.
pub fn is_cyrillic(character: char) -> bool {
    matches!(character, '\u{0400}'..='\u{052F}')
}

/// Whether a text has any letter of that alphabet.
pub fn has_cyrillic(text: &str) -> bool {
    text.chars().any(is_cyrillic)
}

/// Emoji, dingbats, arrows and the joiners between them: decoration, never words.
pub fn is_emoji(character: char) -> bool {
    matches!(character,
        '\u{1F000}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{2190}'..='\u{21FF}' | '\u{2B00}'..='\u{2BFF}'
        | '\u{FE0E}' | '\u{FE0F}' | '\u{200D}' | '\u{20E3}' | '\u{E0020}'..='\u{E007F}' | '\u{2300}'..='\u{23FF}'
        | '\u{25A0}'..='\u{25FF}')
}
