//! The environment of a program, given instead of read from Linux: clock, random numbers,
//! interfaces, routes, neighbors, sockets, tracked connections.
//!
//! Rule: the same environment gives the same run. It is read from a scenario (TOML,
//! `docs/scenario.md`) or filled in from a snapshot of a host; this module reads nothing from the
//! system. A [`World`] is plain data that may be inconsistent; [`World::check`] finds where.
//! Not here: the tables for lookups (`net`), the helpers (`helpers`).

mod check;
mod conntrack;
mod error;
mod interface;
mod neighbour;
pub(crate) mod net;
mod protocol;
mod route;
mod rule;
mod socket;
mod text;

use serde::{Deserialize, Serialize};

pub use conntrack::{Connection, Direction, Status};
pub use error::Error;
pub use interface::{Interface, Received, ReceivedHash, ReceivedVlan};
pub use neighbour::{Neighbour, NeighbourState};
pub use protocol::Protocol;
pub use route::{NextHop, Route, RouteKind, TableId};
pub use rule::{Mark, Rule, RuleFamily};
pub use socket::{Socket, SocketState};

/// The environment of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct World {
    /// Seed of `bpf_get_prandom_u32`.
    pub seed: u64,
    /// Number of processors of a machine in this environment.
    pub cpus: u32,
    /// Key of the SYN cookies that listening sockets issue.
    pub syncookie_secret: u64,
    /// `net.ipv4.tcp_syncookies`: 0 never, 1 when a queue overflows, 2 always.
    pub tcp_syncookies: u8,
    /// Whether the addresses of interfaces imply routes, as in Linux: each address is local, and
    /// its network is reached through its interface.
    pub connected_routes: bool,
    pub clock: Clock,
    pub interfaces: Vec<Interface>,
    pub routes: Vec<Route>,
    /// Policy rules besides the three default rules of Linux: local (0), main (32766), default
    /// (32767).
    pub rules: Vec<Rule>,
    pub neighbours: Vec<Neighbour>,
    pub sockets: Vec<Socket>,
    /// Connections that are tracked before the first packet.
    pub connections: Vec<Connection>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            seed: 0,
            cpus: 1,
            syncookie_secret: 0,
            tcp_syncookies: 1,
            connected_routes: true,
            clock: Clock::default(),
            interfaces: Vec::new(),
            routes: Vec::new(),
            rules: Vec::new(),
            neighbours: Vec::new(),
            sockets: Vec::new(),
            connections: Vec::new(),
        }
    }
}

/// The clock that programs read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clock {
    /// Nanoseconds since boot at the first packet.
    pub start_ns: u64,
    /// Nanoseconds that the clock advances with each reading, so that waiting ends.
    pub step_ns: u64,
    /// Wall clock at boot, in nanoseconds since 1970.
    pub wall_offset_ns: u64,
}

impl Default for Clock {
    fn default() -> Self {
        // Boot at the start of 2026.
        let wall_offset_ns = 1_767_225_600_000_000_000;
        Self { start_ns: 1_000_000_000, step_ns: 100, wall_offset_ns }
    }
}

impl World {
    /// The interface of that number.
    pub fn interface(&self, index: u32) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.index == index)
    }

    /// The interface of that name.
    pub fn interface_named(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }

    /// Adds an interface.
    #[must_use]
    pub fn with_interface(mut self, interface: Interface) -> Self {
        self.interfaces.push(interface);
        self
    }

    /// Adds a route.
    #[must_use]
    pub fn with_route(mut self, route: Route) -> Self {
        self.routes.push(route);
        self
    }

    #[must_use]
    pub fn with_neighbour(mut self, neighbour: Neighbour) -> Self {
        self.neighbours.push(neighbour);
        self
    }

    #[must_use]
    pub fn with_socket(mut self, socket: Socket) -> Self {
        self.sockets.push(socket);
        self
    }

    #[must_use]
    pub fn with_connection(mut self, connection: Connection) -> Self {
        self.connections.push(connection);
        self
    }
}
