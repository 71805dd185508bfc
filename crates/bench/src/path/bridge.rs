//! The kernel's bridge between both ports.

use anyhow::Result;
use sys::net::{Ifindex, Netlink, PacketSocket};

use super::{ActivePath, Journey, Path};
use crate::field::Line;

/// The kernel's bridge.
pub const BRIDGE: Path = Path {
    name: "bridge",
    about: "a Linux bridge between both interfaces, which has learnt where the sink is",
    journey: Journey::Bridged,
    set: |line| Ok(Box::new(Bridge::build(line)?)),
};

/// Removed when dropped, which frees its ports.
struct Bridge {
    netlink: Netlink,
    ifindex: Ifindex,
}

impl Bridge {
    fn build(line: &Line) -> Result<Self> {
        let mut netlink = line.forwarder.netlink()?;
        let ifindex = netlink.create_bridge(NAME)?;
        let mut bridge = Self { netlink, ifindex };
        for port in [&line.near, &line.far] {
            bridge.netlink.set_master(port.ifindex()?, Some(ifindex))?;
        }
        bridge.netlink.set_up(ifindex, true)?;
        introduce(line)?;
        Ok(bridge)
    }
}

/// Sends a frame from the sink, so that the bridge forwards packets for it to its port only.
fn introduce(line: &Line) -> Result<()> {
    let (sink, sender) = (line.sink.mac()?.0, line.sender.mac()?.0);
    let word = [&sender[..], &sink, &LOCAL_EXPERIMENT, &[0; 46]].concat();
    let ifindex = line.sink.ifindex()?;
    Ok(line.sink.run(|| PacketSocket::open(ifindex)?.send(&word))??)
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // The namespace ends with the run, whatever is in it.
        let _ = self.netlink.delete_link(self.ifindex);
    }
}

impl ActivePath for Bridge {}

const NAME: &str = "bench0";
/// An unassigned EtherType.
const LOCAL_EXPERIMENT: [u8; 2] = [0x88, 0xb5];
