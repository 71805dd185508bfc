//! QUIC connection ids that name their backend (draft-ietf-quic-load-balancers-21).
//!
//! A server makes its ids with [`QuicConfig::id`], or with code of its own that does the same; the
//! balancer reads the server id of each, and sends the packet to the backend that has it.
//!
//! Rule: what a packet may do to memory is decided by the program alone. Here are configurations
//! that were checked, and the sets that the program reads.

pub mod abi;
mod aes;
mod config;
mod id;
mod set;

pub(super) use aes::{backward, forward, inverse};
pub use config::{Key, QuicConfig, QuicError, ServerId, ServerIds, check};
pub(super) use set::{Place, Set, end, lines, named};

/// Name of the map of configurations.
pub const CONFIGS: &str = "balancer_quic";
/// Name of the map of server ids.
pub const IDS: &str = "balancer_ids";
/// Entries of a set in the map of configurations: `QUIC_ROTATIONS`.
pub(super) const EACH: u32 = 8;
/// Most bytes of server id and nonce: an id has at most 20 bytes in QUIC versions 1 and 2.
const MOST_LENGTH: usize = 19;
