//! The data folder belongs to one process. A lock file guards it and says who holds it and where its HTTP listens, so
//! that a command run beside a serving daemon can go through it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::StoreError;

/// Who holds the folder.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// `host:port` of its HTTP server, once it listens.
    pub http: Option<String>,
}

/// The held lock; the operating system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct DataLock {
    file: File,
    path: PathBuf,
}

impl DataLock {
    /// Takes the folder, creating it if needed. `Err(Locked)` names the process that has it.
    pub fn take(folder: &Path) -> Result<Self, StoreError> {
        let failed = |detail: std::io::Error| StoreError::DataFolder {
            path: folder.display().to_string(),
            detail: detail.to_string(),
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let path = folder.join("corroborate.lock");
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                let holder = read_holder(&mut file);
                return Err(StoreError::Locked {
                    path: folder.display().to_string(),
                    pid: holder.map_or(0, |holder| holder.pid),
                });
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut lock = Self { file, path };
        lock.announce(None)?;
        Ok(lock)
    }

    /// Writes where this process can be asked.
    pub fn announce(&mut self, http: Option<&str>) -> Result<(), StoreError> {
        let holder = Holder { pid: std::process::id(), http: http.map(str::to_owned) };
        let failed = |error: std::io::Error| StoreError::DataFolder {
            path: self.path.display().to_string(),
            detail: error.to_string(),
        };
        let text = serde_json::to_string(&holder).map_err(|error| failed(error.into()))?;
        self.file.set_len(0).map_err(failed)?;
        self.file.rewind().map_err(failed)?;
        self.file.write_all(text.as_bytes()).map_err(failed)?;
        self.file.flush().map_err(failed)
    }

    /// Who holds the folder now; `None` when nobody does.
    pub fn holder(folder: &Path) -> Option<Holder> {
        let mut file = File::open(folder.join("corroborate.lock")).ok()?;
        match file.try_lock_shared() {
            Ok(()) => None,
            Err(_) => read_holder(&mut file),
        }
    }
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_learns_who_holds_the_folder_and_where_it_listens() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(DataLock::holder(folder.path()), None);
        let mut lock = DataLock::take(folder.path()).unwrap();
        lock.announce(Some("127.0.0.1:8080")).unwrap();
        let error = DataLock::take(folder.path()).unwrap_err();
        assert!(matches!(error, StoreError::Locked { pid, .. } if pid == std::process::id()), "{error}");
        assert_eq!(DataLock::holder(folder.path()).unwrap().http.as_deref(), Some("127.0.0.1:8080"));
        drop(lock);
        assert_eq!(DataLock::holder(folder.path()), None);
        DataLock::take(folder.path()).unwrap();
    }
}
