//! Bounds of this crate, by name.

/// Bytes of an Ethernet header: the shortest frame that is sent.
pub const FRAME_MIN: usize = 14;

/// Bytes of a frame: what a page of 4096 has left beside the kernel's own headers (152 in Linux
/// 5.18, 112 in 6.18), headroom (256), tailroom (320) and [`SPARE`].
pub const FRAME_MAX: usize = 3_367;

/// Bytes that a live frame has behind its end where its receiver works on the same memory: they
/// are cut off it each time. Only of a frame whose length the program changed the kernel writes the
/// length down (`xdp_test_run_batch` in net/bpf/test_run.c at v6.18); another one is as long as
/// its last receiver made it, which the program cannot see.
pub const SPARE: usize = 1;

/// Bytes of Ethernet that a frame occupies on the wire beside its own: preamble, start, checksum
/// and gap. Rates in bits count the frame's own bytes alone.
pub const WIRE_EXTRA: usize = 24;

/// Streams in one run.
pub const STREAMS: usize = 64;

/// Threads that send in one run.
pub const THREADS: usize = 64;

/// Pairs of stream and thread that a sink can tell apart.
pub const SOURCES: u32 = 4096;

/// Frames that one live run takes at once, at most: the kernel's limit.
pub const BATCH: u32 = 256;

/// A run lasts a day at most.
pub const DURATION: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);

/// Packets a second.
pub const RATE: std::ops::RangeInclusive<u64> = 1..=200_000_000;

/// Sizes of one stream.
pub const SIZES: usize = FRAME_MAX;

/// Numbers of a draw whose frequencies follow Zipf's law.
pub const ZIPF: u64 = 1 << 20;

/// Values of a field that are listed one by one.
pub const LIST: usize = 1 << 16;

/// Memory of a recording: its frames, and [`RECORDING_FRAME`] more for each.
pub const RECORDING: usize = 256 << 20;

/// What the table of a recording has of each frame.
pub const RECORDING_FRAME: usize = 32;

/// Between two steps of a ramp.
pub const STEP_EVERY: std::time::Duration = std::time::Duration::from_millis(2);

/// Between two looks at whether all is sent.
pub const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(2);

/// Between two looks at a run in which nothing needs to be done.
pub const REST: std::time::Duration = std::time::Duration::from_millis(20);

/// Between two signals to a thread that is to end its live run.
pub const INTERRUPT_EVERY: std::time::Duration = std::time::Duration::from_micros(200);

/// Until the first frame leaves, beyond the duration of a run in which none does.
pub const FIRST_FRAME: std::time::Duration = std::time::Duration::from_secs(5);

/// Live runs that tell the end, some ten milliseconds each, and stamps of each stream in one.
pub const END_RUNS: usize = 3;
pub const END_FRAMES: usize = 4;

/// Nice value of a thread that was given a processor: whoever else is there must not set its pace.
pub const NICE: i32 = -20;

/// TCP connections of one run.
pub const FLOWS: u32 = 1 << 20;

/// Payload of a full TCP segment with its options, at least: a SYN's options fit.
pub const SEGMENT: u32 = 88;

/// Until the next hop has told its hardware address.
pub const NEIGHBOUR: std::time::Duration = std::time::Duration::from_secs(3);
