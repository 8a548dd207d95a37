//! `NOTICE` against the files of the repository, the manifests and the container image.
#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::daemon::{Finished, finish};

/// Folders whose every file needs an entry in `NOTICE`.
const DATA: [&str; 8] = [
    "models",
    "crates/language/lexicon",
    "extension",
    "migrations",
    "tests/data",
    "tests/fixtures",
    "training/written",
    "src/app/demo_data",
];

/// Sources, in which every file but Rust, manifests and templates needs one.
const SOURCES: [&str; 2] = ["src", "crates"];

/// An entry of `NOTICE`, as `corroborate licenses --json` prints it.
struct Entry {
    files: Vec<String>,
    licences: BTreeSet<String>,
    in_program: bool,
    embedded_by: Option<String>,
}

impl Entry {
    fn covers(&self, path: &str) -> bool {
        self.files.iter().any(|pattern| covers(pattern, path))
    }
}

fn covers(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix("/**") {
        Some(folder) => path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
        None => pattern == path,
    }
}

async fn licenses(arguments: &[&str]) -> Finished {
    let mut all = vec!["licenses"];
    all.extend(arguments);
    // The command reads no configuration: an unknown key does not stop it.
    finish(&[("WORKER_NONSENSE".to_owned(), "1".to_owned())], &all, "").await
}

async fn entries() -> Vec<Entry> {
    let answer = licenses(&["--json"]).await.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |entry: &Value| Entry {
        files: entry["files"].as_array().unwrap().iter().map(text).collect(),
        licences: identifiers(entry["license"].as_str().unwrap()),
        in_program: entry["shipped"].as_array().unwrap().contains(&Value::from("binary")),
        embedded_by: entry.get("crate").map(text),
    };
    answer["data"].as_array().unwrap().iter().map(of).collect()
}

/// The licences that an SPDX expression names.
fn identifiers(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
    words.filter(|word| !matches!(*word, "" | "AND" | "OR" | "WITH")).map(str::to_owned).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn is_a(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
}

/// The files below a folder, as paths from the root.
fn files(folder: &str) -> Vec<String> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if matches!(name, "target" | ".git" | "node_modules" | "__pycache__") {
                continue;
            }
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    assert!(!found.is_empty(), "{folder} is empty");
    let relative = |path: PathBuf| path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
    found.into_iter().map(relative).collect()
}

/// The files that the program, its tests and its benchmarks include, by the sources that include them.
fn included() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        for source in files(folder).into_iter().filter(|path| is_a(path, "rs")) {
            let text = read(&source);
            for call in ["include_str!(\"", "include_bytes!(\""] {
                for after in text.split(call).skip(1) {
                    let path = Path::new(&source).parent().unwrap().join(after.split('"').next().unwrap());
                    found.push(flat(&path));
                }
            }
        }
    }
    assert!(found.len() > 40, "{}", found.len());
    found
}

/// The path without `..`.
fn flat(path: &Path) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.to_str().unwrap().split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Everything that needs an entry.
fn data_files() -> BTreeSet<String> {
    let is_code = |path: &String| is_a(path, "rs") || path.ends_with("Cargo.toml") || path.contains("/templates/");
    let mut found: BTreeSet<String> = DATA.iter().flat_map(|folder| files(folder)).collect();
    found.extend(SOURCES.iter().flat_map(|folder| files(folder)));
    found.extend(included());
    found.retain(|path| !is_code(path));
    found
}

#[tokio::test]
async fn every_data_file_has_exactly_one_entry() {
    let entries = entries().await;
    let files = data_files();
    assert!(files.contains("models/slovnet-names/model.bin") && files.contains("crates/language/src/lemmas/uk.fst"));
    let counted = files.iter().map(|path| (path, entries.iter().filter(|entry| entry.covers(path)).count()));
    let wrong: Vec<_> = counted.filter(|(_, count)| *count != 1).collect();
    assert!(wrong.is_empty(), "add to NOTICE, or name once: {wrong:#?}");
}

#[tokio::test]
async fn no_entry_names_a_file_or_crate_that_is_gone() {
    let lock = read("Cargo.lock");
    for entry in entries().await {
        for pattern in &entry.files {
            let exists = match (pattern.strip_prefix("crate:"), pattern.strip_suffix("/**")) {
                (Some(name), _) => lock.contains(&format!("\nname = \"{name}\"\n")),
                (None, Some(folder)) => root().join(folder).is_dir() && !files(folder).is_empty(),
                (None, None) => root().join(pattern).is_file(),
            };
            assert!(exists, "NOTICE names {pattern}, which is gone");
        }
    }
}

#[tokio::test]
async fn manifests_state_the_licences_of_the_data_they_embed() {
    let entries = entries().await;
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        expected.insert(format!("corroborate-{name}"), identifiers("MIT OR Apache-2.0"));
    }
    // The program embeds what its crates embed.
    expected.insert("corroborate".to_owned(), identifiers("MIT OR Apache-2.0"));
    for entry in entries.iter().filter(|entry| entry.in_program && !entry.files[0].starts_with("crate:")) {
        let by = entry.embedded_by.as_deref().unwrap();
        for name in BTreeSet::from([by, "corroborate"]) {
            let own = expected.get_mut(name).unwrap_or_else(|| panic!("NOTICE names the crate {name}"));
            own.extend(entry.licences.iter().cloned());
        }
    }
    for (name, expected) in expected {
        let path = name
            .strip_prefix("corroborate-")
            .map_or("Cargo.toml".to_owned(), |name| format!("crates/{name}/Cargo.toml"));
        let manifest = read(&path);
        let stated = manifest.lines().find_map(|line| line.strip_prefix("license = ")).unwrap().trim_matches('"');
        assert!(
            stated.starts_with("MIT OR Apache-2.0") || stated.starts_with("(MIT OR Apache-2.0) AND "),
            "{path}: {stated}"
        );
        assert_eq!(identifiers(stated), expected, "{path}");
    }
}

#[test]
fn training_reads_no_source_without_a_stated_licence() {
    let dropped = ["newstest", "wmt", "machine_gpt4_wmt23", "hotels"];
    for (file, start) in [("reader/sources.py", "\nPUBLIC = {"), ("parallel.py", "\nHELD_SHARE = {")] {
        let script = read(&format!("training/{file}"));
        let listed = script.split(start).nth(1).unwrap().split("\n}").next().unwrap();
        for name in dropped {
            assert!(!listed.contains(&format!("\"{name}")), "{file}: {name} states no licence");
        }
    }
    let readme = read("training/README.md");
    for name in dropped {
        assert!(readme.contains(&format!("`{name}")), "training/README.md does not name {name}");
    }
    let condition = "if source in HELD_SHARE:";
    assert!(read("training/parallel.py").contains(condition), "training/parallel.py reads every source");
}

#[test]
fn container_image_ships_the_licences() {
    let dockerfile = read("deploy/Dockerfile");
    let runtime = dockerfile.rsplit("\nFROM ").next().unwrap();
    let mut shipped =
        vec!["LICENSE-MIT".to_owned(), "LICENSE-APACHE".to_owned(), "NOTICE".to_owned(), "LICENSES/".to_owned()];
    shipped.extend(files("models").into_iter().filter(|path| path.ends_with("LICENSE") || is_a(path, "md")));
    for path in shipped {
        let is_copied =
            runtime.lines().any(|line| line.starts_with("COPY ") && line.split(' ').any(|word| word == path));
        assert!(is_copied, "{path} is not in the image");
        let ignored = read(".dockerignore");
        assert!(!ignored.lines().any(|line| path.starts_with(line.trim_end_matches('/'))), "{path} is ignored");
    }
    assert!(dockerfile.contains("ARG FEATURES=\"models\"\n"), "the embedded Postgres is not in the image");
    let manifest = read("Cargo.toml");
    let stated = manifest.lines().find_map(|line| line.strip_prefix("license = ")).unwrap();
    assert!(runtime.contains(&format!("org.opencontainers.image.licenses={stated}")), "{stated}");
}

#[tokio::test]
async fn licenses_prints_notice_and_with_full_the_texts() {
    let short = licenses(&[]).await;
    assert_eq!(short.ok(), read("NOTICE"));
    let full = licenses(&["--full"]).await;
    for part in [
        "LICENSES/MPL-1.1.txt",
        "Attribution-ShareAlike 4.0 International",
        "models/slovnet-names/LICENSE",
        "\nserde\t",
    ] {
        assert!(full.ok().contains(part), "{part}");
    }
    let json = licenses(&["--json", "--full"]).await.json();
    assert_eq!(json["project"]["license"], "MIT OR Apache-2.0");
    assert!(json["crates"].as_array().unwrap().len() > 500);
    assert!(json["texts"]["LICENSE-MIT"].as_str().unwrap().contains("The corroborate authors"));
    assert!(licenses(&["--help"]).await.ok().contains("corroborate licenses --json"));
}
