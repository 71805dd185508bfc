//! Bounds of everything that loops, retries, waits or fills up.

/// Frames that move between a socket's cache and the common depot at once.
pub const MAGAZINE: usize = 64;

/// Times that an interface is looked at again because its program changed meanwhile.
pub const ATTACH_ATTEMPTS: u32 = 16;
