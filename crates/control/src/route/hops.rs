//! The maps in which a router counts what it sends to each next hop.

use functions::route::{self, SentTo, abi};
use functions::stats::Count;
use kernel::Map;
use packet::Mac;
use spec::Map as _;
use sys::net::Ifindex;

use crate::error::Result;
use crate::state::Generation;

/// The interface by which the kernel routes to a next hop, and the next hop's address there.
pub(crate) type NextHop = (Ifindex, Mac);

/// Maps that the programs of a router share.
#[derive(Debug)]
pub(crate) struct Hops {
    ports: Map,
    hops: Map,
    counts: Map,
    received: Map,
}

impl Hops {
    /// The maps of a router; one of an earlier version has none.
    pub fn of(router: &Generation) -> Result<Option<Self>> {
        let kept = |name| router.map_if_kept(name);
        let (ports, hops) = (kept(route::PORTS)?, kept(route::HOPS)?);
        let (counts, received) = (kept(route::HOP_COUNTS)?, kept(route::RECEIVED)?);
        match (ports, hops, counts, received) {
            (Some(ports), Some(hops), Some(counts), Some(received)) => {
                Ok(Some(Self { ports, hops, counts, received }))
            }
            _ => Ok(None),
        }
    }

    /// Distinguishes the maps of different routers.
    pub fn id(&self) -> u32 {
        self.hops.info().id
    }

    /// The router's ports by number; unused numbers have interface 0.
    pub fn ports(&self) -> Result<Vec<abi::Port>> {
        let ports = self.ports.array()?;
        let port = |bytes: &Vec<u8>| bytes.first_chunk().map(abi::Port::from_bytes);
        Ok(ports.iter().map(|bytes| port(bytes).unwrap_or_default()).collect())
    }

    /// Frames that came in with the tags of each port, by its number.
    pub fn received(&self) -> Result<Vec<Count>> {
        Ok(route::received(&self.received)?)
    }

    /// What was sent to each next hop; `None` stands for those that are not counted one by one, and
    /// those of interfaces that are not ports any more.
    pub fn sent(&self) -> Result<Vec<(Option<NextHop>, Count)>> {
        let ports = self.ports()?;
        let ifindex = |port: u32, epoch: u32| {
            let port = ports.get(port as usize).filter(|port| port.epoch == epoch)?;
            (port.ifindex != 0).then_some(Ifindex(port.ifindex))
        };
        let sent = route::sent(&self.hops, &self.counts)?.into_iter();
        let named = sent.map(|SentTo { hop, count }| {
            (hop.and_then(|(port, epoch, mac)| Some((ifindex(port, epoch)?, Mac(mac)))), count)
        });
        Ok(named.collect())
    }
}
