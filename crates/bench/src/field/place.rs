//! An interface, and whoever acts where it is.
//!
//! Rule: no method takes an interface's name, so what is done through a place is done to its own
//! interface or to nothing. Home is the caller's namespace, and a crate made for labs refuses to
//! act there, so at home things are done plainly.

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

/// An interface of a host of the lab, one that somebody named here, or one that only its address
/// is known of.
#[derive(Clone, Debug)]
pub struct Place {
    at: At,
    device: String,
}

#[derive(Clone, Debug)]
enum At {
    Lab(Host),
    Home,
    Away(Mac),
}

impl Place {
    pub fn lab(host: Host, device: &str) -> Self {
        Self { at: At::Lab(host), device: device.to_owned() }
    }

    /// An interface of the caller's namespace: whatever else is there is left alone.
    pub fn home(device: &str) -> Self {
        Self { at: At::Home, device: device.to_owned() }
    }

    /// On another host: nothing can be done there.
    pub fn away(mac: Mac) -> Self {
        Self { at: At::Away(mac), device: mac.to_string() }
    }

    /// Whether it is an interface that somebody uses for other things too: rules must name it, and
    /// its namespace's settings are not to be changed.
    pub fn is_home(&self) -> bool {
        matches!(self.at, At::Home)
    }

    /// Whether it is on another host.
    pub fn is_away(&self) -> bool {
        matches!(self.at, At::Away(_))
    }

    /// What tables and chains that other programs make here are to be called: it tells whose they
    /// are, and they are taken away if this process dies. At home nothing else is to be changed,
    /// and rules must match this interface.
    pub fn table(&self) -> Result<String> {
        owner::name()
    }

    /// The interface's name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Does `work` in that namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        match &self.at {
            At::Lab(host) => Ok(host.run(work)?),
            At::Home => Ok(work()),
            At::Away(mac) => away(*mac),
        }
    }

    /// Attaches an XDP program to the interface, on which there must be none, until the link is
    /// dropped.
    pub fn attach(&self, program: &Program, mode: Mode) -> Result<kernel::Link> {
        let attach = Attach { ifindex: self.ifindex()?, program, mode, replace: Replace::No };
        Ok(self.run(|| kernel::attach(&attach))??)
    }

    /// A program that will run in that namespace. Waiting for it is the caller's.
    pub fn command(&self, program: &str) -> Result<Command> {
        match &self.at {
            At::Lab(host) => Ok(host.command(program)?),
            At::Home => Ok(Command::new(program)),
            At::Away(mac) => away(*mac),
        }
    }

    pub fn netlink(&self) -> Result<Netlink> {
        Ok(self.run(Netlink::open)??)
    }

    pub fn ethtool(&self) -> Result<Ethtool> {
        Ok(self.run(Ethtool::open)??)
    }

    /// As it is now.
    pub fn link(&self) -> Result<Link> {
        Ok(self.netlink()?.link(&self.device)?)
    }

    pub fn ifindex(&self) -> Result<Ifindex> {
        Ok(self.link()?.ifindex)
    }

    pub fn mac(&self) -> Result<Mac> {
        match &self.at {
            At::Away(mac) => Ok(*mac),
            _ => self.link()?.mac.with_context(|| format!("{self} has no hardware address")),
        }
    }

    /// Its first IPv4 address. An interface at home may have none: what needs one is not measured
    /// there.
    pub fn ipv4(&self) -> Result<Ipv4Addr> {
        let (ip, _) = self.network()?;
        Ok(ip)
    }

    /// The same with the length of its network's prefix.
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

    /// What the interface counted.
    pub fn statistics(&self) -> Result<Statistics> {
        Ok(self.link()?.statistics)
    }

    /// Of a lab.
    ///
    /// # Errors
    /// Anywhere else its namespace's settings are not to be changed.
    pub(super) fn host(&self) -> Result<&Host> {
        match &self.at {
            At::Lab(host) => Ok(host),
            At::Home | At::Away(_) => bail!("{self} is no interface of a lab: it is left alone"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.device)
    }
}

fn away<T>(mac: Mac) -> Result<T> {
    bail!("{mac} is on another host: nothing can be done there from here")
}
