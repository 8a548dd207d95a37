//! An incomplete download: its bytes, checksum so far, and the etag for the rest.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::error::HubError;
use super::facts::FileFacts;

/// Bytes hashed at a time.
const PIECE: usize = 1024 * 1024;

/// The first bytes of a file, stored next to its target.
#[derive(Debug)]
pub(super) struct Part {
    target: PathBuf,
    path: PathBuf,
    tag_path: PathBuf,
    file: File,
    hash: Sha256,
    length: u64,
    tag: Option<String>,
}

impl Part {
    /// Opens existing data of this content, or an empty file.
    pub(super) async fn open(target: &Path, facts: &FileFacts) -> Result<Self, HubError> {
        // The checksum in the name prevents resuming other content.
        let of = facts.sha256.as_deref().and_then(|sum| sum.get(..12)).unwrap_or("new");
        let (path, tag_path) = (beside(target, &format!("{of}.part")), beside(target, &format!("{of}.tag")));
        let failed = |error: std::io::Error| HubError::of_disk(&path, &error, facts.size);
        let resumes = facts.sha256.is_some();
        if resumes && !path.exists() && target.exists() {
            // An earlier run completed the file: it is checked again, not fetched again.
            fs::rename(target, &path).await.map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        let mut file =
            options.create(true).read(true).write(true).truncate(!resumes).open(&path).await.map_err(failed)?;
        let (mut hash, mut length) = (Sha256::new(), 0);
        let mut piece = vec![0; PIECE];
        loop {
            let read = file.read(&mut piece).await.map_err(failed)?;
            if read == 0 {
                break;
            }
            hash.update(piece.get(..read).unwrap_or_default());
            length += read as u64;
        }
        let tag = fs::read_to_string(&tag_path).await.ok().filter(|_| length > 0);
        let mut part = Self { target: target.to_owned(), path, tag_path, file, hash, length, tag };
        if facts.size.is_some_and(|size| part.length > size) {
            part.begin_anew(None).await?;
        }
        Ok(part)
    }

    /// Bytes on disk.
    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Deletes the data and begins again. `tag` is the new content's etag.
    pub(super) async fn begin_anew(&mut self, tag: Option<String>) -> Result<(), HubError> {
        let path = self.path.clone();
        let failed = |error: std::io::Error| HubError::of_disk(&path, &error, None);
        // Opened again, because a written file has a position and pending writes.
        self.file.flush().await.map_err(failed)?;
        let mut options = OpenOptions::new();
        self.file =
            options.create(true).read(true).write(true).truncate(true).open(&self.path).await.map_err(failed)?;
        match &tag {
            Some(tag) => fs::write(&self.tag_path, tag).await.map_err(failed)?,
            None => drop(fs::remove_file(&self.tag_path).await),
        }
        (self.hash, self.length, self.tag) = (Sha256::new(), 0, tag);
        Ok(())
    }

    /// Appends bytes; `size` is the final size.
    pub(super) async fn write(&mut self, piece: &[u8], size: Option<u64>) -> Result<(), HubError> {
        let missing = size.map(|size| size.saturating_sub(self.length));
        self.file.write_all(piece).await.map_err(|error| HubError::of_disk(&self.path, &error, missing))?;
        self.hash.update(piece);
        self.length += piece.len() as u64;
        Ok(())
    }

    pub(super) async fn keep(&mut self) -> Result<(), HubError> {
        self.file.sync_all().await.map_err(|error| HubError::of_disk(&self.path, &error, None))
    }

    pub(super) async fn discard(&mut self) {
        // The next run overwrites what remains.
        drop(fs::remove_file(&self.path).await);
        drop(fs::remove_file(&self.tag_path).await);
    }

    /// Checks the file and renames it to its target. Returns its SHA-256.
    pub(super) async fn finish(mut self, name: &str, facts: &FileFacts) -> Result<String, HubError> {
        let found = self.hash.finalize_reset().iter().fold(String::new(), |mut text, byte| {
            use std::fmt::Write as _;
            let _infallible = write!(text, "{byte:02x}");
            text
        });
        if let Some(expected) = facts.sha256.as_ref().filter(|expected| !expected.eq_ignore_ascii_case(&found)) {
            self.discard().await;
            return Err(HubError::Checksum { file: name.to_owned(), expected: expected.clone(), found });
        }
        if let Some(expected) = facts.size.filter(|size| *size != self.length) {
            self.discard().await;
            return Err(HubError::Size { file: name.to_owned(), expected, found: Some(self.length) });
        }
        // On disk before its name says that it is complete.
        let failed = |error: std::io::Error| HubError::of_disk(&self.path, &error, None);
        self.file.flush().await.map_err(failed)?;
        self.file.sync_all().await.map_err(failed)?;
        fs::rename(&self.path, &self.target).await.map_err(failed)?;
        drop(fs::remove_file(&self.tag_path).await);
        Ok(found)
    }
}

/// Returns a path next to `target`: `model.onnx` and `abc.part` make `model.onnx.abc.part`.
fn beside(target: &Path, ending: &str) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    target.with_file_name(name)
}
