//! The mounts that names and private `/sys` views of a namespace are made of.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::{fs, io};

use crate::error::{Error, Result};

/// Makes the folder of names, shared as `ip netns` makes it: a name removed here disappears in
/// other mount namespaces too, so none of them keeps the network alive.
pub(super) fn prepare_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .map_err(|error| Error::from_io("mkdir", folder.to_string_lossy(), &error))?;
    let share = || mount(None, folder, libc::MS_SHARED | libc::MS_REC);
    match share() {
        Err(error) if error.is(libc::EINVAL) => {
            mount(Some(folder), folder, libc::MS_BIND | libc::MS_REC)?;
            share()
        }
        other => other,
    }
}

pub(super) fn bind(from: &Path, to: &Path) -> Result<()> {
    mount(Some(from), to, libc::MS_BIND)
}

/// Mounts a `/sys` of the calling thread's network namespace, seen by no other thread. The thread
/// must have a mount namespace of its own. Safe between fork and exec: it allocates nothing.
pub(super) fn private_sys(flags: libc::c_ulong) -> io::Result<()> {
    mount_static(c"/", None, libc::MS_SLAVE | libc::MS_REC)?;
    mount_static(c"/sys", Some(c"sysfs"), flags | SYS_FLAGS)
}

/// `MS_RDONLY` where `/sys` is mounted read-only, as in most containers, so that a new one gives
/// no more than the old one.
pub(super) fn sys_access() -> libc::c_ulong {
    // SAFETY: all-zero is a valid `statvfs`.
    let mut status: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is zero-terminated and `status` is exclusive.
    let answer = unsafe { libc::statvfs(c"/sys".as_ptr(), &raw mut status) };
    let is_read_only = answer == 0 && status.f_flag & libc::ST_RDONLY != 0;
    if is_read_only { libc::MS_RDONLY } else { 0 }
}

fn mount_static(to: &CStr, kind: Option<&CStr>, flags: libc::c_ulong) -> io::Result<()> {
    let kind = kind.map_or(ptr::null(), CStr::as_ptr);
    let (source, target) = (c"none".as_ptr(), to.as_ptr());
    // SAFETY: the strings are zero-terminated or null, and outlive the call; no data.
    let status = unsafe { libc::mount(source, target, kind, flags, ptr::null()) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes the mount at `path` away; not an error when there is none.
pub(super) fn detach(path: &Path) -> Result<()> {
    let target = c_path(path)?;
    // SAFETY: `target` is a zero-terminated string that outlives the call.
    let status = unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH | UMOUNT_NOFOLLOW) };
    if status == 0 {
        return Ok(());
    }
    let error = Error::last("umount2", path.to_string_lossy());
    if error.is(libc::EINVAL) || error.is(libc::ENOENT) { Ok(()) } else { Err(error) }
}

/// A file of the kernel's namespace file system, not the plain file below a lost mount.
pub(super) fn is_namespace(fd: BorrowedFd<'_>) -> Result<bool> {
    // SAFETY: all-zero is a valid `statfs`.
    let mut status: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is writable and `fd` is open.
    let answer = unsafe { libc::fstatfs(fd.as_raw_fd(), &mut status) };
    if answer < 0 {
        return Err(Error::last("fstatfs", "namespace"));
    }
    Ok(status.f_type as i64 == NSFS_MAGIC)
}

fn mount(from: Option<&Path>, to: &Path, flags: libc::c_ulong) -> Result<()> {
    let source = from.map(c_path).transpose()?.unwrap_or_else(|| c"none".to_owned());
    let target = c_path(to)?;
    let (source, target) = (source.as_ptr(), target.as_ptr());
    // SAFETY: both strings are zero-terminated and outlive the call; no type and no data.
    let status = unsafe { libc::mount(source, target, ptr::null(), flags, ptr::null()) };
    if status < 0 { Err(Error::last("mount", to.to_string_lossy())) } else { Ok(()) }
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new("mount", path.to_string_lossy(), libc::EINVAL))
}

/// As the first `/sys` of a machine is mounted.
const SYS_FLAGS: libc::c_ulong = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
const UMOUNT_NOFOLLOW: i32 = 8;
/// include/uapi/linux/magic.h
const NSFS_MAGIC: i64 = 0x6e73_6673;
