//! balancer: sends packets for services to backends, without state but where backends changed.
//!
//! The program is `bpf/balancer/balancer.bpf.c`; `bpf/balancer/balancer.abi.h` describes keys,
//! tables and the memory of flows. [`choice`] gives slots to backends, [`quic`] reads connection
//! ids, [`Config`] is what the user wants, [`update`] brings live maps there.

pub mod abi;
mod announce;
pub mod choice;
mod config;
mod explain;
mod flow;
pub mod health;
mod live;
mod memory;
mod nat;
mod object;
mod outer;
mod own;
mod ports;
pub mod quic;
mod service;
pub mod sync;
mod translation;
mod tunnel;

pub use abi::Reason;
pub use config::{
    Announce, Backend, Config, ConfigError, Datagrams, Delivery, FlowKey, Nat, Network, Protocol,
    Service, State, Sync, Tunnel,
};
pub use explain::{Constants, DecidedBy, Explanation, Query, Reading, explain};
pub use flow::Flow;
pub use live::{
    Change, Error, Live, Maps, Moved, NONE, Out, by_id, flows, generation, settle, slots, table,
    take_out, update,
};
pub use memory::Remembered;
pub use nat::{NAT_ENTRIES, NAT_GROUPS, nat_flows};
pub use outer::wrap;
pub use own::{Ingress, set_own, set_vlans};
pub use ports::Ports;
pub use quic::{Key, QuicConfig, QuicError, ServerId, ServerIds};
pub use translation::{NatMaps, Translation, TranslationState};

/// The compiled program.
pub static OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/balancer.o");
/// The compiled program with address translation.
pub static NAT_OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/balancer_nat.o");
/// Name of the program in the object.
pub const PROGRAM: &str = "xway_balancer";
/// Name of the program for frames of several buffers (MTU above one page, Linux 5.18), which is
/// only loaded by name.
pub const PROGRAM_FRAGS: &str = "xway_balancer_frags";
/// Name of the map of patterns, by which services are found.
pub const PATTERNS: &str = "balancer_patterns";
/// Name of the map that states which set of patterns is in use.
pub const ACTIVE: &str = "balancer_active";
/// Name of the map of services.
pub const SERVICES: &str = "balancer_services";
/// Name of the map of the tables of slots.
pub const TABLES: &str = "balancer_tables";
/// Name of the map of backends.
pub const BACKENDS: &str = "balancer_backends";
/// Name of the map of the ways to backends.
pub const HOPS: &str = "balancer_hops";
/// Name of the map of what was sent to each backend.
pub const COUNTS: &str = "balancer_counts";
/// Name of the map of remembered flows.
pub const FLOWS: &str = "balancer_flows";
/// Name of the map of events.
pub const EVENTS: &str = "balancer_events";
/// Name of the map of the MAC addresses that frames to a balancer have.
pub const OWN: &str = "balancer_own";
/// Name of the map of VLAN devices by which backends are reached.
pub const VLANS: &str = "balancer_vlans";
/// Name of the map of the interfaces that packets may leave by.
pub const TX: &str = "xway_tx";
