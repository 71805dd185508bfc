//! Hardware addresses by interface and IP address.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Devices;
use crate::world::Neighbour;

/// The usable entries: a packet can be sent to them immediately.
#[derive(Debug)]
pub(crate) struct Neighbours {
    known: HashMap<(u32, IpAddr), [u8; 6]>,
}

impl Neighbours {
    pub fn new(list: &[Neighbour], devices: &Devices) -> Self {
        let valid = list.iter().filter(|neighbour| neighbour.state.is_valid());
        let known = valid
            .map(|neighbour| ((devices.index_of(&neighbour.dev), neighbour.ip), neighbour.mac.0));
        Self { known: known.collect() }
    }

    /// The hardware address of `ip` on an interface.
    pub fn mac(&self, device: u32, ip: IpAddr) -> Option<[u8; 6]> {
        self.known.get(&(device, ip)).copied()
    }
}
