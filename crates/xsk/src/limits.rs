//! Bounds of everything that loops, retries, waits or fills up.

/// Frames that move between a socket's cache and the common depot at once.
pub const MAGAZINE: usize = 64;
