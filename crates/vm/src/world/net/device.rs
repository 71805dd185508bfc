//! Interfaces by number, for lookups.

use std::net::{IpAddr, Ipv6Addr};

use packet::AddressPrefix;

use super::bits;
use crate::world::{Interface, Received};

/// All interfaces, by number.
#[derive(Debug)]
pub(crate) struct Devices {
    list: Vec<Device>,
}

/// An interface.
#[derive(Debug)]
pub(crate) struct Device {
    pub index: u32,
    pub name: String,
    pub mtu: u32,
    pub mtu_ipv6: u32,
    pub header_len: u32,
    pub mac: [u8; 6],
    pub up: bool,
    pub forward_ipv4: bool,
    pub forward_ipv6: bool,
    pub received: Received,
    pub addresses: Vec<Address>,
}

/// An address of an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub ip: IpAddr,
    pub length: u8,
    /// Whether an earlier address is in the same network: it is then not selected as a source
    /// (IPv4).
    pub secondary: bool,
    pub scope: u8,
}

/// `RT_SCOPE_*`: scope of an address or a route.
pub(crate) mod scope {
    pub const UNIVERSE: u8 = 0;
    pub const LINK: u8 = 253;
    pub const HOST: u8 = 254;
}

impl Devices {
    pub fn new(interfaces: &[Interface]) -> Self {
        let mut list: Vec<_> = interfaces.iter().map(Device::new).collect();
        list.sort_by_key(|device| device.index);
        Self { list }
    }

    /// The interface of that number.
    pub fn at(&self, index: u32) -> Option<&Device> {
        let found = self.list.binary_search_by_key(&index, |device| device.index);
        found.ok().map(|place| &self.list[place])
    }

    /// Number of the interface of that name; 0 if there is none.
    pub fn index_of(&self, name: &str) -> u32 {
        self.iter().find(|device| device.name == name).map_or(0, |device| device.index)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Device> {
        self.list.iter()
    }

    /// Number of the interface whose network contains the address.
    pub fn towards(&self, ip: IpAddr) -> Option<u32> {
        let found = self.iter().find(|device| device.addresses.iter().any(|own| own.has(ip)));
        found.map(|device| device.index)
    }

    pub fn is_up(&self, index: u32) -> bool {
        self.at(index).is_some_and(|device| device.up)
    }
}

impl Device {
    fn new(interface: &Interface) -> Self {
        let mut addresses: Vec<Address> = Vec::new();
        for prefix in &interface.addresses {
            let secondary = prefix.is_ipv4()
                && addresses
                    .iter()
                    .any(|known| known.length == prefix.length() && known.has(prefix.address()));
            addresses.push(Address::new(*prefix, secondary));
        }
        Self {
            index: interface.index,
            name: interface.name.clone(),
            mtu: interface.mtu,
            mtu_ipv6: interface.mtu_ipv6.unwrap_or(interface.mtu).max(IPV6_LEAST_MTU),
            header_len: interface.header_len,
            mac: interface.mac.0,
            up: interface.up,
            forward_ipv4: interface.forward_ipv4,
            // An interface below the minimum MTU of IPv6 has no IPv6.
            forward_ipv6: interface.forward_ipv6 && interface.mtu >= IPV6_LEAST_MTU,
            received: interface.received.clone(),
            addresses,
        }
    }
}

impl Address {
    fn new(prefix: AddressPrefix, secondary: bool) -> Self {
        let ip = prefix.address();
        let scope = match ip {
            ip if ip.is_loopback() => scope::HOST,
            IpAddr::V6(v6) if is_link_local(v6) => scope::LINK,
            _ => scope::UNIVERSE,
        };
        Self { ip, length: prefix.length(), secondary, scope }
    }

    /// Whether the address is in this network.
    pub fn has(&self, ip: IpAddr) -> bool {
        ip.is_ipv4() == self.ip.is_ipv4()
            && bits::cut(bits::of(ip) ^ bits::of(self.ip), self.length) == 0
    }
}

pub(crate) fn is_link_local(v6: Ipv6Addr) -> bool {
    v6.segments()[0] & 0xffc0 == 0xfe80
}

const IPV6_LEAST_MTU: u32 = 1280;
