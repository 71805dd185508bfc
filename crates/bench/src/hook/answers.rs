//! Drops the responses of the lab's server to forged addresses, at the attacker's interface.
//!
//! Rule: they leave the server as other responses do, and cost no further processor time. A program
//! in the driver on the attacker's end of the link drops them; it also lets the veth accept frames
//! that a program on the other end sends back.

use anyhow::Result;
use kernel::{Link, Mode};
use lab::stage::{ATTACKER_LINK, ATTACKER_MAC, SERVER_LINK};
use lab::{Host, Stage};
use std::net::Ipv4Addr;
use sys::net::NewRoute;

use super::filter::{object, parsed};
use crate::field::Place;
use filter::PROGRAM;

/// A guard; dropped, the server has no route to unknown addresses, as before.
#[derive(Debug)]
pub struct Answers {
    server: Host,
    way: NewRoute,
    _door: Link,
}

impl Answers {
    /// # Errors
    /// The program cannot be attached, or the server already has a default route.
    pub fn end(stage: &Stage) -> Result<Self> {
        let (server, attacker) = (stage.net.server.clone(), &stage.net.attacker);
        // What comes from the driver itself goes back to the sender's address, what the stack
        // sends to the next hop's.
        let next = attacker.mac(BRIDGE)?;
        let rules = format!("rules = ['drop to-mac {ATTACKER_MAC}', 'drop to-mac {next}']");
        let object = object(&parsed(&rules)?)?;
        let place = Place::lab(attacker.clone(), ATTACKER_LINK);
        let door = place.attach(object.program(PROGRAM)?, Mode::Native)?;
        let way = NewRoute::new(Ipv4Addr::UNSPECIFIED.into(), 0, server.ifindex(SERVER_LINK)?)
            .via(attacker.ipv4(BRIDGE)?.into());
        server.netlink()?.add_route(way)?;
        Ok(Self { server, way, _door: door })
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        // A destructor cannot report, and the namespace ends with the lab anyway.
        let _stays = self.server.netlink().map(|mut netlink| netlink.remove_route(self.way));
    }
}

/// The attacker's own interface, the server's default gateway.
const BRIDGE: &str = "br0";
