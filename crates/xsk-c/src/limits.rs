//! Bounds of the values that C passes.

use std::ffi::c_int;
use std::time::Duration;

use xsk::wait::Deadline;

/// Maximum length in bytes of a struct that begins with its size, of any version.
pub const STRUCT: usize = 4096;
/// Maximum number of elements of an array.
pub const ARRAY: u32 = 1 << 20;

/// The deadline for a timeout in milliseconds; negative timeouts never expire.
pub fn deadline(timeout_ms: c_int) -> Deadline {
    u64::try_from(timeout_ms).map_or(Deadline::NEVER, |ms| Duration::from_millis(ms).into())
}
