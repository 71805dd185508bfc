//! Lookup tables of an environment: created once, read without allocation.
//!
//! Rule: a lookup finds what Linux 6.18 finds in the same routes, rules, neighbors and sockets.
//! Where Linux chooses at random (several next hops), the choice depends on the packet's addresses
//! alone, so that runs repeat.

pub(crate) mod bits;
mod connection_layout;
mod connections;
mod cookies;
mod device;
mod fib;
mod flow;
mod neighbours;
mod policy;
mod socket_image;
mod sockets;
mod source;
mod table;

use std::sync::OnceLock;

use super::{Error, World};

pub(crate) use connection_layout::ConnectionLayout;
pub(crate) use connections::{ConnectionId, Connections, Entry as ConnectionEntry, Zone};
pub(crate) use cookies::{Cookies, Syn};
pub(crate) use device::is_link_local;
pub(crate) use device::{Device, Devices};
pub(crate) use fib::{Fib, Miss};
pub(crate) use flow::Flow;
pub(crate) use neighbours::Neighbours;
pub(crate) use socket_image::{
    Image as SocketImage, ORIGIN as SOCKET_ORIGIN, kernel as kernel_socket,
};
pub(crate) use sockets::{Ends, Entry as SocketEntry, Place, Sockets};
pub(crate) use table::{Path, RouteEntry};

/// The network of an environment, as programs look it up.
#[derive(Debug)]
pub(crate) struct Net {
    pub devices: Devices,
    pub ipv4: Fib,
    pub ipv6: Fib,
    pub neighbours: Neighbours,
    pub sockets: Sockets,
    pub cookies: Cookies,
    pub connections: Connections,
    /// Layout of connections in memory, determined at the first use.
    pub connection_layout: OnceLock<ConnectionLayout>,
}

impl Net {
    /// Creates the tables of an environment.
    ///
    /// # Errors
    /// [`Error::Value`] if the environment is inconsistent.
    pub fn new(world: &World) -> Result<Self, Error> {
        world.check()?;
        let devices = Devices::new(&world.interfaces);
        let ipv4 = Fib::new(world, &devices, true)?;
        let ipv6 = Fib::new(world, &devices, false)?;
        let neighbours = Neighbours::new(&world.neighbours, &devices);
        let sockets = Sockets::new(&world.sockets, &devices);
        let cookies = Cookies::new(world.syncookie_secret);
        let connections = Connections::new(&world.connections, world.clock.start_ns);
        Ok(Self {
            devices,
            ipv4,
            ipv6,
            neighbours,
            sockets,
            cookies,
            connections,
            connection_layout: OnceLock::new(),
        })
    }
}
