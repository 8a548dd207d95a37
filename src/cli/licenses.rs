//! `licenses`: prints the licences of the program and of the data in it, as text or JSON.
//!
//! `NOTICE` is the only source, with one paragraph per group of files and fields such as `Files`, `Origin` and
//! `License`. Its first paragraph describes the project. `LICENSES/update.py` writes the crates to
//! `LICENSES/crates.tsv`. The command reads no configuration.
//!
//! A new model, dictionary, list or text needs a paragraph in `NOTICE`. A new licence text needs a file in `LICENSES/`
//! and a line in [`TEXTS`]. `tests/it/licences.rs` compares `NOTICE` with the repository.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde::Serialize;

use super::failure::Failure;
use super::output::Output;

const NOTICE: &str = include_str!("../../NOTICE");
const CRATES: &str = include_str!("../../LICENSES/crates.tsv");

macro_rules! texts {
    ($($path:literal),* $(,)?) => { &[$(($path, include_str!(concat!("../../", $path)))),*] };
}

/// By path from the root of the repository.
const TEXTS: &[(&str, &str)] = texts![
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "models/multilingual-e5-small-int8/LICENSE",
    "models/mpnet-nli-en-ru-uk-int8/LICENSE",
    "models/e5-nli-int8/LICENSE",
    "models/slovnet-names/LICENSE",
    "LICENSES/CC-BY-SA-4.0.txt",
    "LICENSES/CC-BY-SA-3.0.txt",
    "LICENSES/CC0-1.0.txt",
    "LICENSES/MPL-1.1.txt",
    "LICENSES/MPL-2.0.txt",
    "LICENSES/PostgreSQL.txt",
    "LICENSES/crates.txt",
];

#[derive(Debug, Serialize)]
struct Project<'a> {
    name: &'a str,
    copyright: &'a str,
    /// SPDX expression of the code.
    license: &'a str,
    /// SPDX expression of the program with its data.
    program_license: &'static str,
    texts: Vec<&'a str>,
}

/// A group of files with one origin and licence.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    /// Paths from the root of the repository. `/**` ends a folder; `crate:` begins a third-party crate.
    files: Vec<&'a str>,
    what: &'a str,
    origin: &'a str,
    /// SPDX expression.
    license: &'a str,
    attribution: &'a str,
    texts: Vec<&'a str>,
    /// `binary` and `image`, `binary`, or `repository`.
    shipped: Vec<&'a str>,
    /// The workspace crate that embeds the files; absent if none does.
    #[serde(rename = "crate", skip_serializing_if = "Option::is_none")]
    embedded_by: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Crate<'a> {
    name: &'a str,
    version: &'a str,
    license: &'a str,
    copyright: &'a str,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    project: Project<'a>,
    data: Vec<Entry<'a>>,
    crates: Vec<Crate<'a>>,
    /// By path; with `--full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<BTreeMap<&'a str, &'a str>>,
}

type Fields = HashMap<String, String>;

pub(super) fn run(full: bool, output: Output) -> Result<(), Failure> {
    if output.json {
        let paragraphs = paragraphs(NOTICE);
        let Some((project, data)) = paragraphs.split_first() else {
            return Err(Failure::failed("NOTICE is empty; build the program again from a complete source tree"));
        };
        let texts = full.then(|| TEXTS.iter().copied().collect());
        let data = data.iter().map(entry).collect();
        return output.value(&Answer { project: self::project(project), data, crates: crates().collect(), texts });
    }
    if full {
        return output.text(&whole());
    }
    output.text(NOTICE)?;
    output.hint("--full prints the licence texts and the third-party crates too; --json prints JSON");
    Ok(())
}

fn whole() -> String {
    let mut text = format!("{NOTICE}\n");
    heading("third-party crates: name, version, licence, copyright", &mut text);
    text.push_str(CRATES);
    for (path, licence) in TEXTS {
        text.push('\n');
        heading(path, &mut text);
        text.push_str(licence.trim_end());
        text.push('\n');
    }
    text
}

fn heading(words: &str, text: &mut String) {
    let rule = "=".repeat(80);
    let _infallible = writeln!(text, "{rule}\n{words}\n{rule}");
}

/// Joins a line that begins with a space to the field above it.
fn paragraphs(text: &str) -> Vec<Fields> {
    text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()).map(fields).collect()
}

fn fields(paragraph: &str) -> Fields {
    let mut found = Fields::new();
    let mut last = String::new();
    for line in paragraph.lines() {
        if let Some(more) = line.strip_prefix(' ') {
            let value = found.entry(last.clone()).or_default();
            value.push(' ');
            value.push_str(more.trim());
        } else if let Some((name, value)) = line.split_once(": ") {
            name.clone_into(&mut last);
            found.insert(last.clone(), value.trim().to_owned());
        }
    }
    found
}

fn value<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).map(String::as_str).unwrap_or_default()
}

fn list<'a>(fields: &'a Fields, name: &str) -> Vec<&'a str> {
    value(fields, name).split_whitespace().collect()
}

fn project(fields: &Fields) -> Project<'_> {
    Project {
        name: value(fields, "Project"),
        copyright: value(fields, "Copyright"),
        license: value(fields, "License"),
        program_license: env!("CARGO_PKG_LICENSE"),
        texts: list(fields, "Text"),
    }
}

fn entry(fields: &Fields) -> Entry<'_> {
    Entry {
        files: list(fields, "Files"),
        what: value(fields, "What"),
        origin: value(fields, "Origin"),
        license: value(fields, "License"),
        attribution: value(fields, "Attribution"),
        texts: list(fields, "Text"),
        shipped: list(fields, "Shipped"),
        embedded_by: fields.get("Crate").map(String::as_str),
    }
}

fn crates() -> impl Iterator<Item = Crate<'static>> {
    CRATES.lines().filter_map(|line| {
        let mut cells = line.split('\t');
        let (name, version, license) = (cells.next()?, cells.next()?, cells.next()?);
        Some(Crate { name, version, license, copyright: cells.next().unwrap_or_default() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [&str; 8] = ["Files", "What", "Origin", "License", "Attribution", "Text", "Shipped", "Crate"];

    #[test]
    fn notice_paragraphs_have_every_field_and_no_other() {
        let paragraphs = paragraphs(NOTICE);
        let (header, entries) = paragraphs.split_first().unwrap();
        assert_eq!(value(header, "Project"), "corroborate");
        assert!(entries.len() > 20, "{}", entries.len());
        for fields in entries {
            let files = value(fields, "Files");
            for name in fields.keys() {
                assert!(FIELDS.contains(&name.as_str()), "{files}: unknown field {name}");
            }
            for name in ["Files", "What", "Origin", "License", "Attribution", "Shipped"] {
                assert!(!value(fields, name).is_empty(), "{files}: {name} is missing");
            }
            let shipped = value(fields, "Shipped");
            assert!(["binary image", "binary", "repository"].contains(&shipped), "{files}: {shipped}");
            assert_eq!(fields.contains_key("Crate"), shipped != "repository", "{files}: who embeds it");
        }
    }

    #[test]
    fn every_named_licence_text_is_printed() {
        for fields in paragraphs(NOTICE) {
            for path in list(&fields, "Text") {
                assert!(TEXTS.iter().any(|(known, _)| *known == path), "{path} is not in TEXTS");
            }
        }
        let whole = whole();
        for part in [
            "Attribution-ShareAlike 4.0 International",
            "MOZILLA PUBLIC LICENSE",
            "The corroborate authors",
            "\ntokio\t",
        ] {
            assert!(whole.contains(part), "{part}");
        }
    }

    #[test]
    fn third_party_list_matches_the_lock_file() {
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")).unwrap();
        let mut locked: Vec<(&str, &str)> = Vec::new();
        for package in lock.split("[[package]]").skip(1).filter(|package| package.contains("\nsource = ")) {
            let of = |key: &str| package.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim_matches('"');
            locked.push((of("name = "), of("version = ")));
        }
        locked.sort_unstable();
        let mut listed: Vec<(&str, &str)> = crates().map(|one| (one.name, one.version)).collect();
        listed.sort_unstable();
        let missing: Vec<_> = locked.iter().filter(|one| !listed.contains(one)).collect();
        let gone: Vec<_> = listed.iter().filter(|one| !locked.contains(one)).collect();
        assert!(missing.is_empty() && gone.is_empty(), "run LICENSES/update.py: missing {missing:?}, gone {gone:?}");
        assert!(crates().all(|one| !one.license.is_empty()));
    }
}
