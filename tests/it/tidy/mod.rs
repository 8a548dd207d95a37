//! The house keeps its own rules: which room may use which, who may touch which library, how long a file may be.
//!
//! The checks read the sources as tokens (see `source`), so comments and strings neither hide nor fake anything. Rules
//! for dependencies look at the program itself; its tests may reach further. A rule that must give way somewhere is
//! given an exception in a table here, with its reason.

mod circles;
mod source;
mod statements;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use source::{Source, Token};

/// The rooms, top of the house first. Those of one floor do not use each other; a floor uses any floor below it.
const FLOORS: [&[&str]; 17] = [
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

/// Rooms that know no I/O: of everything below them they may use the types alone, and each other downwards.
const PURE: [&str; 3] = ["judging", "reading", "language"];

/// Uses the floors forbid, with the reason they stay.
const ARROW_EXCEPTIONS: [(&str, &str, &str); 1] =
    [("store", "broker", "the table queue of the embedded mode implements the broker's `Queue`")];

/// Libraries that one room hides from the others: (library, rooms, why).
const CONFINED: [(&str, &[&str], &str); 19] = [
    ("sqlx", &["store"], "SQL is written in one place"),
    ("pglite_oxide", &["store"], "the embedded server is a kind of store"),
    ("lapin", &["broker"], "AMQP is spoken in one place"),
    ("reqwest", &["outbound"], "whatever leaves the process is limited and guarded there"),
    ("backoff", &["outbound"], "it is unmaintained, and must be replaceable in one place"),
    ("governor", &["outbound", "http"], "limits are kept where the calls go out and where they come in"),
    ("metrics", &["telemetry"], "there is one catalogue of metrics"),
    ("metrics_exporter_prometheus", &["telemetry"], "there is one catalogue of metrics"),
    ("rten", &["inference"], "model runtimes are behind the model traits"),
    ("rten_tensor", &["inference"], "model runtimes are behind the model traits"),
    ("ort", &["inference"], "model runtimes are behind the model traits"),
    ("candle_core", &["inference"], "model runtimes are behind the model traits"),
    ("tokenizers", &["inference"], "model runtimes are behind the model traits"),
    ("dom_query", &["reading"], "pages are read in one place"),
    ("hickory_resolver", &["outbound"], "names are resolved behind the SSRF guard"),
    ("whatlang", &["language"], "languages are detected in one place"),
    ("figment", &["config"], "configuration is read in one place"),
    ("clap", &["main", "cli"], "the command line is one room"),
    ("anyhow", &["main", "cli", "app"], "rooms below have errors of their own, which say what to do"),
];

/// Files that may use a confined library all the same: (file, library, why).
const LIBRARY_EXCEPTIONS: [(&str, &str, &str); 2] = [
    ("src/store/embedded.rs", "anyhow", "the embedded server's own interface answers with anyhow errors"),
    ("src/inference/manifest.rs", "figment", "a model's own manifest is TOML and no part of the configuration"),
];

/// Macros that belong to one room: (macro, rooms).
const CONFINED_MACROS: [(&str, &[&str]); 13] = [
    ("println", &["cli"]),
    ("eprintln", &["cli"]),
    ("print", &["cli"]),
    ("eprint", &["cli"]),
    ("dbg", &[]),
    ("todo", &[]),
    ("unimplemented", &[]),
    ("counter", &["telemetry"]),
    ("gauge", &["telemetry"]),
    ("histogram", &["telemetry"]),
    ("describe_counter", &["telemetry"]),
    ("describe_gauge", &["telemetry"]),
    ("describe_histogram", &["telemetry"]),
];

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 80;
const MAIN_LINES: usize = 60;
const README_LINES: usize = 150;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a folder of the repository, as paths from its root; what builds and version control leave is not looked at.
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
    assert!(!found.is_empty(), "nothing to look at in {folder:?}: the check looks in the wrong place");
    found
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// The folders that hold the program.
const PROGRAM: [&str; 2] = ["src", "crates"];

/// Packages that serve the tests alone, and are no part of the program.
const FOR_TESTS: [&str; 1] = ["labelled"];

/// The program's files, sorted. A build script is none: it reads what it puts into the program, and speaks to cargo.
fn program_files(wanted: impl Fn(&Path) -> bool + Copy) -> Vec<PathBuf> {
    PROGRAM.iter().flat_map(|folder| files(folder, wanted)).filter(|path| !path.ends_with("build.rs")).collect()
}

/// The room a file of the program belongs to, which is its package under `crates` and its module under `src`; none for
/// `src/lib.rs`, which only names the rooms.
fn room_of(path: &Path) -> Option<String> {
    if let Ok(rest) = path.strip_prefix("crates") {
        let name = rest.components().next()?.as_os_str().to_str()?;
        return (!FOR_TESTS.contains(&name)).then(|| name.to_owned());
    }
    let first = path.strip_prefix("src").ok()?.components().next()?;
    let name = first.as_os_str().to_str()?;
    let name = name.strip_suffix(".rs").unwrap_or(name);
    (name != "lib").then(|| name.to_owned())
}

fn floor_of(room: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&room))
}

/// Whether a file of one room may use another, and why not.
fn arrow(from: &str, to: &str) -> Result<(), String> {
    let (Some(upper), Some(lower)) = (floor_of(from), floor_of(to)) else {
        return Err(format!("`{from}` or `{to}` is not in the plan of the house; give it a floor"));
    };
    if from == to || ARROW_EXCEPTIONS.iter().any(|(user, used, _)| (*user, *used) == (from, to)) {
        return Ok(());
    }
    if PURE.contains(&from) && !PURE.contains(&to) && to != "domain" {
        return Err(format!("`{from}` knows no I/O and must not use `{to}`"));
    }
    if lower <= upper {
        return Err(format!("`{from}` must not use `{to}`: arrows point down"));
    }
    Ok(())
}

/// The program's own part of every file of it: what stands under `#[cfg(test)]`, there or as a file, is left out.
fn program() -> Vec<(String, PathBuf, Source)> {
    let sources: Vec<(PathBuf, Source)> = program_files(is_rust)
        .into_iter()
        .map(|path| {
            let source = Source::read(&read(&path));
            (path, source)
        })
        .collect();
    let mut for_tests = BTreeSet::new();
    for (path, source) in &sources {
        // Modules of `a/mod.rs` and of `lib.rs` lie beside them, those of `a.rs` in the folder `a`.
        let beside = matches!(path.file_stem().and_then(|stem| stem.to_str()), Some("mod" | "lib" | "main"));
        let folder = if beside { path.with_file_name("") } else { path.with_extension("") };
        for_tests.extend(source.test_modules().into_iter().map(|module| folder.join(module)));
    }
    let is_for_tests = |path: &Path| path.ancestors().any(|part| for_tests.contains(&part.with_extension("")));
    sources
        .into_iter()
        .filter(|(path, _)| !is_for_tests(path))
        .filter_map(|(path, source)| Some((room_of(&path)?, path, source.without_tests())))
        .collect()
}

/// The rooms that a file uses as packages, with the line of each use.
fn packages_used(source: &Source) -> Vec<(usize, String)> {
    let rooms = FLOORS.iter().flat_map(|floor| floor.iter());
    rooms
        .flat_map(|room| {
            source.uses_of(&format!("corroborate_{room}")).into_iter().map(|line| (line, (*room).to_owned()))
        })
        .collect()
}

/// Fails with every offence at once, so that one run shows all there is to mend.
fn report(rule: &str, offences: &[String]) {
    assert!(offences.is_empty(), "{rule}:\n  {}", offences.join("\n  "));
}

#[test]
fn arrows_point_down() {
    let mut offences = BTreeSet::new();
    for (room, path, source) in program() {
        let uses = if path.starts_with("crates") {
            packages_used(&source)
        } else {
            source.crate_paths(if room == "main" { "corroborate" } else { "crate" })
        };
        for (line, used) in uses {
            // `crate::Name` can only be a re-export of lib.rs; a room is a module.
            if floor_of(&used).is_none() && used.starts_with(char::is_uppercase) {
                continue;
            }
            if let Err(why) = arrow(&room, &used) {
                offences.insert(format!("{}:{line}: {why}", path.display()));
            }
        }
    }
    report("the plan of the house", &offences.into_iter().collect::<Vec<_>>());
}

#[test]
fn every_room_has_a_floor_and_every_floor_a_room() {
    let rooms: BTreeSet<String> = program_files(is_rust).iter().filter_map(|path| room_of(path)).collect();
    let planned: BTreeSet<String> =
        FLOORS.iter().flat_map(|floor| floor.iter().map(|room| (*room).to_owned())).collect();
    assert_eq!(rooms, planned);
}

#[test]
fn libraries_stay_in_their_rooms() {
    let mut offences = Vec::new();
    for (room, path, source) in program() {
        for (library, rooms, why) in CONFINED {
            let excepted = LIBRARY_EXCEPTIONS.iter().any(|(file, used, _)| path == Path::new(file) && *used == library);
            if excepted || rooms.contains(&room.as_str()) {
                continue;
            }
            let lines = source.uses_of(library);
            offences.extend(
                lines.iter().map(|line| format!("{}:{line}: `{library}` belongs in {rooms:?}: {why}", path.display())),
            );
        }
        if room != "config" {
            let lines = source.paths(&["std", "env"]);
            offences.extend(
                lines.iter().map(|line| format!("{}:{line}: the environment is read in `config`", path.display())),
            );
        }
    }
    report("libraries", &offences);
}

#[test]
fn macros_stay_in_their_rooms() {
    let mut offences = Vec::new();
    for (room, path, source) in program() {
        for (name, rooms) in CONFINED_MACROS {
            if !rooms.contains(&room.as_str()) {
                let lines = source.macro_calls(name);
                offences.extend(
                    lines.iter().map(|line| format!("{}:{line}: {name}! outside of {rooms:?}", path.display())),
                );
            }
        }
    }
    report("macros", &offences);
}

#[test]
fn the_pure_rooms_wait_for_nothing() {
    let mut offences = Vec::new();
    for (room, path, source) in program() {
        if !PURE.contains(&room.as_str()) && room != "domain" {
            continue;
        }
        for token in source.tokens() {
            if let Token { text, line, .. } = token
                && matches!(text.as_str(), "async" | "await" | "tokio" | "futures")
            {
                offences.push(format!("{}:{line}: `{text}` in `{room}`, which knows no I/O", path.display()));
            }
        }
    }
    report("no async", &offences);
}

#[test]
fn files_and_functions_can_be_read_in_one_sitting() {
    let mut offences = Vec::new();
    for path in files("", is_rust) {
        let text = read(&path);
        let lines = text.lines().count();
        let most = if path == Path::new("src/main.rs") { MAIN_LINES } else { FILE_LINES };
        if lines > most {
            offences.push(format!("{}: {lines} lines, {most} at most", path.display()));
        }
        for (line, name, length) in Source::read(&text).functions() {
            if length > FUNCTION_LINES {
                offences
                    .push(format!("{}:{line}: fn {name} has {length} lines, {FUNCTION_LINES} at most", path.display()));
            }
        }
    }
    let readme = read(Path::new("README.md")).lines().count();
    if readme > README_LINES {
        offences.push(format!("README.md: {readme} lines, {README_LINES} at most"));
    }
    report("lengths", &offences);
}

#[test]
fn lints_are_expected_with_a_reason_never_allowed() {
    let mut offences = Vec::new();
    for path in files("", is_rust) {
        let lines = Source::read(&read(&path)).attributes("allow");
        offences
            .extend(lines.iter().map(|line| format!("{}:{line}: use #[expect(…, reason = \"…\")]", path.display())));
    }
    report("no bare allow", &offences);
}

#[test]
fn every_module_says_what_it_is() {
    let says = |path: &Path| read(path).trim_start().starts_with("//!");
    let silent: Vec<String> = program_files(|path| path.ends_with("mod.rs") || path.ends_with("lib.rs"))
        .into_iter()
        .filter(|path| !says(path))
        .map(|path| format!("{}: begins without `//!`", path.display()))
        .collect();
    report("module documentation", &silent);
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    // Put together here, so that this file does not hold what it looks for.
    let folders = ["work", "tmp", "root", "home", "Users"].map(|name| format!("/{name}/"));
    let sibling = ["..", "shared"].join("/");
    let written_by_hand = |path: &Path| {
        let kinds = ["rs", "toml", "md", "yml", "yaml", "sql", "sh", "service", "example"];
        path.extension().and_then(|kind| kind.to_str()).is_none_or(|kind| kinds.contains(&kind))
    };
    let mut offences = Vec::new();
    for path in files("", written_by_hand) {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        // Tests may look for data beside the checkout, and say that they skip where there is none.
        let may_look_beside = is_rust(&path);
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
            if !may_look_beside && line.contains(&sibling) {
                offences.push(format!("{}:{}: {sibling} is not part of the product", path.display(), number + 1));
            }
        }
    }
    report("machine paths", &offences);
}

#[test]
fn the_arrow_rule_tells_right_from_wrong() {
    for (from, to) in [
        ("cli", "app"),
        ("http", "pipeline"),
        ("judging", "language"),
        ("reading", "domain"),
        ("store", "broker"),
        ("outbound", "store"),
    ] {
        assert_eq!(arrow(from, to), Ok(()), "{from} → {to}");
    }
    for (from, to) in [
        ("http", "worker"),
        ("worker", "http"),
        ("language", "judging"),
        ("judging", "store"),
        ("reading", "config"),
        ("broker", "store"),
        ("domain", "config"),
        ("store", "cache"),
        ("store", "kitchen"),
    ] {
        assert!(arrow(from, to).is_err(), "{from} → {to}");
    }
}
