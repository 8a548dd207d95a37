//! Compares names of a sentence with all cited texts and the claim, in any alphabet and case.

use corroborate_language::entities::{Entity, entities};
use corroborate_language::names::{name_key, same_key};
use corroborate_language::tokens;
use corroborate_language::transliterate::to_latin;

use super::{CheckedSentence, CitedTextError, Side};

pub(super) fn hold(checked: &CheckedSentence<'_>) -> Result<(), CitedTextError> {
    let named = entities(checked.words, checked.language, &[]);
    if named.is_empty() {
        return Ok(());
    }
    let sides: Vec<Names> = checked.all.iter().copied().chain([checked.claim]).map(Names::of).collect();
    let is_present = |name: &Entity| sides.iter().any(|side| side.has(&name.key, &name.text));
    if named.iter().all(is_present) { Ok(()) } else { Err(CitedTextError::Name) }
}

/// Whether a side has the words as a name, in any case or alphabet.
pub(super) fn has_words(side: &Side<'_>, words: &str) -> bool {
    Names::of(side).has(&name_key(words), words)
}

struct Names {
    keys: Vec<String>,
    /// The keys of all words, in order, of text and title.
    words: Vec<Vec<String>>,
    /// The labels of the domain: "bbc", "co", "uk".
    labels: Vec<String>,
}

impl Names {
    fn of(side: &Side<'_>) -> Self {
        let title = side.source.title.unwrap_or_default();
        let in_title = entities(title, side.source.language, &[]);
        let keys = side.profile.entities.iter().chain(&in_title).map(|name| name.key.clone()).collect();
        let words = [side.source.text, title].into_iter().map(word_keys).collect();
        let labels = side.domain().split('.').filter(|label| label.len() > 2).map(letters).collect();
        Self { keys, words, labels }
    }

    fn has(&self, key: &str, text: &str) -> bool {
        let own = word_keys(text);
        let in_row = |words: &Vec<String>| {
            !own.is_empty()
                && words.windows(own.len()).any(|row| row.iter().zip(&own).all(|(theirs, ours)| same_key(theirs, ours)))
        };
        self.keys.iter().any(|theirs| same_key(theirs, key))
            || self.words.iter().any(in_row)
            || self.labels.contains(&letters(text))
    }
}

fn word_keys(text: &str) -> Vec<String> {
    tokens::tokens(text, None).iter().map(|word| name_key(&word.text)).filter(|key| !key.is_empty()).collect()
}

/// Only Latin letters and digits.
fn letters(text: &str) -> String {
    to_latin(text).chars().filter(char::is_ascii_alphanumeric).collect()
}
