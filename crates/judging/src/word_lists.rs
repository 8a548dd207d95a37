//! What the beginnings in the word lists that still stand in this crate catch: which names of the gazetteer, and which frequent
//! words of the shipped samples. Lists of the lexicon have the same test beside it.
//!
//! `cargo test -p corroborate-judging word_lists -- --nocapture` prints it, so that whoever adds an entry sees what it does.

use std::collections::{BTreeMap, BTreeSet};

use super::{numbers, relations, stance};
use corroborate_language::word_list::WordList;
use corroborate_language::{gazetteer, tokens};

/// Occurrences in the samples from which a word is frequent.
const FREQUENT: usize = 3;

fn lists() -> Vec<(&'static str, &'static WordList)> {
    stance::word_lists().into_iter().chain(numbers::word_lists()).chain(relations::word_lists()).collect()
}

/// The frequent words of the shipped samples, which are English, Russian and Ukrainian.
fn frequent() -> BTreeSet<String> {
    let texts = [
        include_str!("../../../tests/data/verdicts.jsonl"),
        include_str!("../../../tests/data/leads.jsonl"),
        include_str!("../../../tests/data/quantities.tsv"),
        include_str!("../../../tests/data/reports.tsv"),
    ];
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for token in texts.iter().flat_map(|text| tokens::tokens(text, None)).filter(|token| !token.number) {
        *counts.entry(token.text).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count >= FREQUENT).map(|(word, _)| word).collect()
}

/// Names that a beginning catches and that are its own: a place named after a thing, or a form that nobody writes.
const KNOWN: &[(&str, &str)] = &[];

#[test]
fn no_beginning_catches_a_name_and_what_it_catches_is_printed() {
    let (names, frequent) = (gazetteer::single_words(), frequent());
    let mut wrong = Vec::new();
    for (name, list) in lists() {
        for beginning in list.beginnings() {
            let caught: BTreeSet<&str> = names.iter().copied().filter(|word| word.starts_with(beginning)).collect();
            let words: Vec<&str> =
                frequent.iter().map(String::as_str).filter(|word| word.starts_with(beginning)).collect();
            println!("{name} {beginning}*: names {caught:?}, frequent words {words:?}");
            wrong.extend(
                caught.into_iter().filter(|name| !KNOWN.contains(&(beginning, *name))).map(|name| (beginning, name)),
            );
        }
    }
    assert!(wrong.is_empty(), "a beginning catches a name; write words instead, or the next letters: {wrong:?}");
}

#[test]
fn words_that_only_begin_alike_are_let_by() {
    for word in [
        "denys",
        "отрицательный",
        "отрицательная",
        "ипсос",
        "lieutenant",
        "spoofing",
        "spoofed",
        "warner",
        "urgent",
        "дума",
        "думы",
        "госдума",
        "надежный",
        "надеть",
        "считанные",
        "bank",
        "bangladesh",
        "diesel",
        "wonder",
        "oldenburg",
        "lowell",
        "слуховой",
        "чуткий",
        "мифология",
        "ложка",
        "ложиться",
    ] {
        let caught: Vec<&str> = lists().into_iter().filter(|(_, list)| list.has(word)).map(|(name, _)| name).collect();
        assert!(caught.is_empty(), "{word} is caught by {caught:?}");
    }
}
