//! `union bpf_attr`, one plain structure a command, and the one place where the call is made.
//!
//! Rule: every structure is made of integers without implicit padding, so that `Default` is the
//! all-zero value. Layouts follow `include/uapi/linux/bpf.h` of Linux 6.18.

use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::bpf::record::{Record, record};
use crate::bpf::uapi::NAME_LEN;
use crate::{Error, Result};

record!(MapCreateAttr {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    map_name: [u8; NAME_LEN],
    map_ifindex: u32,
    btf_fd: u32,
    btf_key_type_id: u32,
    btf_value_type_id: u32,
    btf_vmlinux_value_type_id: u32,
    map_extra: u64,
});

record!(ElemAttr { map_fd: u32, pad: u32, key: u64, value: u64, flags: u64 });

record!(BatchAttr {
    in_batch: u64,
    out_batch: u64,
    keys: u64,
    values: u64,
    count: u32,
    map_fd: u32,
    elem_flags: u64,
    flags: u64,
});

record!(ProgLoadAttr {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    prog_name: [u8; NAME_LEN],
    prog_ifindex: u32,
    expected_attach_type: u32,
    prog_btf_fd: u32,
    func_info_rec_size: u32,
    func_info: u64,
    func_info_cnt: u32,
    line_info_rec_size: u32,
    line_info: u64,
    line_info_cnt: u32,
    attach_btf_id: u32,
    attach_prog_fd: u32,
    core_relo_cnt: u32,
    fd_array: u64,
});

record!(BtfLoadAttr {
    btf: u64,
    log_buf: u64,
    btf_size: u32,
    log_size: u32,
    log_level: u32,
    pad: u32,
});

record!(ObjAttr { pathname: u64, bpf_fd: u32, file_flags: u32 });

record!(TestRunAttr {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    ctx_size_in: u32,
    ctx_size_out: u32,
    ctx_in: u64,
    ctx_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    pad: u32,
});

record!(IdAttr { id: u32, next_id: u32, open_flags: u32, pad: u32 });

record!(InfoAttr { bpf_fd: u32, info_len: u32, info: u64 });

record!(LinkCreateAttr {
    prog_fd: u32,
    target: u32,
    attach_type: u32,
    flags: u32,
    relative: u32,
    pad: u32,
    expected_revision: u64,
});

record!(LinkUpdateAttr { link_fd: u32, new_prog_fd: u32, flags: u32, old_prog_fd: u32 });

record!(RawTracepointAttr { name: u64, prog_fd: u32, pad: u32, cookie: u64 });

// Commands that take one descriptor or number, or a few.
record!(WordsAttr { first: u32, second: u32, third: u32, pad: u32 });

/// Makes the call; a negative result becomes its errno.
///
/// # Safety
/// Every pointer in `attr` is zero or valid for what `command` reads and writes through it, for
/// the length that `attr` or the object states.
pub(super) unsafe fn call<T: Record>(command: Command, attr: &mut T) -> Result<i32> {
    let size = size_of::<T>();
    let attr: *mut T = attr;
    // SAFETY: `attr` is an exclusive reference to `size` bytes; the caller vouches for the rest.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command.code(), attr, size) };
    i32::try_from(answer)
        .ok()
        .filter(|answer| *answer >= 0)
        .ok_or_else(|| Error::last(command.name(), ""))
}

/// Calls a command that returns a new descriptor.
///
/// # Safety
/// As for [`call`]; `command` returns a descriptor without another owner.
pub(super) unsafe fn call_fd<T: Record>(command: Command, attr: &mut T) -> Result<OwnedFd> {
    // SAFETY: the caller's promise is passed on.
    let fd = unsafe { call(command, attr) }?;
    // SAFETY: the kernel has just created this descriptor, which has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A name as the kernel stores it: at most 15 bytes and a zero.
pub(super) fn name(text: &str) -> [u8; NAME_LEN] {
    let mut name = [0; NAME_LEN];
    let kept = text.len().min(NAME_LEN - 1);
    name[..kept].copy_from_slice(&text.as_bytes()[..kept]);
    name
}

/// The text before the first zero.
pub(super) fn text(raw: &[u8]) -> String {
    let end = raw.iter().position(|byte| *byte == 0).unwrap_or(raw.len());
    String::from_utf8_lossy(&raw[..end]).into_owned()
}

/// Zero where none is given, which the kernel reads as "none" in every attribute here.
pub(super) fn raw(fd: Option<BorrowedFd<'_>>) -> u32 {
    fd.map_or(0, |fd| fd.as_raw_fd().cast_unsigned())
}

/// A path or text for the kernel; one that contains a zero is rejected as by the kernel.
pub(super) fn c_string(call: &'static str, value: &str) -> Result<CString> {
    CString::new(value)
        .map_err(|_| Error::new(call, value, libc::EINVAL).with_detail("contains a zero byte"))
}

/// Zero for an empty slice: the kernel insists on that for maps without keys.
pub(super) fn pointer(bytes: &[u8]) -> u64 {
    if bytes.is_empty() { 0 } else { bytes.as_ptr() as u64 }
}

pub(super) fn pointer_mut(bytes: &mut [u8]) -> u64 {
    if bytes.is_empty() { 0 } else { bytes.as_mut_ptr() as u64 }
}

pub(super) fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

macro_rules! commands {
    ($($name:ident = $code:literal $text:literal,)*) => {
        /// `enum bpf_cmd`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Command { $($name = $code,)* }

        impl Command {
            const fn name(self) -> &'static str {
                match self { $(Self::$name => concat!("bpf(", $text, ")"),)* }
            }

            const fn code(self) -> libc::c_long {
                self as libc::c_long
            }
        }
    };
}

commands! {
    MapCreate = 0 "MAP_CREATE",
    MapLookup = 1 "MAP_LOOKUP_ELEM",
    MapUpdate = 2 "MAP_UPDATE_ELEM",
    MapDelete = 3 "MAP_DELETE_ELEM",
    MapNextKey = 4 "MAP_GET_NEXT_KEY",
    ProgLoad = 5 "PROG_LOAD",
    ObjPin = 6 "OBJ_PIN",
    ObjGet = 7 "OBJ_GET",
    TestRun = 10 "PROG_TEST_RUN",
    ProgNextId = 11 "PROG_GET_NEXT_ID",
    MapNextId = 12 "MAP_GET_NEXT_ID",
    ProgById = 13 "PROG_GET_FD_BY_ID",
    MapById = 14 "MAP_GET_FD_BY_ID",
    InfoByFd = 15 "OBJ_GET_INFO_BY_FD",
    RawTracepoint = 17 "RAW_TRACEPOINT_OPEN",
    BtfLoad = 18 "BTF_LOAD",
    BtfById = 19 "BTF_GET_FD_BY_ID",
    MapTake = 21 "MAP_LOOKUP_AND_DELETE_ELEM",
    MapFreeze = 22 "MAP_FREEZE",
    BtfNextId = 23 "BTF_GET_NEXT_ID",
    MapLookupBatch = 24 "MAP_LOOKUP_BATCH",
    MapTakeBatch = 25 "MAP_LOOKUP_AND_DELETE_BATCH",
    MapUpdateBatch = 26 "MAP_UPDATE_BATCH",
    MapDeleteBatch = 27 "MAP_DELETE_BATCH",
    LinkCreate = 28 "LINK_CREATE",
    LinkUpdate = 29 "LINK_UPDATE",
    LinkById = 30 "LINK_GET_FD_BY_ID",
    LinkNextId = 31 "LINK_GET_NEXT_ID",
    EnableStats = 32 "ENABLE_STATS",
    LinkDetach = 34 "LINK_DETACH",
    ProgBindMap = 35 "PROG_BIND_MAP",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_those_of_the_kernel() {
        // Offsets of the last field that is used, from include/uapi/linux/bpf.h.
        assert_eq!(std::mem::offset_of!(MapCreateAttr, map_extra), 64);
        assert_eq!(std::mem::offset_of!(ProgLoadAttr, fd_array), 120);
        assert_eq!(std::mem::offset_of!(TestRunAttr, batch_size), 72);
        assert_eq!(std::mem::offset_of!(BatchAttr, flags), 48);
        assert_eq!(std::mem::offset_of!(LinkCreateAttr, expected_revision), 24);
    }

    #[test]
    fn names_are_cut_to_fifteen_bytes_and_read_back() {
        assert_eq!(text(&name("a_name_that_is_too_long")), "a_name_that_is_");
        assert_eq!(text(&name("short")), "short");
        assert_eq!(text(&[]), "");
    }
}
