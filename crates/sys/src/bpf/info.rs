//! What the kernel reports about a program, a map or a link.

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::Result;
use crate::bpf::attr::{self, Command, InfoAttr, call};
use crate::bpf::info_raw::{RawLinkInfo, RawMapInfo, RawProgInfo};
use crate::bpf::record::Record;
use crate::bpf::uapi::{FUNC_INFO_SIZE, LINE_INFO_SIZE, TAG_LEN, link_type};

/// A loaded program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgInfo {
    /// `BPF_PROG_TYPE_*`.
    pub kind: u32,
    /// Program id.
    pub id: u32,
    /// Digest of the instructions.
    pub tag: [u8; TAG_LEN],
    /// Name, at most 15 bytes.
    pub name: String,
    /// Length of the machine code in bytes; 0 if the program is interpreted.
    pub jited_len: u32,
    /// Length of the translated instructions in bytes.
    pub xlated_len: u32,
    /// Nanoseconds since boot (`CLOCK_BOOTTIME`).
    pub load_time_ns: u64,
    /// User who loaded the program.
    pub uid: u32,
    /// Maps that the program uses.
    pub map_ids: Vec<u32>,
    /// Device that it is bound to, 0 for none.
    pub ifindex: u32,
    /// Whether the license permits GPL-only helpers.
    pub gpl_compatible: bool,
    /// Id of the program's BTF; 0 if it has none.
    pub btf_id: u32,
    /// Counted only while statistics are on.
    pub run_time_ns: u64,
    /// Number of runs, counted while statistics are enabled.
    pub run_count: u64,
    /// Number of runs that were skipped because the program was already running.
    pub recursion_misses: u64,
    /// Instructions that the verifier walked; 0 before Linux 5.16.
    pub verified_insns: u32,
}

/// The code of a loaded program and where it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgListing {
    /// Eight bytes a slot, after the verifier's rewriting. Empty without the right to see it.
    pub xlated: Vec<u8>,
    /// Machine code of all functions, end to end.
    pub jited: Vec<u8>,
    /// Bytes of machine code of each function.
    pub function_lens: Vec<u32>,
    /// Kernel address of each function.
    pub function_addresses: Vec<u64>,
    /// `struct bpf_func_info`: (first slot, BTF id).
    pub functions: Vec<(u32, u32)>,
    /// `struct bpf_line_info`: slot, file, text, line and column as four words.
    pub lines: Vec<[u32; 4]>,
    /// Kernel address of the first machine instruction of each of `lines`.
    pub line_addresses: Vec<u64>,
}

/// A map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapInfo {
    /// `BPF_MAP_TYPE_*`.
    pub kind: u32,
    /// Map id.
    pub id: u32,
    /// Size of a key in bytes.
    pub key_size: u32,
    /// Size in bytes of the value of one CPU.
    pub value_size: u32,
    /// Number of elements that the map can hold.
    pub max_entries: u32,
    /// `BPF_F_*` flags of its creation.
    pub flags: u32,
    /// Name, at most 15 bytes.
    pub name: String,
    /// Device to which the map is bound; 0 for none.
    pub ifindex: u32,
    /// Id of the map's BTF; 0 if it has none.
    pub btf_id: u32,
    /// Type id of the key in that BTF.
    pub key_type: u32,
    /// Type id of the value in that BTF.
    pub value_type: u32,
    /// `map_extra`: the meaning depends on the map's type.
    pub extra: u64,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    /// `BPF_LINK_TYPE_*`.
    pub kind: u32,
    /// Link id.
    pub id: u32,
    /// Id of the attached program.
    pub prog_id: u32,
    /// What the program is attached to.
    pub target: LinkTarget,
}

/// Where a link is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    /// 0 after a detach or when the interface is gone.
    Xdp {
        ifindex: u32,
    },
    Tcx {
        ifindex: u32,
        attach_type: u32,
    },
    /// A function of the kernel or of a program, which is replaced (`freplace`) or traced.
    Function {
        /// Id of the program that has the function, or of the kernel's BTF; 0 before Linux 5.13.
        object: u32,
        /// Type of the function in the BTF of the object.
        btf_type: u32,
    },
    Other,
}

/// Reads the properties of a map.
pub fn map_info(fd: BorrowedFd<'_>) -> Result<MapInfo> {
    let mut raw = RawMapInfo::default();
    // SAFETY: no pointers are set.
    unsafe { query(fd, &mut raw) }?;
    Ok(MapInfo {
        kind: raw.kind,
        id: raw.id,
        key_size: raw.key_size,
        value_size: raw.value_size,
        max_entries: raw.max_entries,
        flags: raw.flags,
        name: attr::text(&raw.name),
        ifindex: raw.ifindex,
        btf_id: raw.btf_id,
        key_type: raw.btf_key_type_id,
        value_type: raw.btf_value_type_id,
        extra: raw.extra,
    })
}

/// Reads the properties of a link.
pub fn link_info(fd: BorrowedFd<'_>) -> Result<LinkInfo> {
    let mut raw = RawLinkInfo::default();
    // SAFETY: no pointers are set.
    unsafe { query(fd, &mut raw) }?;
    let target = match raw.kind {
        link_type::XDP => LinkTarget::Xdp { ifindex: raw.first },
        link_type::TCX => LinkTarget::Tcx { ifindex: raw.first, attach_type: raw.second },
        link_type::TRACING => LinkTarget::Function { object: raw.second, btf_type: raw.third },
        _ => LinkTarget::Other,
    };
    Ok(LinkInfo { kind: raw.kind, id: raw.id, prog_id: raw.prog_id, target })
}

/// Reads the properties of a program.
pub fn prog_info(fd: BorrowedFd<'_>) -> Result<ProgInfo> {
    let sizes = prog_sizes(fd)?;
    let mut map_ids = vec![0u32; sizes.nr_map_ids as usize];
    let mut raw = RawProgInfo {
        nr_map_ids: sizes.nr_map_ids,
        map_ids: array(&mut map_ids),
        ..Default::default()
    };
    // SAFETY: the one pointer set is to `map_ids`, whose length is `nr_map_ids`.
    unsafe { query(fd, &mut raw) }?;
    map_ids.truncate(raw.nr_map_ids as usize);
    Ok(ProgInfo {
        kind: raw.kind,
        id: raw.id,
        tag: raw.tag,
        name: attr::text(&raw.name),
        jited_len: raw.jited_len,
        xlated_len: raw.xlated_len,
        load_time_ns: raw.load_time,
        uid: raw.created_by_uid,
        map_ids,
        ifindex: raw.ifindex,
        gpl_compatible: raw.gpl_compatible & 1 != 0,
        btf_id: raw.btf_id,
        run_time_ns: raw.run_time_ns,
        run_count: raw.run_cnt,
        recursion_misses: raw.recursion_misses,
        verified_insns: raw.verified_insns,
    })
}

/// The instructions as the kernel runs them. Parts that it does not show are empty.
pub fn prog_listing(fd: BorrowedFd<'_>) -> Result<ProgListing> {
    let sizes = prog_sizes(fd)?;
    let mut code = ProgListing {
        xlated: vec![0; sizes.xlated_len as usize],
        jited: vec![0; sizes.jited_len as usize],
        function_lens: vec![0; sizes.nr_jited_func_lens as usize],
        function_addresses: vec![0; sizes.nr_jited_ksyms as usize],
        line_addresses: vec![0; sizes.nr_jited_line_info as usize],
        functions: Vec::new(),
        lines: Vec::new(),
    };
    let mut functions = vec![[0u32; 2]; sizes.nr_func_info as usize];
    code.lines = vec![[0u32; 4]; sizes.nr_line_info as usize];
    let mut raw = RawProgInfo {
        xlated_len: sizes.xlated_len,
        xlated: array(&mut code.xlated),
        jited_len: sizes.jited_len,
        jited: array(&mut code.jited),
        nr_jited_func_lens: sizes.nr_jited_func_lens,
        jited_func_lens: array(&mut code.function_lens),
        nr_jited_ksyms: sizes.nr_jited_ksyms,
        jited_ksyms: array(&mut code.function_addresses),
        nr_func_info: sizes.nr_func_info,
        func_info: array(&mut functions),
        func_info_rec_size: FUNC_INFO_SIZE as u32,
        nr_line_info: sizes.nr_line_info,
        line_info: array(&mut code.lines),
        line_info_rec_size: LINE_INFO_SIZE as u32,
        nr_jited_line_info: sizes.nr_jited_line_info,
        jited_line_info: array(&mut code.line_addresses),
        jited_line_info_rec_size: size_of::<u64>() as u32,
        ..Default::default()
    };
    // SAFETY: each pointer set is to an array of the length in its count field.
    unsafe { query(fd, &mut raw) }?;
    code.functions = functions.into_iter().map(|[slot, id]| (slot, id)).collect();
    hide(&mut code, &raw);
    Ok(code)
}

/// The kernel zeroes the pointer of a part that the caller may not see.
fn hide(code: &mut ProgListing, raw: &RawProgInfo) {
    if raw.xlated == 0 {
        code.xlated.clear();
    }
    if raw.jited == 0 {
        code.jited.clear();
        code.function_lens.clear();
        code.line_addresses.clear();
    }
}

/// Counts and lengths alone.
fn prog_sizes(fd: BorrowedFd<'_>) -> Result<RawProgInfo> {
    let mut raw = RawProgInfo::default();
    // SAFETY: no pointers are set.
    unsafe { query(fd, &mut raw) }?;
    Ok(raw)
}

fn array<T>(items: &mut [T]) -> u64 {
    if items.is_empty() { 0 } else { items.as_mut_ptr() as u64 }
}

/// Fills `info` from the kernel.
///
/// # Safety
/// Every pointer set in `info` is valid for writes of the length in its count field.
pub(super) unsafe fn query<T: Record>(fd: BorrowedFd<'_>, info: &mut T) -> Result<()> {
    let mut attr = InfoAttr {
        bpf_fd: fd.as_raw_fd().cast_unsigned(),
        info_len: size_of::<T>() as u32,
        info: std::ptr::from_mut(info) as u64,
    };
    // SAFETY: `info` is exclusive and `info_len` bytes long, and the caller vouches for the
    // pointers in it.
    unsafe { call(Command::InfoByFd, &mut attr) }.map(drop)
}
