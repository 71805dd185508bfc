//! Programs: loading, binding of maps, run-time statistics.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::bpf::Map;
use crate::bpf::attr::{self, Command, ProgLoadAttr, WordsAttr, call, call_fd, raw};
use crate::bpf::uapi::{FUNC_INFO_SIZE, LINE_INFO_SIZE};
use crate::{Error, Result};

/// What `PROG_LOAD` takes. Zero, empty and `None` mean "not given".
#[derive(Debug, Default)]
pub struct ProgLoad<'a> {
    /// Name, truncated to 15 bytes.
    pub name: &'a str,
    /// `BPF_PROG_TYPE_*`.
    pub kind: u32,
    /// Expected attach type (`enum bpf_attach_type`).
    pub attach_type: u32,
    /// `BPF_F_*` flags.
    pub flags: u32,
    /// License, such as `GPL`.
    pub license: &'a str,
    /// Eight bytes a slot.
    pub insns: &'a [u8],
    /// Types for the function and line information.
    pub btf: Option<BorrowedFd<'a>>,
    /// `struct bpf_func_info` records of eight bytes.
    pub func_info: &'a [u8],
    /// `struct bpf_line_info` records of 16 bytes.
    pub line_info: &'a [u8],
    /// BTF objects (and maps) that instructions name by index.
    pub fd_array: &'a [BorrowedFd<'a>],
    /// Device that the program is bound to.
    pub ifindex: u32,
    /// Type id of the function that the program attaches to or replaces.
    pub attach_btf_id: u32,
    /// Program whose function is replaced or traced.
    pub attach_prog: Option<BorrowedFd<'a>>,
    /// 0 for none, 1 or 2 for more and most, 4 for statistics alone.
    pub log_level: u32,
}

/// Verifies and loads a program. With a `log_level` the verifier's text is written to `log`,
/// terminated by a zero;
/// `ENOSPC` means that it was too small.
pub fn prog_load(load: &ProgLoad<'_>, log: &mut [u8]) -> Result<OwnedFd> {
    let license = attr::c_string("bpf(PROG_LOAD)", load.license)?;
    let fds: Vec<i32> = load.fd_array.iter().map(|fd| fd.as_raw_fd()).collect();
    let mut attr = ProgLoadAttr {
        prog_type: load.kind,
        insn_cnt: records(load.insns, 8),
        insns: attr::pointer(load.insns),
        license: license.as_ptr() as u64,
        prog_flags: load.flags,
        prog_name: attr::name(load.name),
        prog_ifindex: load.ifindex,
        expected_attach_type: load.attach_type,
        attach_btf_id: load.attach_btf_id,
        attach_prog_fd: raw(load.attach_prog),
        ..Default::default()
    };
    if load.log_level != 0 {
        attr.log_level = load.log_level;
        attr.log_size = attr::length(log);
        attr.log_buf = attr::pointer_mut(log);
    }
    if !fds.is_empty() {
        attr.fd_array = fds.as_ptr() as u64;
    }
    if load.btf.is_some() {
        set_btf(&mut attr, load);
    }
    // SAFETY: insns, both info tables and the log have the lengths in their counts; the license is
    // closed by a zero. `fds` is read at the indices that instructions name: the kernel checks
    // each read, and a wrong index can only return an error or name a number that is not
    // a descriptor of this process.
    unsafe { call_fd(Command::ProgLoad, &mut attr) }
        .map_err(|error| Error { object: load.name.to_owned(), ..error })
}

/// Keeps `map` alive as long as `program`. Linux 5.10.
pub fn bind_map(program: BorrowedFd<'_>, map: &Map) -> Result<()> {
    let mut attr = WordsAttr {
        first: raw(Some(program)),
        second: raw(Some(map.as_fd())),
        ..Default::default()
    };
    // SAFETY: this attribute holds no pointers.
    unsafe { call(Command::ProgBindMap, &mut attr) }.map(drop)
}

/// Programs count their runs and time while the descriptor is open. Linux 5.8, `CAP_SYS_ADMIN`.
pub fn enable_stats() -> Result<OwnedFd> {
    let mut attr = WordsAttr { first: crate::bpf::uapi::STATS_RUN_TIME, ..Default::default() };
    // SAFETY: this attribute holds no pointers, and the returned descriptor is new.
    unsafe { call_fd(Command::EnableStats, &mut attr) }
}

fn set_btf(attr: &mut ProgLoadAttr, load: &ProgLoad<'_>) {
    attr.prog_btf_fd = raw(load.btf);
    if !load.func_info.is_empty() {
        attr.func_info = attr::pointer(load.func_info);
        attr.func_info_rec_size = FUNC_INFO_SIZE as u32;
        attr.func_info_cnt = records(load.func_info, FUNC_INFO_SIZE);
    }
    if !load.line_info.is_empty() {
        attr.line_info = attr::pointer(load.line_info);
        attr.line_info_rec_size = LINE_INFO_SIZE as u32;
        attr.line_info_cnt = records(load.line_info, LINE_INFO_SIZE);
    }
}

/// Whole records only: the count never reaches beyond the bytes.
fn records(bytes: &[u8], size: usize) -> u32 {
    u32::try_from(bytes.len() / size).unwrap_or(u32::MAX)
}
