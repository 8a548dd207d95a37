//! A small disk for Postgres, which can be full.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

/// What an empty server needs, with room for its log.
const BASE_BYTES: u64 = 900 << 20;
/// What an item with its pages takes, with room to spare: measured is a third of it.
const BYTES_PER_ITEM: u64 = 60 << 10;
/// A disk is full for Postgres when not even a few of its pages fit.
const FULL_BELOW: u64 = 32 << 10;

/// A file system of its own. The script that started the night unmounts it when everything has ended.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) folder: PathBuf,
    /// In words, for the line.
    pub(crate) kind: &'static str,
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    let done = command.args(arguments).stdin(Stdio::null()).output().with_context(|| format!("running {program}"))?;
    ensure!(
        done.status.success(),
        "{program} {} ended with {}: {}",
        arguments.join(" "),
        done.status,
        String::from_utf8_lossy(&done.stderr).trim()
    );
    Ok(())
}

impl Disk {
    /// A file with a file system in it, mounted; where there are no loop devices, a file system in memory. The error says why
    /// neither could be had, most often for want of privileges.
    pub(crate) fn mount(folder: &Path, items: u64) -> anyhow::Result<Self> {
        let (image, mounted) = (folder.join("disk.image"), folder.join("disk"));
        std::fs::create_dir_all(&mounted)?;
        let bytes = BASE_BYTES + items * BYTES_PER_ITEM;
        let (image, at) = (image.display().to_string(), mounted.display().to_string());
        let looped = std::fs::File::create(&image)
            .and_then(|file| file.set_len(bytes))
            .context("making a disk's file")
            // Nothing is kept back for root: it would never be full for root's own ballast.
            .and_then(|()| run("mkfs.ext4", &["-q", "-F", "-m", "0", &image]))
            .and_then(|()| run("mount", &["-o", "loop", &image, &at]));
        let kind = match looped {
            Ok(()) => "ext4 in a file",
            Err(reason) => {
                eprintln!("no loop device: {reason:#}");
                run("mount", &["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs", &at])?;
                "a file system in memory"
            }
        };
        run("chmod", &["755", &at])?;
        Ok(Self { folder: mounted, kind })
    }

    fn free(&self) -> anyhow::Result<u64> {
        let done =
            Command::new("df").args(["-B1", "--output=avail"]).arg(&self.folder).output().context("running df")?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        text.lines().last().and_then(|line| line.trim().parse().ok()).with_context(|| format!("df says {text:?}"))
    }

    fn ballast(&self, number: u32) -> PathBuf {
        self.folder.join(format!("ballast.{number}"))
    }

    /// Leaves no room on it.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        for number in 0..8 {
            let free = self.free()?;
            if free < FULL_BELOW {
                break;
            }
            // The last blocks go to what a file of such a size costs beside its content; what is left is tried again, smaller.
            let bytes = if number == 0 { free } else { free / 2 };
            let path = self.ballast(number).display().to_string();
            if run("fallocate", &["-l", &bytes.to_string(), &path]).is_err() {
                run("fallocate", &["-l", &(bytes / 2).max(4096).to_string(), &path])?;
            }
        }
        Ok(())
    }

    /// Makes room again.
    pub(crate) fn empty(&self) -> anyhow::Result<()> {
        for number in 0..8 {
            let path = self.ballast(number);
            if path.exists() {
                std::fs::remove_file(path).context("making room on the disk")?;
            }
        }
        Ok(())
    }
}
