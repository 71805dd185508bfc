//! The ports of a router: interfaces that its programs are attached to, the VLAN devices on them,
//! and bonds that use them.
//!
//! Rule: an interface whose packets pass through something that XDP does not do, such as a bridge,
//! is left to the stack: it gets no MAC address, so that no frame is for it, or no port at all.
//! The kernel hands a tagged frame to the VLAN device before the bridge or bond of the interface,
//! so a VLAN of a bridge's member is a port.

use std::collections::BTreeMap;

use functions::route::{self, MOST_PORTS, Port, PortMaps, Tags};
use kernel::Map;
use sys::net::{Address, Ifindex, Link};

use super::extensions;
use crate::error::Result;
use crate::state::Generation;

/// The ports of a router that is attached to `devices`, as the interfaces are now. Those beyond the
/// largest number are left to the stack.
#[must_use]
pub fn find(devices: &[Ifindex], links: &[Link]) -> Vec<Port> {
    let mut ports: Vec<Port> =
        devices.iter().filter_map(|device| untagged(*device, links)).collect();
    let vlans: Vec<Port> = links.iter().filter_map(|link| tagged(link, devices, links)).collect();
    let mut owners: BTreeMap<_, u32> = BTreeMap::new();
    for port in &vlans {
        *owners.entry((port.device, port.tags)).or_default() += 1;
    }
    // The same tag on a bond and on its active interface: the stack decides.
    ports.extend(vlans.iter().filter(|port| owners[&(port.device, port.tags)] == 1));
    ports.truncate(MOST_PORTS as usize);
    ports
}

/// The port of a device's untagged frames: its own, or that of the bond whose active interface it
/// is.
fn untagged(device: Ifindex, links: &[Link]) -> Option<Port> {
    let link = by_index(device, links)?;
    if routes(link, links) {
        return Some(Port::untagged(device.0, mac(link)));
    }
    let master = link.master.and_then(|master| by_index(master, links));
    let bond = master.filter(|master| is_active(device, master) && routes(master, links));
    Some(bond.map_or(Port::untagged(device.0, None), |bond| Port {
        ifindex: bond.ifindex.0,
        ..Port::untagged(device.0, mac(bond))
    }))
}

/// The port of a VLAN device on one of the devices.
fn tagged(link: &Link, devices: &[Ifindex], links: &[Link]) -> Option<Port> {
    let (device, tags) = below(link, devices, links, MOST_TAGS)?;
    let is_port = tags != Tags::NONE && link.up && routes(link, links);
    is_port.then_some(Port { ifindex: link.ifindex.0, mac: mac(link), device: device.0, tags })
}

/// The device that sends for an interface, and the tags that it sends with.
fn below(
    link: &Link,
    devices: &[Ifindex],
    links: &[Link],
    depth: usize,
) -> Option<(Ifindex, Tags)> {
    if devices.contains(&link.ifindex) {
        return Some((link.ifindex, Tags::NONE));
    }
    if let Some(bond) = link.bond {
        let active = bond.active.filter(|_| bond.is_active_backup)?;
        return devices.contains(&active).then_some((active, Tags::NONE));
    }
    let tag = link.vlan.filter(|_| !link.peer_elsewhere)?;
    let lower = by_index(link.peer?, links).filter(|lower| lower.up)?;
    let (device, tags) = below(lower, devices, links, depth.checked_sub(1)?)?;
    Some((device, tags.with(tag)?))
}

/// Whether the kernel routes packets of the interface itself.
fn routes(link: &Link, links: &[Link]) -> bool {
    link.master.is_none_or(|master| by_index(master, links).is_some_and(|one| one.kind == VRF))
}

fn is_active(device: Ifindex, bond: &Link) -> bool {
    bond.bond.is_some_and(|bond| bond.is_active_backup && bond.active == Some(device))
}

fn by_index(ifindex: Ifindex, links: &[Link]) -> Option<&Link> {
    links.iter().find(|link| link.ifindex == ifindex)
}

fn mac(link: &Link) -> Option<[u8; 6]> {
    link.mac.map(|mac| mac.0)
}

/// Maps of a running router that describe its ports.
#[derive(Debug)]
pub(crate) struct LivePorts {
    maps: [Map; 5],
    extensions: Map,
}

impl LivePorts {
    /// Opens the maps of a generation of the router's programs.
    pub fn open(generation: &Generation) -> Result<Self> {
        let open = |name| generation.map(name);
        let [tx, ports, index] = [open(route::TX)?, open(route::PORTS)?, open(route::INDEX)?];
        let maps = [tx, ports, index, open(route::TAGGED)?, open(route::VLANS)?];
        Ok(Self { maps, extensions: open(route::EXTENSIONS)? })
    }

    /// Makes the ports those of the interfaces that exist now.
    pub fn update(&self, links: &[Link], addresses: &[Address]) -> Result<()> {
        let [tx, ports, index, tagged, vlans] = &self.maps;
        let maps = PortMaps { tx, ports, index, tagged, vlans };
        let devices: Vec<Ifindex> = maps.live()?.devices().map(Ifindex).collect();
        route::update_ports(&find(&devices, links), &maps)?;
        extensions::update(links, addresses, [ports, &self.extensions])
    }
}

const VRF: &str = "vrf";
/// Tags of a frame that the program reads.
const MOST_TAGS: usize = 2;

#[cfg(test)]
mod tests {
    use packet::{EtherType, Mac, VlanTag};
    use sys::net::Bond;

    use super::*;

    fn link(ifindex: u32, kind: &str) -> Link {
        Link {
            ifindex: Ifindex(ifindex),
            kind: kind.to_owned(),
            mac: Some(Mac([2, 0, 0, 0, 0, ifindex as u8])),
            up: true,
            ..Link::default()
        }
    }

    fn tag(protocol: EtherType, id: u16) -> VlanTag {
        VlanTag::new(protocol, id).unwrap()
    }

    fn vlan(ifindex: u32, on: u32, id: u16) -> Link {
        let vlan = Some(tag(EtherType::VLAN, id));
        Link { peer: Some(Ifindex(on)), vlan, ..link(ifindex, "vlan") }
    }

    fn under(master: u32, link: Link) -> Link {
        Link { master: Some(Ifindex(master)), ..link }
    }

    fn bond(ifindex: u32, active: Option<u32>) -> Link {
        let active = active.map(Ifindex);
        let bond = Some(Bond { is_active_backup: true, active });
        Link { bond, ..link(ifindex, "bond") }
    }

    /// Ports of a router on interfaces 1 and 2: (owner, device, IDs), in order.
    fn ports(links: &[Link]) -> Vec<(u32, u32, Vec<u16>)> {
        let found = find(&[Ifindex(1), Ifindex(2)], links);
        let routed = found.into_iter().filter(|port| port.mac.is_some());
        routed
            .map(|port| (port.ifindex, port.device, port.tags.iter().map(VlanTag::id).collect()))
            .collect()
    }

    fn plain() -> Vec<Link> {
        vec![link(1, ""), link(2, "veth")]
    }

    fn with(more: &[Link]) -> Vec<Link> {
        let mut links = plain();
        links.retain(|link| more.iter().all(|other| other.ifindex != link.ifindex));
        links.extend_from_slice(more);
        links
    }

    #[test]
    fn vlan_devices_on_the_router_are_ports() {
        assert_eq!(ports(&plain()), [(1, 1, vec![]), (2, 2, vec![])]);
        let more = ports(&with(&[vlan(7, 2, 5), vlan(8, 7, 6), vlan(9, 3, 5), link(3, "")]));
        assert_eq!(more[2..], [(7, 2, vec![5]), (8, 2, vec![5, 6])]);
        let service = Link { vlan: Some(tag(EtherType::SERVICE_VLAN, 9)), ..vlan(7, 1, 1) };
        let found = find(&[Ifindex(1)], &with(&[service]));
        assert_eq!(found[1].tags, Tags::single(tag(EtherType::SERVICE_VLAN, 9)));
        assert_eq!(found[1].mac, Some([2, 0, 0, 0, 0, 7]));
    }

    #[test]
    fn what_the_kernel_does_not_route_is_no_port() {
        let two = [(1, 1, vec![]), (2, 2, vec![])];
        for (name, links) in [
            ("down", vec![Link { up: false, ..vlan(7, 1, 5) }]),
            ("on one that is down", vec![Link { up: false, ..vlan(7, 9, 5) }, vlan(8, 7, 6)]),
            ("on one elsewhere", vec![Link { peer_elsewhere: true, ..vlan(7, 1, 5) }]),
            ("VLAN 0", vec![Link { vlan: None, ..vlan(7, 1, 5) }]),
            ("in a bridge", vec![under(6, vlan(7, 1, 5)), link(6, "bridge")]),
            ("on a bridge", vec![vlan(7, 6, 5), link(6, "bridge")]),
            ("of itself", vec![vlan(7, 7, 5)]),
        ] {
            assert_eq!(ports(&with(&links)), two, "{name}");
        }
        let three = with(&[vlan(7, 1, 5), vlan(8, 7, 6), vlan(9, 8, 7)]);
        assert_eq!(ports(&three).len(), 4, "a third tag");
        let bridged = with(&[under(6, link(2, "")), link(6, "bridge"), vlan(7, 2, 5)]);
        assert_eq!(ports(&bridged), [(1, 1, vec![]), (7, 2, vec![5])], "a member of a bridge");
        let in_vrf = with(&[under(6, link(2, "")), link(6, "vrf"), under(6, vlan(7, 2, 5))]);
        assert_eq!(ports(&in_vrf)[1..], [(2, 2, vec![]), (7, 2, vec![5])]);
        assert_eq!(ports(&[link(1, "")]), [(1, 1, vec![])], "an interface that vanished");
    }

    #[test]
    fn a_bond_is_the_port_of_its_active_interface() {
        let members = [under(6, link(1, "")), under(6, link(2, ""))];
        let bonded = |bond: Link, more: &[Link]| ports(&[&members[..], &[bond], more].concat());
        assert_eq!(bonded(bond(6, Some(2)), &[]), [(6, 2, vec![])]);
        assert_eq!(bonded(bond(6, Some(1)), &[vlan(7, 6, 5)]), [(6, 1, vec![]), (7, 1, vec![5])]);
        assert_eq!(bonded(bond(6, None), &[vlan(7, 6, 5)]), []);
        assert_eq!(bonded(bond(6, Some(4)), &[vlan(7, 6, 5)]), [], "one without the program");
        let other = Link { bond: Some(Bond::default()), ..bond(6, Some(1)) };
        assert_eq!(bonded(other, &[vlan(7, 6, 5)]), [], "a mode in which several send");
        assert_eq!(bonded(under(9, bond(6, Some(1))), &[link(9, "bridge")]), []);
        let both = [vlan(7, 6, 5), vlan(8, 1, 5)];
        assert_eq!(bonded(bond(6, Some(1)), &both), [(6, 1, vec![])], "two with one tag");
    }
}
