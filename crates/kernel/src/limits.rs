//! Every bound of this crate, by name.

/// Text of the verifier, in bytes: where it starts and how far it may grow.
pub const LOG_START: usize = 256 << 10;
/// Largest buffer for the verifier's log, in bytes.
pub const LOG_LIMIT: usize = 16 << 20;

/// Attempts of a load that the kernel interrupts (`EAGAIN`: a signal arrived during verification).
pub const LOAD_ATTEMPTS: usize = 5;

/// Attempts to load a program for a device with enough room for what the verifier adds to it.
pub const BOUND_ATTEMPTS: usize = 4;

/// Kernel configuration, unpacked.
pub const CONFIG_LIMIT: usize = 4 << 20;

/// Programs, maps or links that one listing walks through.
pub const LISTING_LIMIT: usize = 65_536;
