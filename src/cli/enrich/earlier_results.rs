//! The output file of earlier `enrich` runs.
//!
//! [`read`] finds items with results. [`EarlierResults::prepare`] removes lines before new ones are
//! added.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::domain::ItemResult;

/// The beginning of every result line.
const BEGINNING: &[u8] = b"{\"schema\":";

/// Bad lines that are reported one by one.
const MOST_NAMED: usize = 10;

#[derive(Debug, Default)]
pub(super) struct EarlierResults {
    pub(super) done: HashSet<String>,
    /// Items with degraded results only.
    pub(super) degraded: HashSet<String>,
    end: End,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum End {
    /// A line break, or an empty file.
    #[default]
    Clean,
    /// A complete line without a line break.
    Open,
    /// An incomplete result of a killed run, after this many bytes.
    Torn(u64),
}

/// Reports lines that are no results and keeps them.
pub(super) fn read(out: &Path, output: Output) -> Result<EarlierResults, Failure> {
    let failed = |error: std::io::Error| Failure::failed(format!("{} cannot be read: {error}", out.display()));
    let file = match File::open(out) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(EarlierResults::default()),
        Err(error) => return Err(failed(error)),
    };
    // Reading a pipe or terminal would not end.
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(EarlierResults::default());
    }
    let mut standing = EarlierResults::default();
    let (mut number, mut position, mut bad) = (0_usize, 0_u64, 0_usize);
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        number += 1;
        let closed = line.ends_with(b"\n");
        match serde_json::from_slice::<ItemResult>(&line) {
            Ok(result) if result.degraded.is_empty() => {
                standing.done.insert(result.item_id);
            }
            Ok(result) => {
                standing.degraded.insert(result.item_id);
            }
            Err(_) if !closed && is_torn(&line) => {
                output.hint(&format!("{} line {number} was cut off and is removed", out.display()));
                standing.end = End::Torn(position);
                break;
            }
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Err(error) => {
                bad += 1;
                if bad <= MOST_NAMED {
                    output
                        .problem(&format!("{} line {number} is no result and is passed over: {error}", out.display()));
                }
            }
        }
        standing.end = if closed { End::Clean } else { End::Open };
        position += u64::try_from(line.len()).unwrap_or(0);
        line.clear();
    }
    if bad > MOST_NAMED {
        output.problem(&format!("{}: {} more lines are no results", out.display(), bad - MOST_NAMED));
    }
    standing.degraded.retain(|id| !standing.done.contains(id));
    Ok(standing)
}

/// Returns true for a partial result, and for the filler of a crashed file system.
fn is_torn(line: &[u8]) -> bool {
    line.iter().zip(BEGINNING).all(|(byte, wanted)| byte == wanted) || line.iter().all(|byte| *byte == 0)
}

impl EarlierResults {
    /// Removes degraded results of these items and an incomplete last line.
    pub(super) fn prepare(&self, out: &Path, again: &HashSet<&str>) -> Result<(), Failure> {
        let done = if again.is_empty() { self.repair_end(out) } else { self.rewrite(out, again) };
        done.map_err(|error| Failure::failed(format!("{} cannot be written: {error}", out.display())))
    }

    fn repair_end(&self, out: &Path) -> std::io::Result<()> {
        match self.end {
            End::Clean => Ok(()),
            End::Open => OpenOptions::new().append(true).open(out)?.write_all(b"\n"),
            End::Torn(whole) => OpenOptions::new().write(true).open(out)?.set_len(whole),
        }
    }

    /// Writes a temporary file and renames it, so that a kill leaves a whole file.
    fn rewrite(&self, out: &Path, again: &HashSet<&str>) -> std::io::Result<()> {
        // Keeps a link and replaces its target.
        let target = std::fs::canonicalize(out)?;
        let (temporary, mut new) = create_temporary(&target)?;
        let written = self.copy(&target, &mut new, again).and_then(|()| std::fs::rename(&temporary, &target));
        if written.is_err() {
            drop(std::fs::remove_file(&temporary));
        }
        written
    }

    fn copy(&self, from: &Path, new: &mut File, again: &HashSet<&str>) -> std::io::Result<()> {
        let mut old = File::open(from)?;
        new.set_permissions(old.metadata()?.permissions())?;
        let whole = match self.end {
            End::Torn(whole) => whole,
            End::Clean | End::Open => u64::MAX,
        };
        old.rewind()?;
        let mut reader = BufReader::new(old.take(whole));
        let mut writer = std::io::BufWriter::new(&mut *new);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            let goes = serde_json::from_slice::<ItemResult>(&line)
                .is_ok_and(|result| !result.degraded.is_empty() && again.contains(result.item_id.as_str()));
            if !goes {
                writer.write_all(&line)?;
                if !line.ends_with(b"\n") {
                    writer.write_all(b"\n")?;
                }
            }
            line.clear();
        }
        writer.flush()?;
        drop(writer);
        new.sync_all()
    }
}

fn create_temporary(target: &Path) -> std::io::Result<(PathBuf, File)> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let path = target.with_file_name(name);
    let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    Ok((path, file))
}

/// Follows links. Terminals do not count.
pub(super) fn same_file(input: &Path, out: &Path) -> bool {
    if input == Path::new("-") {
        return stdin_is(out);
    }
    let (Ok(one), Ok(other)) = (std::fs::metadata(input), std::fs::metadata(out)) else { return false };
    if !one.is_file() || !other.is_file() {
        return false;
    }
    let resolved = |path: &Path| std::fs::canonicalize(path).ok();
    same_inode(&one, &other) || resolved(input).is_some_and(|path| Some(path) == resolved(out))
}

#[cfg(unix)]
fn same_inode(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn same_inode(_one: &std::fs::Metadata, _other: &std::fs::Metadata) -> bool {
    false
}

/// Detects `< FILE`.
#[cfg(unix)]
fn stdin_is(out: &Path) -> bool {
    use std::os::fd::AsFd as _;
    let input = std::io::stdin().as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
    let (Ok(input), Ok(out)) = (input, std::fs::metadata(out)) else { return false };
    input.is_file() && same_inode(&input, &out)
}

#[cfg(not(unix))]
fn stdin_is(_out: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::tests::result;

    const QUIET: Output = Output { json: false, quiet: true, colour: false, log: crate::config::LogFormat::Text };

    fn line(id: &str, degraded: &[&str]) -> String {
        let mut result = result(id);
        result.degraded = degraded.iter().map(|cause| (*cause).to_owned()).collect();
        format!("{}\n", serde_json::to_string(&result).unwrap())
    }

    fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.ndjson");
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    fn ids(set: &HashSet<String>) -> Vec<&str> {
        let mut ids: Vec<&str> = set.iter().map(String::as_str).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn results_begin_as_the_torn_ones_are_known_by() {
        assert!(line("a", &[]).as_bytes().starts_with(BEGINNING));
    }

    #[test]
    fn a_torn_last_line_is_cut_off_wherever_the_kill_fell() {
        let (first, second) = (line("a", &[]), line("ї", &[]));
        for kept in 1..second.len() - 1 {
            let torn = [first.as_bytes(), &second.as_bytes()[..kept]].concat();
            let (_folder, path) = file(&torn);
            let standing = read(&path, QUIET).unwrap();
            assert_eq!(ids(&standing.done), ["a"]);
            standing.prepare(&path, &HashSet::new()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), first, "{kept}");
        }
    }

    #[test]
    fn a_whole_last_line_and_foreign_text_only_get_their_line_break() {
        for text in [line("a", &[]).trim_end().to_owned(), "notes of mine".to_owned()] {
            let (_folder, path) = file(text.as_bytes());
            read(&path, QUIET).unwrap().prepare(&path, &HashSet::new()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{text}\n"));
        }
    }

    #[test]
    fn bad_bytes_are_passed_over() {
        let bytes = [line("a", &[]).as_bytes(), b"\xff\xfe\n\n{}\n", line("b", &["deadline"]).as_bytes()].concat();
        let (_folder, path) = file(&bytes);
        let standing = read(&path, QUIET).unwrap();
        assert_eq!((ids(&standing.done), ids(&standing.degraded)), (vec!["a"], vec!["b"]));
        standing.prepare(&path, &HashSet::new()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn only_the_degraded_results_that_are_asked_again_go() {
        let (whole, foreign) = (line("a", &[]), "\"mine\"\n");
        let (again, other) = (line("b", &["deadline"]), line("c", &["budget"]));
        let (folder, path) = file(format!("{whole}{again}{foreign}{other}{{\"schema\":1,\"it").as_bytes());
        let standing = read(&path, QUIET).unwrap();
        standing.prepare(&path, &HashSet::from(["a", "b"])).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{whole}{foreign}{other}"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_result_done_later_counts_over_a_degraded_one() {
        let (_folder, path) = file(format!("{}{}", line("a", &["deadline"]), line("a", &[])).as_bytes());
        let standing = read(&path, QUIET).unwrap();
        assert_eq!((ids(&standing.done), standing.degraded.len()), (vec!["a"], 0));
        assert!(read(Path::new("/nowhere/at/all"), QUIET).unwrap().done.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn one_file_is_known_under_its_other_names() {
        let (folder, path) = file(b"x");
        let (hard, soft) = (folder.path().join("hard"), folder.path().join("soft"));
        std::fs::hard_link(&path, &hard).unwrap();
        std::os::unix::fs::symlink(&path, &soft).unwrap();
        let around = folder.path().join(".").join("out.ndjson");
        for other in [&path, &hard, &soft, &around] {
            assert!(same_file(&path, other), "{}", other.display());
        }
        let copy = folder.path().join("copy");
        std::fs::copy(&path, &copy).unwrap();
        assert!(!same_file(&path, &copy));
        assert!(!same_file(&path, &folder.path().join("absent")));
    }
}
