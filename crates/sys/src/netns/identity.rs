//! Recognizing a network namespace: by its cookie, and by the inode number of its file.

use std::fs;
use std::os::fd::AsRawFd;

use super::{NetNs, names};
use crate::error::{Error, Result};

/// `include/uapi/asm-generic/socket.h`.
const SO_NETNS_COOKIE: i32 = 71;

/// Number of the calling thread's namespace, which no other namespace gets until the next boot
/// (Linux 5.14). Inode numbers are reused.
pub fn cookie() -> Result<u64> {
    let socket = std::os::unix::net::UnixDatagram::unbound()
        .map_err(|error| Error::from_io("socket", "AF_UNIX", &error))?;
    let (mut cookie, mut size) = (0_u64, size_of::<u64>() as libc::socklen_t);
    let (value, length) = ((&raw mut cookie).cast(), &raw mut size);
    // SAFETY: the value has the size that is given, and both are exclusive.
    let answer = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_NETNS_COOKIE, value, length)
    };
    if answer != 0 {
        return Err(Error::last("getsockopt(SO_NETNS_COOKIE)", ""));
    }
    Ok(cookie)
}

/// The namespace whose file has this inode number, if it has a name or a process.
pub fn find(inode: u64) -> Option<NetNs> {
    let named = names().unwrap_or_default().into_iter().filter_map(|name| NetNs::open(&name).ok());
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let used = pids.filter_map(|pid| NetNs::of_process(pid).ok());
    named.chain(used).find(|one| one.id().is_ok_and(|id| id.inode == inode))
}
