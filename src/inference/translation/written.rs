//! Translations from a file, such as those of a labelled set.
//!
//! They measure the gain of a translator without one. No request is sent.

use std::collections::HashMap;

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{Translation, Translator};

const ENGLISH: &str = "en";

/// English translations by text.
#[derive(Debug, Default)]
pub struct WrittenTranslations(HashMap<String, String>);

impl WrittenTranslations {
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().map(|(text, english)| (key(&text), english)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Ignores the full stop, which a statement may lack.
fn key(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', '!', '?']).to_lowercase()
}

impl Translator for WrittenTranslations {
    fn name(&self) -> &'static str {
        "written"
    }

    fn is_language_model(&self) -> bool {
        false
    }

    fn translate<'a>(
        &'a self,
        text: &'a str,
        _from: Option<&'a str>,
        into: &'a str,
        _until: Instant,
    ) -> BoxFuture<'a, Translation> {
        let found = self.0.get(&key(text)).filter(|_| into == ENGLISH).cloned();
        Box::pin(std::future::ready(Translation { outcome: Ok(found), attempts: 0, tokens: (0, 0), usd: 0.0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_written_translation_is_found_by_its_text_and_in_english_alone() {
        let written = WrittenTranslations::new([("Порт  закрыт.".to_owned(), "The port is closed.".to_owned())]);
        let translated = async |text: &str, into: &str| {
            written.translate(text, Some("ru"), into, Instant::now()).await.outcome.unwrap()
        };
        assert_eq!(translated("порт закрыт", "en").await.as_deref(), Some("The port is closed."));
        assert_eq!(translated("порт закрыт", "el").await, None);
        assert_eq!(translated("Порт открыт.", "en").await, None);
    }
}
