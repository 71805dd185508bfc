//! The bpf file system, which holds pins.
//!
//! Rule: pins must outlive the process that created them and be visible to the next one in any
//! mount namespace either runs in. `ip netns exec` gives each command a private namespace with a
//! fresh `/sys` that dies with it, so the file system is mounted where the outermost ancestor that
//! we may inspect sees it (process 1, if permitted), and reached through its `/proc/PID/root` from
//! anywhere else.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::mount::{self, FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags};

use crate::dir::{Ancestors, Dir, SHARED_DIR, effective_user};
use crate::{Error, Result};

/// Who may use a bpf file system, and the directory that holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    /// The user who may change it; `None`: this user.
    pub user: Option<u32>,
    /// The group that may read it; `None`: no group.
    pub readers: Option<u32>,
}

/// Makes sure that a bpf file system is mounted at `path` (absolute), and returns the path under
/// which this process, and only it, surely reaches it. Its mode is 0700, or that of the directory
/// around it if a group may read it.
///
/// # Errors
/// Another user can change a directory of `path`, or a symbolic link or a foreign mount is there.
pub fn bpffs(path: &Path) -> Result<PathBuf> {
    bpffs_for(path, None)
}

/// As [`bpffs`], for other owners of the directory that holds `path`, and of the file system. The
/// directories above it must be protected from them.
pub fn bpffs_for(path: &Path, owners: Option<Owners>) -> Result<PathBuf> {
    if let Some(anchor) = anchor() {
        let outside = seen_by(anchor, path);
        if mount_for(anchor, path, owners).is_ok() {
            let same = device(path).is_some_and(|here| device(&outside) == Some(here));
            return Ok(if same { path.to_owned() } else { outside });
        }
    }
    // No right to another namespace: the own one has to do.
    mount_here(path, owners)?;
    Ok(path.to_owned())
}

/// Where this process reaches the bpf file system at `path`; `None` when none is mounted.
pub fn find_bpffs(path: &Path) -> Option<PathBuf> {
    let outside = anchor().map(|anchor| seen_by(anchor, path));
    std::iter::once(path.to_owned()).chain(outside).find(|path| is_bpffs(path))
}

/// Where this process sees bpf file systems.
pub fn bpffs_mounts() -> Vec<PathBuf> {
    bpffs_in(&fs::read_to_string("/proc/self/mounts").unwrap_or_default())
}

/// The mount points of lines `SOURCE POINT TYPE …`, in which blanks are written as octal numbers.
fn bpffs_in(mounts: &str) -> Vec<PathBuf> {
    let lines = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (point, kind) = (words.next()?, words.next()?);
        let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
        let plain = |text: String, (code, letter): (&str, &str)| text.replace(code, letter);
        (kind == "bpf").then(|| escapes.into_iter().fold(point.to_owned(), plain).into())
    });
    lines.collect()
}

/// Whether a bpf file system is mounted at or above `path`.
pub fn is_bpffs(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|stat| stat.f_type == BPF_FS_MAGIC)
}

/// Unmounts a file system; processes that still use it keep it until they close it.
pub fn unmount(path: &Path) -> Result<()> {
    let name = c_path("umount2", path)?;
    // SAFETY: the path is closed by a zero.
    if unsafe { libc::umount2(name.as_ptr(), libc::MNT_DETACH) } != 0 {
        return Err(Error::last("umount2", path.display().to_string()));
    }
    Ok(())
}

/// `BPF_FS_MAGIC` of `include/uapi/linux/magic.h`.
const BPF_FS_MAGIC: rustix::fs::FsWord = 0xcafe_4a11;

/// Number of ancestors that are inspected.
const ANCESTOR_LIMIT: usize = 64;

/// The outermost ancestor whose mount namespace this process may enter.
fn anchor() -> Option<u32> {
    let mut found = None;
    let mut pid = std::process::id();
    for _ in 0..ANCESTOR_LIMIT {
        // Beyond the border of a process namespace a parent has no number.
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
fn mount_for(pid: u32, path: &Path, owners: Option<Owners>) -> Result<()> {
    let namespace = namespace_of(pid);
    let file =
        fs::File::open(&namespace).map_err(|error| Error::from_io("open", &namespace, &error))?;
    let file = OwnedFd::from(file);
    let path = path.to_owned();
    let visit = std::thread::Builder::new().name("mount".into()).spawn(move || {
        enter(&file, &namespace)?;
        mount_here(&path, owners)
    });
    let visit = visit.map_err(|error| Error::from_io("clone", "mount", &error))?;
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

/// Mounts at the directory that was checked, by its descriptor, unless it is a bpf file system.
fn mount_here(path: &Path, owners: Option<Owners>) -> Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::new("mount(bpf)", path.display().to_string(), libc::EINVAL));
    };
    let user = owners.map(|owners| owners.user.unwrap_or_else(effective_user));
    let parent = match user {
        None => Dir::open_or_create(parent, Ancestors::Protected, 0o700)?.0,
        Some(user) => directory_of(parent, user)?,
    };
    let place = or_create(&parent, name)?;
    let found = rustix::fs::fstatfs(&place).map_err(failed("fstatfs", path))?;
    if found.f_type != BPF_FS_MAGIC {
        mount_at(place.as_fd(), path, parent.readers()?)?;
        // Linux before 6.7 ignores the group of the mount. Without the right to change it, the
        // group is denied what it may read, and nothing else.
        if let Some(readers) = parent.readers()? {
            let _ = parent.open_dir(name)?.set_owner(None, Some(readers));
        }
    }
    let Some(owners) = owners else { return Ok(()) };
    // Opened again, it is the root of the file system that is mounted there.
    for dir in [&parent.open_dir(name)?, &parent] {
        dir.set_owner(user, owners.readers)?;
        dir.set_mode(if owners.readers.is_some() { SHARED_DIR } else { 0o700 })?;
    }
    Ok(())
}

/// A directory of this user or of root, in a directory that this user cannot change.
fn directory_of(path: &Path, owner: u32) -> Result<Dir> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::new("mount(bpf)", path.display().to_string(), libc::EINVAL));
    };
    let (parent, _) = Dir::open_or_create(parent, Ancestors::Protected, 0o755)?;
    let dir = or_create(&parent, name)?;
    let found = dir.metadata()?;
    if ![owner, 0].contains(&found.uid()) || found.mode() & 0o022 != 0 {
        let error = Error::new("openat", path.display().to_string(), libc::EPERM);
        return Err(error.with_detail(format!(
            "it must belong to root or to user {owner}, and no other user may write to it"
        )));
    }
    Ok(dir)
}

fn or_create(parent: &Dir, name: &std::ffi::OsStr) -> Result<Dir> {
    match parent.open_dir(name) {
        Err(error) if error.is(libc::ENOENT) => parent.create_dir(name, 0o700),
        other => other,
    }
}

/// With the calls of Linux 5.2, which take descriptors.
fn mount_at(place: BorrowedFd<'_>, path: &Path, readers: Option<u32>) -> Result<()> {
    let new = mount::fsopen("bpf", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed("fsopen", path))?;
    let configured = mount::fsconfig_set_string(&new, "source", "bpf")
        .and_then(|()| match readers {
            None => mount::fsconfig_set_string(&new, "mode", "0700"),
            Some(group) => mount::fsconfig_set_string(&new, "mode", format!("{SHARED_DIR:o}"))
                .and_then(|()| mount::fsconfig_set_string(&new, "gid", group.to_string())),
        })
        .and_then(|()| mount::fsconfig_create(&new));
    configured.map_err(failed("fsconfig(bpf)", path))?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let new = mount::fsmount(&new, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        .map_err(failed("fsmount(bpf)", path))?;
    let by_descriptors =
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    mount::move_mount(&new, "", place, "", by_descriptors).map_err(failed("mount(bpf)", path))
}

fn failed(call: &'static str, path: &Path) -> impl Fn(rustix::io::Errno) -> Error + use<> {
    let object = path.display().to_string();
    move |errno| Error::new(call, object.clone(), errno.raw_os_error())
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
