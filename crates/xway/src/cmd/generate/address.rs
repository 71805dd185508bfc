//! Addresses that a description leaves out: those of the interface that sends, and of its next
//! hop.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::{Context as _, Result, bail};
use packet::Mac;
use sys::errno::ENODEV;
use sys::net::{Address, Link, Netlink};
use sys::signal::Stop;
use traffic::stream::{Atom, File, Layer, Pool, Stream, Value, Vary};

use super::hop;

/// What is around the interface that sends.
#[derive(Debug)]
pub struct Surroundings<'a> {
    link: Link,
    addresses: Vec<Address>,
    netlink: Option<Netlink>,
    /// Frames seem to be received by the interface: it is their destination.
    inward: bool,
    stop: &'a Stop,
}

impl<'a> Surroundings<'a> {
    /// Addresses of `dev` in this namespace.
    pub fn of(dev: &str, inward: bool, stop: &'a Stop) -> Result<Self> {
        let mut netlink = Netlink::open()?;
        let link = match netlink.link(dev) {
            Err(error) if error.is(ENODEV) => {
                bail!("there is no interface `{dev}` in this network namespace")
            }
            other => other?,
        };
        let addresses = netlink.addresses()?;
        Ok(Self { link, addresses, netlink: Some(netlink), inward, stop })
    }

    /// Addresses reserved for documentation, for a run that sends nothing.
    pub fn imagined(stop: &'a Stop) -> Self {
        let link = Link { mtu: 1500, mac: Some(OWN_MAC), ..Link::default() };
        let address = |ip, prefix| Address { ifindex: link.ifindex, ip, prefix, tentative: false };
        let addresses = vec![address(OWN_V4, 24), address(OWN_V6, 64)];
        Self { link, addresses, netlink: None, inward: false, stop }
    }

    pub fn mtu(&self) -> usize {
        self.link.mtu as usize
    }

    /// Gives each stream what it lacks.
    pub fn complete(&mut self, file: &mut File) -> Result<()> {
        file.streams.iter_mut().try_for_each(|stream| {
            let name = stream.name.clone();
            self.complete_one(stream).with_context(|| format!("stream \"{name}\""))
        })
    }

    fn complete_one(&mut self, stream: &mut Stream) -> Result<()> {
        for layer in &mut stream.layers {
            match layer {
                Layer::Ipv4(ip) if ip.src.is_none() => ip.src = Some(self.own(false)?),
                Layer::Ipv6(ip) if ip.src.is_none() => ip.src = Some(self.own(true)?),
                Layer::Arp(arp) if arp.sender_ip.is_none() => {
                    arp.sender_ip = Some(self.own(false)?);
                }
                _ => continue,
            }
            // What is inside of it is the author's.
            break;
        }
        let Some(Layer::Ethernet(ethernet)) = stream.layers.first() else { return Ok(()) };
        let needs_hop = ethernet.dst.is_none();
        let own = self.link.mac.unwrap_or_default();
        if self.inward {
            stream.address(OTHER_MAC, Some(own));
            return Ok(());
        }
        let hop = if needs_hop { Some(self.hop(stream)?) } else { None };
        stream.address(own, hop);
        Ok(())
    }

    /// The source address that packets from this interface have.
    fn own(&self, v6: bool) -> Result<Value> {
        if self.inward {
            bail!("frames that seem to be received need a source address: give one by --src");
        }
        Ok(Value::from(own(&self.link, &self.addresses, v6)?.to_string().as_str()))
    }

    fn hop(&mut self, stream: &Stream) -> Result<Mac> {
        let destination = stream.layers.iter().find_map(|layer| match layer {
            Layer::Ipv4(ip) => Some(ip.dst.as_ref()),
            Layer::Ipv6(ip) => Some(ip.dst.as_ref()),
            _ => None,
        });
        let Some(netlink) = &mut self.netlink else { return Ok(OTHER_MAC) };
        let first = destination.flatten().and_then(first);
        let Some(first) = first else {
            bail!("there is no IP destination to find the next hop by: give its --dst-mac");
        };
        hop::resolve(netlink, &self.link, first, self.stop)
    }
}

/// An address of an interface in this family; a link-local one only where there is no other.
pub fn own(link: &Link, addresses: &[Address], v6: bool) -> Result<IpAddr> {
    let mine = addresses.iter().filter(|one| one.ifindex == link.ifindex);
    let of_family = mine.map(|one| one.ip).filter(|ip| ip.is_ipv6() == v6);
    of_family.min_by_key(|ip| is_link_local(*ip)).with_context(|| {
        let version = if v6 { 6 } else { 4 };
        format!("{} has no IPv{version} address: give a source by --src", link.name)
    })
}

/// The first address that a field takes; of a network, the first that a host may have.
fn first(value: &Value) -> Option<IpAddr> {
    let text = match value {
        Value::Constant(Atom::Text(text)) | Value::Vary(Vary { pool: Pool::Range(text), .. }) => {
            text.clone()
        }
        Value::Vary(Vary { pool: Pool::List(list), .. }) => list.first()?.to_string(),
        Value::Constant(Atom::Number(_)) => return None,
    };
    if let Some((first, _)) = text.split_once("..") {
        return first.trim().parse().ok();
    }
    let Some((network, prefix)) = text.split_once('/') else { return text.trim().parse().ok() };
    let (network, prefix): (IpAddr, u32) = (network.parse().ok()?, prefix.parse().ok()?);
    Some(match network {
        IpAddr::V4(v4) if prefix < 31 => Ipv4Addr::from(v4.to_bits() | 1).into(),
        IpAddr::V6(v6) if prefix < 127 => Ipv6Addr::from(v6.to_bits() | 1).into(),
        narrow => narrow,
    })
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// Locally administered.
const OWN_MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);
const OTHER_MAC: Mac = Mac([2, 0, 0, 0, 0, 2]);
/// RFC 5737, RFC 3849.
const OWN_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const OWN_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_stands_for_all() {
        for (text, address) in [
            ("10.0.0.2", Some("10.0.0.2")),
            ("10.0.0.0/24", Some("10.0.0.1")),
            ("10.0.0.4/31", Some("10.0.0.4")),
            ("10.0.0.7..10.0.0.9", Some("10.0.0.7")),
            ("10.0.0.7, 10.0.0.5", Some("10.0.0.7")),
            ("random:fd00::/64", Some("fd00::1")),
            ("7", None),
            ("host", None),
        ] {
            let found = first(&text.parse().unwrap());
            assert_eq!(found, address.map(|address| address.parse().unwrap()), "{text}");
        }
    }
}
