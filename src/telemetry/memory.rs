//! The memory of this process, as Linux reports it.

use std::path::Path;

/// In bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub resident: u64,
    pub limit: Option<u64>,
}

/// Returns `None` if the system does not report it.
pub fn memory() -> Option<Memory> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let group = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    Some(Memory { resident: resident(&status)?, limit: limit(&group, Path::new("/sys/fs/cgroup")) })
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Returns the smallest limit of the process's control group (version 2) and its parents. In a container `group` is the
/// root, which has the container's limit.
fn limit(group: &str, mount: &Path) -> Option<u64> {
    let own = group.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = mount.join(own.trim_start_matches('/'));
    let groups = own.ancestors().take_while(|group| group.starts_with(mount));
    // `max` is no number.
    groups.filter_map(|group| std::fs::read_to_string(group.join("memory.max")).ok()?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_is_read_from_the_status() {
        assert_eq!(resident("VmPeak:\t  900 kB\nVmRSS:\t     512 kB\n"), Some(512 * 1024));
        assert_eq!(resident("Name:\tcorroborate\n"), None);
    }

    #[test]
    fn the_tightest_limit_of_all_groups_counts() {
        let mount = tempfile::tempdir().unwrap();
        let service = mount.path().join("system.slice/corroborate.service");
        std::fs::create_dir_all(&service).unwrap();
        let group = "1:name=systemd:/x\n0::/system.slice/corroborate.service\n";
        assert_eq!(limit(group, mount.path()), None);
        std::fs::write(service.join("memory.max"), "max\n").unwrap();
        std::fs::write(mount.path().join("system.slice/memory.max"), "1048576\n").unwrap();
        assert_eq!(limit(group, mount.path()), Some(1_048_576));
        std::fs::write(service.join("memory.max"), "4096\n").unwrap();
        assert_eq!(limit(group, mount.path()), Some(4096));
        assert_eq!(limit("", mount.path()), None);
    }
}
