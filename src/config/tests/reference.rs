//! Compares the reference manual, the table of keys and their uses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::*;

#[test]
fn the_reference_documents_every_key_and_names_its_variable() {
    let mut table = String::new();
    let mut comment = String::new();
    let mut documented = BTreeSet::new();
    for line in DEFAULT_TOML.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(&mut table);
            comment.clear();
            continue;
        }
        let bare = line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line);
        let is_key = !line.starts_with(' ') && bare.split_once(" = ").is_some_and(|(name, _)| !name.contains(' '));
        if is_key && !line.starts_with("# ") {
            let (name, _) = bare.split_once(" = ").unwrap();
            let path = if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") };
            assert!(!comment.is_empty(), "{path} has no comment above it");
            let key = KEYS.iter().find(|key| key.path == path).unwrap_or_else(|| panic!("{path} is not in the table"));
            if !key.env().starts_with("CORROBORATE_") || key.path == "data_dir" {
                assert!(
                    path.starts_with("providers.google") || comment.contains(&format!("[{}]", key.env())),
                    "{path}"
                );
            }
            assert_eq!(comment.contains("Secret."), key.is_secret(), "{path}");
            documented.insert(path);
            comment.clear();
        } else if let Some(text) = line.strip_prefix("# ") {
            comment.push_str(text);
            comment.push(' ');
        }
    }
    for key in KEYS.iter() {
        assert!(documented.contains(key.path), "{} is not documented in config/default.toml", key.path);
    }
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
            key.path,
            "data_dir"
                | "enrichment.allowlist_domains"
                | "enrichment.denylist_domains"
                | "inference.stance_url"
                | "inference.rerank_url"
        );
        assert!(by_function || read.contains(field), "{} is read by nothing", key.path);
    }
}
