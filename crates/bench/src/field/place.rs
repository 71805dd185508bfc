//! An interface, with the operations in its namespace.
//!
//! Rule: no method takes an interface's name, so a place acts on its own interface only. An
//! interface of a lab is reached through the crate `lab`, which refuses to act in the caller's
//! namespace; there the place acts directly.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

use anyhow::{Context, Result, bail};
use kernel::{Attach, Mode, Program, Replace};
use lab::Host;
use packet::Mac;
use sys::net::ethtool::Ethtool;
use sys::net::{Ifindex, Link, Netlink, Statistics};

use super::owner;

/// An interface of a host of the lab, one in the caller's namespace that the user named, or one of
/// another host, of which only the address is known.
#[derive(Clone, Debug)]
pub struct Place {
    at: Location,
    device: String,
}

#[derive(Clone, Debug)]
enum Location {
    Lab(Host),
    Local,
    Remote(Mac),
}

impl Place {
    /// The interface `device` of a host of the lab.
    pub fn lab(host: Host, device: &str) -> Self {
        Self { at: Location::Lab(host), device: device.to_owned() }
    }

    /// An interface of the caller's namespace, where nothing else is changed.
    pub fn home(device: &str) -> Self {
        Self { at: Location::Local, device: device.to_owned() }
    }

    /// An interface of another host, where nothing can be done.
    pub fn away(mac: Mac) -> Self {
        Self { at: Location::Remote(mac), device: mac.to_string() }
    }

    /// Whether it is in the caller's namespace and has other users: rules must name it, and
    /// settings of its namespace must not be changed.
    pub fn is_home(&self) -> bool {
        matches!(self.at, Location::Local)
    }

    /// Whether it is on another host.
    pub fn is_away(&self) -> bool {
        matches!(self.at, Location::Remote(_))
    }

    /// The name for tables and chains that other programs create here. It identifies their owner,
    /// and they are removed if this process dies. In the caller's namespace nothing else may be
    /// changed, and rules must match this interface.
    pub fn table(&self) -> Result<String> {
        owner::name()
    }

    /// The interface's name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Runs `work` in the interface's namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        match &self.at {
            Location::Lab(host) => Ok(host.run(work)?),
            Location::Local => Ok(work()),
            Location::Remote(mac) => away(*mac),
        }
    }

    /// Attaches an XDP program to the interface, on which there must be none, until the link is
    /// dropped.
    pub fn attach(&self, program: &Program, mode: Mode) -> Result<kernel::Link> {
        let attach = Attach { ifindex: self.ifindex()?, program, mode, replace: Replace::No };
        Ok(self.run(|| kernel::attach(&attach))??)
    }

    /// A command that will run in the interface's namespace. The caller must wait for it.
    pub fn command(&self, program: &str) -> Result<Command> {
        match &self.at {
            Location::Lab(host) => Ok(host.command(program)?),
            Location::Local => Ok(Command::new(program)),
            Location::Remote(mac) => away(*mac),
        }
    }

    /// A netlink socket in the namespace of this place.
    pub fn netlink(&self) -> Result<Netlink> {
        Ok(self.run(Netlink::open)??)
    }

    /// An ethtool socket in the namespace of this place.
    pub fn ethtool(&self) -> Result<Ethtool> {
        Ok(self.run(Ethtool::open)??)
    }

    /// The current state of the interface.
    pub fn link(&self) -> Result<Link> {
        Ok(self.netlink()?.link(&self.device)?)
    }

    /// The index of the interface in its namespace.
    pub fn ifindex(&self) -> Result<Ifindex> {
        Ok(self.link()?.ifindex)
    }

    /// The MAC address of the interface.
    pub fn mac(&self) -> Result<Mac> {
        match &self.at {
            Location::Remote(mac) => Ok(*mac),
            _ => self.link()?.mac.with_context(|| format!("{self} has no hardware address")),
        }
    }

    /// The first IPv4 address. An interface outside a lab may have none; what needs one is not
    /// measured there.
    pub fn ipv4(&self) -> Result<Ipv4Addr> {
        let (ip, _) = self.network()?;
        Ok(ip)
    }

    /// The first IPv4 address and its prefix length.
    pub fn network(&self) -> Result<(Ipv4Addr, u8)> {
        let mut netlink = self.netlink()?;
        let ifindex = netlink.link(&self.device)?.ifindex;
        let addresses = netlink.addresses()?;
        let mut own = addresses.iter().filter(|address| address.ifindex == ifindex);
        let first = own.find_map(|address| match address.ip {
            IpAddr::V4(ip) => Some((ip, address.prefix)),
            IpAddr::V6(_) => None,
        });
        first.with_context(|| format!("{self} has no IPv4 address, and this needs one"))
    }

    /// The counters of the interface.
    pub fn statistics(&self) -> Result<Statistics> {
        Ok(self.link()?.statistics)
    }

    /// Packets that Linux itself forwarded in the interface's namespace, of both families.
    ///
    /// # Errors
    /// The kernel's counters cannot be read.
    pub fn forwarded_by_linux(&self) -> Result<u64> {
        let read = || Ok((std::fs::read_to_string(SNMP)?, std::fs::read_to_string(SNMP6)?));
        let (snmp, snmp6): (String, String) =
            self.run(|| read().map_err(|error: std::io::Error| error))??;
        let mut lines = snmp.lines().filter(|line| line.starts_with("Ip:"));
        let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let place = names.split_whitespace().position(|name| name == "ForwDatagrams");
        let ipv4 = place.and_then(|place| values.split_whitespace().nth(place)?.parse().ok());
        let ipv6 = snmp6.lines().find_map(|line| line.strip_prefix("Ip6OutForwDatagrams"));
        let ipv6 = ipv6.and_then(|value| value.trim().parse::<u64>().ok());
        let ipv4: u64 = ipv4.with_context(|| format!("no ForwDatagrams in {SNMP}"))?;
        Ok(ipv4 + ipv6.with_context(|| format!("no Ip6OutForwDatagrams in {SNMP6}"))?)
    }

    /// The host of the lab.
    ///
    /// # Errors
    /// When it is not in a lab, where settings of its namespace must not be changed.
    pub(super) fn host(&self) -> Result<&Host> {
        match &self.at {
            Location::Lab(host) => Ok(host),
            Location::Local | Location::Remote(_) => {
                bail!("{self} is not an interface of a lab, so its settings are not changed")
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.device)
    }
}

const SNMP: &str = "/proc/thread-self/net/snmp";
const SNMP6: &str = "/proc/thread-self/net/snmp6";

fn away<T>(mac: Mac) -> Result<T> {
    bail!("{mac} is on another host: nothing can be done there from here")
}
