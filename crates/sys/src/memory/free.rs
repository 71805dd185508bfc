//! The memory that this process may still allocate within the host and its control groups.
//!
//! Rule: the result is a snapshot, and memory that can be reclaimed (files in the page cache)
//! counts as free. Both versions of control groups are read; what cannot be read sets no limit.

use std::fs;
use std::path::{Path, PathBuf};

/// The lowest limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeMemory {
    /// Available memory in bytes.
    pub free: u64,
    /// Source of the limit: `MemAvailable of the host` or a control group's file.
    pub by: String,
}

/// `None` if the kernel does not report it.
pub fn free_memory() -> Option<FreeMemory> {
    free_memory_in(Path::new("/"))
}

fn free_memory_in(root: &Path) -> Option<FreeMemory> {
    let groups =
        groups(root).into_iter().filter_map(|(version, folder)| version.free_memory(&folder));
    host(root).into_iter().chain(groups).min_by_key(|memory| memory.free)
}

fn host(root: &Path) -> Option<FreeMemory> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free = line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10;
    Some(FreeMemory { free, by: "MemAvailable of the host".to_owned() })
}

/// Names of a control group's files.
#[derive(Clone, Copy, Debug)]
struct Version {
    limit: &'static str,
    used: &'static str,
    /// In `memory.stat`.
    reclaimable: &'static str,
}

impl Version {
    /// `None` for a group without a limit.
    fn free_memory(self, folder: &Path) -> Option<FreeMemory> {
        let file = folder.join(self.limit);
        let limit = number(&file)?;
        let used = number(&folder.join(self.used))?;
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let spare = stat.lines().find_map(|line| line.strip_prefix(self.reclaimable));
        let spare = spare.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let free = limit.saturating_sub(used.saturating_sub(spare));
        Some(FreeMemory { free, by: file.display().to_string() })
    }
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The groups that this process is in, each with those around it.
fn groups(root: &Path) -> Vec<(Version, PathBuf)> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mounts = fs::read_to_string(root.join("proc/self/mounts")).unwrap_or_default();
    let mut groups = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let version = match controllers {
            "" => SECOND,
            list if list.split(',').any(|one| one == "memory") => FIRST,
            _ => continue,
        };
        let Some(mount) = mount(&mounts, controllers.is_empty()) else { continue };
        let around = Path::new(path.trim_start_matches('/')).ancestors();
        let top = root.join(mount.trim_start_matches('/'));
        groups.extend(around.map(|path| (version, top.join(path))));
    }
    groups
}

/// Where a hierarchy with memory is mounted.
fn mount(mounts: &str, is_second: bool) -> Option<&str> {
    let lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mut lines = lines.filter(|words| words.len() > 3);
    let found = lines.find(|words| match is_second {
        true => words[2] == "cgroup2",
        false => words[2] == "cgroup" && words[3].split(',').any(|one| one == "memory"),
    });
    found.map(|words| words[1])
}

const FIRST: Version = Version {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file ",
};
const SECOND: Version =
    Version { limit: "memory.max", used: "memory.current", reclaimable: "inactive_file " };

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system with these files, removed at the end.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("xway-free-memory-{name}-{}", std::process::id());
            let root = Self(std::env::temp_dir().join(name));
            for (path, text) in files {
                let path = root.0.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            root
        }

        fn free_memory(&self) -> Option<(u64, String)> {
            let memory = free_memory_in(&self.0)?;
            let by = memory.by.replace(self.0.to_str().unwrap(), "");
            Some((memory.free, by))
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const HOST: (&str, &str) =
        ("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:     100 kB\nBuffers: 1 kB\n");

    #[test]
    fn the_narrowest_group_counts() {
        let second = [
            HOST,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mounts", "proc /proc proc rw 0 0\ncgroup2 /cg cgroup2 rw,relatime 0 0\n"),
            ("cg/a/memory.max", "50000\n"),
            ("cg/a/memory.current", "45000\n"),
            ("cg/a/memory.stat", "anon 9\ninactive_file 2000\nactive_file 9\n"),
            ("cg/a/b/memory.max", "max\n"),
            ("cg/a/b/memory.current", "45000\n"),
        ];
        let root = Root::new("second", &second);
        assert_eq!(root.free_memory(), Some((7000, "/cg/a/memory.max".to_owned())));
        let first = [
            HOST,
            ("proc/self/cgroup", "4:memory:/a\n1:cpu:/a\n0::/\n"),
            ("proc/self/mounts", "c /m/cpu cgroup rw,cpu 0 0\nc /m/mem cgroup rw,memory 0 0\n"),
            ("m/mem/memory.limit_in_bytes", "9223372036854771712\n"),
            ("m/mem/memory.usage_in_bytes", "1\n"),
            ("m/mem/a/memory.limit_in_bytes", "8192\n"),
            ("m/mem/a/memory.usage_in_bytes", "9000\n"),
        ];
        let root = Root::new("first", &first);
        assert_eq!(root.free_memory(), Some((0, "/m/mem/a/memory.limit_in_bytes".to_owned())));
    }

    #[test]
    fn without_groups_it_is_the_host() {
        let host = Some((100 << 10, "MemAvailable of the host".to_owned()));
        assert_eq!(Root::new("host", &[HOST]).free_memory(), host);
        let wrong = [HOST, ("proc/self/cgroup", "nonsense\n0::\n:::\n"), ("proc/self/mounts", "x")];
        assert_eq!(Root::new("wrong", &wrong).free_memory(), host);
        assert_eq!(
            Root::new("none", &[("proc/meminfo", "MemAvailable: many\n")]).free_memory(),
            None
        );
    }
}
