//! Conventions that neither the compiler nor clippy checks: layers, confined libraries, column lists, words and paths.
//!
//! The checks read the text of the sources. Comment lines and test modules do not count as program. An exception is a row
//! in a table here, with its reason.

mod statements;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The modules of `src` and the crates below them, from top to bottom. A layer uses only lower layers. Cargo checks the
/// crates among each other.
const LAYERS: [&[&str]; 17] = [
    &["main"],
    &["cli"],
    &["app"],
    &["http", "worker"],
    &["pipeline"],
    &["providers"],
    &["inference"],
    &["judging"],
    &["reading"],
    &["language"],
    &["cache", "parsing"],
    &["outbound"],
    &["store", "broker"],
    &["supervisor"],
    &["telemetry"],
    &["config"],
    &["domain"],
];

/// Uses that [`LAYERS`] forbids: (user, used, reason).
const LAYER_EXCEPTIONS: [(&str, &str, &str); 1] =
    [("store", "broker", "the table queue of the embedded mode implements the broker's `Queue`")];

/// Libraries that only some modules of `src` use.
const CONFINED: [(&str, &[&str]); 12] = [
    ("sqlx", &["store"]),
    ("pglite_oxide", &["store"]),
    ("lapin", &["broker"]),
    ("reqwest", &["outbound"]),
    // Unmaintained, so it must be replaceable in one place.
    ("backoff", &["outbound"]),
    ("metrics_exporter_prometheus", &["telemetry"]),
    ("rten", &["inference"]),
    ("tokenizers", &["inference"]),
    // Addresses are resolved behind the SSRF guard.
    ("hickory_resolver", &["outbound"]),
    ("figment", &["config"]),
    ("clap", &["main", "cli"]),
    ("anyhow", &["main", "cli", "app"]),
];

/// Files that use a confined library elsewhere: (file, library, reason).
const LIBRARY_EXCEPTIONS: [(&str, &str, &str); 3] = [
    ("src/telemetry/logging.rs", "lapin", "it names the library's own log lines"),
    ("src/store/embedded.rs", "anyhow", "the embedded server's interface returns anyhow errors"),
    ("src/inference/manifest.rs", "figment", "a model's manifest is TOML and not part of the configuration"),
];

const README_LINES: usize = 150;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the matching files below a folder of the repository, sorted, as paths from its root.
fn files(folder: &str, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries {
            let path = entry.expect("a folder of the repository can be listed").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // In a second working tree `.git` is a file.
            if matches!(name, "target" | ".git" | "node_modules") {
                continue;
            }
            if path.is_dir() {
                walk(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    let mut found: Vec<PathBuf> = found
        .into_iter()
        .map(|path| path.strip_prefix(root()).expect("the walk began at the root").to_owned())
        .filter(|path| wanted(path))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "no file matches in {folder:?}: the check looks in the wrong place");
    found
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// The files of the program, sorted; without build scripts.
fn program_files(wanted: impl Fn(&Path) -> bool + Copy) -> Vec<PathBuf> {
    ["src", "crates"]
        .iter()
        .flat_map(|folder| files(folder, wanted))
        .filter(|path| !path.ends_with("build.rs"))
        .collect()
}

/// Fails with all offences.
fn report(rule: &str, offences: &[String]) {
    assert!(offences.is_empty(), "{rule}:\n  {}", offences.join("\n  "));
}

/// Blanks comment lines and everything from the first test module on.
fn without_tests(text: &str) -> String {
    let mut is_test = false;
    let mut lines = text.lines().peekable();
    let mut program = String::new();
    while let Some(line) = lines.next() {
        is_test |= line.starts_with("#[cfg(test)]") && lines.peek().is_some_and(|next| next.contains("mod "));
        if !is_test && !line.trim_start().starts_with("//") {
            program.push_str(line);
        }
        program.push('\n');
    }
    program
}

/// Returns the module under `src` that a file of the program belongs to, its path, and its text without tests.
fn modules() -> Vec<(String, PathBuf, String)> {
    // Files that a parent declares under `#[cfg(test)]`.
    let is_test = |path: &Path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_in_tests = path.components().any(|part| part.as_os_str() == "tests");
        is_in_tests || matches!(stem, "tests" | "measured") || stem.ends_with("_tests")
    };
    files("src", is_rust)
        .into_iter()
        .filter(|path| !is_test(path) && !path.ends_with("src/lib.rs"))
        .filter_map(|path| {
            let first = path.components().nth(1)?.as_os_str().to_str()?;
            let module = first.strip_suffix(".rs").unwrap_or(first).to_owned();
            let text = without_tests(&read(&path));
            Some((module, path, text))
        })
        .collect()
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Whether one module may use another.
fn is_allowed(from: &str, to: &str) -> bool {
    let is_excepted = LAYER_EXCEPTIONS.iter().any(|(user, used, _)| (*user, *used) == (from, to));
    from == to || is_excepted || layer_of(from).zip(layer_of(to)).is_some_and(|(upper, lower)| upper < lower)
}

#[test]
fn modules_use_only_lower_layers() {
    let used = Regex::new(r"\b(?:crate::|corroborate::|corroborate_)(\w+|\{)").unwrap();
    let mut offences = Vec::new();
    for (module, path, text) in modules() {
        for (number, line) in text.lines().enumerate() {
            for found in used.captures_iter(line) {
                // A macro or re-export of lib.rs is no module; a group would hide its modules.
                let to = &found[1];
                if (layer_of(to).is_some() && !is_allowed(&module, to)) || to == "{" {
                    offences.push(format!("{}:{}: `{module}` must not use `{to}`", path.display(), number + 1));
                }
            }
        }
    }
    report("layers", &offences);
    let planned: BTreeSet<&str> = LAYERS.iter().flat_map(|layer| layer.iter().copied()).collect();
    let found: BTreeSet<String> = modules().into_iter().map(|(module, ..)| module).collect();
    assert!(found.iter().all(|module| planned.contains(module.as_str())), "a module has no layer: {found:?}");
    assert!(is_allowed("http", "pipeline") && !is_allowed("store", "cache") && !is_allowed("http", "worker"));
}

#[test]
fn libraries_are_used_only_where_they_belong() {
    let mut offences = Vec::new();
    for (library, allowed) in CONFINED {
        let used = Regex::new(&format!(r"(?:^|[^\w:.]){library}::|\buse {library}\b")).unwrap();
        for (module, path, text) in modules() {
            let excepted = LIBRARY_EXCEPTIONS.iter().any(|(file, name, _)| path == Path::new(file) && *name == library);
            if !excepted && !allowed.contains(&module.as_str()) && used.is_match(&text) {
                offences.push(format!("{}: `{library}` belongs in {allowed:?}", path.display()));
            }
        }
    }
    report("libraries", &offences);
}

#[test]
fn readme_is_short() {
    let lines = read(Path::new("README.md")).lines().count();
    assert!(lines <= README_LINES, "README.md: {lines} lines, {README_LINES} at most");
}

#[test]
fn files_name_no_path_of_one_machine() {
    // Composed, so that this file does not contain what it looks for.
    let folders = ["work", "tmp", "root", "home", "Users"].map(|name| format!("/{name}/"));
    let sibling = ["..", "shared"].join("/");
    let is_written_by_hand = |path: &Path| {
        let kinds = ["rs", "toml", "md", "yml", "yaml", "sql", "sh", "service", "example"];
        path.extension().and_then(|kind| kind.to_str()).is_none_or(|kind| kinds.contains(&kind))
    };
    let mut offences = Vec::new();
    for path in files("", is_written_by_hand) {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let begins_path = |folder: &str| {
                line.match_indices(folder).any(|(at, _)| {
                    let before = line.get(..at).and_then(|before| before.chars().next_back());
                    before.is_none_or(|before| before.is_whitespace() || "\"'`=(:".contains(before))
                })
            };
            if let Some(folder) = folders.iter().find(|folder| begins_path(folder)) {
                offences.push(format!("{}:{}: a path of one machine, {folder}", path.display(), number + 1));
            }
            // Tests may look for data next to the checkout, and skip without it.
            if !is_rust(&path) && line.contains(&sibling) {
                offences.push(format!("{}:{}: {sibling} is not part of the product", path.display(), number + 1));
            }
        }
    }
    report("machine paths", &offences);
}
