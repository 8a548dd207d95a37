//! Reads natural-language text and returns its structure.
//!
//! * Language ([`detect`]), sentences ([`sentences`]), words and stems ([`tokens`]).
//! * Names ([`entities`], [`transliterate`]).
//! * Quantities and dates ([`numbers`], [`dates`]), negation ([`negation`]), keywords ([`keywords`]).
//! * Claims ([`statements`]), names in code ([`identifiers`]), words broken by hyphens ([`hyphens`]).
//!
//! English, Russian and Ukrainian have full support; others get simpler results, never a panic. The crate never reads
//! files, clock or network, and never compares claims with evidence (see `judging`). Offsets are bytes of the input.
//!
//! To add a language: `docs/adding-a-language.md`; its words are a folder of the [`lexicon`]. To add a module: a pure
//! function of text, listed below.

pub mod dates;
pub mod detect;
pub mod entities;
pub mod gazetteer;
pub mod hashed;
pub mod hyphens;
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

mod lexer;
#[cfg(test)]
mod test_regression;
/// Returns bytes `start..end`; empty if they are no character boundaries, which offsets of this crate always are.
pub fn cut(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

pub fn is_cyrillic(character: char) -> bool {
    matches!(character, '\u{0400}'..='\u{052F}')
}

pub fn has_cyrillic(text: &str) -> bool {
    text.chars().any(is_cyrillic)
}

/// Whether it is decoration: emoji, dingbats, arrows, joiners.
pub fn is_emoji(character: char) -> bool {
    matches!(character,
        '\u{1F000}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{2190}'..='\u{21FF}' | '\u{2B00}'..='\u{2BFF}'
        | '\u{FE0E}' | '\u{FE0F}' | '\u{200D}' | '\u{20E3}' | '\u{E0020}'..='\u{E007F}' | '\u{2300}'..='\u{23FF}'
        | '\u{25A0}'..='\u{25FF}')
}
