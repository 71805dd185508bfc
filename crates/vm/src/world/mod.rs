//! What Linux would supply around a program, given instead: clock, random numbers, interfaces,
//! routes, neighbours, sockets, tracked connections.
//!
//! Rule: the same world gives the same run. Read from a scenario (TOML, `docs/scenario.md`) or
//! filled in by whoever looks at a live host; nothing here looks at the system. A [`World`] is
//! plain data that may contradict itself; [`World::check`] says where.
//! Not here: the tables that programs look things up in (`net`), the helpers (`helpers`).

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

/// A machine's surroundings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct World {
    /// Where `bpf_get_prandom_u32` starts.
    pub seed: u64,
    /// Processors, for whoever sets up a machine in this world.
    pub cpus: u32,
    /// Key of SYN cookies that a listening socket hands out.
    pub syncookie_secret: u64,
    /// `net.ipv4.tcp_syncookies`: 0 never, 1 when a queue overflows, 2 always.
    pub tcp_syncookies: u8,
    /// Whether the addresses of interfaces make the routes that Linux makes of them: each is
    /// local, its network is reached through its interface.
    pub connected_routes: bool,
    pub clock: Clock,
    pub interfaces: Vec<Interface>,
    pub routes: Vec<Route>,
    /// Besides the three that Linux starts with: local (0), main (32766), default (32767).
    pub rules: Vec<Rule>,
    pub neighbours: Vec<Neighbour>,
    pub sockets: Vec<Socket>,
    /// What connection tracking knows before the first packet.
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

/// Time as programs read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clock {
    /// Nanoseconds since boot at the first packet.
    pub start_ns: u64,
    /// Nanoseconds that pass with each look at the clock, so that waiting ends.
    pub step_ns: u64,
    /// The time of day when the machine booted, in nanoseconds since 1970.
    pub wall_offset_ns: u64,
}

impl Default for Clock {
    fn default() -> Self {
        // Booted at the start of 2026.
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

    /// Adds an interface, to build a world in code.
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
