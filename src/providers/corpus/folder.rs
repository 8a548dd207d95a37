//! Reads a folder: its files, passages and changes. Blocking, so it runs on blocking threads.

use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;

use super::dated;
use super::index::{Index, Term, terms};
use crate::reading::decode;
use crate::reading::documents::{self, Format};

/// Source files with a longer mean line are generated.
const LONGEST_MEAN_LINE: usize = 400;
/// A NUL in these first bytes means a binary file.
const LOOKED_AT: usize = 8 * 1024;
/// Deeper folders are generated, or a loop of mounts.
const DEEPEST: usize = 64;

#[derive(Debug, Clone)]
pub struct FolderSettings {
    /// Part of the addresses in results.
    pub name: String,
    pub folder: PathBuf,
    /// Globs relative to the folder; empty: every text and source file.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// 0–1.
    pub credibility: f64,
    /// Larger files are skipped.
    pub max_file_bytes: u64,
    /// Of the text in memory; further files are skipped.
    pub max_bytes: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("{glob:?} is no glob ({detail}); write it like docs/**/*.md")]
pub struct BadGlob {
    glob: String,
    detail: String,
}

#[derive(Debug)]
pub(super) struct Choice {
    include: GlobSet,
    exclude: GlobSet,
}

impl Choice {
    pub(super) fn new(settings: &FolderSettings) -> Result<Self, BadGlob> {
        Ok(Self { include: globs(&settings.include)?, exclude: globs(&settings.exclude)? })
    }

    fn format(&self, path: &str) -> Option<Format> {
        if self.exclude.is_match(path) {
            return None;
        }
        let known = Format::of(path.rsplit('/').next().unwrap_or(path));
        if self.include.is_empty() {
            return known;
        }
        // A file that the operator includes is read, whatever its extension.
        self.include.is_match(path).then(|| known.unwrap_or(Format::Prose))
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, BadGlob> {
    let bad = |glob: &str, error: &globset::Error| BadGlob { glob: glob.to_owned(), detail: error.kind().to_string() };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.trim_start_matches("./").trim_start_matches('/');
        // As in `.gitignore`, a name without a folder matches at any depth.
        let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        let glob = GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(|error| bad(pattern, &error))?;
        set.add(glob);
    }
    set.build().map_err(|error| bad(&patterns.join(", "), &error))
}

#[derive(Debug)]
pub(super) struct Passage {
    pub(super) heading: String,
    pub(super) text: String,
    pub(super) lines: (usize, usize),
    terms: Vec<(Term, u16)>,
}

#[derive(Debug)]
pub(super) struct File {
    /// Relative to the folder, with `/`.
    pub(super) path: String,
    modified: Option<DateTime<Utc>>,
    pub(super) published: Option<DateTime<Utc>>,
    bytes: u64,
    /// Size of its texts in bytes.
    held: usize,
    pub(super) passages: Vec<Passage>,
}

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) files: Vec<Arc<File>>,
    /// For each passage of the index: its file and its number in the file.
    places: Vec<(u32, u32)>,
    index: Index,
    pub(super) left_out: usize,
}

impl Snapshot {
    pub(super) fn search<'a>(&'a self, question: &str) -> impl Iterator<Item = (&'a File, &'a Passage, f64)> {
        self.index.search(question).into_iter().filter_map(|(number, score)| {
            let (file, passage) = self.places.get(number)?;
            let file = self.files.get(*file as usize)?;
            Some((file.as_ref(), file.passages.get(*passage as usize)?, score))
        })
    }

    pub(super) fn passages(&self) -> usize {
        self.places.len()
    }
}

/// Scans the folder and reuses unchanged files of `before`. Returns `None` if nothing changed.
pub(super) fn look(
    settings: &FolderSettings,
    choice: &Choice,
    before: Option<&Snapshot>,
) -> Result<Option<Snapshot>, String> {
    // Messages contain no path of the machine; they name the folder by its name.
    let root = settings.folder.canonicalize().map_err(|error| format!("cannot be opened ({})", error.kind()))?;
    std::fs::read_dir(&root).map_err(|error| format!("cannot be listed ({})", error.kind()))?;
    let known: HashMap<&str, &Arc<File>> =
        before.iter().flat_map(|before| &before.files).map(|file| (file.path.as_str(), file)).collect();
    let mut snapshot = Snapshot::default();
    let (mut held, mut changed) = (0, false);
    for (path, metadata, format) in files(&root, settings, choice) {
        let modified = metadata.modified().ok().map(DateTime::<Utc>::from);
        let same = known.get(path.as_str()).filter(|file| file.modified == modified && file.bytes == metadata.len());
        let file = if let Some(file) = same {
            Arc::clone(file)
        } else {
            changed = true;
            let (published, passages) = read(&root, &path, format).unwrap_or_default();
            let held = passages.iter().map(Passage::held).sum();
            Arc::new(File { path, modified, published, bytes: metadata.len(), held, passages })
        };
        if held + file.held > settings.max_bytes {
            snapshot.left_out += 1;
            continue;
        }
        held += file.held;
        snapshot.files.push(file);
    }
    let kept = before.map(|before| before.files.len());
    if !changed && kept == Some(snapshot.files.len()) {
        return Ok(None);
    }
    for (file, number) in snapshot.files.iter().zip(0_u32..) {
        snapshot.places.extend((0_u32..).zip(&file.passages).map(|(passage, _)| (number, passage)));
    }
    let passages = snapshot.files.iter().flat_map(|file| &file.passages);
    snapshot.index = Index::new(passages.map(|passage| passage.terms.as_slice()));
    Ok(Some(snapshot))
}

/// Returns the selected files in path order. Links are not followed, because they may leave the folder.
fn files(root: &Path, settings: &FolderSettings, choice: &Choice) -> Vec<(String, Metadata, Format)> {
    let walk = WalkBuilder::new(root)
        .follow_links(false)
        .require_git(false)
        // Ignore rules outside the folder do not apply.
        .parents(false)
        .git_global(false)
        .max_depth(Some(DEEPEST))
        .build();
    let mut files: Vec<(String, Metadata, Format)> = walk
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| {
            let inside = entry.path().strip_prefix(root).ok()?;
            let parts: Option<Vec<&str>> = inside.components().map(|part| part.as_os_str().to_str()).collect();
            let path = parts?.join("/");
            let format = choice.format(&path)?;
            let metadata = entry.metadata().ok()?;
            (metadata.len() <= settings.max_file_bytes).then_some((path, metadata, format))
        })
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

/// Returns the date and passages of a file; `None` if it is not text.
fn read(root: &Path, path: &str, format: Format) -> Option<(Option<DateTime<Utc>>, Vec<Passage>)> {
    let place = root.join(path);
    // The file may have become a link after the scan.
    if !place.canonicalize().ok()?.starts_with(root) {
        return None;
    }
    let bytes = std::fs::read(&place).ok()?;
    if bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0) {
        return None;
    }
    let (text, _, _) = decode(&bytes, None);
    let by_programs = text.len() / text.lines().count().max(1) > LONGEST_MEAN_LINE;
    if by_programs && matches!(format, Format::Code | Format::Data) {
        return None;
    }
    let sections = documents::sections(&text, format);
    let published = dated::date(path, &text, format);
    Some((published, sections.into_iter().map(|section| passage(path, section)).collect()))
}

fn passage(path: &str, section: documents::Section) -> Passage {
    let file = path.rsplit('/').next().unwrap_or(path);
    let terms = terms(&format!("{file} {}", section.heading), &section.text);
    Passage { heading: section.heading, text: section.text, lines: section.lines, terms }
}

impl Passage {
    fn held(&self) -> usize {
        self.text.len() + self.heading.len() + self.terms.len() * size_of::<(Term, u16)>()
    }
}
