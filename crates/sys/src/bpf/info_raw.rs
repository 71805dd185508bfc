//! The kernel's `struct bpf_*_info`, as `OBJ_GET_INFO_BY_FD` fills them.
//!
//! Rule: integers without padding, so that the all-zero value is `Default`; an older kernel fills
//! a prefix and leaves the rest zero.

use crate::bpf::record::record;
use crate::bpf::uapi::{NAME_LEN, TAG_LEN};

record!(RawProgInfo {
    kind: u32,
    id: u32,
    tag: [u8; TAG_LEN],
    jited_len: u32,
    xlated_len: u32,
    jited: u64,
    xlated: u64,
    load_time: u64,
    created_by_uid: u32,
    nr_map_ids: u32,
    map_ids: u64,
    name: [u8; NAME_LEN],
    ifindex: u32,
    gpl_compatible: u32,
    netns_dev: u64,
    netns_ino: u64,
    nr_jited_ksyms: u32,
    nr_jited_func_lens: u32,
    jited_ksyms: u64,
    jited_func_lens: u64,
    btf_id: u32,
    func_info_rec_size: u32,
    func_info: u64,
    nr_func_info: u32,
    nr_line_info: u32,
    line_info: u64,
    jited_line_info: u64,
    nr_jited_line_info: u32,
    line_info_rec_size: u32,
    jited_line_info_rec_size: u32,
    nr_prog_tags: u32,
    prog_tags: u64,
    run_time_ns: u64,
    run_cnt: u64,
    recursion_misses: u64,
    verified_insns: u32,
    attach_btf_obj_id: u32,
    attach_btf_id: u32,
    pad: u32,
});

record!(RawMapInfo {
    kind: u32,
    id: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    name: [u8; NAME_LEN],
    ifindex: u32,
    btf_vmlinux_value_type_id: u32,
    netns_dev: u64,
    netns_ino: u64,
    btf_id: u32,
    btf_key_type_id: u32,
    btf_value_type_id: u32,
    pad: u32,
    extra: u64,
});

record!(RawBtfInfo { btf: u64, btf_size: u32, id: u32, name: u64, name_len: u32, kernel_btf: u32 });

// The part after `pad` is a union. XDP and tcx: an interface, and for tcx an attach type. Tracing
// and freplace: an attach type, the BTF or program that is the target, and a type in its BTF.
record!(RawLinkInfo {
    kind: u32,
    id: u32,
    prog_id: u32,
    pad: u32,
    first: u32,
    second: u32,
    third: u32,
    fourth: u32,
    rest: [u64; 4],
});

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn layouts_are_those_of_the_kernel() {
        assert_eq!(offset_of!(RawProgInfo, name), 64);
        assert_eq!(offset_of!(RawProgInfo, verified_insns), 216);
        assert_eq!(offset_of!(RawMapInfo, extra), 80);
        assert_eq!(offset_of!(RawLinkInfo, first), 16);
    }
}
