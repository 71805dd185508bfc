//! Maps that a generated program shares with its generator: two arrays of one element, mapped into
//! the generator's memory, and a histogram.
//!
//! Rule: only the generator writes [`control`]; during a call only the program writes [`state`].
//! One processor runs the program at a time, so plain loads and stores suffice.

/// Name of the program.
pub const PROGRAM: &str = "xway_gen";
/// Name of the map with the settings in [`control`].
pub const CONTROL: &str = "gen_control";
/// Name of the map with the counters in [`state`].
pub const STATE: &str = "gen_state";
/// Name of the map with the delays of groups in ns: one element of `histogram::BUCKETS` 64-bit
/// counts.
pub const LATE: &str = "gen_late";
/// Name of the map with the output interface: one element.
pub const OUT: &str = "gen_out";

/// Offsets of 64-bit words in the element of [`CONTROL`].
pub mod control {
    /// Interval from one group of frames to the next, in units of 2^-20 ns; 0 disables pacing.
    pub const INTERVAL: usize = 0;
    /// Total number of frames to send; afterwards the program returns every frame unsent.
    pub const LIMIT: usize = 8;
    /// 0 holds: frames are returned unsent.
    pub const GO: usize = 16;
    /// 1 sends, instead of data, stamps with the number of frames: beyond the limit, without
    /// pacing, for each stream in turn. These frames are not counted. Programs without stamps
    /// ignore it.
    pub const END: usize = 24;
    /// Bytes of the element.
    pub const LEN: usize = 32;
}

/// Offsets of 64-bit words in the element of [`STATE`].
pub mod state {
    /// Frames sent.
    pub const SENT: usize = 0;
    /// Bytes of the sent frames.
    pub const BYTES: usize = 8;
    /// Index of the next run in its batch, from 0; maintained by paced programs. The generator
    /// resets it before each call.
    pub const RUNS: usize = 16;
    /// Time of the first frame in ns of the monotonic clock; 0 before it.
    pub const FIRST: usize = 24;
    /// Time of the last frame in ns of the monotonic clock; 0 before it. An unpaced program records
    /// it when it returns frames after the last one (limit, hold).
    pub const LAST: usize = 32;
    /// Scheduled time of the next group in ns of the monotonic clock.
    pub const NEXT: usize = 40;
    /// Number of groups so late that the schedule was moved.
    pub const SLIPPED: usize = 48;
    /// Frames sent by stream, `limits::STREAMS` words.
    pub const STREAMS: usize = 64;
    /// Start of the private state of the program.
    pub const OWN: usize = STREAMS + 8 * crate::limits::STREAMS;
}

/// Fractional bits of times in these maps.
pub const FRACTION: u32 = 20;
