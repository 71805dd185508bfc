//! Every probe: its name, what requires the feature, and how it is tried.

use spec::MapKind;
use spec::asm::Helper;
use sys::net::XdpMode;

use super::{Answer, attaching, code, loading, maps};
use crate::load::Host;

pub(super) struct Row {
    /// Name for scripts.
    pub name: &'static str,
    /// What requires the feature.
    pub purpose: &'static str,
    /// The probe.
    pub attempt: fn(&mut Host) -> Answer,
}

const fn row(name: &'static str, purpose: &'static str, attempt: fn(&mut Host) -> Answer) -> Row {
    Row { name, purpose, attempt }
}

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    // Programs.
    row("xdp", "everything", loading::xdp),
    row("jit", "speed: without it programs are interpreted", loading::jit),
    row("btf", "source lines in errors, field relocations, kernel functions", loading::btf),
    row("subprograms", "chains of programs", loading::subprograms),
    row("xdp-frags", "frames above a page, such as jumbo frames", loading::frags),
    row("freplace", "chains that other tools create (not those of xway)", loading::freplace),
    row("fentry", "tracing functions of the kernel", loading::fentry),
    row("cpu-v4", "programs compiled with -mcpu=v4", loading::cpu_v4),
    row("load-acquire", "ordered loads and stores in programs", loading::load_acquire),
    row("statistics", "run counts and times of programs", loading::statistics),
    // Running and attaching.
    row("test-run", "running a program on a packet without an interface", loading::test_run),
    row("live-frames", "the packet generator, the demo's flood", loading::live_frames),
    row("xdp-native", "programs in the driver", |_| attaching::xdp(XdpMode::Native)),
    row("xdp-generic", "programs on drivers without XDP", |_| attaching::xdp(XdpMode::Generic)),
    row("xdp-link", "attachments that end with their owner, atomic updates", |_| attaching::link()),
    row("xdp-expected-fd", "replacing another tool's program safely", |_| attaching::expected()),
    row("xdp-bound", "hash, VLAN tag and time from the driver", |_| attaching::bound()),
    row("tcx", "programs at the traffic-control hooks, after XDP", |_| attaching::tcx()),
    // Maps.
    row("map-batch", "fast reading and filling of big maps", |_| maps::batch()),
    row("map-freeze", "constants that the verifier trusts", |_| maps::freeze()),
    row("map-lpm-trie", "routes and prefixes", |_| maps::kind(MapKind::LPM_TRIE, [8, 4, 1], 1)),
    row("map-devmap-hash", "forwarding to many interfaces", |_| {
        maps::kind(MapKind::DEVMAP_HASH, [4, 8, 1], 0)
    }),
    row("map-cpumap", "spreading packets over processors", |_| {
        maps::kind(MapKind::CPUMAP, [4, 8, 1], 0)
    }),
    row("map-xskmap", "packets to user space (AF_XDP)", |_| {
        maps::kind(MapKind::XSKMAP, [4, 4, 1], 0)
    }),
    row("map-ringbuf", "events and captured packets", |_| {
        maps::kind(MapKind::RINGBUF, [0, 0, sys::mmap::page_size() as u32], 0)
    }),
    row("map-bloom-filter", "quick misses in big sets", |_| {
        maps::kind(MapKind::BLOOM_FILTER, [0, 4, 1], 0)
    }),
    row("map-arena", "memory shared by programs and user space", |_| {
        const MMAPABLE: u32 = 1 << 10;
        maps::kind(MapKind::ARENA, [0, 0, 1], MMAPABLE)
    }),
    // Helpers for XDP.
    row("bpf_fib_lookup", "forwarding by the kernel's routes", |host| {
        code::helper(host, Helper::FIB_LOOKUP)
    }),
    row("bpf_redirect_map", "forwarding, AF_XDP", |host| code::helper(host, Helper::REDIRECT_MAP)),
    row("bpf_xdp_adjust_tail", "cutting and growing frames", |host| {
        code::helper(host, Helper::XDP_ADJUST_TAIL)
    }),
    row("bpf_check_mtu", "frames too big for the next hop", |host| {
        code::helper(host, Helper::CHECK_MTU)
    }),
    row("bpf_xdp_load_bytes", "reading frames of several buffers", |host| {
        code::helper(host, Helper::XDP_LOAD_BYTES)
    }),
    row("bpf_loop", "long loops", |host| code::helper(host, Helper::LOOP)),
    row("bpf_timer_init", "work without packets", |host| code::helper(host, Helper::TIMER_INIT)),
    row("bpf_sk_lookup_tcp", "known connections", |host| code::helper(host, Helper::SK_LOOKUP_TCP)),
    row("bpf_tcp_raw_gen_syncookie_ipv4", "SYN floods", |host| {
        code::helper(host, Helper::TCP_RAW_GEN_SYNCOOKIE_IPV4)
    }),
    // Kernel functions for XDP.
    row("bpf_dynptr_from_xdp", "reading frames at any offset", |host| {
        code::kfunc(host, "bpf_dynptr_from_xdp")
    }),
    row("bpf_iter_num_new", "loops that are verified once", |host| {
        code::kfunc(host, "bpf_iter_num_new")
    }),
    row("bpf_xdp_metadata_rx_hash", "the card's flow hash", |host| {
        code::kfunc(host, "bpf_xdp_metadata_rx_hash")
    }),
    row("bpf_xdp_ct_lookup", "the kernel's connection table", |host| {
        code::kfunc(host, "bpf_xdp_ct_lookup")
    }),
    row("bpf_xdp_pull_data", "headers split over buffers", |host| {
        code::kfunc(host, "bpf_xdp_pull_data")
    }),
    row("bpf_res_spin_lock", "locks that cannot hang", |host| {
        code::kfunc(host, "bpf_res_spin_lock")
    }),
];
