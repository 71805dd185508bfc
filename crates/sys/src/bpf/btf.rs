//! BTF objects: load and read back.

use std::os::fd::{BorrowedFd, OwnedFd};

use crate::Result;
use crate::bpf::attr::{self, BtfLoadAttr, Command, call_fd};
use crate::bpf::info::query;
use crate::bpf::info_raw::RawBtfInfo;

/// A BTF object that the kernel holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BtfInfo {
    /// BTF id of the kernel.
    pub id: u32,
    /// `vmlinux`, a module's name, or empty for one of user space.
    pub name: String,
    /// Whether it describes the kernel or a module.
    pub kernel: bool,
    /// The blob; of a module only what it adds to `vmlinux`.
    pub raw: Vec<u8>,
}

/// Linux 4.18. With a non-empty `log` the kernel's message is written there, terminated by a zero.
pub fn btf_load(raw: &[u8], log: &mut [u8]) -> Result<OwnedFd> {
    let mut attr = BtfLoadAttr {
        btf: attr::pointer(raw),
        btf_size: attr::length(raw),
        log_buf: attr::pointer_mut(log),
        log_size: attr::length(log),
        log_level: u32::from(!log.is_empty()),
        ..Default::default()
    };
    // SAFETY: blob and log have the lengths in the attribute, and the returned descriptor is new.
    unsafe { call_fd(Command::BtfLoad, &mut attr) }
}

/// Name, origin and, if `with_blob`, contents of a BTF object.
pub fn btf_info(fd: BorrowedFd<'_>, with_blob: bool) -> Result<BtfInfo> {
    let mut name = [0; 64];
    let mut raw = RawBtfInfo {
        name: attr::pointer_mut(&mut name),
        name_len: attr::length(&name),
        ..Default::default()
    };
    // SAFETY: the one pointer set is to `name`, whose length is `name_len`.
    unsafe { query(fd, &mut raw) }?;
    let mut blob = Vec::new();
    if with_blob {
        blob = vec![0; raw.btf_size as usize];
        let mut again = RawBtfInfo {
            btf: attr::pointer_mut(&mut blob),
            btf_size: attr::length(&blob),
            ..Default::default()
        };
        // SAFETY: the one pointer set is to `blob`, whose length is `btf_size`.
        unsafe { query(fd, &mut again) }?;
    }
    Ok(BtfInfo { id: raw.id, name: attr::text(&name), kernel: raw.kernel_btf != 0, raw: blob })
}
