//! Converts search text of users to a query of the word index.
//!
//! The query only preselects: all words are then compared with the texts.

/// Shorter words are in nearly every text, so the index does not help.
const SHORTEST: usize = 3;
/// Maximum words in the query; the rest is compared with the texts found.
const MOST: usize = 3;
/// From here on, some scripts have no spaces, and the index cannot split their texts.
const FIRST_UNPARTED: char = '\u{0590}';

/// Returns a `tsquery` that matches at least all texts with `typed` at the start of a word. `None` if no word is
/// indexed; all texts must then be read.
pub(super) fn index_query(typed: &str) -> Option<String> {
    // `item_words` also splits at these characters.
    let parts = typed.split(|sign: char| sign.is_whitespace() || sign.is_ascii_punctuation());
    let mut words: Vec<&str> = parts.filter(|part| is_word(part)).collect();
    // The longest are the rarest.
    words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    let asked: Vec<String> = words.iter().take(MOST).map(|word| format!("{word}:*")).collect();
    (!asked.is_empty()).then(|| asked.join(" & "))
}

/// Only letters and digits, which both sides read as one word.
fn is_word(word: &str) -> bool {
    word.chars().count() >= SHORTEST && word.chars().all(|sign| sign < FIRST_UNPARTED && sign.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::index_query;

    #[test]
    fn the_longest_words_are_looked_up_from_their_beginning() {
        let rows = [
            ("Quelbar", Some("Quelbar:*")),
            ("the mayor of a city", Some("mayor:* & city:* & the:*")),
            ("мост закрыт", Some("закрыт:* & мост:*")),
            ("bbc.co.uk/news", Some("news:* & bbc:*")),
            ("COVID-19's", Some("COVID:*")),
        ];
        for (typed, asked) in rows {
            assert_eq!(index_query(typed).as_deref(), asked, "{typed}");
        }
    }

    #[test]
    fn what_the_index_cannot_know_is_left_to_the_texts() {
        for typed in ["", "%", "5G", "a' | b:*", "東京タワー", "за\u{301}мок", "«так»"] {
            assert_eq!(index_query(typed), None, "{typed}");
        }
    }
}
