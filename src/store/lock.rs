//! The lock file of the data folder, which one process owns.
//!
//! It stores the holder's process id and HTTP address, so that commands can use a running daemon. Never deleted.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::StoreError;

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// `host:port` of its HTTP server, once it listens.
    pub http: Option<String>,
}

/// A held lock. The operating system releases it when the process ends.
#[derive(Debug)]
pub struct DataLock {
    file: File,
    path: PathBuf,
}

impl DataLock {
    /// Locks the folder and creates it if needed. `Err(Locked)` names the holder.
    pub fn take(folder: &Path) -> Result<Self, StoreError> {
        let failed = |detail: std::io::Error| StoreError::DataFolder {
            path: folder.display().to_string(),
            detail: detail.to_string(),
        };
        protection::create(folder).map_err(failed)?;
        let path = folder.join("corroborate.lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        protection::for_the_owner(&mut options);
        let mut file = options.open(&path).map_err(failed)?;
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
        // Only after locking: a process that fails to lock changes nothing.
        protection::protect(folder, &file);
        let mut lock = Self { file, path };
        lock.announce(None)?;
        Ok(lock)
    }

    /// Writes the HTTP address.
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

/// Restricts the folder to its owner: it has users' queries and the socket of a database without a password. A failure
/// is only logged.
#[cfg(unix)]
mod protection {
    use std::fs::{DirBuilder, File, OpenOptions, Permissions};
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::path::Path;

    const OTHERS: u32 = 0o077;

    /// Expected content. A folder with other files is not restricted.
    const OURS: [&str; 5] = ["corroborate.lock", "postgres", "demo", ".s.PGSQL.5432", ".s.PGSQL.5432.lock"];

    pub(super) fn create(folder: &Path) -> std::io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    pub(super) fn for_the_owner(options: &mut OpenOptions) {
        options.mode(0o600);
    }

    pub(super) fn protect(folder: &Path, lock: &File) {
        if let Err(error) = close_file(lock).and_then(|()| close_folder(folder)) {
            tracing::warn!(
                folder = %folder.display(),
                %error,
                "data folder is accessible to other users; run chmod 700 on it as its owner"
            );
        }
    }

    fn close_file(lock: &File) -> std::io::Result<()> {
        if lock.metadata()?.mode() & OTHERS == 0 { Ok(()) } else { lock.set_permissions(Permissions::from_mode(0o600)) }
    }

    fn close_folder(folder: &Path) -> std::io::Result<()> {
        if std::fs::metadata(folder)?.mode() & OTHERS == 0 {
            return Ok(());
        }
        for entry in std::fs::read_dir(folder)? {
            let name = entry?.file_name();
            if !OURS.iter().any(|ours| name == *ours) {
                return Err(std::io::Error::other(format!("it holds other things too, like {}", name.display())));
            }
        }
        std::fs::set_permissions(folder, Permissions::from_mode(0o700))
    }
}

#[cfg(not(unix))]
mod protection {
    use std::fs::{File, OpenOptions};
    use std::path::Path;

    pub(super) fn create(folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)
    }

    pub(super) fn for_the_owner(_options: &mut OpenOptions) {}

    pub(super) fn protect(_folder: &Path, _lock: &File) {}
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

    #[cfg(unix)]
    #[test]
    fn the_folder_and_its_lock_are_the_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let open = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("data");
        drop(DataLock::take(&folder).unwrap());
        assert_eq!((mode(&folder), mode(&folder.join("corroborate.lock"))), (0o700, 0o600));
        open(&folder, 0o755);
        open(&folder.join("corroborate.lock"), 0o644);
        drop(DataLock::take(&folder).unwrap());
        assert_eq!((mode(&folder), mode(&folder.join("corroborate.lock"))), (0o700, 0o600));
        open(&folder, 0o755);
        std::fs::write(folder.join("notes.txt"), "x").unwrap();
        drop(DataLock::take(&folder).unwrap());
        assert_eq!(mode(&folder), 0o755);
    }
}
