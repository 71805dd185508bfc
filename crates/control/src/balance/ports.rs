//! The interfaces of a balancer: which MAC addresses frames to it have, and the VLAN devices on the
//! interfaces that its packets may leave by.
//!
//! Rule: a frame to the address of a device that takes the interface's frames on this host (a
//! bridge or bond, a VLAN or macvlan device) is for the balancer, too. A frame to a container's
//! macvlan device, which is in another namespace, is not.

use std::borrow::Borrow;

use functions::balancer::{self, Ingress};
use kernel::Map;
use spec::Map as _;
use sys::net::{Ifindex, Link, Netlink};

use super::Running;
use crate::error::{Error, FunctionError, Result};
use crate::route::ports_of;

/// Writes the addresses and VLAN devices of a balancer that is attached to `devices`, and whose
/// map of interfaces is complete.
///
/// # Errors
/// Interfaces cannot be read, or a map refuses a change.
pub fn write<M: Borrow<Map>, E>(
    map: impl Fn(&'static str) -> std::result::Result<M, E>,
    devices: &[Ifindex],
    links: &[Link],
) -> Result<()>
where
    Error: From<E>,
{
    let own: Vec<_> = devices.iter().map(|device| ingress(*device, links)).collect();
    balancer::set_own(map(balancer::OWN)?.borrow(), &own)?;
    let out = map(balancer::TX)?.borrow().keys()?;
    let out = out.iter().filter_map(|key| key.first_chunk());
    let out: Vec<_> = out.map(|key| Ifindex(u32::from_le_bytes(*key))).collect();
    balancer::set_vlans(map(balancer::VLANS)?.borrow(), &ports_of(&out, links))?;
    Ok(())
}

/// As above, for balancers that run and share their maps.
///
/// # Errors
/// As above.
pub fn update(running: &Running, devices: &[Ifindex], links: &[Link]) -> Result<()> {
    if running.generation.map_if_kept(balancer::OWN)?.is_none() {
        // Of an earlier version.
        return Ok(());
    }
    write(|name| running.generation.map(name), devices, links)
}

/// Interfaces by their names, the balancer's own first.
///
/// # Errors
/// One does not exist, or is a VLAN device: drivers send for them only by the interface below.
pub fn named(own: Ifindex, out: &[String]) -> Result<Vec<Ifindex>> {
    let mut netlink = Netlink::open()?;
    let mut all = vec![own];
    for name in out {
        let link = netlink.link(name)?;
        if let Some(vlan) = link.vlan {
            let (name, vlan) = (name.clone(), vlan.id());
            return Err(FunctionError::VlanOut { name, vlan }.into());
        }
        all.push(link.ifindex);
    }
    Ok(all)
}

fn ingress(device: Ifindex, links: &[Link]) -> Ingress {
    let find = |ifindex| links.iter().find(|link| link.ifindex == ifindex);
    let mut sharing = vec![device];
    sharing.extend(find(device).and_then(|link| link.master));
    // Devices on it, on its bridge or bond, and on these.
    for _ in 0..DEPTH {
        let on = |link: &&Link| {
            ON.contains(&&*link.kind)
                && !link.peer_elsewhere
                && link.peer.is_some_and(|peer| sharing.contains(&peer))
                && !sharing.contains(&link.ifindex)
        };
        let more: Vec<_> = links.iter().filter(on).map(|link| link.ifindex).collect();
        sharing.extend(more);
    }
    let mut macs = Vec::new();
    for mac in sharing.into_iter().filter_map(find).filter_map(|link| link.mac) {
        if !macs.contains(&mac.0) {
            macs.push(mac.0);
        }
    }
    let has_own = find(device).is_some_and(|link| link.mac.is_some());
    Ingress { ifindex: device.0, macs: if has_own { macs } else { Vec::new() } }
}

/// Kinds of devices that take frames of the interface below.
const ON: [&str; 2] = ["vlan", "macvlan"];
/// Devices on each other: two VLAN tags, and a macvlan device.
const DEPTH: usize = 3;

#[cfg(test)]
mod tests {
    use packet::Mac;

    use super::*;

    fn link(ifindex: u32, kind: &str, on: Option<u32>) -> Link {
        Link {
            ifindex: Ifindex(ifindex),
            kind: kind.to_owned(),
            mac: Some(Mac([2, 0, 0, 0, 0, ifindex as u8])),
            peer: on.map(Ifindex),
            up: true,
            ..Link::default()
        }
    }

    fn macs(links: &[Link]) -> Vec<u8> {
        ingress(Ifindex(2), links).macs.into_iter().map(|mac| mac[5]).collect()
    }

    #[test]
    fn frames_to_devices_on_the_interface_are_for_the_balancer() {
        let own = link(2, "", None);
        assert_eq!(macs(&[link(1, "veth", Some(2)), own.clone()]), [2]);
        let vrrp = link(7, "macvlan", Some(2));
        assert_eq!(macs(&[own.clone(), vrrp.clone(), link(8, "vlan", Some(7))]), [2, 7, 8]);
        let elsewhere = Link { peer_elsewhere: true, ..vrrp.clone() };
        assert_eq!(macs(&[own.clone(), elsewhere]), [2]);
        let bridged = Link { master: Some(Ifindex(6)), ..own.clone() };
        let bridge = link(6, "bridge", None);
        assert_eq!(macs(&[bridged, bridge, link(9, "vlan", Some(6))]), [2, 6, 9]);
        let same = Link { mac: own.mac, ..vrrp };
        assert_eq!(macs(&[own, same]), [2]);
        assert!(macs(&[Link { mac: None, ..link(2, "tun", None) }]).is_empty());
    }
}
