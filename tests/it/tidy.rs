//! Conventions that neither the compiler nor clippy checks: layers, confined libraries, column lists and words. The checks
//! read the text of the sources; comment lines and test modules do not count as program.

use std::path::Path;

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

/// Uses that [`LAYERS`] forbids. The table queue of the embedded mode implements the broker's `Queue`.
const LAYER_EXCEPTIONS: [(&str, &str); 1] = [("store", "broker")];

/// Libraries that only some places of `src` use.
const CONFINED: [(&str, &[&str]); 13] = [
    ("sqlx", &["store"]),
    ("pglite_oxide", &["store"]),
    // Logging names the library's own log lines.
    ("lapin", &["broker", "telemetry/logging.rs"]),
    ("reqwest", &["outbound"]),
    // Unmaintained, so it must be replaceable in one place.
    ("backoff", &["outbound"]),
    ("metrics_exporter_prometheus", &["telemetry"]),
    ("opentelemetry_otlp", &["outbound"]),
    ("rten", &["inference"]),
    ("tokenizers", &["inference"]),
    // Addresses are resolved behind the SSRF guard.
    ("hickory_resolver", &["outbound"]),
    // A model's manifest is TOML and not part of the configuration.
    ("figment", &["config", "inference/manifest.rs"]),
    ("clap", &["main", "cli"]),
    // The embedded server's interface returns anyhow errors.
    ("anyhow", &["main", "cli", "app", "store/embedded.rs"]),
];

/// The word list of `STYLE.md`: archaic words, and words for people or places instead of parts of the program.
const WORDS: [&str; 18] = [
    "anew",
    "mend",
    "mends",
    "mended",
    "beside",
    "whoever",
    "whomever",
    "dearest",
    "aloud",
    "shall",
    "yardstick",
    "purse",
    "heard",
    "spoken",
    "told",
    "tells",
    "somebody",
    "doorman",
];

/// How often comments may use one of the words. Lower it when you rewrite comments; never raise it.
const MAX_IN_COMMENTS: usize = 5;

/// Returns the paths and texts of files below a folder of the repository, by ending.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut folders, mut found) = (vec![root.join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the repository can be listed") {
            let path = entry.unwrap().path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !matches!(name, "target" | ".git" | "node_modules") {
                folders.push(path);
            } else if name.ends_with(ending) {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root).unwrap().display().to_string(), text));
            }
        }
    }
    assert!(!found.is_empty(), "no file ends with {ending} in {folder:?}");
    found
}

/// The program's files below `src`, by path from there, without comment lines and tests.
fn program() -> Vec<(String, String)> {
    let tests = Regex::new(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))?\s+)?mod\s+\w+\s*\{").unwrap();
    let is_test = Regex::new(r"tests?/|tests\.rs$|/measured\.rs$|^lib\.rs$").unwrap();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    files("src", ".rs")
        .into_iter()
        .map(|(path, text)| (path.trim_start_matches("src/").to_owned(), text))
        .filter(|(path, _)| !is_test.is_match(path))
        .map(|(path, text)| {
            (path, tests.split(&text).next().unwrap().lines().filter(is_code).collect::<Vec<_>>().join("\n"))
        })
        .collect()
}

fn module(path: &str) -> &str {
    path.split('/').next().unwrap().trim_end_matches(".rs")
}

fn is_allowed(from: &str, to: &str) -> bool {
    let layer = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let (Some(from_layer), to_layer) = (layer(from), layer(to)) else { panic!("{from} has no layer") };
    // A macro or re-export of lib.rs is no module.
    from == to || LAYER_EXCEPTIONS.contains(&(from, to)) || to_layer.is_none_or(|to_layer| from_layer < to_layer)
}

#[test]
fn modules_use_only_lower_layers() {
    let used = Regex::new(r"\b(?:crate::|corroborate::|corroborate_)(\w+|\{)").unwrap();
    for (path, text) in program() {
        for found in used.captures_iter(&text) {
            // A group would hide its modules.
            let is_allowed = &found[1] != "{" && is_allowed(module(&path), &found[1]);
            assert!(is_allowed, "src/{path} must not use `{}`", &found[1]);
        }
    }
    assert!(is_allowed("http", "pipeline") && !is_allowed("store", "cache") && !is_allowed("http", "worker"));
}

#[test]
fn libraries_are_used_only_where_they_belong() {
    let program = program();
    for (library, allowed) in CONFINED {
        let used = Regex::new(&format!(r"(?:^|[^\w:.]){library}::|\buse {library}\b")).unwrap();
        for (path, text) in &program {
            let is_allowed = allowed.contains(&module(path)) || allowed.contains(&path.as_str());
            assert!(is_allowed || !used.is_match(text), "src/{path}: `{library}` belongs in {allowed:?}");
        }
    }
}

/// The server refuses a prepared statement whose columns change under it ("cached plan must not change result type"). A
/// migration that adds a column does that to `SELECT *` in every running process, for every item at once.
#[test]
fn prepared_statements_name_their_columns() {
    let star = Regex::new(
        r"(?isx) \bSELECT\s+(?:DISTINCT\s+)?(?:\w+\.)?\*\s+FROM\s+(\w+\(?) | \bSELECT\s+(?:DISTINCT\s+)?(?:\w+\.)?\*\s*,
        | \bRETURNING\s+(?:\w+\.)?\* | \b(?:SELECT|RETURNING)\s[^;]{0,400}?,\s*(?:\w+\.\*|\*\s*(?:,|FROM\b))",
    )
    .unwrap();
    for (path, text) in program().iter().filter(|(path, _)| module(path) == "store") {
        for found in star.captures_iter(text) {
            // Rows of functions have column lists of their own, which a migration cannot change.
            let from = found.get(1).map_or("", |from| from.as_str()).to_lowercase();
            let is_fixed = ["unnest(", "jsonb_to_recordset(", "jsonb_array_elements("].contains(&from.as_str());
            assert!(is_fixed, "src/{path} reads all columns of a table; name those it needs: {}", &found[0]);
        }
    }
}

fn listed_words(text: &str) -> Vec<&str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .filter(|word| WORDS.iter().any(|listed| word.eq_ignore_ascii_case(listed)))
        .collect()
}

#[test]
fn documents_and_comments_avoid_the_words_of_the_list() {
    for (path, text) in files("", ".md") {
        // Licences and texts of others, the rules themselves, and prose that a generator or an upstream wrote.
        let is_other = ["STYLE.md", "GLOSSARY.md", "ORIGIN.md"].iter().any(|name| path.ends_with(name))
            || ["LICENSES", "models", "docs/reference", "src/inference/llm/prompts"]
                .iter()
                .any(|place| path.starts_with(place));
        assert!(is_other || listed_words(&text).is_empty(), "words of STYLE.md in {path}: {:?}", listed_words(&text));
    }
    let sources: Vec<(String, String)> = ["src", "crates"].iter().flat_map(|folder| files(folder, ".rs")).collect();
    let comments = sources.iter().flat_map(|(_, text)| text.lines()).filter(|line| line.trim_start().starts_with("//"));
    let used: Vec<&str> = comments.flat_map(listed_words).collect();
    assert!(used.len() <= MAX_IN_COMMENTS, "{MAX_IN_COMMENTS} words of STYLE.md at most in comments: {used:?}");
}
