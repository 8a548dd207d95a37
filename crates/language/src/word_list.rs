//! Word lists whose entries state their kind, built from roles of [`super::lexicon`].
//!
//! A word matches exactly, a prefix by its beginning, a phrase is a sequence of both. The lint of the lexicon shows
//! accidental matches of prefixes.

use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::{has_cyrillic, lemmas};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A normalised word (see [`super::tokens`]).
    Word,
    /// A beginning.
    Prefix,
    /// Several words; `*` marks a prefix.
    Phrase,
    /// All its forms; see [`super::lemmas`].
    Lemma,
    /// An ending.
    Suffix,
    /// As written, with case.
    Written,
    /// Anywhere in a text; `_` is a space.
    Part,
}

impl Kind {
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "prefix" => Self::Prefix,
            "phrase" => Self::Phrase,
            "lemma" => Self::Lemma,
            "suffix" => Self::Suffix,
            "written" => Self::Written,
            "part" => Self::Part,
            _ => Self::Word,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry {
    /// ISO 639-1 code.
    pub language: &'static str,
    pub kind: Kind,
    pub form: &'static str,
    /// Empty if the role has none.
    pub value: &'static str,
}

#[derive(Debug, Default)]
pub struct WordList {
    words: HashSet<&'static str, FxBuildHasher>,
    /// By first letter.
    beginnings: HashMap<char, Vec<&'static str>, FxBuildHasher>,
    /// By the first letter of the first word.
    phrases: HashMap<char, Vec<Vec<Part>>, FxBuildHasher>,
    /// Dictionary forms with their language.
    lemmas: HashSet<(&'static str, &'static str), FxBuildHasher>,
    endings: Vec<&'static str>,
    /// Words in file order.
    in_order: Vec<&'static str>,
}

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
    /// Builds a list for tests: `lie` is a word, `debunk*` a prefix, `no_proof_that` a phrase.
    #[cfg(test)]
    fn new(entries: &'static str) -> Self {
        let mut list = Self::default();
        for entry in entries.split_whitespace() {
            if entry.contains('_') {
                list.add_phrase(entry, '_');
                continue;
            }
            match Part::new(entry) {
                Part::Word(word) => list.add_word(word),
                Part::Beginning(beginning) => list.add_beginning(beginning),
            }
        }
        list
    }

    /// Builds a list from entries without their values.
    pub fn from_entries(entries: impl Iterator<Item = Entry>) -> Self {
        let mut list = Self::default();
        for entry in entries {
            match entry.kind {
                Kind::Word | Kind::Written => list.add_word(entry.form),
                Kind::Prefix => list.add_beginning(entry.form),
                Kind::Phrase => list.add_phrase(entry.form, ' '),
                Kind::Suffix => list.endings.push(entry.form),
                // `lexicon::Parts` searches for these.
                Kind::Part => {}
                Kind::Lemma => {
                    list.add_word(entry.form);
                    if lemmas::has_dictionary(entry.language) {
                        list.lemmas.insert((entry.language, entry.form));
                    }
                }
            }
        }
        list
    }

    fn add_word(&mut self, word: &'static str) {
        if self.words.insert(word) {
            self.in_order.push(word);
        }
    }

    fn add_beginning(&mut self, beginning: &'static str) {
        let first = beginning.chars().next().unwrap_or_default();
        let known = self.beginnings.entry(first).or_default();
        if !known.contains(&beginning) {
            known.push(beginning);
        }
    }

    fn add_phrase(&mut self, phrase: &'static str, between: char) {
        let first = phrase.chars().next().unwrap_or_default();
        self.phrases.entry(first).or_default().push(phrase.split(between).map(Part::new).collect());
    }

    /// Whether a normalised word (see [`super::tokens`]) is a word, prefix match or lemma form.
    pub fn has(&self, word: &str) -> bool {
        self.words.contains(word) || self.beginning_of(word).is_some() || self.has_lemma_of(word)
    }

    pub fn has_this(&self, word: Option<&str>) -> bool {
        word.is_some_and(|word| self.has(word))
    }

    pub fn has_ending_of(&self, word: &str) -> bool {
        self.endings.iter().any(|ending| word.ends_with(ending))
    }

    pub fn is_ending(&self, ending: &str) -> bool {
        self.endings.contains(&ending)
    }

    /// Returns words and lemmas in file order.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.in_order.iter().copied()
    }

    fn has_lemma_of(&self, word: &str) -> bool {
        if self.lemmas.is_empty() || !has_cyrillic(word) {
            return false;
        }
        [("ru", false), ("uk", true)].into_iter().any(|(language, ukrainian)| {
            lemmas::lemma(word, ukrainian)
                .is_some_and(|lemma| self.lemmas.iter().any(|own| *own == (language, &*lemma)))
        })
    }

    /// Whether it is a word, or a prefix and at most `most` letters. The limit excludes unrelated words.
    pub fn has_form(&self, word: &str, most: usize) -> bool {
        let known = word.chars().next().and_then(|first| self.beginnings.get(&first));
        let declined = |beginning: &&str| word.strip_prefix(beginning).is_some_and(|end| end.chars().count() <= most);
        self.words.contains(word) || known.is_some_and(|known| known.iter().any(declined))
    }

    /// Whether a listed prefix is longer than this stem but begins with it.
    pub fn is_cut_short(&self, stem: &str) -> bool {
        let known = stem.chars().next().and_then(|first| self.beginnings.get(&first));
        known.is_some_and(|known| known.iter().any(|beginning| beginning.starts_with(stem)))
    }

    pub fn beginning_of(&self, word: &str) -> Option<&'static str> {
        let known = self.beginnings.get(&word.chars().next()?)?;
        known.iter().copied().find(|beginning| word.starts_with(beginning))
    }

    fn phrases_at(&self, words: &[&str]) -> impl Iterator<Item = &Vec<Part>> {
        let first = words.first().and_then(|word| word.chars().next()).unwrap_or_default();
        self.phrases.get(&first).into_iter().flatten().filter(|phrase| matches_at(phrase, words))
    }

    /// Returns the number of words of the longest phrase at the beginning; 0 if none.
    pub fn phrase_at(&self, words: &[&str]) -> usize {
        self.phrases_at(words).map(Vec::len).max().unwrap_or(0)
    }

    /// Whether a phrase is in the first text and not in the other.
    pub fn has_phrase_outside(&self, words: &[&str], other: &[&str]) -> bool {
        let is_other =
            |phrase: &Vec<Part>| (0..other.len()).any(|from| matches_at(phrase, other.get(from..).unwrap_or_default()));
        (0..words.len())
            .any(|from| self.phrases_at(words.get(from..).unwrap_or_default()).any(|phrase| !is_other(phrase)))
    }

    /// Returns the prefixes, sorted, without phrases.
    pub fn beginnings(&self) -> Vec<&'static str> {
        let mut all: Vec<&'static str> = self.beginnings.values().flatten().copied().collect();
        all.sort_unstable();
        all
    }
}

fn matches_at(phrase: &[Part], words: &[&str]) -> bool {
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
        assert!(list.has_phrase_outside(&["it", "was", "a", "lie"], &[]));
        assert!(!list.has_phrase_outside(&["it", "was", "a", "lieutenant"], &[]));
        assert!(list.has_phrase_outside(&["пока", "нет", "подтверждения"], &[]));
        assert!(!list.has_phrase_outside(&["a", "lie"], &["a", "lie", "too"]));
        assert!(list.has_form("debunked", 2) && list.has_form("debunk", 2) && !list.has_form("debunking", 2));
        assert!(list.has_form("lie", 0) && !list.has_form("lies", 2) && !list.has_form("", 9));
        assert!(list.is_cut_short("debu") && !list.is_cut_short("debunked") && !list.is_cut_short(""));
        assert_eq!(list.beginnings(), ["debunk"]);
    }
}
