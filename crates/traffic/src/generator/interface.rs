//! `Interface`: the interface that sends the frames, checked before the first one.
//!
//! Rule: obstacles that the kernel reports beforehand are errors here, which name the setting to
//! change. Those that it does not report (an older kernel, a peer in another namespace) appear as
//! faults of the run.

use packet::header_len;
use sys::errno::{ENODEV, ENXIO};
use sys::net::ethtool::Ethtool;
use sys::net::{Ifindex, Link, NetdevFamily, Netlink};

use crate::error::{Error, InterfaceReason, Result};
use crate::transmit::{VETH, advice};

/// Attributes of an interface that exists and is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub name: String,
    pub ifindex: Ifindex,
    pub mtu: u32,
    /// Name of the driver, as ethtool reports it; empty when unknown.
    pub driver: String,
}

impl Interface {
    /// Finds an interface in the calling thread's namespace.
    pub fn find(name: &str) -> Result<Self> {
        let link = find(&mut Netlink::open()?, name)?;
        if !link.up {
            let reason = InterfaceReason::Down { interface: name.to_owned() };
            return Err(Error::interface(name, reason));
        }
        let driver = Ethtool::open()?.driver(name).map(|driver| driver.name).unwrap_or_default();
        Ok(Self { name: link.name, ifindex: link.ifindex, mtu: link.mtu, driver })
    }

    pub fn is_veth(&self) -> bool {
        self.driver == VETH
    }

    /// Checks that frames of up to `longest` bytes can be transmitted.
    ///
    /// # Errors
    /// [`Error::Interface`] with the setting to change.
    pub fn check_transmit(&self, longest: usize) -> Result<()> {
        let room = self.mtu as usize + FRAME_EXTRA;
        if longest > room {
            let reason = InterfaceReason::Mtu {
                interface: self.name.clone(),
                mtu: self.mtu,
                max: room,
                len: longest,
                needed: longest - header_len::ETHERNET,
            };
            return Err(Error::interface(&self.name, reason));
        }
        self.check_peer()?;
        self.check_features()
    }

    /// Checks the peer of a veth device, which receives the frames only if it supports XDP frames.
    fn check_peer(&self) -> Result<()> {
        if !self.is_veth() {
            return Ok(());
        }
        let mut netlink = Netlink::open()?;
        let link = find(&mut netlink, &self.name)?;
        if !link.running {
            return Err(Error::interface(&self.name, InterfaceReason::PeerDown));
        }
        let Some(peer) = link.peer.filter(|_| !link.peer_elsewhere) else { return Ok(()) };
        let peer = netlink.link_by_index(peer)?;
        let features = Ethtool::open()?.features(&peer.name)?;
        let gro = features.iter().any(|feature| feature.name == GRO && feature.active);
        if gro || peer.xdp.native.is_some() {
            return Ok(());
        }
        let reason = InterfaceReason::PeerDiscards { peer: peer.name };
        Err(Error::interface(&self.name, reason))
    }

    /// Checks the features that the driver reports since Linux 6.3.
    fn check_features(&self) -> Result<()> {
        let reported =
            NetdevFamily::open().and_then(|mut family| family.xdp_features(self.ifindex));
        match reported {
            Ok(features) if !features.transmits() => {
                Err(Error::interface(&self.name, self.cannot_transmit()))
            }
            _ => Ok(()),
        }
    }

    fn cannot_transmit(&self) -> InterfaceReason {
        if self.is_veth() {
            let advice = advice(ENXIO, &self.name, &self.driver);
            return InterfaceReason::CannotTransmit(advice);
        }
        let driver = if self.driver.is_empty() { "unknown" } else { &self.driver };
        InterfaceReason::Driver { interface: self.name.clone(), driver: driver.to_owned() }
    }
}

fn find(netlink: &mut Netlink, name: &str) -> Result<Link> {
    match netlink.link(name) {
        Err(error) if error.is(ENODEV) => Err(Error::interface(name, InterfaceReason::Unknown)),
        other => Ok(other?),
    }
}

/// Bytes of a frame in addition to the MTU, as the kernel counts them: Ethernet header and VLAN
/// tag.
const FRAME_EXTRA: usize = header_len::ETHERNET + header_len::VLAN;
const GRO: &str = "rx-gro";
