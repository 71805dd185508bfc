//! Network namespaces: making, naming, entering, removing.
//!
//! Rule: the calling thread never leaves its namespace. Work inside another one runs in a scoped
//! thread that ends with it. Named namespaces are mounted at `/run/netns/NAME`, as with `ip netns`.
//! Not here: settings under `/proc/sys` and `/sys` (`settings`), pollers (`pollers`).

mod identity;
mod mounts;
mod pollers;
mod settings;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use identity::{cookie, find};
pub use pollers::{poller_pids, pollers_named};

use crate::error::{Error, Result};
use crate::thread::run_alone;

/// An open network namespace. It exists at least as long as this value.
#[derive(Debug)]
pub struct NetNs {
    fd: OwnedFd,
    name: String,
}

/// Identity of a namespace: device and inode of the kernel's file for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NetNsId {
    /// Device of the namespace file.
    pub device: u64,
    /// Inode of the namespace file.
    pub inode: u64,
}

impl NetNs {
    /// Makes an empty namespace with a name. `EEXIST` when the name is taken.
    pub fn create(name: &str) -> Result<Self> {
        let path = path_of(name)?;
        mounts::prepare_folder(Path::new(FOLDER))?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o444)
            .open(&path)
            .map_err(|error| Error::from_io("open(O_CREAT)", path.to_string_lossy(), &error))?;
        let made = run_alone(THREAD, || {
            unshare(libc::CLONE_NEWNET, name)?;
            mounts::bind(Path::new(OWN), &path)
        });
        if let Err(error) = made {
            // The name is ours and refers to nothing; the first error is the one to report.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Self::open(name)
    }

    /// Opens a named namespace. `ENOENT` when there is none.
    pub fn open(name: &str) -> Result<Self> {
        let path = path_of(name)?;
        let this = Self::open_path(&path, name)?;
        if !mounts::is_namespace(this.fd.as_fd())? {
            return Err(Error::new("open", path.to_string_lossy(), libc::EINVAL)
                .with_detail("this file is not a namespace: its creator was killed; delete it"));
        }
        Ok(this)
    }

    /// The namespace of the calling thread.
    pub fn current() -> Result<Self> {
        Self::open_path(Path::new(OWN), "current")
    }

    /// The namespace that this process was started in.
    pub fn home() -> Result<Self> {
        Self::open_path(Path::new("/proc/self/ns/net"), "home")
    }

    /// Opens the network namespace of a process.
    pub fn of_process(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/ns/net");
        Self::open_path(Path::new(&path), &format!("process {pid}"))
    }

    fn open_path(path: &Path, name: &str) -> Result<Self> {
        let file = File::open(path)
            .map_err(|error| Error::from_io("open", path.to_string_lossy(), &error))?;
        Ok(Self { fd: file.into(), name: name.to_owned() })
    }

    /// Name under which it was opened; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the identity of the namespace.
    pub fn id(&self) -> Result<NetNsId> {
        let fail = |error: io::Error| Error::from_io("fstat", &self.name, &error);
        let copy = self.fd.try_clone().map_err(fail)?;
        let metadata = File::from(copy).metadata().map_err(fail)?;
        Ok(NetNsId { device: metadata.dev(), inode: metadata.ino() })
    }

    /// Whether this is where the process was started, or where the machine's first process is.
    /// The latter cannot always be determined: then only the former counts.
    pub fn is_home(&self) -> Result<bool> {
        let id = self.id()?;
        let machine = Self::of_process(1).and_then(|first| first.id());
        Ok(id == Self::home()?.id()? || machine.is_ok_and(|first| id == first))
    }

    /// Runs `work` in a thread of its own inside the namespace and waits for it.
    /// A panic of `work` is resumed in the caller.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        run_alone(THREAD, || {
            self.join()?;
            Ok(work())
        })
    }

    /// Puts the calling thread into the namespace until it ends. For a thread that was started
    /// for it; the rest of a program uses [`NetNs::enter`].
    pub fn join(&self) -> Result<()> {
        // SAFETY: `fd` is an open namespace; setns changes only the calling thread.
        let status = unsafe { libc::setns(self.fd.as_raw_fd(), libc::CLONE_NEWNET) };
        if status < 0 { Err(Error::last("setns(CLONE_NEWNET)", &self.name)) } else { Ok(()) }
    }

    /// A command that will run in the namespace, with `/sys` still the caller's.
    pub fn command(&self, program: &str) -> Result<Command> {
        let fd = self
            .fd
            .try_clone()
            .map_err(|error| Error::from_io("fcntl(F_DUPFD_CLOEXEC)", &self.name, &error))?;
        let mut command = Command::new(program);
        let join = move || {
            // SAFETY: `fd` is owned by this closure, and setns is async-signal-safe.
            let status = unsafe { libc::setns(fd.as_raw_fd(), libc::CLONE_NEWNET) };
            if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        };
        // SAFETY: between fork and exec the closure only calls `setns` and reads `errno`.
        unsafe { command.pre_exec(join) };
        Ok(command)
    }

    /// Runs `work` with a `/sys` of the namespace, as in `ip netns exec`: `/sys/class/net` shows
    /// the namespace's interfaces. What is mounted below the caller's `/sys` cannot be seen.
    pub fn command_with_sys(&self, program: &str) -> Result<Command> {
        let mut command = self.command(program)?;
        let access = mounts::sys_access();
        let mount = move || {
            // SAFETY: no pointers are passed; only the process that was forked changes.
            let status = unsafe { libc::unshare(libc::CLONE_NEWNS) };
            if status < 0 {
                return Err(io::Error::last_os_error());
            }
            mounts::private_sys(access)
        };
        // SAFETY: between fork and exec the closure only makes system calls and reads `errno`.
        unsafe { command.pre_exec(mount) };
        Ok(command)
    }
}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Names of all named namespaces, sorted, regardless of their creator.
pub fn names() -> Result<Vec<String>> {
    let entries = match fs::read_dir(FOLDER) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::from_io("readdir", FOLDER, &error)),
    };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Removes a name. The namespace is destroyed when no process is in it or holds it open.
/// `false` when there was no such name.
pub fn delete(name: &str) -> Result<bool> {
    let path = path_of(name)?;
    mounts::detach(&path)?;
    match fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::from_io("unlink", path.to_string_lossy(), &error)),
    }
}

fn path_of(name: &str) -> Result<PathBuf> {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains('/');
    if !plain || name.len() > LONGEST_NAME {
        return Err(Error::new("open", name, libc::EINVAL)
            .with_detail("a namespace name is a plain file name"));
    }
    Ok(Path::new(FOLDER).join(name))
}

fn unshare(what: i32, object: &str) -> Result<()> {
    // SAFETY: no pointers are passed; only the calling thread changes.
    let status = unsafe { libc::unshare(what) };
    if status < 0 { Err(Error::last("unshare", object)) } else { Ok(()) }
}

/// Where iproute2 keeps names.
const FOLDER: &str = "/run/netns";
/// Name of a thread that leaves the caller's namespace.
const THREAD: &str = "netns";
const OWN: &str = "/proc/thread-self/ns/net";
const LONGEST_NAME: usize = 255;
