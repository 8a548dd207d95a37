//! What people type to find items, as the index of words takes it.

/// Shorter words are in nearly every text: looking them up costs more than it saves.
const SHORTEST: usize = 3;
/// Words looked up; whatever else was typed is compared with the texts that hold these.
const MOST: usize = 3;
/// From here on there are scripts that write words without spaces, whose texts the index cannot take apart.
const FIRST_UNPARTED: char = '\u{0590}';

/// A `tsquery` that matches at least every text in which `typed` stands from the beginning of a word on. `None` where no word of
/// it can be looked up, so that the texts themselves have to be read.
pub(super) fn index_query(typed: &str) -> Option<String> {
    // All of these signs part words in `item_words`, too.
    let parts = typed.split(|sign: char| sign.is_whitespace() || sign.is_ascii_punctuation());
    let mut words: Vec<&str> = parts.filter(|part| is_word(part)).collect();
    // The longest are the rarest.
    words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    let asked: Vec<String> = words.iter().take(MOST).map(|word| format!("{word}:*")).collect();
    (!asked.is_empty()).then(|| asked.join(" & "))
}

/// What both sides read as one word: letters and digits alone.
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
