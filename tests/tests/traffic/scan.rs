//! Scans of a real stack: a host that owns a network by a local route, with listeners.
//!
//! Rule: scans run in namespaces whose only link leads to the other host; each test checks that
//! before it sends.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};

use lab::{Host, Lab};
use serde_json::Value;
use xway_tests::routing::{connect, default_route};
use xway_tests::xway::{Answer, Xway};

/// A scanner, and a host that answers for [`NETWORK`].
struct Net {
    scanner: Host,
    target: Host,
    xway: Xway,
    /// What the target's interface receives XDP frames with.
    _receiver: Xway,
    _lab: Lab,
}

impl Net {
    fn build() -> Self {
        let mut lab = Lab::new().unwrap();
        let [scanner, target] = ["scanner", "target"].map(|name| lab.add_host(name).unwrap());
        let (near, far) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 1, 0, 2));
        connect((&scanner, "eth0", near), (&target, "eth0", far));
        default_route(&scanner, far);
        ip(&target, &["route", "add", "local", NETWORK, "dev", "lo"]);
        // A veth passes resets of XDP on only to a peer that has an XDP program.
        let receiver = Xway::new();
        receiver.run_in(&target, &["drop", "eth0", "10.255.0.0/16 udp 9"]).ended(0);
        Self { scanner, target, xway: Xway::new(), _receiver: receiver, _lab: lab }
    }

    fn scan(&self, words: &[&str]) -> Answer {
        self.assert_isolated();
        let fixed = ["--json", "scan", "run", "--dev", "eth0", "--wait", "3s"];
        self.xway.run_in(&self.scanner, &[&fixed[..], words].concat())
    }

    /// The scanner's links are its loopback and the one to the target, which forwards nothing.
    fn assert_isolated(&self) {
        let links = self.scanner.netlink().unwrap().links().unwrap();
        let mut names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["eth0", "lo"]);
        let links = self.target.netlink().unwrap().links().unwrap();
        assert_eq!(links.len(), 2, "the target has no other link, either");
    }
}

fn ip(host: &Host, words: &[&str]) {
    let mut command = host.command("ip").unwrap();
    assert!(command.args(words).status().unwrap().success(), "ip {words:?}");
}

/// The lines of answers, and the result.
fn parsed(answer: Answer) -> (Vec<Value>, Value) {
    let text = answer.ended(0);
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let result = lines.pop().unwrap();
    (lines, result)
}

/// Number of answers of each port and state.
fn states(lines: &[Value]) -> BTreeMap<(u64, String), usize> {
    let mut states = BTreeMap::new();
    for line in lines {
        let state = line["state"].as_str().unwrap().to_owned();
        *states.entry((line["port"].as_u64().unwrap_or(0), state)).or_default() += 1;
    }
    states
}

const NETWORK: &str = "10.64.0.0/16";

#[test]
fn open_and_closed_ports_of_every_address_are_found() {
    let net = Net::build();
    let listen = || TcpListener::bind(("0.0.0.0", 80)).unwrap();
    let _listener = net.target.run(listen).unwrap();
    let words = ["10.64.4.0/23", "--exclude", "10.64.5.7", "--port", "80,81", "--rate", "4kpps"];
    let (lines, result) = parsed(net.scan(&words));
    let found = states(&lines);
    assert_eq!(found.get(&(80, "open".to_owned())), Some(&511), "{found:?} {result}");
    assert_eq!(found.get(&(81, "closed".to_owned())), Some(&511), "{found:?} {result}");
    assert_eq!(found.len(), 2, "{found:?}");
    let mut addresses: Vec<_> = lines.iter().map(|line| line["ip"].as_str().unwrap()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 511);
    assert!(!addresses.contains(&"10.64.5.7"), "it is excluded");
    for (key, want) in [("targets", 1022), ("sent", 1022), ("not_sent", 0), ("answers", 1022)] {
        assert_eq!(result[key], want, "{key} of {result}");
    }
    assert_eq!((&result["open"], &result["closed"]), (&511.into(), &511.into()));
    assert_eq!(result["false"], 0);
    // All connections were reset: none waits for the rest of its handshake.
    let mut command = net.target.command("ss").unwrap();
    let half_open = command.args(["-Htn", "state", "syn-recv"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&half_open.stdout), "", "connections were not reset");
}

#[test]
fn shards_are_disjoint_and_complete() {
    let net = Net::build();
    let mut addresses = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let words = ["10.64.9.0/24", "--shard", shard, "--seed", "5", "--rate", "2kpps"];
        let (lines, result) = parsed(net.scan(&words));
        assert_eq!(result["answers"], result["targets"], "{result}");
        addresses.extend(lines.iter().map(|line| line["ip"].as_str().unwrap().to_owned()));
    }
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 256);
    let error = net.scan(&["10.64.9.0/24", "--shard", "1/3"]).error();
    assert!(error.contains("--seed"), "{error}");
}

#[test]
fn udp_ports_without_sockets_are_reported_by_icmp() {
    let net = Net::build();
    // Its answers come from the address that was probed, because it is bound to it.
    let _socket = net.target.run(|| UdpSocket::bind(("10.64.1.1", 53)).unwrap()).unwrap();
    // The kernel sends a thousand errors a second, and one a second to each address without this.
    net.target.set_sysctl("ipv4/icmp_ratelimit", "0").unwrap();
    let words = ["10.64.1.0-10.64.1.15", "--port", "53", "--probe", "udp", "--rate", "100pps"];
    let (lines, result) = parsed(net.scan(&words));
    let found = states(&lines);
    assert_eq!(found.get(&(53, "unreachable".to_owned())), Some(&15), "{found:?} {result}");
    assert!(lines.iter().all(|line| line["icmp"] == serde_json::json!([3, 3])), "{lines:?}");
}

#[test]
fn what_cannot_be_scanned_is_refused() {
    let net = Net::build();
    for (words, reason) in [
        (&["8.8.8.0/24", "--port", "80"][..], "8.8.8.0 is not in a private"),
        (&["10.64.0.0/24", "--probe", "udp"], "specify the ports"),
        (&["10.64.0.0/24", "--probe", "icmp", "--port", "1"], "echo requests have no ports"),
        (&["10.1.0.0/24"], "is on the link of eth0"),
        (&["10.64.0.1", "2001:db8::1"], "scan each family separately"),
    ] {
        let error = net.scan(words).error();
        assert!(error.contains(reason), "{words:?}: {error}");
    }
    let busy = ["drop", "eth0", "10.255.0.0/16 udp 9"];
    net.xway.run_in(&net.scanner, &busy).ended(0);
    let error = net.scan(&["10.64.0.0/24"]).error();
    assert!(error.contains("eth0"), "the interface has a program: {error}");
}
