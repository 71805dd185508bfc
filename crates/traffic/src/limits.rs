//! Limits of this crate.

/// Bytes of an Ethernet header: the shortest frame that is sent.
pub const FRAME_MIN: usize = 14;

/// Bytes of the longest frame: a page of 4096 less the kernel's headers (152 bytes in Linux 5.18,
/// 112 in 6.18), headroom (256), tailroom (320) and [`SPARE`].
pub const FRAME_MAX: usize = 3_367;

/// Bytes that are added to a live frame, and cut off each time, where its receiver works on the
/// same memory. The kernel stores the length of a frame only if the program changed it
/// (`xdp_test_run_batch` in net/bpf/test_run.c at v6.18); otherwise a frame has the length that its
/// last receiver left, which the program cannot see.
pub const SPARE: usize = 1;

/// Bytes that a frame occupies on the wire in addition to its own: preamble, start, checksum and
/// gap. Rates in bits count only the frame's own bytes.
pub const WIRE_EXTRA: usize = 24;

/// Most streams in one run.
pub const STREAMS: usize = 64;

/// Most sending threads in one run.
pub const THREADS: usize = 64;

/// Most pairs of stream and thread that a sink distinguishes.
pub const SOURCES: u32 = 4096;

/// Most frames in one batch of a live run: the kernel's limit.
pub const BATCH: u32 = 256;

/// Longest run: a day.
pub const DURATION: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);

/// Supported rates in packets a second.
pub const RATE: std::ops::RangeInclusive<u64> = 1..=200_000_000;

/// Most sizes in one round of a stream.
pub const SIZES: usize = FRAME_MAX;

/// Most numbers of a draw that follows Zipf's law.
pub const ZIPF: u64 = 1 << 20;

/// Most values in the list of a field.
pub const LIST: usize = 1 << 16;

/// Most bytes of a recording: its frames, and [`RECORDING_FRAME`] more for each.
pub const RECORDING: usize = 256 << 20;

/// Bytes for each frame in the table of a recording.
pub const RECORDING_FRAME: usize = 32;

/// Time between two steps of a ramp.
pub const STEP_EVERY: std::time::Duration = std::time::Duration::from_millis(2);

/// Time between two checks whether all frames are sent.
pub const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(2);

/// Time between two checks of a run that needs no action.
pub const REST: std::time::Duration = std::time::Duration::from_millis(20);

/// Time between two signals to a thread that must end its live run.
pub const INTERRUPT_EVERY: std::time::Duration = std::time::Duration::from_micros(200);

/// Longest wait for the first frame, in addition to the duration of the run.
pub const FIRST_FRAME: std::time::Duration = std::time::Duration::from_secs(5);

/// Live runs that announce the end, about ten milliseconds each.
pub const END_RUNS: usize = 3;
/// Stamps of each stream in one such run.
pub const END_FRAMES: usize = 4;

/// Nice value of a thread that is pinned to a processor, so that other threads there do not delay
/// it.
pub const NICE: i32 = -20;

/// Most TCP connections in one run.
pub const FLOWS: u32 = 1 << 20;

/// Least payload of a full TCP segment with its options; the options of a SYN fit.
pub const SEGMENT: u32 = 88;

/// Longest wait for the next hop's hardware address.
pub const NEIGHBOR: std::time::Duration = std::time::Duration::from_secs(3);
