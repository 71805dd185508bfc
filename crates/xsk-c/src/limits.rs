//! Bounds of what C hands over.

use std::ffi::c_int;
use std::time::Duration;

use xsk::wait::Deadline;

/// Bytes of a struct with its size in front, of whatever version.
pub const STRUCT: usize = 4096;
/// Elements of an array.
pub const ARRAY: u32 = 1 << 20;

/// A time in milliseconds as C says it: below 0 without end.
pub fn deadline(timeout_ms: c_int) -> Deadline {
    u64::try_from(timeout_ms).map_or(Deadline::NEVER, |ms| Duration::from_millis(ms).into())
}
