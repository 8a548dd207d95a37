//! Lists of words of which every entry says what it is.
//!
//! A word is that and nothing longer; a beginning catches whatever begins so; a phrase is word after word, which may be
//! beginnings too. Lists are made of the entries of a role (see [`super::lexicon`], whose lint shows what a beginning catches
//! by accident).

use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::{has_cyrillic, lemmas};

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A normalised word (see [`super::tokens`]), and nothing longer.
    Word,
    /// How a normalised word begins.
    Prefix,
    /// Word after word; a word with `*` behind it is a prefix.
    Phrase,
    /// Every form of the word of which this is the dictionary form; see [`super::lemmas`].
    Lemma,
    /// How a normalised word ends.
    Suffix,
    /// Held against a text as it is written, capitals and all.
    Written,
    /// What stands anywhere in a text, inside words too; `_` is a space.
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

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Its language, an ISO 639-1 code.
    pub language: &'static str,
    pub kind: Kind,
    pub form: &'static str,
    /// What the entry stands for; empty where the role has no values.
    pub value: &'static str,
}

/// One list, ready to be asked.
#[derive(Debug, Default)]
pub struct WordList {
    words: HashSet<&'static str, FxBuildHasher>,
    /// By their first letter.
    beginnings: HashMap<char, Vec<&'static str>, FxBuildHasher>,
    /// By the first letter of their first word.
    phrases: HashMap<char, Vec<Vec<Part>>, FxBuildHasher>,
    /// Dictionary forms, with their language.
    lemmas: HashSet<(&'static str, &'static str), FxBuildHasher>,
    endings: Vec<&'static str>,
    /// The words in the order they came in.
    in_order: Vec<&'static str>,
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
    /// The list of entries apart by white space, for tests: `lie` is a word, `debunk*` a beginning, `no_proof_that` a phrase.
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

    /// The list of these entries of the lexicon; their values are left aside.
    pub fn from_entries(entries: impl Iterator<Item = Entry>) -> Self {
        let mut list = Self::default();
        for entry in entries {
            match entry.kind {
                Kind::Word | Kind::Written => list.add_word(entry.form),
                Kind::Prefix => list.add_beginning(entry.form),
                Kind::Phrase => list.add_phrase(entry.form, ' '),
                Kind::Suffix => list.endings.push(entry.form),
                // Those are searched for by an automaton of their own: see `lexicon::Parts`.
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

    /// Whether a normalised word (see [`super::tokens`]) is one of the list's words, begins like one of its beginnings or is
    /// a form of one of its lemmas.
    pub fn has(&self, word: &str) -> bool {
        self.words.contains(word) || self.beginning_of(word).is_some() || self.has_lemma_of(word)
    }

    /// Whether there is a word and the list has it.
    pub fn has_this(&self, word: Option<&str>) -> bool {
        word.is_some_and(|word| self.has(word))
    }

    /// Whether a word ends like one of the list's endings.
    pub fn has_ending_of(&self, word: &str) -> bool {
        self.endings.iter().any(|ending| word.ends_with(ending))
    }

    /// Whether this is one of the list's endings.
    pub fn is_ending(&self, ending: &str) -> bool {
        self.endings.contains(&ending)
    }

    /// The words of the list, lemmas among them, in the order of the files.
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

    /// Whether a normalised word is one of the list's words, or one of its beginnings with so many letters at most behind it:
    /// then it is a form of the word that begins so, and hardly another one.
    pub fn has_form(&self, word: &str, most: usize) -> bool {
        let known = word.chars().next().and_then(|first| self.beginnings.get(&first));
        let declined = |beginning: &&str| word.strip_prefix(beginning).is_some_and(|end| end.chars().count() <= most);
        self.words.contains(word) || known.is_some_and(|known| known.iter().any(declined))
    }

    /// Whether one of the list's beginnings begins with this: a stem may be shorter than the beginning that tells it from others.
    pub fn is_cut_short(&self, stem: &str) -> bool {
        let known = stem.chars().next().and_then(|first| self.beginnings.get(&first));
        known.is_some_and(|known| known.iter().any(|beginning| beginning.starts_with(stem)))
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
        assert!(list.is_cut_short("debu") && !list.is_cut_short("debunked") && !list.is_cut_short(""));
        assert!(list.is_same_entry("debunked", "debunks") && list.is_same_entry("lie", "lie"));
        assert!(!list.is_same_entry("lie", "debunks"));
        assert_eq!(list.beginnings(), ["debunk"]);
    }
}
