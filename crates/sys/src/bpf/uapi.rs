//! Numbers of `include/uapi/linux/bpf.h` and `if_link.h` that libc does not have, under the
//! kernel's names without their common prefix.
//!
//! Not here: opcodes; those are in `spec::insn`.

/// `BPF_OBJ_NAME_LEN`, the closing zero included.
pub const NAME_LEN: usize = 16;
/// Bytes of a `struct bpf_func_info`.
pub const FUNC_INFO_SIZE: usize = 8;
/// Bytes of a `struct bpf_line_info`.
pub const LINE_INFO_SIZE: usize = 16;
/// `BPF_TAG_SIZE`.
pub const TAG_LEN: usize = 8;

macro_rules! table {
    ($(#[$doc:meta])* $module:ident { $($name:ident = $code:literal $text:literal,)* }) => {
        $(#[$doc])*
        pub mod $module {
            $(pub const $name: u32 = $code;)*

            /// The kernel's word in lower case, `None` for a number newer than this table.
            pub fn name(code: u32) -> Option<&'static str> {
                match code {
                    $($code => Some($text),)*
                    _ => None,
                }
            }

            /// The number that belongs to a word of [`name`].
            pub fn code(name: &str) -> Option<u32> {
                match name {
                    $($text => Some($code),)*
                    _ => None,
                }
            }
        }
    };
}

table!(
    /// `BPF_MAP_TYPE_*`.
    map_type {
        HASH = 1 "hash",
        ARRAY = 2 "array",
        PROG_ARRAY = 3 "prog_array",
        PERF_EVENT_ARRAY = 4 "perf_event_array",
        PERCPU_HASH = 5 "percpu_hash",
        PERCPU_ARRAY = 6 "percpu_array",
        STACK_TRACE = 7 "stack_trace",
        CGROUP_ARRAY = 8 "cgroup_array",
        LRU_HASH = 9 "lru_hash",
        LRU_PERCPU_HASH = 10 "lru_percpu_hash",
        LPM_TRIE = 11 "lpm_trie",
        ARRAY_OF_MAPS = 12 "array_of_maps",
        HASH_OF_MAPS = 13 "hash_of_maps",
        DEVMAP = 14 "devmap",
        SOCKMAP = 15 "sockmap",
        CPUMAP = 16 "cpumap",
        XSKMAP = 17 "xskmap",
        SOCKHASH = 18 "sockhash",
        CGROUP_STORAGE = 19 "cgroup_storage",
        REUSEPORT_SOCKARRAY = 20 "reuseport_sockarray",
        PERCPU_CGROUP_STORAGE = 21 "percpu_cgroup_storage",
        QUEUE = 22 "queue",
        STACK = 23 "stack",
        SK_STORAGE = 24 "sk_storage",
        DEVMAP_HASH = 25 "devmap_hash",
        STRUCT_OPS = 26 "struct_ops",
        RINGBUF = 27 "ringbuf",
        INODE_STORAGE = 28 "inode_storage",
        TASK_STORAGE = 29 "task_storage",
        BLOOM_FILTER = 30 "bloom_filter",
        USER_RINGBUF = 31 "user_ringbuf",
        CGRP_STORAGE = 32 "cgrp_storage",
        ARENA = 33 "arena",
        INSN_ARRAY = 34 "insn_array",
    }
);

table!(
    /// `BPF_PROG_TYPE_*`.
    prog_type {
        SOCKET_FILTER = 1 "socket_filter",
        KPROBE = 2 "kprobe",
        SCHED_CLS = 3 "sched_cls",
        SCHED_ACT = 4 "sched_act",
        TRACEPOINT = 5 "tracepoint",
        XDP = 6 "xdp",
        PERF_EVENT = 7 "perf_event",
        CGROUP_SKB = 8 "cgroup_skb",
        CGROUP_SOCK = 9 "cgroup_sock",
        LWT_IN = 10 "lwt_in",
        LWT_OUT = 11 "lwt_out",
        LWT_XMIT = 12 "lwt_xmit",
        SOCK_OPS = 13 "sock_ops",
        SK_SKB = 14 "sk_skb",
        CGROUP_DEVICE = 15 "cgroup_device",
        SK_MSG = 16 "sk_msg",
        RAW_TRACEPOINT = 17 "raw_tracepoint",
        CGROUP_SOCK_ADDR = 18 "cgroup_sock_addr",
        LWT_SEG6LOCAL = 19 "lwt_seg6local",
        LIRC_MODE2 = 20 "lirc_mode2",
        SK_REUSEPORT = 21 "sk_reuseport",
        FLOW_DISSECTOR = 22 "flow_dissector",
        CGROUP_SYSCTL = 23 "cgroup_sysctl",
        RAW_TRACEPOINT_WRITABLE = 24 "raw_tracepoint_writable",
        CGROUP_SOCKOPT = 25 "cgroup_sockopt",
        TRACING = 26 "tracing",
        STRUCT_OPS = 27 "struct_ops",
        EXT = 28 "ext",
        LSM = 29 "lsm",
        SK_LOOKUP = 30 "sk_lookup",
        SYSCALL = 31 "syscall",
        NETFILTER = 32 "netfilter",
    }
);

table!(
    /// `BPF_LINK_TYPE_*`.
    link_type {
        RAW_TRACEPOINT = 1 "raw_tracepoint",
        TRACING = 2 "tracing",
        CGROUP = 3 "cgroup",
        ITER = 4 "iter",
        NETNS = 5 "netns",
        XDP = 6 "xdp",
        PERF_EVENT = 7 "perf_event",
        KPROBE_MULTI = 8 "kprobe_multi",
        STRUCT_OPS = 9 "struct_ops",
        NETFILTER = 10 "netfilter",
        TCX = 11 "tcx",
        UPROBE_MULTI = 12 "uprobe_multi",
        NETKIT = 13 "netkit",
        SOCKMAP = 14 "sockmap",
    }
);

/// `enum bpf_attach_type`, those that Expressway uses.
pub mod attach_type {
    /// Entry of a kernel function.
    pub const TRACE_FENTRY: u32 = 24;
    /// Second program of a device map's element.
    pub const XDP_DEVMAP: u32 = 33;
    /// Second program of a CPU map's element.
    pub const XDP_CPUMAP: u32 = 35;
    /// Receive path of an interface.
    pub const XDP: u32 = 37;
    /// Traffic control, received packets.
    pub const TCX_INGRESS: u32 = 46;
    /// Traffic control, sent packets.
    pub const TCX_EGRESS: u32 = 47;
}

/// Flags of `MAP_CREATE`.
pub mod map_flag {
    /// Allocate elements on demand.
    pub const NO_PREALLOC: u32 = 1;
    /// Allocate memory on one NUMA node.
    pub const NUMA_NODE: u32 = 1 << 2;
    /// System calls may only read.
    pub const RDONLY: u32 = 1 << 3;
    /// System calls may only write.
    pub const WRONLY: u32 = 1 << 4;
    /// Programs may only read.
    pub const RDONLY_PROG: u32 = 1 << 7;
    /// User space may map the values.
    pub const MMAPABLE: u32 = 1 << 10;
    /// Inner maps may differ in their number of elements.
    pub const INNER_MAP: u32 = 1 << 12;
}

/// Flags of `MAP_UPDATE_ELEM`.
pub mod update_flag {
    /// Create or replace an element.
    pub const ANY: u64 = 0;
    /// Create an element; fail if it exists.
    pub const NO_EXIST: u64 = 1;
    /// Replace an element; fail if it does not exist.
    pub const EXIST: u64 = 2;
    /// Hold the element's spin lock meanwhile.
    pub const LOCK: u64 = 4;
}

/// Flags of `PROG_LOAD`.
pub mod prog_flag {
    /// Skip alignment checks.
    pub const ANY_ALIGNMENT: u32 = 1 << 1;
    /// The program may sleep.
    pub const SLEEPABLE: u32 = 1 << 4;
    /// The XDP program supports frames of several buffers.
    pub const XDP_HAS_FRAGS: u32 = 1 << 5;
    /// The program is bound to a device, whose metadata functions it may call.
    pub const XDP_DEV_BOUND_ONLY: u32 = 1 << 6;
}

/// Flags of `PROG_TEST_RUN`.
pub mod test_flag {
    /// Run a raw tracepoint program on a given CPU.
    pub const RUN_ON_CPU: u32 = 1;
    /// Execute the verdicts on real frames (Linux 5.18).
    pub const XDP_LIVE_FRAMES: u32 = 1 << 1;
}

/// `XDP_FLAGS_*`, for links and for netlink alike.
pub mod xdp_flag {
    /// Fail if a program is attached.
    pub const UPDATE_IF_NOEXIST: u32 = 1;
    /// Generic mode.
    pub const SKB_MODE: u32 = 1 << 1;
    /// Native mode.
    pub const DRV_MODE: u32 = 1 << 2;
    /// Offload to the device.
    pub const HW_MODE: u32 = 1 << 3;
    /// Compare the attached program with the expected one.
    pub const REPLACE: u32 = 1 << 4;
}

/// Bits in the length word of a ring buffer record.
pub mod ringbuf {
    /// In a record's length: the record is not complete.
    pub const BUSY: u32 = 1 << 31;
    /// In a record's length: the record was discarded.
    pub const DISCARD: u32 = 1 << 30;
    /// Size in bytes of the header of a record.
    pub const HEADER_LEN: usize = 8;
}

/// `BPF_F_REPLACE`: a link update names the program that it expects to find.
pub const LINK_REPLACE: u32 = 1 << 2;

/// `BPF_STATS_RUN_TIME`.
pub const STATS_RUN_TIME: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_inverse() {
        assert_eq!(map_type::name(map_type::DEVMAP_HASH), Some("devmap_hash"));
        assert_eq!(map_type::code("devmap_hash"), Some(map_type::DEVMAP_HASH));
        assert_eq!(prog_type::code("xdp"), Some(6));
        assert_eq!(link_type::name(999), None);
    }
}
