//! Compares the reference manual, the tables of the tree and their uses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::kind::{DEFAULT_TOML, Fields};
use super::super::*;

#[test]
fn the_reference_describes_every_field_and_marks_secrets() {
    fn paths(fields: Fields, prefix: &str, found: &mut BTreeSet<String>) {
        for (name, kind) in fields {
            match kind {
                Kind::Table(fields) => paths(fields, &format!("{prefix}{name}."), found),
                _ => drop(found.insert(format!("{prefix}{name}"))),
            }
        }
    }
    let mut fields = BTreeSet::new();
    paths(Config::FIELDS, "", &mut fields);
    // Only one provider restricts the use of its keys.
    fields.retain(|path| !path.ends_with(".licensed") || path == "providers.newsapi.licensed");
    let documented: BTreeSet<String> = KEYS.iter().map(|key| key.path.clone()).collect();
    assert_eq!(fields, documented);
    for key in KEYS.iter() {
        assert!(key.help.len() > 3, "{} has no comment above it", key.path);
    }
    assert_eq!(DEFAULT_TOML.matches("\n# Secret. ").count(), KEYS.iter().filter(|key| key.is_secret()).count());
}

/// The words of all source files outside this module, without tests.
fn words_read_elsewhere() -> BTreeSet<String> {
    fn walk(folder: &Path, words: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("src/config") {
                walk(&path, words);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let fields = code.split('.').skip(1).map(|rest| {
                    rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect::<String>()
                });
                words.extend(fields);
            }
        }
    }
    let mut words = BTreeSet::new();
    walk(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src"), &mut words);
    words
}

/// Every key must be used. The test compares names, so it misses an unused key whose name occurs elsewhere.
#[test]
fn every_key_is_read_by_something() {
    let read = words_read_elsewhere();
    for key in KEYS.iter() {
        let field = key.path.rsplit('.').next().unwrap();
        // Read through functions of this module.
        let by_function = matches!(
            key.path.as_str(),
            "data_dir"
                | "enrichment.allowlist_domains"
                | "enrichment.denylist_domains"
                | "inference.stance_url"
                | "inference.rerank_url"
        );
        assert!(by_function || read.contains(field), "{} is read by nothing", key.path);
    }
}
