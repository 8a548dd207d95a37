//! Lists of words of which every entry says what it is.
//!
//! Entries stand apart by white space. `lie` is a word and nothing longer; `debunk*` is a beginning and catches whatever
//! begins so; `no_proof_that` and `нет_подтвержд*` are phrases, word after word, whose words may be beginnings too. What a
//! beginning catches by accident is printed and kept in view by the test `word_lists` of `judging`.

use std::collections::{HashMap, HashSet};

/// One list, ready to be asked.
#[derive(Debug, Default)]
pub struct WordList {
    words: HashSet<&'static str>,
    /// By their first letter.
    beginnings: HashMap<char, Vec<&'static str>>,
    /// By the first letter of their first word.
    phrases: HashMap<char, Vec<Vec<Part>>>,
}

/// One word of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Word(&'static str),
    Beginning(&'static str),
}

impl Part {
    fn new(entry: &'static str) -> Self {
        entry.strip_suffix('*').map_or(Self::Word(entry), Self::Beginning)
    }

    fn fits(self, word: &str) -> bool {
        match self {
            Self::Word(own) => word == own,
            Self::Beginning(own) => word.starts_with(own),
        }
    }
}

impl WordList {
    pub fn new(entries: &'static str) -> Self {
        let mut list = Self::default();
        for entry in entries.split_whitespace() {
            if entry.contains('_') {
                let first = entry.chars().next().unwrap_or_default();
                list.phrases.entry(first).or_default().push(entry.split('_').map(Part::new).collect());
                continue;
            }
            match Part::new(entry) {
                Part::Word(word) => {
                    list.words.insert(word);
                }
                Part::Beginning(beginning) => {
                    let first = beginning.chars().next().unwrap_or_default();
                    list.beginnings.entry(first).or_default().push(beginning);
                }
            }
        }
        list
    }

    /// Whether a normalised word (see [`super::tokens`]) is one of the list's words or begins like one of its beginnings.
    pub fn has(&self, word: &str) -> bool {
        self.words.contains(word) || self.beginning_of(word).is_some()
    }

    /// Whether a normalised word is one of the list's words, or one of its beginnings with so many letters at most behind it:
    /// then it is a form of the word that begins so, and hardly another one.
    pub(crate) fn has_form(&self, word: &str, most: usize) -> bool {
        let known = word.chars().next().and_then(|first| self.beginnings.get(&first));
        let declined = |beginning: &&str| word.strip_prefix(beginning).is_some_and(|end| end.chars().count() <= most);
        self.words.contains(word) || known.is_some_and(|known| known.iter().any(declined))
    }

    /// The beginning by which a word is caught.
    pub fn beginning_of(&self, word: &str) -> Option<&'static str> {
        let known = self.beginnings.get(&word.chars().next()?)?;
        known.iter().copied().find(|beginning| word.starts_with(beginning))
    }

    /// Whether two words are caught by the same entry.
    pub fn is_same_entry(&self, one: &str, other: &str) -> bool {
        let alike = |word: &str| self.beginnings.get(&word.chars().next().unwrap_or_default());
        let both = |known: &&'static str| one.starts_with(*known) && other.starts_with(*known);
        self.words.contains(one) && one == other || alike(one).is_some_and(|known| known.iter().any(both))
    }

    /// The phrases that stand at the head of these words.
    fn phrases_at(&self, words: &[&str]) -> impl Iterator<Item = &Vec<Part>> {
        let first = words.first().and_then(|word| word.chars().next()).unwrap_or_default();
        self.phrases.get(&first).into_iter().flatten().filter(|phrase| stands_at(phrase, words))
    }

    /// How many words the longest phrase takes that stands at the head of these words; 0 where none does.
    pub fn phrase_at(&self, words: &[&str]) -> usize {
        self.phrases_at(words).map(Vec::len).max().unwrap_or(0)
    }

    /// Whether a phrase of the list stands among the words of one text, and not among those of the other.
    pub fn has_phrase_beside(&self, words: &[&str], other: &[&str]) -> bool {
        let is_other =
            |phrase: &Vec<Part>| (0..other.len()).any(|from| stands_at(phrase, other.get(from..).unwrap_or_default()));
        (0..words.len())
            .any(|from| self.phrases_at(words.get(from..).unwrap_or_default()).any(|phrase| !is_other(phrase)))
    }

    /// Every beginning of the list, those of phrases aside, in order.
    pub fn beginnings(&self) -> Vec<&'static str> {
        let mut all: Vec<&'static str> = self.beginnings.values().flatten().copied().collect();
        all.sort_unstable();
        all
    }
}

/// Whether a phrase stands at the head of these words.
fn stands_at(phrase: &[Part], words: &[&str]) -> bool {
    phrase.len() <= words.len() && phrase.iter().zip(words).all(|(part, word)| part.fits(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_word_a_beginning_or_a_phrase() {
        let list = WordList::new("lie debunk* a_lie no_proof_that нет_подтвержд*");
        assert!(list.has("lie") && list.has("debunked"));
        assert!(!list.has("lieutenant") && !list.has("a") && !list.has("bunk"));
        assert_eq!(list.beginning_of("debunking"), Some("debunk"));
        assert_eq!(list.phrase_at(&["no", "proof", "that", "it"]), 3);
        assert_eq!(list.phrase_at(&["no", "proof"]), 0);
        assert!(list.has_phrase_beside(&["it", "was", "a", "lie"], &[]));
        assert!(!list.has_phrase_beside(&["it", "was", "a", "lieutenant"], &[]));
        assert!(list.has_phrase_beside(&["пока", "нет", "подтверждения"], &[]));
        assert!(!list.has_phrase_beside(&["a", "lie"], &["a", "lie", "too"]));
        assert!(list.has_form("debunked", 2) && list.has_form("debunk", 2) && !list.has_form("debunking", 2));
        assert!(list.has_form("lie", 0) && !list.has_form("lies", 2) && !list.has_form("", 9));
        assert!(list.is_same_entry("debunked", "debunks") && list.is_same_entry("lie", "lie"));
        assert!(!list.is_same_entry("lie", "debunks"));
        assert_eq!(list.beginnings(), ["debunk"]);
    }
}
