//! Files of one room that need each other in a circle cannot be read, tested or moved one by one.
//!
//! A file may always use what its own room's root or its parent module states: that is where a room keeps its types. So
//! only what files ask of each other sideways and downwards counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::source::Source;
use super::{program, report};

/// A module by its names below its room.
type Module = Vec<String>;

/// The module that a file holds, below its room.
fn module_of(path: &Path) -> Option<Module> {
    let below = match path.strip_prefix("crates") {
        Ok(rest) => rest.components().skip(2).collect::<std::path::PathBuf>(),
        Err(_) => path.strip_prefix("src").ok()?.components().skip(1).collect(),
    };
    let mut names: Module =
        below.with_extension("").components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib")) {
        names.pop();
    }
    Some(names)
}

/// The paths of a file's `use` lines, groups taken apart.
fn imports(source: &Source) -> Vec<Vec<String>> {
    let tokens: Vec<&str> = source.tokens().iter().map(|token| token.text.as_str()).collect();
    let mut found = Vec::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, text)| **text == "use") {
        let end = tokens[at..].iter().position(|text| *text == ";").map_or(tokens.len(), |length| at + length);
        expand(&tokens[at + 1..end], &[], &mut found);
    }
    found
}

/// `a::{b, c::d}` behind a path is two paths.
fn expand(tokens: &[&str], before: &[String], found: &mut Vec<Vec<String>>) {
    let mut path = before.to_vec();
    let mut at = 0;
    while let Some(text) = tokens.get(at) {
        match *text {
            "{" => {
                let mut depth = 0_usize;
                let mut from = at + 1;
                for (offset, inner) in tokens.iter().enumerate().skip(at) {
                    match *inner {
                        "{" => depth += 1,
                        "}" => depth -= 1,
                        _ => {}
                    }
                    if (*inner == "," && depth == 1) || depth == 0 {
                        if from < offset {
                            expand(&tokens[from..offset], &path, found);
                        }
                        from = offset + 1;
                    }
                    if depth == 0 {
                        return;
                    }
                }
                return;
            }
            "as" => break,
            ":" => {}
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    found.push(path);
}

/// The module that an import of a file means, if it is one of the same room.
fn meant(import: &[String], own: &Module, room: &str, is_package: bool, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut path: Module = match import.first()?.as_str() {
        "crate" if is_package => import[1..].to_vec(),
        "crate" if import.get(1).is_some_and(|name| name == room) => import[2..].to_vec(),
        "self" => own.iter().chain(&import[1..]).cloned().collect(),
        "super" => {
            let up = import.iter().take_while(|name| *name == "super").count();
            own.iter().take(own.len().checked_sub(up)?).chain(&import[up..]).cloned().collect()
        }
        first => {
            let child: Module = own.iter().cloned().chain([first.to_owned()]).collect();
            modules.contains(&child).then(|| own.iter().chain(import).cloned().collect())?
        }
    };
    while !modules.contains(&path) {
        path.pop()?;
    }
    Some(path)
}

/// What each module reaches, by any number of steps.
fn reached(from: &Module, uses: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from.clone()];
    while let Some(next) = open.pop() {
        for used in uses.get(&next).into_iter().flatten() {
            if seen.insert(used.clone()) {
                open.push(used.clone());
            }
        }
    }
    seen
}

#[test]
fn files_of_one_room_need_each_other_in_no_circle() {
    let mut rooms: BTreeMap<String, Vec<(Module, bool, Source)>> = BTreeMap::new();
    for (room, path, source) in program() {
        if let Some(module) = module_of(&path) {
            rooms.entry(room).or_default().push((module, path.starts_with("crates"), source));
        }
    }
    let mut circles = BTreeSet::new();
    for (room, files) in &rooms {
        let modules: BTreeSet<Module> = files.iter().map(|(module, ..)| module.clone()).collect();
        let mut uses: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (own, is_package, source) in files {
            let used =
                imports(source).into_iter().filter_map(|import| meant(&import, own, room, *is_package, &modules));
            // A parent states the room's types; see above.
            let used = used.filter(|used| !own.starts_with(used));
            uses.insert(own.clone(), used.collect());
        }
        let reach: BTreeMap<&Module, BTreeSet<Module>> = modules.iter().map(|one| (one, reached(one, &uses))).collect();
        for one in &modules {
            let circle: Vec<String> = modules
                .iter()
                .filter(|other| reach[one].contains(*other) && reach[*other].contains(one))
                .map(|other| other.join("/"))
                .collect();
            if !circle.is_empty() {
                circles.insert(format!("{room}: {}", circle.join(" ")));
            }
        }
    }
    report("circles between files of one room", &circles.into_iter().collect::<Vec<_>>());
}
