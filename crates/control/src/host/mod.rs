//! The live host as a world for `vm`: interfaces, routes, neighbours, sockets, connections.
//!
//! Rule: only reads, and only the calling thread's network namespace. What a world has no place
//! for is left out and named, so that nobody takes the snapshot for more than it is.

mod connections;
mod network;
mod sockets;

use sys::Result;
use vm::World;

/// A world taken from a host, and what did not fit into it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub world: World,
    /// One line each, such as a rule that looks at ports.
    pub omitted: Vec<String>,
}

/// The calling thread's network namespace as it is now. Clock and seed are a new world's: a run
/// in it repeats.
///
/// Connections need root; without they are left out, and the omissions say so.
pub fn snapshot() -> Result<Snapshot> {
    let mut snapshot = network::network()?;
    snapshot.world.cpus = u32::try_from(sys::cpu::possible()?).unwrap_or(1);
    sockets::add(&mut snapshot)?;
    connections::add(&mut snapshot);
    Ok(snapshot)
}
