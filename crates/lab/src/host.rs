//! `Host`: one namespace of a lab, and everything that is done inside it.
//!
//! Rule: the caller's thread never changes its namespace. Closures run in a thread that joins the
//! host's namespace; sockets opened there belong to it permanently and can be used from any thread.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};

use packet::Mac;
use sys::net::ethtool::Ethtool;
use sys::net::{Ifindex, Netlink};
use sys::netns::NetNs;
use sys::process::Process;

use crate::error::{Error, Result};
use crate::record::Record;

/// Cheap to clone; all clones are the same host.
#[derive(Clone, Debug)]
pub struct Host {
    name: String,
    netns: Arc<NetNs>,
    record: Arc<Record>,
    pub(crate) pollers: Arc<Pollers>,
}

/// Polling threads of each interface, as they appeared: all that is known before Linux 6.8.
pub(crate) type Pollers = Mutex<BTreeMap<String, Vec<u32>>>;

/// An interface of a host and its addresses, as the kernel has them now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of the interface within the host.
    pub name: String,
    /// Index of the interface within the host.
    pub ifindex: Ifindex,
    /// Ethernet address, if the interface has one.
    pub mac: Option<Mac>,
    /// Largest packet in bytes, without the Ethernet header.
    pub mtu: u32,
    /// With prefix lengths, in the order in which they were added.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// A setting of a host that was changed; dropped, it is as it was.
#[derive(Debug)]
pub struct Setting {
    host: Host,
    path: &'static str,
    before: String,
}

impl Drop for Setting {
    fn drop(&mut self) {
        // A destructor cannot report, and the namespace ends with the lab anyway.
        let _stays = self.host.set_sysctl(self.path, &self.before);
    }
}

impl Host {
    pub(crate) fn new(name: &str, netns: NetNs, record: Arc<Record>) -> Result<Self> {
        if netns.is_home()? {
            return Err(Error::OwnNamespace);
        }
        Ok(Self { name: name.to_owned(), netns: Arc::new(netns), record, pollers: Arc::default() })
    }

    /// The short name, such as `server`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The namespace; its name is what `ip netns exec` takes.
    pub fn netns(&self) -> &NetNs {
        &self.netns
    }

    /// Runs `work` inside the host and waits for it.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        Ok(self.netns.enter(work)?)
    }

    /// Starts a thread in the host's namespace. The caller must stop it: the namespace exists until
    /// the thread ends.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<Option<T>>> {
        let netns = Arc::clone(&self.netns);
        let (entered, answer) = mpsc::channel();
        let body = move || {
            let joined = netns.join();
            let inside = joined.is_ok();
            // The receiver waits below, so this cannot fail.
            let _ = entered.send(joined);
            inside.then(work)
        };
        let thread = thread::Builder::new()
            .name(format!("lab-{}", self.name))
            .spawn(body)
            .map_err(|source| Error::Thread { host: self.name.clone(), source })?;
        match answer.recv() {
            Ok(joined) => joined.map(|()| thread).map_err(Error::Sys),
            Err(_) => Ok(thread),
        }
    }

    /// A command that will run inside the host. Waiting for it is the caller's; see
    /// [`Host::start`] for one that must not outlive the lab.
    pub fn command(&self, program: &str) -> Result<Command> {
        Ok(self.netns.command(program)?)
    }

    /// Runs a closure in the host with the host's own `/sys` mounted, as in `ip netns exec`.
    pub fn command_with_sys(&self, program: &str) -> Result<Command> {
        Ok(self.netns.command_with_sys(program)?)
    }

    /// Starts a [command](Host::command) that is killed with the lab, even by the next run if this
    /// one is killed.
    pub fn start(&self, mut command: Command) -> Result<Child> {
        let child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy();
            Error::Sys(sys::Error::from_io("exec", program, &error))
        })?;
        self.record.add_process(Process::of(child.id())?)?;
        Ok(child)
    }

    /// A routing socket of this host.
    pub fn netlink(&self) -> Result<Netlink> {
        Ok(self.netns.enter(Netlink::open)??)
    }

    /// An ethtool socket of this host.
    pub fn ethtool(&self) -> Result<Ethtool> {
        Ok(self.netns.enter(Ethtool::open)??)
    }

    /// Reads the properties of an interface.
    pub fn interface(&self, name: &str) -> Result<Interface> {
        let mut netlink = self.netlink()?;
        let link = netlink.link(name)?;
        let addresses = netlink
            .addresses()?
            .into_iter()
            .filter(|address| address.ifindex == link.ifindex)
            .map(|address| (address.ip, address.prefix))
            .collect();
        let (ifindex, mac, mtu) = (link.ifindex, link.mac, link.mtu);
        Ok(Interface { name: link.name, ifindex, mac, mtu, addresses })
    }

    /// Returns the index of an interface.
    pub fn ifindex(&self, name: &str) -> Result<Ifindex> {
        Ok(self.netlink()?.link(name)?.ifindex)
    }

    /// Returns the Ethernet address of an interface.
    pub fn mac(&self, name: &str) -> Result<Mac> {
        self.interface(name)?.mac.ok_or_else(|| self.no_address(name, "hardware"))
    }

    /// The interface's first IPv4 address.
    pub fn ipv4(&self, name: &str) -> Result<Ipv4Addr> {
        self.first_address(name, "IPv4", |ip| match ip {
            IpAddr::V4(v4) => Some(v4),
            IpAddr::V6(_) => None,
        })
    }

    /// The interface's first IPv6 address that is not link-local.
    pub fn ipv6(&self, name: &str) -> Result<Ipv6Addr> {
        self.first_address(name, "IPv6", |ip| match ip {
            IpAddr::V6(v6) if !v6.is_unicast_link_local() => Some(v6),
            _ => None,
        })
    }

    /// Writes `/proc/sys/net/PATH` of this host.
    pub fn set_sysctl(&self, path: &str, value: &str) -> Result<()> {
        Ok(self.netns.set_sysctl(path, value)?)
    }

    /// Changes the setting until the guard is dropped.
    pub fn hold_sysctl(&self, path: &'static str, value: &str) -> Result<Setting> {
        let before = self.netns.sysctl(path)?;
        self.set_sysctl(path, value)?;
        Ok(Setting { host: self.clone(), path, before })
    }

    /// Switches an offload: a kernel feature name or a group such as `gro`, `tx-checksum`.
    pub fn set_feature(&self, interface: &str, feature: &str, on: bool) -> Result<()> {
        self.check_ours(interface)?;
        Ok(self.ethtool()?.set_feature(interface, feature, on)?)
    }

    /// Only interfaces that the lab created are configured.
    pub(crate) fn check_ours(&self, interface: &str) -> Result<()> {
        let links = self.record.contents()?.links;
        if links.iter().any(|(host, name)| *host == self.name && name == interface) {
            return Ok(());
        }
        Err(Error::NotOurs { host: self.name.clone(), interface: interface.to_owned() })
    }

    /// Written down before the interface exists.
    pub(crate) fn announce(&self, interface: &str) -> Result<()> {
        self.record.add_link(&self.name, interface)
    }

    /// Loopback up; no IPv6 chatter, no waiting for duplicate addresses, no reverse-path filter.
    pub(crate) fn prepare(&self) -> Result<()> {
        for (path, value) in QUIET {
            self.set_sysctl(path, value)?;
        }
        let mut netlink = self.netlink()?;
        let loopback = netlink.link("lo")?;
        Ok(netlink.set_up(loopback.ifindex, true)?)
    }

    fn first_address<T>(
        &self,
        interface: &str,
        what: &'static str,
        pick: impl Fn(IpAddr) -> Option<T>,
    ) -> Result<T> {
        let found = self.interface(interface)?;
        let mut picked = found.addresses.iter().filter_map(|(ip, _)| pick(*ip));
        picked.next().ok_or_else(|| self.no_address(interface, what))
    }

    fn no_address(&self, interface: &str, what: &'static str) -> Error {
        Error::NoAddress { host: self.name.clone(), interface: interface.to_owned(), what }
    }
}

/// For interfaces made later, so `default`; both `all` and `default` where the larger one counts.
const QUIET: [(&str, &str); 7] = [
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
    ("ipv6/conf/default/router_solicitations", "0"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/default/dad_transmits", "0"),
    // No link-local address: nothing is announced and every address is one that the lab chose.
    ("ipv6/conf/default/addr_gen_mode", "1"),
];
