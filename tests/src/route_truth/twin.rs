//! Two routers with the same configuration: the kernel alone, and the kernel with our program.
//!
//! Rule: both receive the same frames in the same order from one thread on one processor. A batch
//! is over when its markers, which are sent last, have left both routers through each port, and the
//! one whose neighbor does not answer was reported as unreachable.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::{Duration, Instant};

use lab::{Capture, Host, Lab, until};
use packet::{Mac, hex};
use sys::net::{NewVeth, VethEnd};

use super::packets::Packet;
use super::plan::{
    LARGEST_MTUS, MTUS, PORTS, RESOLVED, UNRESOLVED_MARKER, address, marker_commands, neighbor_mac,
    router_mac,
};
use super::seen::{Ip, Kind, Outcome, Seen};
use super::tables::{FIRST_RULE, PROTOCOL, RULES, TABLES, Tables};
use crate::stage::PATIENCE;
use crate::xway::Xway;

/// Both routers; dropped, they are removed. Fields are dropped in the order of their declaration.
#[derive(Debug)]
pub struct Twin {
    kernel: Arm,
    ours: Arm,
    _lab: Lab,
    xway: Xway,
}

/// A router and its surroundings.
#[derive(Debug)]
struct Arm {
    router: Host,
    /// At the other end of each port.
    wires: Vec<Capture>,
}

/// What left each router, by the packet's tag.
#[derive(Debug, Default)]
pub struct Exchanged {
    pub kernel: BTreeMap<u16, Outcome>,
    pub ours: BTreeMap<u16, Outcome>,
}

impl Twin {
    /// Both routers with their neighbors, without routes.
    pub fn build() -> Result<Self, String> {
        let mut lab = Lab::new().map_err(text)?;
        let kernel = Arm::build(&mut lab, "kernel").map_err(text)?;
        let ours = Arm::build(&mut lab, "ours").map_err(text)?;
        let xway = Xway::new();
        start_router(&xway, &ours.router)?;
        for arm in [&kernel, &ours] {
            for (option, is_ipv6) in [("-4", false), ("-6", true)] {
                let refused = arm.ip(option, &marker_commands(is_ipv6))?;
                if !refused.is_empty() {
                    return Err(format!("ip {option}: {refused}"));
                }
            }
        }
        Ok(Self { kernel, ours, _lab: lab, xway })
    }

    /// Replaces what was configured before. Commands that `ip` refuses, because random routes
    /// contradict each other, must be the same for both.
    pub fn configure(&self, tables: &Tables) -> Result<(), String> {
        let configured = |arm: &Arm| -> Result<String, String> {
            let mut refused = String::new();
            for (option, commands) in tables.commands() {
                arm.ip(option, &removal())?;
                refused += &arm.ip(option, commands)?;
            }
            let policy = tables.hash_policy.to_string();
            for family in ["ipv4", "ipv6"] {
                let path = format!("{family}/fib_multipath_hash_policy");
                arm.router.set_sysctl(&path, &policy).map_err(text)?;
            }
            Ok(refused)
        };
        let (kernel, ours) = (configured(&self.kernel)?, configured(&self.ours)?);
        // No daemon follows the routes, so it reads them as when it starts.
        start_router(&self.xway, &self.ours.router)?;
        if kernel == ours {
            return Ok(());
        }
        Err(format!("the routers differ in their configuration:\n{kernel}\nand\n{ours}"))
    }

    /// Sends all packets to both routers, and returns what left them. After the markers it waits
    /// until both did the same, but not longer than `grace`.
    pub fn exchange(&self, packets: &[&Packet], grace: Duration) -> Result<Exchanged, String> {
        let arms = [&self.kernel, &self.ours];
        arms.iter().try_for_each(|arm| arm.drain(|_| ())).map_err(text)?;
        let markers = markers();
        for packet in packets.iter().copied().chain(&markers) {
            arms.iter().try_for_each(|arm| arm.wires[0].send(&packet.frame)).map_err(text)?;
        }
        let sent: BTreeMap<u16, &[u8]> =
            packets.iter().copied().chain(&markers).map(|one| (one.tag, &one.frame[..])).collect();
        let (mut seen, mut complete) = (Exchanged::default(), None);
        let mut absent = String::new();
        let is_over = || {
            arms[0].collect(&sent, &mut seen.kernel)?;
            arms[1].collect(&sent, &mut seen.ours)?;
            absent = absence(&markers, &seen);
            if !absent.is_empty() {
                return Ok(None);
            }
            let since: &mut Instant = complete.get_or_insert_with(Instant::now);
            let is_same =
                packets.iter().all(|one| seen.kernel.get(&one.tag) == seen.ours.get(&one.tag));
            Ok((is_same || since.elapsed() >= grace).then_some(()))
        };
        let over = until("the return of all markers", PATIENCE, is_over);
        over.map_err(|error| format!("{error}: {absent}"))?;
        for outcomes in [&mut seen.kernel, &mut seen.ours] {
            outcomes.values_mut().for_each(|outcome| outcome.sort());
        }
        Ok(seen)
    }
}

/// The router under test: the only place that knows how it is started.
fn start_router(xway: &Xway, router: &Host) -> Result<(), String> {
    let ports: Vec<String> = (0..PORTS).map(|port| format!("p{port}")).collect();
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    let unlimited = ["--icmp-prefix-rate", "0", "--icmp-rate", "0"];
    let answer = xway.run_in(router, &[&["--json", "forward"], &ports[..], &unlimited].concat());
    if answer.code == 0 { Ok(()) } else { Err(answer.stderr) }
}

impl Arm {
    fn build(lab: &mut Lab, name: &str) -> lab::Result<Self> {
        let router = lab.add_host(&format!("{name}-rt"))?;
        let world = lab.add_host(&format!("{name}-out"))?;
        world.set_sysctl("ipv6/conf/default/disable_ipv6", "1")?;
        for (path, value) in ROUTER {
            router.set_sysctl(path, value)?;
        }
        let mut wires = Vec::new();
        for port in 0..PORTS {
            connect(&router, &world, port)?;
            configure_port(&router, port)?;
            wires.push(Capture::open(&world, &format!("q{port}"))?);
        }
        Ok(Self { router, wires })
    }

    /// Runs commands of a family; returns what `ip` refused.
    fn ip(&self, option: &str, commands: &[String]) -> Result<String, String> {
        let mut command = self.router.command("ip").map_err(text)?;
        command.args([option, "-force", "-batch", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(text)?;
        let mut input = child.stdin.take().ok_or("ip has no input")?;
        input.write_all((commands.join("\n") + "\n").as_bytes()).map_err(text)?;
        drop(input);
        let output = child.wait_with_output().map_err(text)?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn drain(&self, mut each: impl FnMut(Seen)) -> lab::Result<()> {
        for (port, wire) in (0..).zip(&self.wires) {
            for frame in wire.all(Duration::ZERO, usize::MAX, |_| true)? {
                each(Seen { port, frame });
            }
        }
        Ok(())
    }

    /// Adds frames that belong to packets that were sent.
    fn collect(
        &self,
        sent: &BTreeMap<u16, &[u8]>,
        found: &mut BTreeMap<u16, Outcome>,
    ) -> lab::Result<()> {
        self.drain(|seen| {
            let Some((tag, kind)) = seen.belongs() else { return };
            let Some(cause) = sent.get(&tag) else { return };
            let is_of = |ip: Ip| ip.has_addresses_of(&seen.frame, cause);
            if kind != Kind::Forwarded || Ip::of(&seen.frame).is_some_and(is_of) {
                found.entry(tag).or_default().push(seen);
            }
        })
    }
}

fn markers() -> Vec<Packet> {
    let ports = (1..PORTS).chain([UNRESOLVED_MARKER]);
    ports.flat_map(|port| [false, true].map(|is_ipv6| Packet::marker(is_ipv6, port))).collect()
}

/// The markers that did not leave a router, as text.
fn absence(markers: &[Packet], seen: &Exchanged) -> String {
    let all =
        [("kernel", &seen.kernel), ("ours", &seen.ours)].into_iter().flat_map(|(name, of)| {
            let absent = markers.iter().filter(|marker| !of.contains_key(&marker.tag));
            absent.map(move |marker| format!("{name}: {} ", hex(&marker.frame)))
        });
    all.collect()
}

/// Removes what [`Tables`] may have configured. Rules that are not there are refused.
fn removal() -> Vec<String> {
    let rules = (FIRST_RULE..FIRST_RULE + RULES).map(|pref| format!("rule del pref {pref}"));
    let routes = TABLES.map(|table| format!("route flush table {table} proto {PROTOCOL}"));
    let rest = [format!("nexthop flush proto {PROTOCOL}"), "neigh flush all".to_owned()];
    rules.chain(routes).chain(rest).collect()
}

/// A veth pair of the router's port and the world, up and without offloads that change frames.
fn connect(router: &Host, world: &Host, port: u8) -> lab::Result<()> {
    let (inner, outer) = (format!("p{port}"), format!("q{port}"));
    let outer_mac = Mac([2, 0x78, 0x77, 0, port, 2]);
    let ends = [
        VethEnd { name: &inner, mac: Some(router_mac(port)), netns: None },
        VethEnd { name: &outer, mac: Some(outer_mac), netns: Some(world.netns().as_fd()) },
    ];
    router.netlink()?.create_veth(&NewVeth {
        ends,
        queues: 1,
        mtu: LARGEST_MTUS[usize::from(port)],
    })?;
    for (host, name) in [(router, &inner), (world, &outer)] {
        let mut netlink = host.netlink()?;
        let ifindex = netlink.link(name)?.ifindex;
        netlink.set_up(ifindex, true)?;
        host.ethtool()?.set_feature(name, "tx-checksum", false)?;
    }
    // A redirected frame is lost unless the other end polls.
    world.ethtool()?.set_feature(&outer, "gro", true)?;
    router.ethtool()?.set_feature(&inner, "gro", false)?;
    for (host, name) in [(router, &inner), (world, &outer)] {
        let mut netlink = host.netlink()?;
        until(&format!("the carrier of {name}"), PATIENCE, || {
            Ok(netlink.link(name)?.running.then_some(()))
        })?;
    }
    Ok(())
}

/// Addresses, MTU and neighbors of a port of the router.
fn configure_port(router: &Host, port: u8) -> lab::Result<()> {
    let name = format!("p{port}");
    for family in ["ipv4", "ipv6"] {
        for (setting, value) in NEIGHBORS {
            router.set_sysctl(&format!("{family}/neigh/{name}/{setting}"), value)?;
        }
    }
    let mut netlink = router.netlink()?;
    let ifindex = netlink.link(&name)?.ifindex;
    for (is_ipv6, length) in [(false, 24), (true, 64)] {
        let ip = address(is_ipv6, port, 1);
        netlink.add_address(ifindex, sys::net::NewAddress { ip, prefix: length })?;
        for host in RESOLVED {
            netlink.add_neighbour(
                ifindex,
                address(is_ipv6, port, host),
                neighbor_mac(port, host),
            )?;
        }
    }
    let mtu = MTUS[usize::from(port)].to_string();
    let status = router.command("ip")?.args(["link", "set", &name, "mtu", &mtu]).status();
    let is_set = status.is_ok_and(|status| status.success());
    until(&format!("the MTU of {name}"), Duration::ZERO, || Ok(is_set.then_some(())))
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// It forwards, answers without limits, and reports a neighbor that does not answer soon. Redirects
/// are limited by time, so they are off where they can be.
const ROUTER: [(&str, &str); 8] = [
    ("ipv4/ip_forward", "1"),
    ("ipv6/conf/all/forwarding", "1"),
    ("ipv4/icmp_ratemask", "0"),
    ("ipv6/icmp/ratelimit", "0"),
    // Only echo replies count for the limit of all messages.
    ("ipv6/icmp/ratemask", "129"),
    ("ipv4/conf/all/send_redirects", "0"),
    ("ipv4/conf/default/send_redirects", "0"),
    ("ipv4/fib_multipath_hash_seed", "7"),
];
const NEIGHBORS: [(&str, &str); 3] =
    [("retrans_time_ms", "10"), ("mcast_solicit", "1"), ("unres_qlen_bytes", "10000000")];
