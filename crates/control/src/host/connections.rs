//! Tracked connections, from `/proc/net/nf_conntrack`.

use sys::net::TrackedConnection;
use vm::world::{Connection, Direction, Protocol, Status};

use super::{Omission, Snapshot};

pub(super) fn add(snapshot: &mut Snapshot) {
    match sys::net::tracked_connections() {
        Ok(found) => snapshot.world.connections = found.iter().filter_map(connection).collect(),
        Err(error) => {
            snapshot.omitted.push(Omission::new("tracked connections", error.to_string()));
        }
    }
}

/// Converts TCP and UDP connections; programs cannot look up others.
fn connection(found: &TrackedConnection) -> Option<Connection> {
    let [original, reply] = found.tuples.map(|(from, to)| Direction { from, to });
    let plain = Connection::new(Protocol::from_number(found.protocol)?, original.from, original.to);
    let mut status = plain.status.clone();
    status.extend(found.replied.then_some(Status::SeenReply));
    status.extend(found.assured.then_some(Status::Assured));
    // The translation is not reported, but it follows from the addresses of replies.
    if reply.to != original.from {
        status.extend([Status::SourceNat, Status::SourceNatDone]);
    }
    if reply.from != original.to {
        status.extend([Status::DestinationNat, Status::DestinationNatDone]);
    }
    let reply = (reply != original.swapped()).then_some(reply);
    Some(Connection { reply, status, timeout_s: found.timeout_s, mark: found.mark, ..plain })
}
