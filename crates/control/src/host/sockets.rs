//! TCP and UDP sockets.

use sys::Result;
use sys::net::InetSocket;
use vm::world::{Protocol, Socket, SocketState};

use super::Snapshot;

pub(super) fn add(snapshot: &mut Snapshot) -> Result<()> {
    let interfaces = &snapshot.world.interfaces;
    let found = sys::net::inet_sockets()?;
    let sockets = found.iter().filter_map(|found| {
        let dev = interfaces.iter().find(|interface| interface.index == found.ifindex.0);
        Some(Socket {
            state: Some(SocketState::from_number(found.state)?),
            remote: connected(found).then_some(found.remote),
            ipv6_only: found.ipv6_only,
            dev: dev.map(|interface| interface.name.clone()),
            mark: found.mark,
            ..Socket::new(Protocol::from_number(found.protocol)?, found.local)
        })
    });
    snapshot.world.sockets = sockets.collect();
    Ok(())
}

fn connected(socket: &InetSocket) -> bool {
    !socket.remote.ip().is_unspecified() || socket.remote.port() != 0
}
