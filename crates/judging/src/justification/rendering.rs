//! Selects a sentence's language.

use super::super::labels::ReaderLanguage;
use super::sentence::Sentence;
use super::{english, portuguese, russian, ukrainian};

impl ReaderLanguage {
    pub(super) fn render(self, sentence: Sentence<'_>) -> String {
        match self {
            Self::English => english::render(sentence),
            Self::Russian => russian::render(sentence),
            Self::Ukrainian => ukrainian::render(sentence),
            Self::Portuguese => portuguese::render(sentence),
        }
    }

    /// "a, b and c".
    pub(super) fn list(self, items: &[String]) -> Option<String> {
        let and = match self {
            Self::English => "and",
            Self::Russian => "и",
            Self::Ukrainian => "та",
            Self::Portuguese => "e",
        };
        match items {
            [] => None,
            [one] => Some(one.clone()),
            [first @ .., last] => Some(format!("{} {and} {last}", first.join(", "))),
        }
    }
}
