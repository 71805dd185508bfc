//! All limits of this crate.

/// Bytes of stack that one BPF function owns; the kernel's `MAX_BPF_STACK`.
pub const STACK_BYTES: usize = 512;
/// Functions of one program that may be active at the same time, including callbacks; the kernel's
/// `MAX_CALL_FRAMES`.
pub const CHAIN: usize = 8;
/// Functions that may be active at the same time. The kernel allows 8 in a chain, and a function
/// that makes a tail call leaves its callers waiting: 8 for each of [`TAIL_CALLS`] and the first,
/// and the callbacks.
pub const FRAMES: usize = CHAIN * (TAIL_CALLS as usize + 1) + CALLBACKS as usize;
/// Callbacks that may be active at the same time: they use the host's stack. The kernel allows 8
/// frames in total.
pub const CALLBACKS: u32 = 16;
/// Tail calls in one run; the kernel's `MAX_TAIL_CALL_CNT`.
pub const TAIL_CALLS: u32 = 33;
/// Iterations of one `bpf_loop`; the kernel's `BPF_MAX_LOOPS`.
pub const LOOPS: u64 = 8 << 20;
/// Instructions after which a run counts as endless, for all programs that one packet meets and the
/// work for its copies.
pub const STEPS: u64 = 1 << 30;
/// Instructions between two checks for an interrupt: a duration of milliseconds.
pub const SLICE: u64 = 1 << 20;
/// Bytes that a helper copies, or elements that it visits, that cost one instruction of the budget.
pub const WORK_A_STEP: u64 = 32;
/// Iterations of one function's `may_goto` loops; the kernel's `BPF_MAX_LOOPS`.
pub const TURNS: u32 = 8 << 20;
/// Bytes of values that one map may hold: the range of offsets in an address.
pub const MAP_BYTES: u64 = 1 << 36;
/// Maps of one machine, including inner ones.
pub const MAPS: usize = 1 << 20;
/// Bytes of a page, to which ring buffers are rounded up.
pub const PAGE: u32 = 4096;
/// Processors of one machine.
pub const CPUS: usize = 256;
/// Lines that the trace log keeps.
pub const TRACE_LINES: usize = 1 << 14;
/// Timers that a machine may have at the same time.
pub const TIMERS_KEPT: usize = 1 << 20;
/// Timers that run in one call before packets are processed again.
pub const TIMERS: usize = 1 << 16;
/// Processors that one packet may visit through cpumaps.
pub const HOPS: u32 = 16;
/// Bytes that a map without preallocation may use for its elements; further insertions return
/// `ENOMEM`.
pub const LAZY_BYTES: u64 = 1 << 32;
/// Attempts to acquire a `bpf_spin_lock` before its holder counts as gone.
pub const SPINS: u32 = 1 << 22;
/// Special fields of one value.
pub const FIELDS: u32 = 64;
/// Tracked connections of one machine.
pub const CONNECTIONS: usize = 1 << 16;
