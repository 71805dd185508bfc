//! The bpf file system, where pins live.
//!
//! Rule: pins must outlive the process that made them and be seen by the next one, whatever mount
//! namespace either runs in. `ip netns exec` gives each command a private namespace with a fresh
//! `/sys` that dies with it, so the file system is mounted where the outermost ancestor that we
//! may look at sees it (process 1, if we may), and reached through its `/proc/PID/root` from
//! anywhere else.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Makes sure that a bpf file system is mounted at `path` (absolute), mode 0700, and answers the
/// path under which this process, and only it, surely reaches it.
pub fn bpffs(path: &Path) -> Result<PathBuf> {
    if let Some(anchor) = anchor() {
        let outside = seen_by(anchor, path);
        if is_bpffs(&outside) || mount_for(anchor, path).is_ok() {
            let same = device(path).is_some_and(|here| device(&outside) == Some(here));
            return Ok(if same { path.to_owned() } else { outside });
        }
    }
    // No right to another namespace: the own one has to do.
    if !is_bpffs(path) {
        mount_here(path)?;
    }
    Ok(path.to_owned())
}

/// Where this process reaches the bpf file system at `path`; `None` when none is mounted.
pub fn find_bpffs(path: &Path) -> Option<PathBuf> {
    let outside = anchor().map(|anchor| seen_by(anchor, path));
    std::iter::once(path.to_owned()).chain(outside).find(|path| is_bpffs(path))
}

/// Whether a bpf file system is mounted at or above `path`.
pub fn is_bpffs(path: &Path) -> bool {
    let Ok(name) = c_path("statfs", path) else { return false };
    // SAFETY: plain integers; all zero is a valid value.
    let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is closed by a zero and `stat` is exclusive.
    let answer = unsafe { libc::statfs(name.as_ptr(), &raw mut stat) };
    answer == 0 && stat.f_type == BPF_FS_MAGIC
}

/// Takes a file system away again; whoever still uses it keeps it until done.
pub fn unmount(path: &Path) -> Result<()> {
    let name = c_path("umount2", path)?;
    // SAFETY: the path is closed by a zero.
    if unsafe { libc::umount2(name.as_ptr(), libc::MNT_DETACH) } != 0 {
        return Err(Error::last("umount2", path.display().to_string()));
    }
    Ok(())
}

/// `BPF_FS_MAGIC` of `include/uapi/linux/magic.h`.
const BPF_FS_MAGIC: libc::__fsword_t = 0xcafe_4a11;

/// Ancestors looked at.
const ANCESTOR_LIMIT: usize = 64;

/// The outermost ancestor whose mount namespace this process may enter.
fn anchor() -> Option<u32> {
    let mut found = None;
    let mut pid = std::process::id();
    for _ in 0..ANCESTOR_LIMIT {
        // Behind the border of a process namespace there is no number.
        let Some(next) = parent(pid).filter(|parent| *parent != 0) else { break };
        pid = next;
        if fs::read_link(namespace_of(pid)).is_ok() {
            found = Some(pid);
        }
        if pid == 1 {
            break;
        }
    }
    found
}

/// The fourth field of `/proc/PID/stat`; the second, a name in brackets, may hold anything.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn namespace_of(pid: u32) -> String {
    format!("/proc/{pid}/ns/mnt")
}

fn seen_by(pid: u32, path: &Path) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path))
}

fn device(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|data| data.dev())
}

/// A mount namespace belongs to a thread only after `CLONE_FS` is undone, and there is no way
/// back for the others: so a thread of its own goes there and ends.
fn mount_for(pid: u32, path: &Path) -> Result<()> {
    let namespace = namespace_of(pid);
    let file =
        fs::File::open(&namespace).map_err(|error| Error::from_io("open", &namespace, &error))?;
    let file = OwnedFd::from(file);
    let path = path.to_owned();
    let visit = std::thread::spawn(move || {
        enter(&file, &namespace)?;
        mount_here(&path)
    });
    visit.join().unwrap_or_else(|_| Err(Error::new("mount", "bpf", libc::EIO)))
}

fn enter(file: &OwnedFd, name: &str) -> Result<()> {
    // SAFETY: only takes this thread's working directory apart from the other threads'.
    if unsafe { libc::unshare(libc::CLONE_FS) } != 0 {
        return Err(Error::last("unshare(CLONE_FS)", ""));
    }
    // SAFETY: the descriptor is open; only this thread changes its namespace.
    if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNS) } != 0 {
        return Err(Error::last("setns", name));
    }
    Ok(())
}

fn mount_here(path: &Path) -> Result<()> {
    let shown = path.display().to_string();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| Error::from_io("mkdir", &shown, &error))?;
    let target = c_path("mount", path)?;
    // SAFETY: all four texts are closed by a zero and only read.
    let answer = unsafe {
        libc::mount(
            c"bpf".as_ptr(),
            target.as_ptr(),
            c"bpf".as_ptr(),
            libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
            c"mode=0700".as_ptr().cast(),
        )
    };
    if answer != 0 {
        return Err(Error::last("mount(bpf)", shown));
    }
    Ok(())
}

fn c_path(call: &'static str, path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(call, path.display().to_string(), libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_are_found() {
        assert_eq!(parent(std::process::id()), Some(std::os::unix::process::parent_id()));
        assert_eq!(parent(1), Some(0));
        assert_eq!(seen_by(7, Path::new("/sys/fs/bpf")), Path::new("/proc/7/root/sys/fs/bpf"));
        assert!(!is_bpffs(Path::new("/proc")));
        assert!(!is_bpffs(Path::new("/no/such/place")));
    }
}
