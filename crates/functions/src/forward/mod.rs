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
/// Name of the program in the object.
pub const PROGRAM: &str = "xway_forward";
/// Name of the program for frames of several buffers (MTU above one page, Linux 5.18), which is
/// only loaded by name.
pub const PROGRAM_FRAGS: &str = "xway_forward_frags";
/// Name of the map of IPv4 translations.
pub const NAT4: &str = "forward_nat4";
/// Name of the map of IPv6 translations.
pub const NAT6: &str = "forward_nat6";
/// Name of the map of egress interfaces.
pub const TX: &str = "xway_tx";
/// Name of the map of own MAC addresses.
pub const MACS: &str = "forward_macs";
/// Global that routes frames to any MAC address: for captures, which are of another host.
pub const ANY_MAC: &str = "forward_any_mac";
