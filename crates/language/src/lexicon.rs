//! Words as data. `lexicon/<language>/<topic>.tsv` lists entries with kind (word, prefix, phrase, lemma …) and role.
//! Code asks for a role and knows no language.
//!
//! ```text
//! static NEGATION_WORDS: Words = Words::of("negation.denying");
//! NEGATION_WORDS.has("not")
//! ```
//!
//! [`super::patterns`] matches sequences of words. Languages are merged at first use. To add a role: its entries, and a
//! `static`; tests compare both. To add a language: `docs/adding-a-language.md`.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};
use rustc_hash::FxBuildHasher;

use super::word_list::WordList;
pub use super::word_list::{Entry, Kind};

/// Used by the build script; here only tested.
#[cfg(test)]
mod format;
#[cfg(test)]
mod test_lint;

/// Entries by sorted role; a line has language, kind, form and value.
static ROLES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/lexicon.rs"));

/// Returns the entries by language, in file order. An unknown role is empty; a test prevents that.
pub fn entries(role: &str) -> impl Iterator<Item = Entry> {
    let at = ROLES.binary_search_by_key(&role, |row| row.0).ok();
    let text = at.and_then(|at| ROLES.get(at)).map_or("", |row| row.1);
    text.lines().filter_map(|line| {
        let mut cells = line.split('\t');
        let (language, kind) = (cells.next()?, Kind::named(cells.next()?));
        Some(Entry { language, kind, form: cells.next()?, value: cells.next()? })
    })
}

pub fn by_language(role: &str) -> Vec<(&'static str, WordList)> {
    let all: Vec<Entry> = entries(role).collect();
    let same = all.chunk_by(|one, next| one.language == next.language);
    same.filter_map(|own| Some((own.first()?.language, WordList::from_entries(own.iter().copied())))).collect()
}

pub fn roles() -> impl Iterator<Item = &'static str> {
    ROLES.iter().map(|row| row.0)
}

/// The words of a role, built at first use.
#[derive(Debug)]
pub struct Words {
    role: &'static str,
    language: Option<&'static str>,
    list: OnceLock<WordList>,
}

impl Words {
    pub const fn of(role: &'static str) -> Self {
        Self { role, language: None, list: OnceLock::new() }
    }

    /// Uses one language only.
    pub const fn of_language(role: &'static str, language: &'static str) -> Self {
        Self { role, language: Some(language), list: OnceLock::new() }
    }
}

impl Deref for Words {
    type Target = WordList;

    fn deref(&self) -> &WordList {
        let is_chosen = |entry: &Entry| self.language.is_none_or(|language| language == entry.language);
        self.list.get_or_init(|| WordList::from_entries(entries(self.role).filter(is_chosen)))
    }
}

/// "And" between two items.
pub(crate) static AND: Words = Words::of("grammar.and");

/// "And", with the short Ukrainian form after a vowel.
pub(crate) static AND_OR_Y: Words = Words::of("grammar.and_or_y");

pub(crate) static BETWEEN: Words = Words::of("grammar.between");

/// The values of a role, read at first use.
#[derive(Debug)]
pub struct Values<V: 'static> {
    role: &'static str,
    read: fn(&'static str) -> Option<V>,
    table: OnceLock<ValueTable<V>>,
}

#[derive(Debug)]
pub struct ValueTable<V> {
    words: HashMap<&'static str, V, FxBuildHasher>,
    prefixes: Vec<(&'static str, V)>,
}

impl<V> Values<V> {
    /// Uses `read` to parse values. An unreadable one is skipped; debug builds panic.
    pub const fn of(role: &'static str, read: fn(&'static str) -> Option<V>) -> Self {
        Self { role, read, table: OnceLock::new() }
    }
}

impl<V> Deref for Values<V> {
    type Target = ValueTable<V>;

    fn deref(&self) -> &ValueTable<V> {
        self.table.get_or_init(|| {
            let mut table = ValueTable { words: HashMap::default(), prefixes: Vec::new() };
            for entry in entries(self.role) {
                let value = (self.read)(entry.value);
                debug_assert!(value.is_some(), "{} of {}: {:?} is no value of it", entry.form, self.role, entry.value);
                let Some(value) = value else { continue };
                if entry.kind == Kind::Prefix {
                    table.prefixes.push((entry.form, value));
                } else {
                    table.words.insert(entry.form, value);
                }
            }
            table
        })
    }
}

impl<V: Copy> ValueTable<V> {
    /// Returns the value of an exact word.
    pub fn get(&self, word: &str) -> Option<V> {
        self.words.get(word).copied()
    }

    /// Returns the value of a word, or of a prefix and at most `most` letters.
    pub fn of_form(&self, word: &str, most: usize) -> Option<V> {
        let fits = |prefix: &str| word.strip_prefix(prefix).is_some_and(|rest| rest.chars().count() <= most);
        self.get(word).or_else(|| self.prefixes.iter().find(|(prefix, _)| fits(prefix)).map(|pair| pair.1))
    }

    /// Returns the prefixes in file order.
    pub fn prefixes(&self) -> &[(&'static str, V)] {
        &self.prefixes
    }
}

/// Parts of texts.
#[derive(Debug)]
pub struct Parts {
    role: &'static str,
    all: OnceLock<Vec<String>>,
    automaton: OnceLock<Option<AhoCorasick>>,
}

impl Parts {
    pub const fn of(role: &'static str) -> Self {
        Self { role, all: OnceLock::new(), automaton: OnceLock::new() }
    }

    /// Returns all parts, with spaces, in file order.
    pub fn all(&self) -> &[String] {
        self.all.get_or_init(|| entries(self.role).map(|entry| entry.form.replace('_', " ")).collect())
    }

    fn search(&self) -> Option<&AhoCorasick> {
        let build = || {
            let parts = self.all();
            // At one position the earlier entry wins.
            let both =
                AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).start_kind(StartKind::Both).build(parts);
            both.ok()
        };
        self.automaton.get_or_init(build).as_ref()
    }

    pub fn occurs_in(&self, text: &str) -> bool {
        self.search().is_some_and(|automaton| automaton.is_match(text))
    }

    pub fn begins(&self, text: &str) -> bool {
        self.search().is_some_and(|automaton| automaton.is_match(Input::new(text).anchored(Anchored::Yes)))
    }

    /// Returns the first match and its byte offset.
    pub fn first_in<'a>(&self, text: &'a str) -> Option<(&'a str, usize)> {
        let found = self.search()?.find(text)?;
        Some((text.get(found.range())?, found.start()))
    }
}

pub fn number<N: std::str::FromStr>(value: &str) -> Option<N> {
    value.parse().ok()
}

pub fn text(value: &'static str) -> Option<&'static str> {
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_asked_for_by_its_words_values_and_parts() {
        static NEGATION_WORDS: Words = Words::of("negation.denying");
        static ENGLISH: Words = Words::of_language("negation.denying", "en");
        static MONTHS: Values<u32> = Values::of("dates.month", number);
        static CURRENCIES: Values<&str> = Values::of("numbers.currency", text);
        static JOINTS: Parts = Parts::of("statements.kinds.joint");
        assert!(NEGATION_WORDS.has("not") && NEGATION_WORDS.has("немає") && !NEGATION_WORDS.has("note"));
        assert!(ENGLISH.has("not") && !ENGLISH.has("немає"));
        assert_eq!((MONTHS.get("марта"), MONTHS.get("march"), MONTHS.get("marched")), (Some(3), Some(3), None));
        assert_eq!((CURRENCIES.of_form("рублей", 4), CURRENCIES.of_form("рублёвку", 1)), (Some("RUB"), None));
        assert_eq!(JOINTS.first_in("it rained, but it rains; no"), Some((", but ", 9)));
        assert!(JOINTS.all().iter().any(|joint| joint == ", but "));
        assert!(JOINTS.occurs_in("a; b") && !JOINTS.occurs_in("a. b") && JOINTS.begins("; b"));
    }

    #[test]
    fn several_words_that_are_asked_for_as_one_text_are_written_and_no_phrase() {
        assert!(WordList::from_entries(entries("statements.coreference.meeting")).has("met with"));
    }

    #[test]
    fn a_role_that_no_file_has_is_empty() {
        assert_eq!(entries("nothing").count(), 0);
    }

    #[test]
    fn lemma_matches_its_forms() {
        let lemma = |language, form| Entry { language, kind: Kind::Lemma, form, value: "" };
        let list =
            WordList::from_entries([lemma("ru", "город"), lemma("uk", "місто"), lemma("en", "town")].into_iter());
        assert!(list.has("городами") && list.has("містах") && list.has("town"));
        assert!(!list.has("towns") && !list.has("село"));
    }
}
