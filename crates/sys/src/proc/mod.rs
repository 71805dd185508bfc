//! Reads `/proc` and `/boot`: the kernel's release, configuration and symbols, and the processes
//! that hold BPF objects and sockets.

mod sockets;

use std::fs;
use std::os::unix::ffi::OsStrExt;

pub use sockets::{SocketHolder, socket_holders};

use crate::bpf::Kind;
use crate::{Error, Result};

/// Such as `6.1.0-25-amd64`.
pub fn kernel_release() -> Result<String> {
    read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned())
}

/// The kernel's configuration file, `None` when there is none to read. Either text or, from
/// `/proc/config.gz`, gzip.
pub fn kernel_config() -> Result<Option<Vec<u8>>> {
    let release = kernel_release()?;
    let places = [
        "/proc/config.gz".to_owned(),
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
    ];
    Ok(places.iter().find_map(|path| fs::read(path).ok()))
}

/// `/proc/kallsyms`. Addresses are zero without `CAP_SYSLOG`.
pub fn kallsyms() -> Result<String> {
    read("/proc/kallsyms")
}

/// The running kernel's BTF; `ENOENT` when it has none.
pub fn kernel_btf() -> Result<Vec<u8>> {
    let path = "/sys/kernel/btf/vmlinux";
    fs::read(path).map_err(|error| Error::from_io("read", path, &error))
}

/// A kernel setting such as `net/core/bpf_jit_enable`.
pub fn setting(name: &str) -> Result<String> {
    read(&format!("/proc/sys/{name}")).map(|text| text.trim().to_owned())
}

/// Bytes of memory that can be had without swapping (`MemAvailable`).
pub fn memory_available() -> Result<u64> {
    memory("MemAvailable")
}

/// Bytes that the kernel has for objects of its own and cannot do without: `SUnreclaim` and
/// `VmallocUsed`.
pub fn memory_of_kernel() -> Result<u64> {
    Ok(memory("SUnreclaim")? + memory("VmallocUsed")?)
}

fn memory(entry: &'static str) -> Result<u64> {
    let path = "/proc/meminfo";
    let text = read(path)?;
    let value = text.lines().find_map(|line| line.strip_prefix(entry)?.strip_prefix(':'));
    let kib = value.and_then(|value| value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let missing = || Error::new("read", path, libc::EPROTO).with_detail(format!("no {entry}"));
    kib.map(|kib| kib << 10).ok_or_else(missing)
}

/// Nanoseconds that a process or kernel thread has run for, its threads apart.
pub fn run_ns(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/schedstat");
    let text = read(&path)?;
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| Error::new("read", path, libc::EPROTO))
}

/// A variable of the environment that a process was started with; `None` if it is not set or may
/// not be read.
pub fn variable(pid: u32, name: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut entries = bytes.split(|byte| *byte == 0);
    let value =
        entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(value.to_vec()).ok()
}

/// The process that started `pid`; `None` for the first one, or if it is unknown.
pub fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())?;
    (parent > 0).then_some(parent)
}

/// Whether a process of that name runs; the kernel keeps fifteen bytes of a name.
pub fn is_running(name: &str) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let mut commands = pids.filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).ok());
    commands.any(|command| command.trim_end() == name)
}

/// A process that holds a descriptor of a BPF object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Name of the command, at most 15 bytes.
    pub command: String,
    /// Kind of the object.
    pub kind: Kind,
    /// Id of the object.
    pub id: u32,
}

/// Number of descriptors that [`holders`] and [`socket_holders`] inspect.
const DESCRIPTOR_LIMIT: usize = 100_000;

/// Every process that holds a program, map or link, as far as this process may look.
pub fn holders() -> Vec<Holder> {
    let mut found = Vec::new();
    let mut budget = DESCRIPTOR_LIMIT;
    let Ok(processes) = fs::read_dir("/proc") else { return found };
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    for pid in pids {
        let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        for (kind, id) in held_by(pid, &mut budget) {
            found.push(Holder { pid, command: command.trim().to_owned(), kind, id });
        }
    }
    found
}

/// Looks into `fdinfo` only where the descriptor itself names a BPF object: that is one cheap
/// `readlink` for all the others.
fn held_by(pid: u32, budget: &mut usize) -> Vec<(Kind, u32)> {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let mut held = Vec::new();
    for entry in descriptors.flatten() {
        if *budget == 0 {
            break;
        }
        *budget -= 1;
        let is_bpf = fs::read_link(entry.path())
            .is_ok_and(|target| target.as_os_str().as_bytes().starts_with(b"anon_inode:bpf"));
        if !is_bpf {
            continue;
        }
        let number = entry.file_name();
        let path = format!("/proc/{pid}/fdinfo/{}", number.to_string_lossy());
        held.extend(fs::read_to_string(path).ok().and_then(|text| identity(&text)));
    }
    held.sort_unstable_by_key(|(kind, id)| (kind.name(), *id));
    held.dedup();
    held
}

/// A link's `fdinfo` names its program too, so the link goes first.
fn identity(fdinfo: &str) -> Option<(Kind, u32)> {
    let field = |name: &str| {
        fdinfo.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u32>().ok())
    };
    [(Kind::Link, "link_id:"), (Kind::Map, "map_id:"), (Kind::Prog, "prog_id:")]
        .into_iter()
        .find_map(|(kind, name)| Some((kind, field(name)?)))
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Error::from_io("read", path, &error))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn descriptors_are_told_apart() {
        let table: &[(&str, Option<(Kind, u32)>)] = &[
            ("pos:\t0\nprog_type:\t6\nprog_tag:\tab\nprog_id:\t7\n", Some((Kind::Prog, 7))),
            ("pos:\t0\nmap_type:\t1\nmap_id:\t12\n", Some((Kind::Map, 12))),
            ("link_type:\txdp\nlink_id:\t3\nprog_id:\t7\n", Some((Kind::Link, 3))),
            ("pos:\t0\nflags:\t02\n", None),
        ];
        for (text, expected) in table {
            assert_eq!(identity(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn a_child_knows_its_parent_and_keeps_its_variables() {
        let mut command = Command::new("cat");
        command.env("XWAY_TEST", "a=b").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let pid = child.id();
        // Its variables are there once it runs: what it answers shows that it does.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(parent(pid), Some(std::process::id()));
        assert_eq!(variable(pid, "XWAY_TEST").as_deref(), Some("a=b"));
        assert_eq!(variable(pid, "XWAY_TES"), None);
        assert!(is_running("cat") && !is_running("ca"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((parent(1), variable(u32::MAX, "PATH")), (None, None));
    }

    #[test]
    fn the_release_is_one_word() {
        let release = kernel_release().unwrap();
        assert!(!release.is_empty() && !release.contains(char::is_whitespace));
    }
}
