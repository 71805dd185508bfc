//! Program types derived from section names, and the numbers of program, attach and map types.
//!
//! The names are those that libbpf, iproute2 and the kernel's samples use; the numbers those of
//! `include/uapi/linux/bpf.h`. An unknown name yields type 0: the caller must specify it.

use crate::model::{MapKind, ProgramKind};

impl ProgramKind {
    /// XDP program of an interface.
    pub const XDP: Self = Self::new(6, 37);
    /// XDP program that supports frames of several buffers.
    pub const XDP_FRAGS: Self = Self { flags: XDP_HAS_FRAGS, ..Self::XDP };
    /// XDP program of a device map's element.
    pub const XDP_DEVMAP: Self = Self::new(6, 33);
    /// XDP program of a CPU map's element.
    pub const XDP_CPUMAP: Self = Self::new(6, 35);
    /// Traffic-control classifier.
    pub const TC: Self = Self::new(3, 0);
    /// Traffic-control program attached by tcx, for received packets.
    pub const TCX_INGRESS: Self = Self::new(3, 46);
    /// Traffic-control program attached by tcx, for sent packets.
    pub const TCX_EGRESS: Self = Self::new(3, 47);
    /// Socket filter.
    pub const SOCKET_FILTER: Self = Self::new(1, 0);
    /// Program that `bpf(PROG_TEST_RUN)` runs in process context.
    pub const SYSCALL: Self = Self { flags: SLEEPABLE, ..Self::new(31, 0) };

    const fn new(program_type: u32, attach_type: u32) -> Self {
        Self { program_type, attach_type, flags: 0 }
    }

    /// Whether neither section nor caller has specified the type.
    pub fn is_unknown(self) -> bool {
        self.program_type == 0
    }

    /// Whether it is an XDP program of any kind.
    pub fn is_xdp(self) -> bool {
        self.program_type == Self::XDP.program_type
    }

    /// As `bpf.h` spells the type after `BPF_PROG_TYPE_`, in lower case; `None` for unknown
    /// numbers.
    pub fn name(self) -> Option<&'static str> {
        PROGRAM_NAMES.get(self.program_type as usize).copied()
    }

    /// The type that a section name implies; `None` if no convention defines it.
    ///
    /// A leading `?` and what follows the first `/` (a target, an order number) count only where
    /// the table names them. `xdp` followed by any text is XDP: old samples number sections.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix('?').unwrap_or(name);
        SECTIONS
            .iter()
            .filter(|(known, _)| covers(known, name))
            .max_by_key(|(known, _)| known.len())
            .map(|(_, kind)| *kind)
            .or_else(|| name.starts_with("xdp").then_some(Self::XDP))
    }
}

impl MapKind {
    /// Hash table.
    pub const HASH: Self = Self(1);
    /// Array.
    pub const ARRAY: Self = Self(2);
    /// Array of programs for tail calls.
    pub const PROG_ARRAY: Self = Self(3);
    /// Ring buffers of perf events, one for each CPU.
    pub const PERF_EVENT_ARRAY: Self = Self(4);
    /// Hash table with a value for each CPU.
    pub const PERCPU_HASH: Self = Self(5);
    /// Array with a value for each CPU.
    pub const PERCPU_ARRAY: Self = Self(6);
    /// Stack traces.
    pub const STACK_TRACE: Self = Self(7);
    /// Hash table that evicts the least recently used elements.
    pub const LRU_HASH: Self = Self(9);
    /// Per-CPU hash table that evicts the least recently used elements.
    pub const LRU_PERCPU_HASH: Self = Self(10);
    /// Longest-prefix-match trie.
    pub const LPM_TRIE: Self = Self(11);
    /// Array of maps.
    pub const ARRAY_OF_MAPS: Self = Self(12);
    /// Hash table of maps.
    pub const HASH_OF_MAPS: Self = Self(13);
    /// Array of devices for redirects.
    pub const DEVMAP: Self = Self(14);
    /// Array of CPUs for redirects.
    pub const CPUMAP: Self = Self(16);
    /// Array of AF_XDP sockets for redirects.
    pub const XSKMAP: Self = Self(17);
    /// FIFO queue.
    pub const QUEUE: Self = Self(22);
    /// LIFO stack.
    pub const STACK: Self = Self(23);
    /// Hash table of devices for redirects.
    pub const DEVMAP_HASH: Self = Self(25);
    /// Ring buffer from programs to user space.
    pub const RINGBUF: Self = Self(27);
    /// Bloom filter.
    pub const BLOOM_FILTER: Self = Self(30);
    /// Ring buffer from user space to programs.
    pub const USER_RINGBUF: Self = Self(31);
    /// Memory shared by programs and user space.
    pub const ARENA: Self = Self(33);

    /// Whether its values are maps.
    pub fn is_map_of_maps(self) -> bool {
        matches!(self, Self::ARRAY_OF_MAPS | Self::HASH_OF_MAPS)
    }

    /// Whether a value is one for each possible CPU.
    pub fn is_per_cpu(self) -> bool {
        // 21: per-CPU cgroup storage.
        matches!(self, Self::PERCPU_HASH | Self::PERCPU_ARRAY | Self::LRU_PERCPU_HASH)
            || self.0 == 21
    }

    /// As `bpf.h` spells it after `BPF_MAP_TYPE_`, in lower case; `None` for unknown numbers.
    pub fn name(self) -> Option<&'static str> {
        MAP_NAMES.get(self.0 as usize).copied()
    }
}

/// A table name covers a section of the same name or followed by `/`.
fn covers(known: &str, name: &str) -> bool {
    name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `BPF_F_SLEEPABLE`.
const SLEEPABLE: u32 = 1 << 4;
/// `BPF_F_XDP_HAS_FRAGS`.
const XDP_HAS_FRAGS: u32 = 1 << 5;

const fn plain(name: &str, program_type: u32, attach_type: u32) -> (&str, ProgramKind) {
    (name, ProgramKind::new(program_type, attach_type))
}

const fn with(name: &str, program_type: u32, attach_type: u32, flags: u32) -> (&str, ProgramKind) {
    (name, ProgramKind { program_type, attach_type, flags })
}

#[rustfmt::skip]
const SECTIONS: &[(&str, ProgramKind)] = &[
    // Packets at the driver and in the stack.
    plain("xdp", 6, 37),
    plain("xdp/devmap", 6, 33),
    plain("xdp/cpumap", 6, 35),
    plain("xdp_devmap", 6, 33),
    plain("xdp_cpumap", 6, 35),
    with("xdp.frags", 6, 37, XDP_HAS_FRAGS),
    with("xdp.frags/devmap", 6, 33, XDP_HAS_FRAGS),
    with("xdp.frags/cpumap", 6, 35, XDP_HAS_FRAGS),
    plain("tc", 3, 0),
    plain("tc/ingress", 3, 46),
    plain("tc/egress", 3, 47),
    plain("tcx/ingress", 3, 46),
    plain("tcx/egress", 3, 47),
    plain("classifier", 3, 0),
    plain("cls", 3, 0),
    plain("ingress", 3, 0),
    plain("egress", 3, 0),
    plain("action", 4, 0),
    plain("act", 4, 0),
    plain("netkit/primary", 3, 54),
    plain("netkit/peer", 3, 55),
    plain("lwt_in", 10, 0),
    plain("lwt_out", 11, 0),
    plain("lwt_xmit", 12, 0),
    plain("lwt_seg6local", 19, 0),
    plain("flow_dissector", 22, 17),
    plain("netfilter", 32, 45),
    // Sockets.
    plain("socket", 1, 0),
    plain("sockops", 13, 3),
    plain("sk_skb", 14, 0),
    plain("sk_skb/stream_parser", 14, 4),
    plain("sk_skb/stream_verdict", 14, 5),
    plain("sk_skb/verdict", 14, 38),
    plain("sk_msg", 16, 7),
    plain("sk_reuseport", 21, 39),
    plain("sk_reuseport/migrate", 21, 40),
    plain("sk_lookup", 30, 36),
    // Control groups.
    plain("cgroup_skb/ingress", 8, 0),
    plain("cgroup_skb/egress", 8, 1),
    plain("cgroup/skb", 8, 0),
    plain("cgroup/sock_create", 9, 2),
    plain("cgroup/sock_release", 9, 34),
    plain("cgroup/sock", 9, 2),
    plain("cgroup/post_bind4", 9, 12),
    plain("cgroup/post_bind6", 9, 13),
    plain("cgroup/dev", 15, 6),
    plain("cgroup/bind4", 18, 8),
    plain("cgroup/bind6", 18, 9),
    plain("cgroup/connect4", 18, 10),
    plain("cgroup/connect6", 18, 11),
    plain("cgroup/sendmsg4", 18, 14),
    plain("cgroup/sendmsg6", 18, 15),
    plain("cgroup/recvmsg4", 18, 19),
    plain("cgroup/recvmsg6", 18, 20),
    plain("cgroup/getpeername4", 18, 29),
    plain("cgroup/getpeername6", 18, 30),
    plain("cgroup/getsockname4", 18, 31),
    plain("cgroup/getsockname6", 18, 32),
    plain("cgroup/connect_unix", 18, 49),
    plain("cgroup/sendmsg_unix", 18, 50),
    plain("cgroup/recvmsg_unix", 18, 51),
    plain("cgroup/getpeername_unix", 18, 52),
    plain("cgroup/getsockname_unix", 18, 53),
    plain("cgroup/sysctl", 23, 18),
    plain("cgroup/getsockopt", 25, 21),
    plain("cgroup/setsockopt", 25, 22),
    // Tracing.
    plain("kprobe", 2, 0),
    plain("kretprobe", 2, 0),
    plain("uprobe", 2, 0),
    plain("uretprobe", 2, 0),
    with("uprobe.s", 2, 0, SLEEPABLE),
    with("uretprobe.s", 2, 0, SLEEPABLE),
    plain("kprobe.multi", 2, 42),
    plain("kretprobe.multi", 2, 42),
    plain("kprobe.session", 2, 56),
    plain("uprobe.multi", 2, 48),
    plain("uretprobe.multi", 2, 48),
    plain("uprobe.session", 2, 57),
    with("uprobe.multi.s", 2, 48, SLEEPABLE),
    with("uretprobe.multi.s", 2, 48, SLEEPABLE),
    with("uprobe.session.s", 2, 57, SLEEPABLE),
    plain("ksyscall", 2, 0),
    plain("kretsyscall", 2, 0),
    plain("usdt", 2, 0),
    with("usdt.s", 2, 0, SLEEPABLE),
    plain("tracepoint", 5, 0),
    plain("tp", 5, 0),
    plain("perf_event", 7, 0),
    plain("raw_tracepoint", 17, 0),
    plain("raw_tp", 17, 0),
    plain("raw_tracepoint.w", 24, 0),
    plain("raw_tp.w", 24, 0),
    plain("tp_btf", 26, 23),
    plain("fentry", 26, 24),
    plain("fexit", 26, 25),
    plain("fmod_ret", 26, 26),
    with("fentry.s", 26, 24, SLEEPABLE),
    with("fexit.s", 26, 25, SLEEPABLE),
    with("fmod_ret.s", 26, 26, SLEEPABLE),
    plain("iter", 26, 28),
    with("iter.s", 26, 28, SLEEPABLE),
    plain("freplace", 28, 0),
    plain("lsm", 29, 27),
    with("lsm.s", 29, 27, SLEEPABLE),
    plain("lsm_cgroup", 29, 43),
    // The rest.
    plain("struct_ops", 27, 0),
    with("struct_ops.s", 27, 0, SLEEPABLE),
    with("syscall", 31, 0, SLEEPABLE),
    plain("lirc_mode2", 20, 16),
];

#[rustfmt::skip]
const PROGRAM_NAMES: &[&str] = &[
    "unspec", "socket_filter", "kprobe", "sched_cls", "sched_act", "tracepoint", "xdp",
    "perf_event", "cgroup_skb", "cgroup_sock", "lwt_in", "lwt_out", "lwt_xmit", "sock_ops",
    "sk_skb", "cgroup_device", "sk_msg", "raw_tracepoint", "cgroup_sock_addr", "lwt_seg6local",
    "lirc_mode2", "sk_reuseport", "flow_dissector", "cgroup_sysctl", "raw_tracepoint_writable",
    "cgroup_sockopt", "tracing", "struct_ops", "ext", "lsm", "sk_lookup", "syscall", "netfilter",
];

#[rustfmt::skip]
const MAP_NAMES: &[&str] = &[
    "unspec", "hash", "array", "prog_array", "perf_event_array", "percpu_hash", "percpu_array",
    "stack_trace", "cgroup_array", "lru_hash", "lru_percpu_hash", "lpm_trie", "array_of_maps",
    "hash_of_maps", "devmap", "sockmap", "cpumap", "xskmap", "sockhash", "cgroup_storage",
    "reuseport_sockarray", "percpu_cgroup_storage", "queue", "stack", "sk_storage",
    "devmap_hash", "struct_ops", "ringbuf", "inode_storage", "task_storage", "bloom_filter",
    "user_ringbuf", "cgrp_storage", "arena",
];
