//! Extensions of ICMP errors (RFC 4884): the interface that the packet came in from (RFC 5837).
//!
//! The program copies them as they are, so their lengths and checksums are computed here.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use packet::checksum;
use spec::{Map, Spec};

use super::port::Numbered;
use super::{EXTENSIONS, MOST_PORTS};
use crate::table::{self, Changed, Table};

/// What an ICMP error states about the interface that a packet came in from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    pub ifindex: u32,
    pub name: String,
    pub mtu: u32,
    /// Address in IPv4 errors.
    pub ipv4: Option<Ipv4Addr>,
    /// Address in ICMPv6 errors.
    pub ipv6: Option<Ipv6Addr>,
}

impl Interface {
    /// The extension of an error of this family.
    fn extension(&self, ipv6: bool) -> Vec<u8> {
        let ip = match ipv6 {
            true => self.ipv6.map(IpAddr::V6),
            false => self.ipv4.map(IpAddr::V4),
        };
        let object = self.object(ip);
        let mut bytes = vec![VERSION << 4, 0, 0, 0];
        bytes.extend(object);
        let check = !checksum::fold(checksum::sum(&bytes));
        bytes[2..4].copy_from_slice(&check.to_be_bytes());
        let words = bytes.len() as u32 / 4;
        let mut extension = [words.to_le_bytes().to_vec(), bytes].concat();
        extension.resize(EXTENSION, 0);
        extension
    }

    /// The Interface Information Object: its parts are in the order of the bits that announce them.
    fn object(&self, ip: Option<IpAddr>) -> Vec<u8> {
        let mut kind = INCOMING | HAS_IFINDEX | HAS_NAME | HAS_MTU;
        let mut payload = self.ifindex.to_be_bytes().to_vec();
        if let Some(ip) = ip {
            kind |= HAS_ADDRESS;
            let (family, octets) = match ip {
                IpAddr::V4(v4) => (AFI_IPV4, v4.octets().to_vec()),
                IpAddr::V6(v6) => (AFI_IPV6, v6.octets().to_vec()),
            };
            payload.extend([0, family, 0, 0]);
            payload.extend(octets);
        }
        let name = &self.name.as_bytes()[..self.name.len().min(LONGEST_NAME)];
        let padded = (1 + name.len()).next_multiple_of(4);
        payload.push(padded as u8);
        payload.extend(name);
        payload.resize(payload.len() + padded - 1 - name.len(), 0);
        payload.extend(self.mtu.to_be_bytes());
        let length = (payload.len() + 4) as u16;
        let [high, low] = length.to_be_bytes();
        [vec![high, low, INTERFACE_INFORMATION, kind], payload].concat()
    }
}

/// Brings the extensions of live ports to those of the interfaces; other ports have none. `ports`
/// is the map [`PORTS`](super::PORTS) and `extensions` is [`EXTENSIONS`]; if the latter has no
/// space, because the option is off, nothing is written.
///
/// # Errors
/// The map's own; then all extensions are as they were.
pub fn update_extensions<M: Map>(
    interfaces: &[Interface],
    ports: &M,
    extensions: &M,
) -> Result<Changed, M::Error> {
    let last = (2 * MOST_PORTS - 1).to_le_bytes();
    if extensions.lookup(&last)?.is_none() {
        return Ok(Changed::default());
    }
    let by_index: BTreeMap<u32, &Interface> =
        interfaces.iter().map(|interface| (interface.ifindex, interface)).collect();
    let live = Numbered::read(&table::read(ports)?);
    let wanted: Table = (0..MOST_PORTS)
        .flat_map(|number| {
            let interface = live.ifindex(number).and_then(|ifindex| by_index.get(&ifindex));
            [false, true].map(|ipv6| {
                let extension =
                    interface.map(|one| one.extension(ipv6)).unwrap_or_else(|| vec![0; EXTENSION]);
                let index = 2 * number + u32::from(ipv6);
                (index.to_le_bytes().to_vec(), extension)
            })
        })
        .collect();
    table::apply(extensions, &wanted)
}

/// Makes space for the extensions of all ports, before the program is loaded.
pub(super) fn size(spec: &mut Spec) {
    for def in spec.maps.iter_mut().filter(|def| *def.name == *EXTENSIONS) {
        def.max_entries = 2 * MOST_PORTS;
    }
}

/// Version of the extension structure (RFC 4884, section 7).
const VERSION: u8 = 2;
/// Class of the Interface Information Object, and the bits of its type (RFC 5837, section 4.1).
const INTERFACE_INFORMATION: u8 = 2;
const INCOMING: u8 = 0 << 6;
const HAS_IFINDEX: u8 = 1 << 3;
const HAS_ADDRESS: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 1;
const HAS_MTU: u8 = 1 << 0;
/// Address families as IANA numbers them.
const AFI_IPV4: u8 = 1;
const AFI_IPV6: u8 = 2;
/// Bytes of an interface's name, without the final zero.
const LONGEST_NAME: usize = 15;
/// Bytes of a map's value: the number of words, and those of the longest extension.
const EXTENSION: usize = 4 + 4 + 4 + 4 + 20 + 1 + LONGEST_NAME + 4;

#[cfg(test)]
mod tests {
    use spec::MemoryMap;

    use super::super::port::{Port, PortTables};
    use super::*;

    fn eth1() -> Interface {
        Interface {
            ifindex: 7,
            name: "eth1".to_owned(),
            mtu: 1500,
            ipv4: Some(Ipv4Addr::new(10, 0, 1, 1)),
            ipv6: None,
        }
    }

    #[test]
    fn an_extension_names_the_interface() {
        let of = |interface: &Interface, ipv6| {
            let extension = interface.extension(ipv6);
            extension[4..4 + 4 * usize::from(extension[0])].to_vec()
        };
        let expected = [
            [32, 0, 0, 0].as_slice(),
            &[0, 28, 2, 0b1111, 0, 0, 0, 7, 0, 1, 0, 0, 10, 0, 1, 1],
            &[8, b'e', b't', b'h', b'1', 0, 0, 0, 0, 0, 5, 220],
        ]
        .concat();
        let mut found = of(&eth1(), false);
        assert_eq!(checksum::fold(checksum::sum(&found)), 0xffff);
        found[2..4].fill(0);
        assert_eq!(found, expected);
        let found = of(&eth1(), true);
        assert_eq!((found.len(), found[7]), (24, 0b1011), "without an address");
        let longest = Interface {
            name: "a-name-of-15-by".to_owned(),
            ipv6: Some(Ipv6Addr::LOCALHOST),
            ..eth1()
        };
        assert_eq!(of(&longest, true).len(), 52);
    }

    #[test]
    fn ports_have_the_extensions_of_their_interfaces() {
        let ports = [3, 7].map(|ifindex| Port::untagged(ifindex, None));
        let tables = PortTables::new(&ports, &Numbered::default()).unwrap();
        let map = MemoryMap::array(32, MOST_PORTS);
        table::apply(&map, &tables.ports).unwrap();
        let extensions = MemoryMap::array(EXTENSION, 2 * MOST_PORTS);
        update_extensions(&[eth1()], &map, &extensions).unwrap();
        let length = |index: u32| extensions.lookup(&index.to_le_bytes()).unwrap().unwrap()[0];
        assert_eq!([0, 1, 2, 3, 4].map(length), [0, 0, 8, 6, 0]);
        update_extensions(&[], &map, &extensions).unwrap();
        assert_eq!([2, 3].map(length), [0, 0]);
        let none = MemoryMap::array(EXTENSION, 1);
        assert_eq!(update_extensions(&[eth1()], &map, &none).unwrap(), Changed::default());
    }
}
