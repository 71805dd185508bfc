//! What a traced process created: BPF objects, files, network namespaces.
//!
//! Rule: objects are known by the number that the kernel gave them, read at the moment of creation,
//! so nothing of another process is ever mistaken for them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sys::bpf::{self, Kind};

use super::call::{self, Entry};
use super::memory;

#[derive(Clone, Debug, Default)]
pub struct Created {
    pub objects: BTreeSet<Object>,
    pub paths: BTreeSet<PathBuf>,
    /// Inode numbers.
    pub namespaces: BTreeSet<u64>,
}

/// A BPF object of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// [`Kind::name`].
    pub kind: &'static str,
    pub id: u32,
}

/// A creation that was begun and whose result is not known yet.
#[derive(Clone, Debug)]
pub enum Begun {
    Object(Kind),
    Path(PathBuf),
    Namespace,
}

impl Begun {
    /// What the call at whose entry `thread` is stopped will create, if anything.
    pub fn of(thread: i32, entry: &Entry) -> Option<Self> {
        match entry.number {
            call::BPF => object_kind(entry.args[0]).map(Self::Object),
            call::UNSHARE => (entry.args[0] & CLONE_NEWNET != 0).then_some(Self::Namespace),
            call::MKDIR => new_path(thread, CURRENT, entry.args[0]),
            call::MKDIRAT => new_path(thread, entry.args[0] as i32, entry.args[1]),
            call::OPENAT if entry.args[2] & call::O_CREAT != 0 => {
                new_path(thread, entry.args[0] as i32, entry.args[1])
            }
            _ => None,
        }
    }
}

impl Created {
    /// Notes a creation that succeeded; `result` is what the call returned.
    pub fn note(&mut self, thread: i32, begun: Begun, result: i64) {
        match begun {
            Begun::Object(kind) => {
                let id = object_id(thread, kind, result);
                self.objects.extend(id.map(|id| Object { kind: kind.name(), id }));
            }
            Begun::Path(path) => {
                self.paths.insert(path);
            }
            Begun::Namespace => {
                let link = fs::read_link(format!("/proc/{thread}/ns/net")).ok();
                let text = link.and_then(|link| link.to_str().map(str::to_owned));
                let inode = text.as_deref().and_then(inode_of);
                self.namespaces.extend(inode);
            }
        }
    }

    /// Names of labs that the process began to create.
    pub fn labs(&self) -> impl Iterator<Item = String> {
        let below = |path: &PathBuf| {
            let rest = path.strip_prefix(LABS).ok()?;
            let name = rest.iter().next()?.to_str()?;
            (name != "lock").then(|| name.to_owned())
        };
        self.paths.iter().filter_map(below).collect::<BTreeSet<_>>().into_iter()
    }
}

impl Object {
    pub fn exists(&self) -> bool {
        let kinds = [Kind::Prog, Kind::Map, Kind::Btf, Kind::Link];
        let kind = kinds.into_iter().find(|kind| kind.name() == self.kind);
        kind.is_some_and(|kind| bpf::fd_by_id(kind, self.id).is_ok())
    }
}

/// `net:[4026531840]`.
pub fn inode_of(text: &str) -> Option<u64> {
    text.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

fn object_kind(command: u64) -> Option<Kind> {
    match command {
        call::bpf::MAP_CREATE => Some(Kind::Map),
        call::bpf::PROG_LOAD => Some(Kind::Prog),
        call::bpf::BTF_LOAD => Some(Kind::Btf),
        call::bpf::LINK_CREATE | call::bpf::RAW_TRACEPOINT_OPEN => Some(Kind::Link),
        _ => None,
    }
}

/// The number stands in the description of the new descriptor.
fn object_id(thread: i32, kind: Kind, descriptor: i64) -> Option<u32> {
    let label = match kind {
        Kind::Prog => "prog_id:",
        Kind::Map => "map_id:",
        Kind::Btf => "btf_id:",
        Kind::Link => "link_id:",
    };
    let text = fs::read_to_string(format!("/proc/{thread}/fdinfo/{descriptor}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.trim().parse().ok()
}

/// The path as the thread sees it, unless it exists already. Names below a bpffs are pins, which
/// the scene compares.
fn new_path(thread: i32, folder: i32, address: u64) -> Option<Begun> {
    let name = memory::text(thread, address)?;
    let base = match folder {
        CURRENT => fs::read_link(format!("/proc/{thread}/cwd")),
        folder => fs::read_link(format!("/proc/{thread}/fd/{folder}")),
    };
    let path = if name.starts_with('/') { PathBuf::from(name) } else { base.ok()?.join(name) };
    let seen = Path::new(&format!("/proc/{thread}/root")).join(path.strip_prefix("/").ok()?);
    let is_new = seen.symlink_metadata().is_err();
    let is_pin = seen.parent().is_some_and(sys::mount::is_bpffs);
    (is_new && !is_pin).then_some(Begun::Path(path))
}

/// `AT_FDCWD`.
const CURRENT: i32 = -100;
const CLONE_NEWNET: u64 = 0x4000_0000;
const LABS: &str = "/run/xway/lab";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labs_are_known_by_their_folder() {
        let paths = ["/run/xway/lab/lock", "/run/xway/lab/k1/record", "/run/xway/lab/k1", "/tmp/x"];
        let created =
            Created { paths: paths.iter().map(PathBuf::from).collect(), ..Created::default() };
        assert_eq!(created.labs().collect::<Vec<_>>(), ["k1"]);
        assert_eq!(inode_of("net:[4026531840]"), Some(4_026_531_840));
    }
}
