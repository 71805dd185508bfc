//! forward: routes packets by the kernel's tables, after translating addresses where asked.
//!
//! The program is `bpf/forward/forward.bpf.c`; keys and targets are described in
//! `bpf/forward/forward.abi.h`. It needs forwarding on at the ingress interface, and senders that
//! compute their checksums in software.

pub mod abi;
mod config;
mod plan;

pub use abi::Reason;
pub use config::{Config, Endpoint, Nat, Translation};
pub use plan::{Conflict, Error, Maps, Plan, Port, update};

/// The compiled program.
pub const OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/forward.o");
/// The program's name in the object.
pub const PROGRAM: &str = "xway_forward";
/// The same for frames of several buffers: an MTU above one page, Linux 5.18. Loaded only by name.
pub const PROGRAM_FRAGS: &str = "xway_forward_frags";
/// Names of its maps in the object, as [`Maps::find`] asks for them.
pub const NAT4: &str = "forward_nat4";
pub const NAT6: &str = "forward_nat6";
pub const TX: &str = "xway_tx";
pub const MACS: &str = "forward_macs";
/// Global that routes frames to any MAC address: for captures, which are of another host.
pub const ANY_MAC: &str = "forward_any_mac";
