//! `Interface`: where frames leave, checked before the first one does.
//!
//! Rule: what the kernel tells beforehand is refused here, with what to change; what it does not
//! tell (an older kernel, a peer in another namespace) shows as a fault of the run.

use packet::header_len;
use sys::errno::{ENODEV, ENXIO};
use sys::net::ethtool::Ethtool;
use sys::net::{Ifindex, Link, NetdevFamily, Netlink};

use crate::error::{Error, Result};
use crate::transmit::{VETH, advice};

/// Facts of an interface that exists and is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub name: String,
    pub ifindex: Ifindex,
    pub mtu: u32,
    /// As ethtool calls it; empty when unknown.
    pub driver: String,
}

impl Interface {
    /// In the calling thread's namespace.
    pub fn find(name: &str) -> Result<Self> {
        let link = find(&mut Netlink::open()?, name)?;
        if !link.up {
            return refuse(name, format!("it is down: `ip link set {name} up`"));
        }
        let driver = Ethtool::open()?.driver(name).map(|driver| driver.name).unwrap_or_default();
        Ok(Self { name: link.name, ifindex: link.ifindex, mtu: link.mtu, driver })
    }

    pub fn is_veth(&self) -> bool {
        self.driver == VETH
    }

    /// Whether frames as long as this can leave through it.
    ///
    /// # Errors
    /// [`Error::Interface`] says what to change.
    pub fn check_transmit(&self, longest: usize) -> Result<()> {
        let room = self.mtu as usize + FRAME_EXTRA;
        if longest > room {
            let why = format!(
                "its MTU of {} allows frames of {room} bytes, not {longest}: \
                 `ip link set {} mtu {}`",
                self.mtu,
                self.name,
                longest - header_len::ETHERNET
            );
            return refuse(&self.name, why);
        }
        self.check_peer()?;
        self.check_features()
    }

    /// A veth delivers to its other end, where that listens.
    fn check_peer(&self) -> Result<()> {
        if !self.is_veth() {
            return Ok(());
        }
        let mut netlink = Netlink::open()?;
        let link = find(&mut netlink, &self.name)?;
        if !link.running {
            return refuse(&self.name, "its other end is down: set that up, too".into());
        }
        let Some(peer) = link.peer.filter(|_| !link.peer_elsewhere) else { return Ok(()) };
        let peer = netlink.link_by_index(peer)?;
        let features = Ethtool::open()?.features(&peer.name)?;
        let gro = features.iter().any(|feature| feature.name == GRO && feature.active);
        if gro || peer.xdp.native.is_some() {
            return Ok(());
        }
        let name = &peer.name;
        let why = format!("its peer {name} does not listen: `ethtool -K {name} gro on`");
        refuse(&self.name, why)
    }

    /// What the driver says of itself, since Linux 6.3.
    fn check_features(&self) -> Result<()> {
        let told = NetdevFamily::open().and_then(|mut family| family.xdp_features(self.ifindex));
        match told {
            Ok(features) if !features.transmits() => refuse(&self.name, self.cannot_transmit()),
            _ => Ok(()),
        }
    }

    fn cannot_transmit(&self) -> String {
        if self.is_veth() {
            return advice(ENXIO, &self.name, &self.driver);
        }
        format!(
            "its driver ({}) does not transmit XDP frames, or only while an XDP program is \
             attached: attach one to {}, such as one that passes everything",
            if self.driver.is_empty() { "unknown" } else { &self.driver },
            self.name
        )
    }
}

fn find(netlink: &mut Netlink, name: &str) -> Result<Link> {
    match netlink.link(name) {
        Err(error) if error.is(ENODEV) => refuse(name, "there is no such interface here".into()),
        other => Ok(other?),
    }
}

fn refuse<T>(interface: &str, why: String) -> Result<T> {
    Err(Error::Interface { interface: interface.to_owned(), why })
}

/// Bytes of a frame beside its payload, as the kernel counts: Ethernet header and a VLAN tag.
const FRAME_EXTRA: usize = header_len::ETHERNET + header_len::VLAN;
const GRO: &str = "rx-gro";
