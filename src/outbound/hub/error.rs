//! Errors of hub downloads, with advice on what to do.

use std::path::{Path, PathBuf};

use reqwest::Response;

use super::HubFile;
use crate::outbound::excerpt;

/// The hub's own error code.
const ERROR_CODE: &str = "x-error-code";
const ERROR_MESSAGE: &str = "x-error-message";

#[derive(Debug, Clone, thiserror::Error)]
pub enum HubError {
    #[error("{host} cannot be reached: {detail}; check the network, or name a mirror with --hub")]
    Away { host: String, detail: String },
    #[error("the hub has no {url}{}; it may have been renamed: another revision is named with --revision", said(words))]
    NotFound { url: String, words: String },
    #[error(
        "the hub requires a login for {repository} (status {status}){}; accept its terms there in a browser and set INFERENCE_HUB_TOKEN to your token",
        said(words)
    )]
    Gated { repository: String, status: u16, words: String },
    #[error("the hub answered {status} for {url}{}; try again later", said(words))]
    Status { url: String, status: u16, words: String },
    #[error("{url} redirects to an address that is not fetched; give the hub's https address with --hub")]
    Redirects { url: String },
    #[error("the download of {file} was cut off ({detail}); run the command again to resume")]
    Cut { file: String, detail: String },
    #[error("{file} is {} than the {expected} bytes it should have; the hub or a proxy on the way sends something else", size_words(*found))]
    Size { file: String, expected: u64, found: Option<u64> },
    #[error(
        "{file} has the SHA-256 {found}, not {expected}, and was deleted; run the command again. If the error repeats, the hub or a proxy changes files"
    )]
    Checksum { file: String, expected: String, found: String },
    #[error(
        "no space is left in {}{}; make room and run the command again to resume",
        folder.display(),
        missing.map(|bytes| format!(" for {} MB more", bytes.div_ceil(1_000_000))).unwrap_or_default()
    )]
    DiskFull { folder: PathBuf, missing: Option<u64> },
    #[error("{} cannot be written: {detail}", path.display())]
    Disk { path: PathBuf, detail: String },
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" ({words})") }
}

fn size_words(found: Option<u64>) -> String {
    found.map_or_else(|| "longer".to_owned(), |found| format!("{found} bytes long rather"))
}

impl HubError {
    pub(super) fn refused(file: HubFile<'_>, hub: &str, response: &Response) -> Self {
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let words = excerpt(&format!("{} {}", header(ERROR_CODE), header(ERROR_MESSAGE)));
        let (status, url) = (response.status().as_u16(), file.url(hub));
        match status {
            404 | 410 => Self::NotFound { url, words },
            // The hub sends 401 for an unknown repository, to hide which ones exist.
            401 | 403 if words.contains("RepoNotFound") => Self::NotFound { url, words },
            401 | 403 => Self::Gated { repository: file.repository.to_owned(), status, words },
            _ => Self::Status { url, status, words },
        }
    }

    /// Classifies a failed write; `missing` is the number of bytes still to come.
    pub(super) fn of_disk(path: &Path, error: &std::io::Error, missing: Option<u64>) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { folder: path.parent().unwrap_or(path).to_owned(), missing }
            }
            _ => Self::Disk { path: path.to_owned(), detail: error.to_string() },
        }
    }

    pub(super) const fn is_passing(&self) -> bool {
        match self {
            Self::Away { .. } | Self::Cut { .. } => true,
            Self::Status { status, .. } => matches!(*status, 408 | 429 | 500..=599),
            _ => false,
        }
    }
}
