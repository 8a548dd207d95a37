//! Tests of the lexicon: roles are used and exist, entries are normalised, prefixes match no names.
//!
//! `cargo test -p corroborate-language lexicon -- --nocapture` prints what prefixes match.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;

use super::{Kind, entries, roles};
use crate::word_list::WordList;
use crate::{gazetteer, is_cyrillic, patterns, tokens};

const SOURCES: [&str; 3] = ["src", "../judging/src", "../reading/src"];

const LOOKUP_CALLS: [&str; 6] =
    ["Words::of(", "Words::of_language(", "Values::of(", "Parts::of(", "entries(", "by_language("];

fn files(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the crate can be listed") {
        let path = entry.expect("and what it holds").path();
        if path.is_dir() {
            found.extend(files(&path, kind));
        } else if path.extension().is_some_and(|extension| extension == kind) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// Returns the sources except this file.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_own = |path: &PathBuf| path.ends_with(Path::new(file!()).file_name().expect("this file has a name"));
    let paths = SOURCES.iter().flat_map(|folder| files(&root.join(folder), "rs")).filter(|path| !is_own(path));
    paths.map(|path| (path.clone(), read(&path))).collect()
}

/// Returns the roles after such calls and in pattern braces.
fn asked() -> BTreeSet<String> {
    let in_braces = Regex::new(r"\{([a-z_]+(?:\.[a-z_]+)+)(?:@[a-z]+)?\??\}").expect("a pattern of this test");
    let mut asked = BTreeSet::new();
    for (_, text) in sources() {
        asked.extend(in_braces.captures_iter(&text).map(|found| found[1].to_owned()));
        for call in LOOKUP_CALLS {
            for (at, _) in text.match_indices(call) {
                let behind = text.get(at + call.len()..).unwrap_or_default().trim_start();
                let role = behind.strip_prefix('"').and_then(|role| role.split('"').next());
                asked.extend(role.filter(|role| role.contains('.')).map(str::to_owned));
            }
        }
    }
    asked
}

#[test]
fn every_role_asked_for_is_in_a_file_and_every_role_of_a_file_is_asked_for() {
    let (asked, there) = (asked(), roles().map(str::to_owned).collect::<BTreeSet<_>>());
    let missing: Vec<&String> = asked.difference(&there).collect();
    assert!(missing.is_empty(), "asked for, and in no file of the lexicon: {missing:?}");
    let idle: Vec<&String> = there.difference(&asked).collect();
    assert!(idle.is_empty(), "in the lexicon, and asked for by no code: {idle:?}");
}

/// Returns the leading literal.
fn literal(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let (open, close) = if text.starts_with("r#") { ("r#\"", "\"#") } else { ("\"", "\"") };
    text.strip_prefix(open).or_else(|| text.strip_prefix("r\""))?.split(close).next()
}

#[test]
fn every_pattern_of_the_sources_can_be_built() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (path, text) in sources() {
        for (at, call) in text.match_indices("Pattern::of(") {
            count += 1;
            match text.get(at + call.len()..).and_then(literal).map(patterns::built) {
                Some(Ok(_)) => {}
                Some(Err(error)) => wrong.push(format!("{}: {error}", path.display())),
                None => wrong.push(format!("{}: a pattern is no literal, so that no test builds it", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 30, "only {count} patterns were found");
}

/// Returns each line with file and number.
fn lines() -> Vec<(String, usize, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("lexicon");
    let mut all = Vec::new();
    for path in files(&root, "tsv") {
        let name = path.strip_prefix(&root).expect("it is in the folder").display().to_string();
        for (at, line) in read(&path).lines().enumerate().skip(1) {
            all.push((name.clone(), at + 1, line.split('\t').map(str::to_owned).collect()));
        }
    }
    all
}

#[test]
fn row_occurs_once_in_its_language() {
    let mut known = BTreeMap::new();
    let mut twice = Vec::new();
    for (file, line, row) in lines() {
        let [form, kind, role, _, values @ ..] = row.as_slice() else { continue };
        let language = file.split('/').next().unwrap_or_default().to_owned();
        // "lose" has two opposites.
        let key = (language, role.clone(), kind.clone(), form.clone(), values.to_vec());
        if let Some(first) = known.insert(key, format!("{file}:{line}")) {
            twice.push(format!("{file}:{line}: {form} of {role} stands in {first} already"));
        }
    }
    assert!(twice.is_empty(), "{}", twice.join("\n"));
}

/// Languages in Cyrillic letters, besides Russian and Ukrainian.
const CYRILLIC: [&str; 9] = ["be", "bg", "kk", "ky", "mk", "mn", "tg", "tt", "uz"];
/// Letters of one language only.
const UKRAINIAN: &str = "іїєґ";
const RUSSIAN: &str = "ыэъё";

/// Rows with foreign letters, and why.
const FOREIGN_ROWS: &[(&str, &str, &str)] = &[
    ("ru", "telegram каналы", "the name of the service is written in its own letters"),
    ("uk", "telegram канали", "the name of the service is written in its own letters"),
    ("ru", "лига.net", "the name of the site is written in two alphabets"),
    ("uk", "ліга.net", "the name of the site is written in two alphabets"),
];

#[test]
fn entries_have_the_letters_of_their_language_and_are_normalised_as_tokens_are() {
    let mut wrong = Vec::new();
    for (file, line, row) in lines() {
        let [form, kind, role, ..] = row.as_slice() else { continue };
        let language = file.split('/').next().unwrap_or_default();
        let mut letters = form.chars().filter(|letter| letter.is_alphabetic());
        let foreign = match language {
            "uk" => letters.any(|letter| !is_cyrillic(letter) || RUSSIAN.contains(letter)),
            "ru" => letters.any(|letter| !is_cyrillic(letter) || UKRAINIAN.contains(letter)),
            // Serbian uses both alphabets.
            "sr" => false,
            other if CYRILLIC.contains(&other) => letters.any(|letter| !is_cyrillic(letter)),
            _ => letters.any(is_cyrillic),
        };
        let excepted = FOREIGN_ROWS.iter().any(|(of, known, _)| (*of, *known) == (language, form.as_str()));
        if foreign && !excepted {
            wrong.push(format!("{file}:{line}: {form} of {role} has letters that {language} has not"));
        }
        let normal = |word: &str| tokens::normalise_word(word) == word;
        let held_against_tokens = matches!(kind.as_str(), "word" | "prefix" | "phrase" | "lemma");
        if held_against_tokens && !form.split(' ').all(|word| normal(word.trim_end_matches('*'))) {
            wrong.push(format!("{file}:{line}: {form} of {role} is not normalised as tokens are"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Occurrences in the samples.
const MIN_FREQUENCY: usize = 3;

/// Returns the frequent words of the shipped samples.
fn frequent() -> BTreeSet<String> {
    let texts = [
        include_str!("../../../../tests/data/verdicts.jsonl"),
        include_str!("../../../../tests/data/leads.jsonl"),
        include_str!("../../../../tests/data/quantities.tsv"),
        include_str!("../../../../tests/data/reports.tsv"),
    ];
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for token in texts.iter().flat_map(|text| tokens::tokens(text, None)).filter(|token| !token.number) {
        *counts.entry(token.text).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count >= MIN_FREQUENCY).map(|(word, _)| word).collect()
}

/// Roles that may match names, and why.
const NAME_ROLES: &[(&str, &str)] = &[
    ("recurrence.again", "asked of words that are no names"),
    ("recurrence.once", "asked of words that are no names"),
    ("sources.agency", "names of agencies are names"),
    ("sources.outlet", "names of papers are names"),
    ("scope.east", "a side in a name is a side as well: \"восточнотиморский\""),
    ("scope.north", "a side in a name is a side as well: \"северокорейский\""),
    ("scope.south", "a side in a name is a side as well: \"южнокорейский\""),
    ("scope.west", "the beginnings of \"западный\" and \"західний\" stand among the gazetteer's words themselves"),
];

/// Role, prefix, name, reason.
const ALLOWED_MATCHES: &[(&str, &str, &str, &str)] = &[];

#[test]
fn no_prefix_catches_a_name_and_what_it_catches_is_printed() {
    let (names, frequent) = (gazetteer::single_words(), frequent());
    let mut wrong = BTreeSet::new();
    for role in roles() {
        for entry in entries(role).filter(|entry| entry.kind == Kind::Prefix) {
            let prefix = entry.form;
            let caught: BTreeSet<&str> = names.iter().copied().filter(|name| name.starts_with(prefix)).collect();
            let words: Vec<&str> =
                frequent.iter().map(String::as_str).filter(|word| word.starts_with(prefix)).collect();
            println!("{role} {prefix}*: names {caught:?}, frequent words {words:?}");
            let known = |name: &str| {
                NAME_ROLES.iter().any(|known| known.0 == role)
                    || ALLOWED_MATCHES.iter().any(|known| (known.0, known.1, known.2) == (role, prefix, name))
            };
            wrong.extend(caught.into_iter().filter(|name| !known(name)).map(|name| (role, prefix, name)));
        }
    }
    assert!(wrong.is_empty(), "a prefix catches a name; write words instead, or the next letters: {wrong:#?}");
}

/// Roles whose prefixes match many other words.
const GUARDED_ROLES: [&str; 10] = [
    "figures.fate.",
    "figures.level",
    "figures.reporting",
    "figures.running",
    "negation.concord",
    "negation.denying",
    "negation.harmless",
    "negation.refuting",
    "occasion.",
    "stance.",
];

#[test]
fn words_that_only_begin_alike_are_let_by() {
    let is_held = |role: &&str| GUARDED_ROLES.iter().any(|group| role.starts_with(group));
    let lists: Vec<(&str, WordList)> =
        roles().filter(is_held).map(|role| (role, WordList::from_entries(entries(role)))).collect();
    let words = "denys отрицательный отрицательная ипсос lieutenant spoofing spoofed warner urgent дума думы госдума надежный \
        надеть считанные bank bangladesh diesel wonder oldenburg lowell слуховой чуткий мифология ложка ложиться";
    for word in words.split_whitespace() {
        let caught: Vec<&str> = lists.iter().filter(|(_, list)| list.has(word)).map(|(role, _)| *role).collect();
        assert!(caught.is_empty(), "{word} is caught by {caught:?}");
    }
}
