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
        // Only the holder: whoever merely asks changes nothing.
        protection::protect(folder, &file);
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

/// The folder holds what people asked and the socket of a database without a password: it is its owner's alone. Where that
/// cannot be had, the operator is told, and the store opens all the same.
#[cfg(unix)]
mod protection {
    use std::fs::{DirBuilder, File, OpenOptions, Permissions};
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::path::Path;

    /// Everybody but the owner.
    const OTHERS: u32 = 0o077;

    /// What lies in a data folder; one that holds other things as well is not ours to close.
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
                "the data folder is open to other users of this machine; make it yours alone: chmod 700, as its owner"
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
        // As an earlier version left them.
        open(&folder, 0o755);
        open(&folder.join("corroborate.lock"), 0o644);
        drop(DataLock::take(&folder).unwrap());
        assert_eq!((mode(&folder), mode(&folder.join("corroborate.lock"))), (0o700, 0o600));
        // A folder that other things lie in is left as it is, and can be used.
        open(&folder, 0o755);
        std::fs::write(folder.join("notes.txt"), "x").unwrap();
        drop(DataLock::take(&folder).unwrap());
        assert_eq!(mode(&folder), 0o755);
    }
}
