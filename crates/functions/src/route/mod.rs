//! route: routes packets by the kernel's tables, after translating addresses where asked.
//!
//! The program is `bpf/route/route.bpf.c`; keys, targets and the memory of routes are described in
//! `bpf/route/route.abi.h`. It needs forwarding on at the ingress interface, and senders that
//! compute their checksums in software.

pub mod abi;
mod config;
mod extension;
mod icmp;
mod own;
mod plan;
mod port;
mod reverse;
mod statistics;

pub use abi::Reason;
pub use config::{Config, Endpoint, Nat, Translation};
pub use extension::{Interface, update_extensions};
pub use icmp::{IcmpErrors, IcmpRate};
pub use own::{Ignored, set_own};
pub use plan::{Conflict, Error, Maps, Plan, update, update_ports};
pub use port::{Numbered, Port, PortConflict, PortMaps, PortTables, Tags, number_of, size_vlans};
pub use reverse::ReversePath;
pub use statistics::{Lookups, SentTo, lookups, networks, received, sent};

/// The compiled program.
pub static OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/route.o");
/// The program that translates established connections, which needs the kernel's connection
/// tracking (Linux 6.0) and types.
pub static CONNTRACK_OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/route_conntrack.o");
/// Name of the program in the object.
pub const PROGRAM: &str = "xway_route";
/// Name of the program for frames of several buffers (MTU above one page, Linux 5.18), which is
/// only loaded by name.
pub const PROGRAM_FRAGS: &str = "xway_route_frags";
/// Number of ports that a router can have: `ROUTE_PORTS`.
pub const MOST_PORTS: u32 = 256;
/// Name of the map of IPv4 translations.
pub const NAT4: &str = "route_nat4";
/// Name of the map of IPv6 translations.
pub const NAT6: &str = "route_nat6";
/// Name of the map that states whether there are translations.
pub const TRANSLATES: &str = "route_translates";
/// Name of the map of egress interfaces.
pub const TX: &str = "xway_tx";
/// Name of the map of the ports and their MAC addresses.
pub const PORTS: &str = "route_ports";
/// Name of the map of the ports' numbers.
pub const INDEX: &str = "route_index";
/// Name of the map of the numbers of ports with VLAN tags.
pub const TAGGED: &str = "route_tagged";
/// Name of the map that finds ports with one 802.1Q tag faster.
pub const VLANS: &str = "route_vlans";
/// Name of the map through which the memory of routes is kept valid.
pub const CONTROL: &str = "route_control";
/// Name of the map of each processor's state.
pub const PROCESSORS: &str = "route_processors";
/// Names of the maps of remembered routes: IPv4 and IPv6, of the same size.
pub const SETS: [&str; 2] = ["route_sets4", "route_sets6"];
/// Name of the map of next hops by their numbers.
pub const HOPS: &str = "route_hops";
/// Name of the map of what was sent to each next hop.
pub const HOP_COUNTS: &str = "route_hop_counts";
/// Name of the map of the host's own IPv4 addresses.
pub const OWN: &str = "route_own";
/// Name of the map of frames that came in with the tags of each port.
pub const RECEIVED: &str = "route_received";
/// Name of the map of the extensions of ICMP errors.
pub const EXTENSIONS: &str = "route_extensions";
/// Name of the map of samples by destination network.
pub const NETWORKS: &str = "route_networks";
/// Number of routed packets of which one is a sample: `ROUTE_SAMPLED`.
pub const SAMPLED: u64 = 1024;
/// The map by which programs of earlier versions, which share none with this one, are recognized.
pub const NEWEST: &str = OWN;
/// Name of the map of timeouts, which only the program that translates connections has.
pub const TIMEOUTS: &str = "route_timeouts";
/// Global with the timeout of established TCP connections in milliseconds.
pub const TCP_TIMEOUT: &str = "route_tcp_timeout_ms";
/// Global with the timeout of UDP streams in milliseconds.
pub const UDP_TIMEOUT: &str = "route_udp_timeout_ms";
/// Global that routes frames to any MAC address: for captures, which are of another host.
pub const ANY_MAC: &str = "route_any_mac";
/// Global with the number of the only port that packets come in from.
pub const INGRESS: &str = "route_ingress";
