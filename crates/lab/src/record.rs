//! Record of what a lab creates, written beforehand, so that another process can remove it.
//!
//! `/run/xway/lab/ID/record` has one fact a line; `/run/xway/lab/ID/lock` is held while the lab's
//! process lives. A line cut off by a crash is ignored: it announced what was not made.
//!
//! ```text
//! boot 5f0c…            processes are only believed during this boot
//! topology service
//! netns xw-k3f9a-server
//! link server eth0      an interface that this lab made in that host
//! process 4711 88123    pid and start time in ticks
//! kept                  the lab outlives its maker
//! removing              removal has begun: what is left is collected
//! ```
//! Not here: deciding what to remove (`gc`).

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sys::dir::{Ancestors, Dir};
use sys::errno::EEXIST;
use sys::process::Process;

use crate::error::{Error, Result};
use crate::expect::until;
use crate::limits::LOCK;

/// The record of one lab, open for adding.
#[derive(Debug)]
pub(crate) struct Record {
    id: String,
    folder: PathBuf,
    file: Mutex<File>,
}

/// The contents of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordContents {
    /// Names of network namespaces.
    pub namespaces: Vec<String>,
    /// Links that exist apart from the namespaces, as host and interface.
    pub links: Vec<(String, String)>,
    /// Processes that the lab started.
    pub processes: Vec<Process>,
    /// Name of the topology, if the lab was built from one.
    pub topology: Option<String>,
    /// Whether the lab persists after its creator.
    pub kept: bool,
}

impl Record {
    /// Makes the folder of a new lab and holds its lock. `None` when the name is taken.
    pub fn create(id: &str) -> Result<Option<(Self, File)>> {
        // No process may collect the folder before its lock is held.
        let _all = lock_all()?;
        let folder = folder_of(id);
        match root()?.create_dir(id, PRIVATE_DIR) {
            Ok(_) => {}
            Err(error) if error.is(EEXIST) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let lock = open_lock(&folder)?;
        if !try_lock(&lock, &folder)? {
            return Ok(None);
        }
        let record = Self::open(id)?;
        record.add(&format!("boot {}", boot_id()?))?;
        Ok(Some((record, lock)))
    }

    /// Opens the record of an existing lab.
    pub fn open(id: &str) -> Result<Self> {
        let folder = folder_of(id);
        drop(private_file(&folder, "record")?);
        let path = folder.join("record");
        let file = File::options()
            .append(true)
            .open(&path)
            .map_err(|error| Error::record("open", &path, error))?;
        Ok(Self { id: id.to_owned(), folder, file: Mutex::new(file) })
    }

    /// Name of the lab.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of a host's namespace.
    pub fn namespace(&self, host: &str) -> String {
        format!("{}{host}", prefix_of(&self.id))
    }

    /// Announces a namespace before it is created.
    pub fn add_namespace(&self, name: &str) -> Result<()> {
        self.add(&format!("netns {name}"))
    }

    /// Announces a link before it is created.
    pub fn add_link(&self, host: &str, interface: &str) -> Result<()> {
        self.add(&format!("link {host} {interface}"))
    }

    /// Announces a process.
    pub fn add_process(&self, process: Process) -> Result<()> {
        self.add(&format!("process {} {}", process.pid, process.started))
    }

    /// Notes the name of the topology.
    pub fn set_topology(&self, name: &str) -> Result<()> {
        self.add(&format!("topology {name}"))
    }

    /// Notes that the lab persists after its creator.
    pub fn keep(&self) -> Result<()> {
        self.add("kept")
    }

    /// Notes that removal has begun: from now on the lab is not kept, so that the next
    /// collection completes a removal that was killed.
    pub fn removing(&self) -> Result<()> {
        self.add("removing")
    }

    /// Reads the record.
    pub fn contents(&self) -> Result<RecordContents> {
        contents_of(&self.id)
    }

    fn add(&self, line: &str) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{line}\n").as_bytes())
            .map_err(|error| Error::record("write", &self.folder.join("record"), error))
    }
}

/// Reads a record; a missing one is empty.
pub(crate) fn contents_of(id: &str) -> Result<RecordContents> {
    let path = folder_of(id).join("record");
    match fs::read_to_string(&path) {
        Ok(text) => Ok(RecordContents::parse(&text, &prefix_of(id), &boot_id()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(RecordContents::default()),
        Err(error) => Err(Error::record("read", &path, error)),
    }
}

impl RecordContents {
    /// Believes only what carries the lab's own prefix, and processes only of this boot.
    fn parse(text: &str, prefix: &str, boot: &str) -> Self {
        let mut contents = Self::default();
        let mut same_boot = false;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["boot", id] => same_boot = id == boot,
                ["netns", name] if name.starts_with(prefix) => {
                    contents.namespaces.push(name.to_owned());
                }
                ["link", host, name] => contents.links.push((host.to_owned(), name.to_owned())),
                ["process", pid, started] if same_boot => {
                    if let (Ok(pid), Ok(started)) = (pid.parse(), started.parse()) {
                        contents.processes.push(Process { pid, started });
                    }
                }
                ["topology", name] => contents.topology = Some(name.to_owned()),
                ["kept"] => contents.kept = true,
                ["removing"] => contents.kept = false,
                _ => {}
            }
        }
        contents
    }
}

/// The names of all labs, sorted, in any state.
pub(crate) fn ids() -> Result<Vec<String>> {
    let entries = match fs::read_dir(ROOT) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::record("read", Path::new(ROOT), error)),
    };
    let mut ids: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_name(name, crate::limits::LONGEST_ID))
        .collect();
    ids.sort();
    Ok(ids)
}

pub(crate) fn folder_of(id: &str) -> PathBuf {
    Path::new(ROOT).join(id)
}

pub(crate) fn prefix_of(id: &str) -> String {
    format!("xw-{id}-")
}

/// Small letters, digits and inner `-`.
pub(crate) fn is_name(name: &str, most: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=most).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('-')
}

/// Held while a lab's folder appears or is collected.
pub(crate) fn lock_all() -> Result<File> {
    let root = self::root()?;
    let root = root.path();
    let file = open_lock(root)?;
    until("the lock on all labs", LOCK, || Ok(try_lock(&file, root)?.then_some(())))?;
    Ok(file)
}

/// Takes the lab's lock; `None` if another process holds it.
pub(crate) fn idle_lock(id: &str) -> Result<Option<File>> {
    let folder = folder_of(id);
    let lock = open_lock(&folder)?;
    Ok(try_lock(&lock, &folder)?.then_some(lock))
}

fn open_lock(folder: &Path) -> Result<File> {
    private_file(folder, "lock")
}

/// A file that no other user can open: what others can open, they can lock.
fn private_file(folder: &Path, name: &str) -> Result<File> {
    let dir = Dir::open(folder, Ancestors::Protected)?;
    let file = dir.open_or_create_file(name, PRIVATE_FILE)?;
    let path = folder.join(name);
    let found = file.metadata().map_err(|error| Error::record("fstat", &path, error))?;
    if found.mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(PRIVATE_FILE))
            .map_err(|error| Error::record("fchmod", &path, error))?;
    }
    Ok(file)
}

/// The directory of all labs, created where it is missing, closed to other users.
fn root() -> Result<Dir> {
    let (dir, _) = Dir::open_or_create(Path::new(ROOT), Ancestors::Protected, PRIVATE_DIR)?;
    let above = Dir::open(Path::new(ROOT).parent().unwrap_or(dir.path()), Ancestors::Protected)?;
    for one in [&above, &dir] {
        if one.metadata()?.mode() & OTHERS != 0 {
            one.set_mode(PRIVATE_DIR)?;
        }
    }
    Ok(dir)
}

fn try_lock(lock: &File, folder: &Path) -> Result<bool> {
    match lock.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(Error::record("lock", folder, error)),
    }
}

fn boot_id() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    let text = fs::read_to_string(path).map_err(|error| Error::record("read", path, error))?;
    Ok(text.trim().to_owned())
}

/// Its parent is the default state directory of `xway`, which is private in the same way.
const ROOT: &str = "/run/xway/lab";
const PRIVATE_DIR: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
/// Permissions of the group and of all others.
const OTHERS: u32 = 0o077;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_with_the_own_prefix_count() {
        let text = "boot b1\nnetns xw-k1-a\nnetns docker\nlink a eth0\nprocess 7 99\n\
                    future word\ntopology router\nkept\nnetns xw-k1-cut";
        let contents = RecordContents::parse(text, "xw-k1-", "b1");
        assert_eq!(contents.namespaces, ["xw-k1-a"]);
        assert_eq!(contents.links, [("a".to_owned(), "eth0".to_owned())]);
        assert_eq!(contents.processes, [Process { pid: 7, started: 99 }]);
        assert_eq!(contents.topology.as_deref(), Some("router"));
        assert!(contents.kept);
    }

    #[test]
    fn a_removal_that_began_ends_a_kept_lab() {
        let contents = RecordContents::parse("netns xw-k1-a\nkept\nremoving\n", "xw-k1-", "b1");
        assert_eq!((contents.kept, contents.namespaces.len()), (false, 1));
        let cut = RecordContents::parse("netns xw-k1-a\nkept\nremov", "xw-k1-", "b1");
        assert!(cut.kept, "a line that was not written completely does not count");
    }

    #[test]
    fn processes_of_another_boot_are_nobodys() {
        let contents = RecordContents::parse("boot b0\nprocess 7 99\n", "xw-k1-", "b1");
        assert_eq!(contents, RecordContents::default());
    }

    #[test]
    fn names_are_short_and_plain() {
        for (name, good) in [
            ("k3f9a", true),
            ("a-b", true),
            ("", false),
            ("-a", false),
            ("A", false),
            ("a/b", false),
        ] {
            assert_eq!(is_name(name, 8), good, "{name}");
        }
        assert!(!is_name("123456789", 8));
    }
}
