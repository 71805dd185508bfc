//! What a generated program and its generator share: two arrays of one element, mapped into the
//! generator's memory, and a histogram.
//!
//! Rule: [`control`] is written by the generator alone, [`state`] by the program alone while a call
//! runs. One processor runs the program at a time: plain loads and stores suffice.

/// Program and maps by name.
pub const PROGRAM: &str = "xway_gen";
pub const CONTROL: &str = "gen_control";
pub const STATE: &str = "gen_state";
/// How late groups left, in ns: one element of `histogram::BUCKETS` 64-bit counts.
pub const LATE: &str = "gen_late";
/// The interface that frames leave through: one element.
pub const OUT: &str = "gen_out";

/// Offsets of 64-bit words in the element of [`CONTROL`].
pub mod control {
    /// Time from one group of frames to the next, in units of 2^-20 ns; 0 sends without pacing.
    pub const INTERVAL: usize = 0;
    /// Frames to send in all; then the program gives every frame back unsent.
    pub const LIMIT: usize = 8;
    /// 0 holds: frames are given back unsent.
    pub const GO: usize = 16;
    /// 1 sends, instead of data, stamps that tell how many there were: whatever the limit, without
    /// pacing, stream after stream as they are mixed. These are not counted. (Programs without
    /// stamps do not look at it.)
    pub const END: usize = 24;
    pub const LEN: usize = 32;
}

/// Offsets of 64-bit words in the element of [`STATE`].
pub mod state {
    /// Frames sent.
    pub const SENT: usize = 0;
    /// Their bytes.
    pub const BYTES: usize = 8;
    /// Place of the next run in its batch, from 0; kept by paced programs. The generator sets it
    /// to zero before each call.
    pub const RUNS: usize = 16;
    /// When the first frame left, and the last: the monotonic clock, ns. 0: none yet. An unpaced
    /// program knows the last one's time when it gives frames back behind it (limit, hold).
    pub const FIRST: usize = 24;
    pub const LAST: usize = 32;
    /// When the next group is due: the monotonic clock, ns.
    pub const NEXT: usize = 40;
    /// Groups that were so late that the schedule was moved.
    pub const SLIPPED: usize = 48;
    /// Frames sent of each stream, `limits::STREAMS` words; what follows is the program's own.
    pub const STREAMS: usize = 64;
    pub const OWN: usize = STREAMS + 8 * crate::limits::STREAMS;
}

/// Binary digits behind the point of times in these maps.
pub const FRACTION: u32 = 20;
