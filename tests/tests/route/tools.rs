//! What traceroute, mtr, tracepath and ping report of a path through three routers in a line: the
//! address of each hop, and the MTU of the path.
//!
//! ```text
//!   a ──── 1 ──── r1 ──── 2 ──── r2 ──── 3 ──── r3 ──── 4 ──── c
//! ```
//! Network N is 10.0.N.0/24 and fd00:0:0:N::/64; the side towards `a` has the address 1, the other
//! one 2. Network 3 has an MTU of 1400. Each router sends its errors itself: its own stack answers
//! with an MTU and a TTL, too, so the counters of errors are compared.

use std::os::fd::AsFd;

use lab::{Host, Lab, until};
use packet::Mac;
use serde_json::Value;
use sys::net::{NewVeth, VethEnd};
use xway_tests::stage::PATIENCE;
use xway_tests::xway::Xway;

const ROUTERS: usize = 3;
const NARROW: usize = 3;
const MTU: u32 = 1400;

/// Five hosts in a line.
struct Line {
    hosts: Vec<Host>,
    xway: [Xway; ROUTERS],
    _lab: Lab,
}

fn mac(network: usize, end: usize) -> Mac {
    Mac([2, 0x78, 0x77, 0, network as u8, end as u8])
}

fn address(network: usize, end: usize, is_ipv6: bool) -> String {
    match is_ipv6 {
        true => format!("fd00:0:0:{network}::{end}"),
        false => format!("10.0.{network}.{end}"),
    }
}

fn ip(host: &Host, words: &str) {
    let output = host.command("ip").unwrap().args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Line {
    fn build() -> Self {
        let mut lab = Lab::new().unwrap();
        let hosts: Vec<Host> =
            ["a", "r1", "r2", "r3", "c"].iter().map(|name| lab.add_host(name).unwrap()).collect();
        for (number, pair) in (1..).zip(hosts.windows(2)) {
            connect(&pair[0], &pair[1], number);
        }
        for (at, host) in hosts.iter().enumerate() {
            for is_ipv6 in [false, true] {
                // Each network that is not connected: back towards `a`, or on towards `c`.
                for network in 1..=ROUTERS + 1 {
                    let to = address(network, 0, is_ipv6);
                    let bits = if is_ipv6 { 64 } else { 24 };
                    let via = match network {
                        _ if network < at => address(at, 1, is_ipv6),
                        _ if network > at + 1 => address(at + 1, 2, is_ipv6),
                        _ => continue,
                    };
                    ip(host, &format!("route add {to}/{bits} via {via}"));
                }
            }
        }
        let xway = std::array::from_fn(|_| Xway::new());
        for (host, xway) in hosts[1..=ROUTERS].iter().zip(&xway) {
            host.set_sysctl("ipv4/ip_forward", "1").unwrap();
            host.set_sysctl("ipv6/conf/all/forwarding", "1").unwrap();
            xway.run_in(host, &["route", "start", "left", "right"]).ended(0);
        }
        Self { hosts, xway, _lab: lab }
    }

    fn a(&self) -> &Host {
        &self.hosts[0]
    }

    fn c(&self) -> &Host {
        &self.hosts[ROUTERS + 1]
    }

    /// Both addresses of `c`.
    fn targets() -> [String; 2] {
        [false, true].map(|is_ipv6| address(ROUTERS + 1, 2, is_ipv6))
    }

    /// What a program in `a` prints.
    fn print(&self, words: &str) -> String {
        let mut words = words.split(' ');
        let mut command = self.a().command(words.next().unwrap()).unwrap();
        let output = command.args(words).env("LC_ALL", "C").output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Errors that each router sent for this reason.
    fn errors(&self, reason: &str) -> [u64; ROUTERS] {
        std::array::from_fn(|number| {
            let words = ["route", "show", "--json"];
            let shown = self.xway[number].run_in(&self.hosts[number + 1], &words).json(0);
            let ports = shown["ports"].as_array().unwrap().iter();
            ports.filter_map(|port: &Value| port["reasons"][reason].as_u64()).sum()
        })
    }
}

/// A veth pair, `right` of the first host and `left` of the second one.
fn connect(first: &Host, second: &Host, network: usize) {
    let ends = [
        VethEnd { name: "right", mac: Some(mac(network, 1)), netns: None },
        VethEnd { name: "left", mac: Some(mac(network, 2)), netns: Some(second.netns().as_fd()) },
    ];
    let mtu = if network == NARROW { MTU } else { 1500 };
    first.netlink().unwrap().create_veth(&NewVeth { ends, queues: 1, mtu }).unwrap();
    for (host, name, end) in [(first, "right", 1), (second, "left", 2)] {
        ip(host, &format!("link set {name} up"));
        let ethtool = host.ethtool().unwrap();
        ethtool.set_feature(name, "tx-checksum", false).unwrap();
        // A redirected frame is lost unless the other end polls.
        ethtool.set_feature(name, "gro", true).unwrap();
        ip(host, &format!("addr add {}/24 dev {name}", address(network, end, false)));
        ip(host, &format!("addr add {}/64 dev {name} nodad", address(network, end, true)));
    }
    for (host, name, end) in [(first, "right", 2), (second, "left", 1)] {
        for is_ipv6 in [false, true] {
            let (ip_address, mac) = (address(network, end, is_ipv6), mac(network, end));
            let words = format!("lladdr {mac} dev {name} nud permanent");
            ip(host, &format!("neigh replace {ip_address} {words}"));
        }
        until("the carrier", PATIENCE, || Ok(host.netlink()?.link(name)?.running.then_some(())))
            .unwrap();
    }
}

/// The addresses at each hop, by the lines that begin with its number.
#[track_caller]
fn has_hops(text: &str, target: &str) {
    let is_ipv6 = target.contains(':');
    let hops = (1..=ROUTERS).map(|number| address(number, 2, is_ipv6)).chain([target.to_owned()]);
    for (number, hop) in (1..).zip(hops) {
        let is_line = |line: &&str| {
            let first = line.trim_start().split([' ', ':', '.', '?']).next();
            first == Some(&number.to_string())
        };
        let lines: Vec<&str> = text.lines().filter(is_line).collect();
        let has = |line: &&&str| line.split([' ', '(', ')']).any(|word| word == hop);
        assert!(lines.iter().any(|line| has(&line)), "hop {number} is not {hop}:\n{text}");
    }
}

#[test]
fn traceroute_and_mtr_report_each_router() {
    let line = Line::build();
    let listener = |at: &str| {
        let at: std::net::SocketAddr = at.parse().unwrap();
        line.c().run(|| std::net::TcpListener::bind(at)).unwrap().unwrap()
    };
    let _listeners = ["10.0.4.2:80", "[fd00:0:0:4::2]:80"].map(listener);
    for target in Line::targets() {
        for words in [
            "traceroute -n -q 1 -w 5",
            "traceroute -n -q 1 -w 5 -I",
            "traceroute -n -q 1 -w 5 -T -p 80",
            "mtr --report --no-dns --report-cycles 2 --interval 0.2 --gracetime 2",
        ] {
            let before = line.errors("sent-time-exceeded");
            let text = line.print(&format!("{words} {target}"));
            has_hops(&text, &target);
            let after = line.errors("sent-time-exceeded");
            for (number, (before, after)) in before.into_iter().zip(after).enumerate() {
                assert!(after > before, "{words}: router {} did not answer", number + 1);
            }
        }
    }
}

#[test]
fn the_mtu_of_the_path_is_found() {
    let line = Line::build();
    for target in Line::targets() {
        let family = if target.contains(':') { "-6" } else { "-4" };
        // It is the second router that has the narrow link.
        let narrow = address(2, 2, family == "-6");
        let headers = if family == "-6" { 48 } else { 28 };
        let fits = MTU - headers;
        let text = line.print(&format!("ping {family} -n -c 1 -W 5 -M do -s {fits} {target}"));
        assert!(text.contains(" 0% packet loss"), "{text}");

        let before = line.errors("sent-too-big");
        let large =
            line.print(&format!("ping {family} -n -c 1 -W 5 -M do -s {} {target}", fits + 1));
        let answer = large.lines().find(|line| {
            line.contains(&format!("mtu = {MTU}")) || line.contains(&format!("mtu={MTU}"))
        });
        assert!(answer.is_some_and(|line| line.contains(&narrow)), "{large}");
        let after = line.errors("sent-too-big");
        assert_eq!([after[0], after[2]], [before[0], before[2]], "{large}");
        assert_eq!(after[1], before[1] + 1, "{large}");

        ip(line.a(), &format!("{family} route flush cache"));
        let text = line.print(&format!("tracepath {family} -n {target}"));
        has_hops(&text, &target);
        assert!(text.contains(&format!("pmtu {MTU}")), "{text}");
        assert!(text.contains(&format!("Resume: pmtu {MTU} ")), "{text}");
    }
}
