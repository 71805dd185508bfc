//! Routers in a line between two hosts, each with ours or the kernel's forwarding.
//!
//! ```text
//!   src eth0 ── left r1 right ── left r2 right ── … ── left rN right ── eth0 dst
//!   10.1.0.2  10.1.0.1  10.0.1.1  10.0.1.2  10.0.2.1 …    10.2.0.1    10.2.0.2
//! ```
//! Links have /24 networks. `src` and `dst` have static neighbors and a default route; the routers
//! find each other's addresses as in a real network.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use functions::route::{CONTROL, abi};
use kernel::Map;
use lab::{Host, Lab, until};
use spec::Map as _;
use sys::net::{NewAddress, NewRoute, NewVeth, VethEnd};

use crate::stage::PATIENCE;
use crate::xway::Xway;

/// The routers and both ends; dropped, they are removed. Fields are dropped in this order.
#[derive(Debug)]
pub struct Line {
    pub routers: Vec<LineRouter>,
    pub src: Host,
    pub dst: Host,
    _lab: Lab,
}

/// A router with its interfaces `left` and `right`.
#[derive(Debug)]
pub struct LineRouter {
    pub host: Host,
    /// Only for ours.
    pub xway: Option<Xway>,
    /// `xway daemon`, while it runs.
    follower: Option<Child>,
}

/// Who forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// The kernel alone.
    Linux,
    /// `xway route`, with `xway daemon`.
    Ours,
    /// `xway route` alone.
    Unfollowed,
}

impl Line {
    pub fn build(routers: &[Routing]) -> Self {
        let mut lab = Lab::new().unwrap();
        let [src, dst] = ["src", "dst"].map(|name| lab.add_host(name).unwrap());
        let mut left =
            (src.clone(), "eth0", Ipv4Addr::new(10, 1, 0, 2), Ipv4Addr::new(10, 1, 0, 1));
        let mut hosts = Vec::new();
        for (number, _) in (1..).zip(routers) {
            let host = lab.add_host(&format!("r{number}")).unwrap();
            host.set_sysctl("ipv4/ip_forward", "1").unwrap();
            host.set_sysctl("ipv6/conf/all/forwarding", "1").unwrap();
            for scope in ["all", "default"] {
                host.set_sysctl(&format!("ipv4/conf/{scope}/send_redirects"), "0").unwrap();
            }
            let (before, interface, near, far) = left;
            connect((&before, interface, near), (&host, "left", far));
            let link = Ipv4Addr::new(10, 0, number, 0).octets();
            let at = |last| Ipv4Addr::new(link[0], link[1], link[2], last);
            left = (host.clone(), "right", at(1), at(2));
            hosts.push(host);
        }
        let (last, interface, _, _) = left;
        let [near, far] = [1, 2].map(|last| Ipv4Addr::new(10, 2, 0, last));
        connect((&last, interface, near), (&dst, "eth0", far));
        for (end, gateway) in [(&src, Ipv4Addr::new(10, 1, 0, 1)), (&dst, near)] {
            default_route(end, gateway);
        }
        know(&src, "eth0", &hosts[0], "left", Ipv4Addr::new(10, 1, 0, 1));
        know(&hosts[0], "left", &src, "eth0", Ipv4Addr::new(10, 1, 0, 2));
        know(&dst, "eth0", &last, "right", near);
        know(&last, "right", &dst, "eth0", far);
        let routers = hosts.into_iter().zip(routers);
        let routers = routers
            .map(|(host, routing)| LineRouter::start(host, *routing, &["left", "right"]))
            .collect();
        Self { routers, src, dst, _lab: lab }
    }
}

impl LineRouter {
    /// Starts routing between these interfaces.
    pub fn start(host: Host, routing: Routing, interfaces: &[&str]) -> Self {
        let mut this = Self { host, xway: None, follower: None };
        if routing != Routing::Linux {
            let xway = Xway::new();
            let words = [&["route", "start"], interfaces].concat();
            xway.run_in(&this.host, &words).ended(0);
            this.xway = Some(xway);
        }
        if routing == Routing::Ours {
            this.follow();
        }
        this
    }

    /// Starts `xway daemon`.
    pub fn follow(&mut self) {
        let Some(xway) = &self.xway else { return };
        let words = ["daemon", "--no-apply", "--listen", "127.0.0.1:0"];
        let mut command = xway.command_in(&self.host, &words);
        self.follower = Some(command.stderr(Stdio::null()).spawn().unwrap());
        let followed = || Ok(self.trusts().then_some(()));
        until("a sign of life of the daemon", PATIENCE, followed).unwrap();
    }

    /// Whether our program trusts the daemon now.
    pub fn trusts(&self) -> bool {
        self.control().valid_until > sys::thread::monotonic_ns()
    }

    /// What our program was informed of.
    pub fn control(&self) -> abi::Control {
        let state = self.xway.as_ref().expect("a router of ours").state().join("bpf");
        let map = Map::from_pin_read_only(&pin(&state, CONTROL).unwrap()).unwrap();
        let bytes = map.lookup(&[0; 4]).unwrap().unwrap();
        abi::Control::from_bytes(bytes.first_chunk().unwrap())
    }

    /// Kills `xway daemon`; the router continues.
    pub fn unfollow(&mut self) {
        if let Some(mut daemon) = self.follower.take() {
            assert!(daemon.try_wait().unwrap().is_none(), "the daemon has ended");
            daemon.kill().unwrap();
            daemon.wait().unwrap();
        }
    }

    /// Process number of `xway daemon`, while it runs.
    pub fn daemon(&self) -> Option<u32> {
        self.follower.as_ref().map(Child::id)
    }

    /// Sends a signal, such as `STOP`, to `xway daemon`.
    pub fn signal(&self, name: &str) {
        let daemon = self.daemon().expect("a daemon that runs");
        let status = Command::new("kill").args(["-s", name, &daemon.to_string()]).status();
        assert!(status.unwrap().success());
    }

    /// Runs a command of `ip`; returns its output.
    pub fn ip(&self, words: &str) -> String {
        let output = self.host.command("ip").unwrap().args(words.split(' ')).output().unwrap();
        assert!(output.status.success(), "ip {words}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until `ip route show WORDS` has this text, or has it no more.
    pub fn until_route(&self, words: &str, text: &str, is_wanted: bool) {
        let mut last = String::new();
        until(&format!("route {words}: {text}"), ROUTES, || {
            last = self.ip(&format!("route show {words}"));
            Ok((last.contains(text) == is_wanted).then_some(()))
        })
        .unwrap_or_else(|error| panic!("{}: {error}: {last}", self.host.name()));
    }
}

impl Drop for LineRouter {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.follower {
            // One that has ended cannot be killed.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn pin(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
    entries.find_map(|path| match path.is_dir() {
        true => pin(&path, name),
        false => path.ends_with(name).then_some(path),
    })
}

/// A link between interfaces with addresses of a /24 network, up, for programs and without offloads
/// that change frames.
pub fn connect(one: (&Host, &str, Ipv4Addr), other: (&Host, &str, Ipv4Addr)) {
    let ends = [
        VethEnd { name: one.1, mac: None, netns: None },
        VethEnd { name: other.1, mac: None, netns: Some(other.0.netns().as_fd()) },
    ];
    one.0.netlink().unwrap().create_veth(&NewVeth { ends, queues: 1, mtu: 1500 }).unwrap();
    for (host, name, ip) in [one, other] {
        let mut netlink = host.netlink().unwrap();
        let ifindex = netlink.link(name).unwrap().ifindex;
        netlink.set_up(ifindex, true).unwrap();
        let ethtool = host.ethtool().unwrap();
        ethtool.set_feature(name, "tx-checksum", false).unwrap();
        // Otherwise frames that are redirected into the other end are lost.
        ethtool.set_feature(name, "gro", true).unwrap();
        netlink.add_address(ifindex, NewAddress { ip: ip.into(), prefix: 24 }).unwrap();
    }
    for (host, name, _) in [one, other] {
        let mut netlink = host.netlink().unwrap();
        until(&format!("the carrier of {name}"), PATIENCE, || {
            Ok(netlink.link(name)?.running.then_some(()))
        })
        .unwrap();
    }
}

/// A default route by way of a gateway at `eth0`.
pub fn default_route(host: &Host, gateway: Ipv4Addr) {
    let mut netlink = host.netlink().unwrap();
    let out = netlink.link("eth0").unwrap().ifindex;
    let default = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    netlink.add_route(NewRoute::new(default, 0, out).via(gateway.into())).unwrap();
}

/// A permanent neighbor entry for the address of the other's interface.
pub(super) fn know(host: &Host, interface: &str, other: &Host, theirs: &str, ip: Ipv4Addr) {
    let mut netlink = host.netlink().unwrap();
    let ifindex = netlink.link(interface).unwrap().ifindex;
    netlink.add_neighbour(ifindex, ip.into(), other.mac(theirs).unwrap()).unwrap();
}

/// How long a routing protocol may take until its routes are in the kernel, on a busy machine.
pub(super) const ROUTES: std::time::Duration = std::time::Duration::from_secs(40);
