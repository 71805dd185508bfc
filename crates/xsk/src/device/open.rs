//! Queries the kernel for the attributes of an interface.
//!
//! Rule: a query that the kernel or driver does not support yields `None`; only an interface that
//! does not exist is an error.

use sys::memory::node_of_bus;
use sys::net::ethtool::{Channels, Driver, Ethtool};
use sys::net::{Direction, Link, NetdevFamily, NetdevQueue, Netlink};

use super::{Device, Queues};
use crate::error::{Error, InterfaceReason, Result};

impl Device {
    /// Reads the attributes of the interface `name` in the calling thread's network namespace.
    ///
    /// # Errors
    /// [`InterfaceReason::Unknown`] with the existing interfaces.
    pub fn open(name: &str) -> Result<Self> {
        let links = Netlink::open()?.links()?;
        match links.iter().find(|link| link.name == name) {
            Some(link) => Self::from_link(link),
            None => Err(unknown(name, &links)),
        }
    }

    fn from_link(link: &Link) -> Result<Self> {
        let ethtool = Ethtool::open()?;
        let driver = ethtool.driver(&link.name).unwrap_or_default();
        let channels = ethtool.channels(&link.name).ok();
        // Linux before 6.3 has no such family.
        let mut netdev = NetdevFamily::open().ok();
        let features = netdev.as_mut().and_then(|family| family.xdp_features(link.ifindex).ok());
        let listed = netdev.and_then(|mut family| family.queues(link.ifindex).ok());
        Ok(Self {
            name: link.name.clone(),
            ifindex: link.ifindex,
            driver: driver_name(&driver, link),
            mtu: link.mtu,
            up: link.up,
            running: link.running,
            queues: queues(listed.as_deref().unwrap_or_default(), channels, link),
            node: node_of_bus(&driver.bus),
            features,
        })
    }
}

fn driver_name(driver: &Driver, link: &Link) -> String {
    if driver.name.is_empty() { link.kind.clone() } else { driver.name.clone() }
}

/// The kernel's list of queues is the best source, but is empty while the interface is down. Then
/// its channels apply, or else the queues that it was created with.
fn queues(listed: &[NetdevQueue], channels: Option<Channels>, link: &Link) -> Queues {
    let most = channels.map(|c| c.max_combined.max(c.max_rx.min(c.max_tx))).filter(|n| *n > 0);
    let count = |direction| listed.iter().filter(|queue| queue.direction == direction).count();
    let (rx, tx) = (count(Direction::Receive) as u32, count(Direction::Transmit) as u32);
    if rx > 0 && tx > 0 {
        return Queues { rx, tx, most };
    }
    match channels {
        Some(c) if c.rx + c.combined > 0 && c.tx + c.combined > 0 => {
            Queues { rx: c.rx + c.combined, tx: c.tx + c.combined, most }
        }
        _ => Queues { rx: link.rx_queues, tx: link.tx_queues, most },
    }
}

fn unknown(name: &str, links: &[Link]) -> Error {
    let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
    let existing = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Error::interface(name, InterfaceReason::Unknown { existing })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(direction: Direction, id: u32) -> NetdevQueue {
        NetdevQueue { id, direction, napi: None, has_socket: false }
    }

    #[test]
    fn queues_are_counted_from_the_best_source() {
        use Direction::{Receive, Transmit};
        let listed = [queue(Receive, 0), queue(Receive, 1), queue(Transmit, 0)];
        let combined = Channels { combined: 4, max_combined: 8, ..Channels::default() };
        let split = Channels { rx: 2, tx: 3, max_rx: 16, max_tx: 4, ..Channels::default() };
        let link = Link { rx_queues: 9, tx_queues: 10, ..Link::default() };
        let listed = listed.as_slice();
        let cases = [
            (listed, None, (2, 1, None)),
            (listed, Some(combined), (2, 1, Some(8))),
            (&[], Some(combined), (4, 4, Some(8))),
            (&[], Some(split), (2, 3, Some(4))),
            (&[], Some(Channels::default()), (9, 10, None)),
            (&[], None, (9, 10, None)),
        ];
        for (listed, channels, (rx, tx, most)) in cases {
            let expected = Queues { rx, tx, most };
            assert_eq!(queues(listed, channels, &link), expected, "{channels:?}");
        }
    }

    #[test]
    fn an_unknown_interface_names_the_others() {
        let link = |name: &str| Link { name: name.to_owned(), ..Link::default() };
        let text = unknown("eth9", &[link("lo"), link("eth0")]).to_string();
        assert!(text.starts_with("eth9: ") && text.ends_with("existing: lo, eth0"), "{text}");
    }
}
