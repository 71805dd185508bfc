//! The live host as a world for `vm`: interfaces, routes, neighbours, sockets, connections.
//!
//! Rule: a snapshot only reads, and only the calling thread's network namespace. Objects that a
//! world cannot represent are omitted and listed, so that the differences are known.

mod connections;
mod network;
mod sockets;

use std::fmt;

use sys::Result;
use vm::World;

/// A world taken from a host, and what it does not represent.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub world: World,
    pub omitted: Vec<Omission>,
}

/// An object of the host, or a property of one, that a world cannot represent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omission {
    /// The object, such as `route 10.0.0.0/8 of table 254`.
    pub object: String,
    /// The reason, or the property that was omitted.
    pub detail: String,
}

impl Omission {
    fn new(object: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { object: object.into(), detail: detail.into() }
    }
}

impl fmt::Display for Omission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.detail)
    }
}

/// Reads the calling thread's network namespace. Clock and seed are those of a new world, so that
/// a run in it is repeatable.
///
/// Connections need root; without it they are omitted and listed.
pub fn snapshot() -> Result<Snapshot> {
    let mut snapshot = network::network()?;
    snapshot.world.cpus = u32::try_from(sys::cpu::possible()?).unwrap_or(1);
    sockets::add(&mut snapshot)?;
    connections::add(&mut snapshot);
    Ok(snapshot)
}
