//! Selects a sentence's language.

use super::super::labels::ReaderLanguage;
use super::sayings::Saying;
use super::{english, portuguese, russian, ukrainian};

impl ReaderLanguage {
    pub(super) fn say(self, saying: Saying<'_>) -> String {
        match self {
            Self::English => english::say(saying),
            Self::Russian => russian::say(saying),
            Self::Ukrainian => ukrainian::say(saying),
            Self::Portuguese => portuguese::say(saying),
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
