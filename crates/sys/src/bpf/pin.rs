//! Pins: names for BPF objects in a bpf file system.

use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use crate::bpf::Kind;
use crate::bpf::attr::{self, Command, ObjAttr, call, call_fd, raw};
use crate::{Error, Result};

/// `EEXIST` when the path is taken, `EPERM` or `EINVAL` when it is not in a bpf file system.
pub fn pin(fd: BorrowedFd<'_>, path: &str) -> Result<()> {
    let name = attr::c_string("bpf(OBJ_PIN)", path)?;
    let mut attr = ObjAttr { pathname: name.as_ptr() as u64, bpf_fd: raw(Some(fd)), file_flags: 0 };
    // SAFETY: the path is closed by a zero and outlives the call.
    unsafe { call(Command::ObjPin, &mut attr) }
        .map(drop)
        .map_err(|error| Error { object: path.to_owned(), ..error })
}

/// Opens the object that is pinned at `path`; [`obj_kind`] reports its kind.
pub fn open_pin(path: &str) -> Result<OwnedFd> {
    open_pin_with(path, 0)
}

/// As [`open_pin`], for reading alone, which only maps can be opened for. It takes no permission to
/// write to the pin.
pub fn open_pin_read_only(path: &str) -> Result<OwnedFd> {
    open_pin_with(path, BPF_F_RDONLY)
}

fn open_pin_with(path: &str, file_flags: u32) -> Result<OwnedFd> {
    let name = attr::c_string("bpf(OBJ_GET)", path)?;
    let pathname = name.as_ptr() as u64;
    let mut attr = ObjAttr { pathname, file_flags, ..Default::default() };
    // SAFETY: the path is closed by a zero and outlives the call; the returned descriptor is new.
    unsafe { call_fd(Command::ObjGet, &mut attr) }
        .map_err(|error| Error { object: path.to_owned(), ..error })
}

/// Removes the pin; the object exists as long as another reference to it.
pub fn unpin(path: &str) -> Result<()> {
    fs::remove_file(Path::new(path)).map_err(|error| Error::from_io("unlink", path, &error))
}

/// What a descriptor of this process is; `None` when it is nothing of BPF.
pub fn obj_kind(fd: BorrowedFd<'_>) -> Result<Option<Kind>> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let target = fs::read_link(&path).map_err(|error| Error::from_io("readlink", &path, &error))?;
    Ok(match target.to_string_lossy().as_ref() {
        "anon_inode:bpf-prog" => Some(Kind::Prog),
        "anon_inode:bpf-map" => Some(Kind::Map),
        "anon_inode:btf" => Some(Kind::Btf),
        "anon_inode:bpf_link" | "anon_inode:bpf-link" => Some(Kind::Link),
        _ => None,
    })
}

/// `BPF_F_RDONLY` of `include/uapi/linux/bpf.h`.
const BPF_F_RDONLY: u32 = 1 << 3;
