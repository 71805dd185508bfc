//! What happens to packets while a router loses an interface, or an interface changes: they are
//! counted by a reason or given to the stack, and never leave as they should not.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use functions::route::{self, INDEX, PORTS, PortMaps, TAGGED, TX, Tags, VLANS};
use kernel::Map;
use lab::frame::Flow;
use lab::{Capture, Host, LinkOptions, Router, until};
use packet::{EtherType, Mac, VlanTag};
use serde_json::Value;
use spec::Verdict;
use xway_tests::bpf::router::{B0, B1, C, Forward, Port, Routed, from_a, side, to_c, vlan_mac};
use xway_tests::stage::PATIENCE;
use xway_tests::stories;
use xway_tests::xway::{Answer, Xway};

stories! {
    frames_that_are_too_short_go_to_the_stack_unchanged
}

/// `b` runs `xway` on its eth0, towards `a`, and on its eth1, towards `c`, and a daemon.
struct Net {
    net: Router,
    xway: Xway,
    daemon: Option<Child>,
}

impl Drop for Net {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

impl Net {
    fn new(options: &LinkOptions) -> Self {
        let this = Self { net: Router::build(options).unwrap(), xway: Xway::new(), daemon: None };
        let words = ["route", "start", "eth0", "eth1", "--icmp-prefix-rate", "0"];
        this.run(&words).ended(0);
        this
    }

    fn followed(options: &LinkOptions) -> Self {
        let mut this = Self::new(options);
        let words = ["daemon", "--listen", "127.0.0.1:0"];
        this.daemon = Some(this.xway.command_in(&this.net.b, &words).spawn().unwrap());
        this
    }

    fn run(&self, words: &[&str]) -> Answer {
        self.xway.run_in(&self.net.b, words)
    }

    fn ip(&self, words: &str) {
        ip(&self.net.b, words);
    }

    fn show(&self) -> Value {
        self.run(&["route", "show", "--json"]).json(0)
    }

    fn until(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        until(what, PATIENCE, || {
            let shown = self.show();
            Ok(is(&shown).then_some(shown))
        })
        .unwrap_or_else(|error| panic!("{error}: {:#}", self.show()))
    }

    /// A map of the router, which is writable.
    fn map(&self, name: &str) -> Map {
        Map::from_pin(&pin(&self.xway.state().join("bpf"), name).unwrap()).unwrap()
    }

    /// Gives the router these ports, as a program that declares them does.
    fn set_ports(&self, ports: &[route::Port]) {
        let [tx, own, index] = [TX, PORTS, INDEX].map(|name| self.map(name));
        let [tagged, vlans] = [TAGGED, VLANS].map(|name| self.map(name));
        let maps = PortMaps { tx: &tx, ports: &own, index: &index, tagged: &tagged, vlans: &vlans };
        self.net.b.run(|| route::update_ports(ports, &maps).map(drop).unwrap()).unwrap();
    }

    fn device(&self, name: &str) -> u32 {
        self.net.b.ifindex(name).unwrap().0
    }
}

fn ip(host: &Host, words: &str) {
    let output = host.command("ip").unwrap().args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

fn pin(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
    entries.find_map(|path| match path.is_dir() {
        true => pin(&path, name),
        false => path.ends_with(name).then_some(path),
    })
}

fn port<'v>(shown: &'v Value, name: &str) -> Option<&'v Value> {
    shown["ports"].as_array().unwrap().iter().find(|port| port["name"] == name)
}

fn reason(shown: &Value, port_name: &str, reason: &str) -> u64 {
    port(shown, port_name).and_then(|port| port["reasons"][reason].as_u64()).unwrap_or(0)
}

/// Frames that eth0 received, by the sum of all reasons.
fn received(shown: &Value) -> u64 {
    let reasons = port(shown, "eth0").and_then(|port| port["reasons"].as_object());
    reasons.map_or(0, |all| all.values().filter_map(Value::as_u64).sum())
}

/// Sends frames in turn until `work` has ended, and at most [`MOST`]; how many.
fn flood(host: &Host, frames: &[Vec<u8>], work: impl FnOnce()) -> u64 {
    let (wire, is_over) = (Capture::open(host, "eth0").unwrap(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let turns = frames.iter().cycle().take(MOST);
            let mut sent = 0;
            for frame in turns.take_while(|_| !is_over.load(Ordering::Relaxed)) {
                // The link may be gone.
                sent += u64::from(wire.send(frame).is_ok());
            }
            sent
        });
        work();
        is_over.store(true, Ordering::Relaxed);
        sender.join().unwrap()
    })
}

/// Frames of a flood at most.
const MOST: usize = 2_000_000;
const PAYLOAD: &[u8] = b"a frame of the flood";

fn is_of_flood(frame: &[u8]) -> bool {
    frame.windows(PAYLOAD.len()).any(|part| part == PAYLOAD)
}

/// Takes the interface from the router; a process that holds its namespace.
type Leave = fn(&Net) -> Option<Child>;

#[test]
fn an_interface_that_vanishes_while_it_is_routed_to() {
    let frame = from_a("10.0.2.2", 7).udp(PAYLOAD).unwrap();
    let moved: Leave = |net| {
        let child = net.net.c.command("sleep").unwrap().arg("30").spawn().unwrap();
        net.ip(&format!("link set eth1 netns {}", child.id()));
        Some(child)
    };
    let deleted: Leave = |net| {
        net.ip("link del eth1");
        None
    };
    for (way, leave) in [("moved", moved), ("deleted", deleted)] {
        let net = Net::followed(&LinkOptions::default());
        let mut helper = None;
        let sent = flood(&net.net.a, std::slice::from_ref(&frame), || {
            net.until("forwarded frames", |now| reason(now, "eth0", "forwarded") > 100);
            helper = leave(&net);
            let before = received(&net.show());
            net.until("further frames", |now| received(now) > before + 100);
        });
        // Those on their way are counted, and none is forwarded any more.
        let shown = net.until("all frames", |now| received(now) >= sent);
        let forwarded = reason(&shown, "eth0", "forwarded");
        assert!(port(&shown, "eth1").is_none(), "{way}: {shown:#}");
        Capture::open(&net.net.a, "eth0").unwrap().send(&frame).unwrap();
        let shown = net.until("the last frame", |now| received(now) > sent);
        assert_eq!(reason(&shown, "eth0", "forwarded"), forwarded, "{way}: {shown:#}");
        if let Some(mut helper) = helper {
            helper.kill().unwrap();
            helper.wait().unwrap();
        }
        net.run(&["route", "stop", "eth0"]).ended(0);
    }
}

#[test]
fn a_port_that_is_renamed_keeps_its_counts() {
    let net = Net::followed(&LinkOptions::default());
    let wire = Capture::open(&net.net.a, "eth0").unwrap();
    let send = |count: u64| {
        let frame = from_a("10.0.2.2", 7).udp(PAYLOAD).unwrap();
        (0..count).for_each(|_| wire.send(&frame).unwrap());
    };
    send(3);
    net.until("the first frames", |now| reason(now, "eth0", "forwarded") == 3);
    net.ip("link set eth1 down");
    net.ip("link set eth1 name wan0");
    net.ip("link set wan0 up");
    net.ip(&format!("neigh replace 10.0.2.2 lladdr {C} dev wan0 nud permanent"));
    // The kernel removed the neighbors with the carrier, and adds the route when it is back.
    let count = std::cell::Cell::new(3);
    until("forwarded frames after the new name", PATIENCE, || {
        send(1);
        count.set(count.get() + 1);
        let shown = net.until("the frame", |now| received(now) >= count.get());
        Ok((reason(&shown, "eth0", "forwarded") > 3).then_some(()))
    })
    .unwrap();
    let shown = net.show();
    let sent = port(&shown, "wan0").unwrap_or_else(|| panic!("{shown:#}"));
    assert_eq!(sent["sent_packets"], reason(&shown, "eth0", "forwarded"), "{shown:#}");
    // `c` answers that nothing listens.
    let hops = shown["next_hops"].as_array().unwrap().iter();
    let devices: std::collections::BTreeSet<_> = hops.map(|hop| hop["dev"].as_str()).collect();
    assert_eq!(devices, [Some("eth0"), Some("wan0")].into(), "{shown:#}");
    assert!(port(&shown, "eth1").is_none());
}

/// The device itself lets frames pass that are four bytes longer (a VLAN tag), so the flood has
/// such frames.
#[test]
fn no_frame_longer_than_the_mtu_leaves_while_it_changes() {
    let net = Net::new(&LinkOptions::default());
    let sink = Capture::open(&net.net.c, "eth0").unwrap();
    let of_length = |to: &str, length: usize| from_a(to, 7).udp_of_length(14 + length).unwrap();
    let lengths = [1280, 1281, 1284, 1500];
    let frames: Vec<_> = ["10.0.2.2", "fd00:0:0:2::2"]
        .iter()
        .flat_map(|to| lengths.map(|length| of_length(to, length)))
        .collect();
    let is_udp = |seen: &[u8]| match seen[12..14] {
        [8, 0] => seen[23] == 17,
        _ => seen[20] == 17,
    };
    let sent = flood(&net.net.a, &frames, || {
        for _ in 0..3 {
            net.ip("link set eth1 mtu 1500");
            sink.next(PATIENCE, |seen| is_udp(seen) && seen.len() == 1514).unwrap();
            net.ip("link set eth1 mtu 1280");
            let before = reason(&net.show(), "eth0", "sent-too-big");
            net.until("errors", |now| reason(now, "eth0", "sent-too-big") > before + 100);
            // What is in the queue was sent before; what comes after it was not.
            sink.all(Duration::ZERO, usize::MAX, |_| true).unwrap();
            for _ in 0..500 {
                let seen = sink.next(PATIENCE, is_udp).unwrap();
                assert!(seen.len() <= 1294, "{} bytes", seen.len());
            }
        }
    });
    let shown = net.until("all frames", |now| received(now) >= sent);
    for name in ["forwarded", "sent-too-big"] {
        assert!(reason(&shown, "eth0", name) > 0, "{name}: {shown:#}");
    }
}

/// An interface that owns the addresses of a VLAN, as a VLAN device does.
fn own(net: &Net, number: u8) -> route::Port {
    let (name, mac, far) = (format!("v{number}"), vlan_mac(number, 1), vlan_mac(7, 2));
    net.ip(&format!("link add {name} address {mac} type veth peer name {name}p"));
    net.ip(&format!("link set {name} up"));
    net.ip(&format!("link set {name}p up"));
    net.ip(&format!("addr add 10.0.{number}.1/24 dev {name}"));
    net.ip(&format!("neigh replace 10.0.{number}.2 lladdr {far} dev {name} nud permanent"));
    let tags = Tags::single(VlanTag::new(EtherType::VLAN, number.into()).unwrap());
    let mac = Some(mac.parse::<Mac>().unwrap().0);
    route::Port { ifindex: net.device(&name), mac, device: net.device("eth0"), tags }
}

fn untagged(net: &Net) -> [route::Port; 2] {
    [("eth0", B0), ("eth1", B1)].map(|(name, mac)| {
        route::Port::untagged(net.device(name), Some(mac.parse::<Mac>().unwrap().0))
    })
}

/// From a host of VLAN 21, with the tag.
fn from_vlan() -> Vec<u8> {
    let from = side(&vlan_mac(21, 2), "10.0.21.2", 4000);
    let mut flow = Flow::new(from, side(&vlan_mac(21, 1), "10.0.2.2", 7));
    flow = flow.vlan(21);
    flow.udp(PAYLOAD).unwrap()
}

#[test]
fn frames_of_a_vlan_that_is_removed_are_the_stacks() {
    let net = Net::new(&LinkOptions::default());
    let vlan = own(&net, 21);
    let [near, far] = untagged(&net);
    let with = [near, far, vlan];
    let sink = Capture::open(&net.net.c, "eth0").unwrap();
    let sent = flood(&net.net.a, &[from_vlan()], || {
        for _ in 0..5 {
            net.set_ports(&with);
            let before = reason(&net.show(), "eth0", "forwarded");
            net.until("routed frames", |now| reason(now, "eth0", "forwarded") > before + 20);
            net.set_ports(&[near, far]);
            let before = reason(&net.show(), "eth0", "tagged");
            net.until("frames for the stack", |now| reason(now, "eth0", "tagged") > before + 20);
        }
    });
    let shown = net.until("all frames", |now| received(now) >= sent);
    let all = sink.all(Duration::ZERO, usize::MAX, is_of_flood).unwrap();
    assert!(!all.is_empty());
    for frame in all {
        assert_eq!(frame[12..14], [8, 0], "no tag is carried out");
        assert_eq!(Mac(*frame[6..].first_chunk().unwrap()).to_string(), B1);
    }
    let others = ["forwarded", "tagged"].map(|name| reason(&shown, "eth0", name));
    assert!(others.iter().all(|count| *count >= 100), "{shown:#}");
}

#[test]
fn a_port_that_gets_a_number_again_has_next_hops_of_its_own() {
    let net = Net::new(&LinkOptions::default());
    let (first, second) = (own(&net, 21), own(&net, 31));
    let [near, far] = untagged(&net);
    let from_c = |number: u8| {
        let (from, to) = (side(C, "10.0.2.2", 4000), format!("10.0.{number}.2"));
        Flow::new(from, side(B1, &to, 7)).udp(PAYLOAD).unwrap()
    };
    let wire = Capture::open(&net.net.c, "eth0").unwrap();
    let send = |number, count: u64| {
        let before = reason(&net.show(), "eth1", "forwarded");
        (0..count).for_each(|_| wire.send(&from_c(number)).unwrap());
        let all = |now: &Value| reason(now, "eth1", "forwarded") == before + count;
        net.until(&format!("{count} frames to VLAN {number}"), all)
    };
    let rows = |shown: &Value| {
        let hops = shown["next_hops"].as_array().unwrap().iter();
        let row = |hop: &Value| (hop["dev"].as_str().map(str::to_owned), hop["packets"].clone());
        let mut rows: Vec<_> = hops.map(row).collect();
        rows.sort_by_key(|(dev, _)| dev.clone());
        rows
    };
    net.set_ports(&[near, far, first]);
    let shown = send(21, 3);
    assert_eq!(rows(&shown), [(Some("v21".to_owned()), 3.into())], "{shown:#}");
    net.set_ports(&[near, far]);
    let others = |shown: &Value| rows(shown).first() == Some(&(None, 3.into()));
    net.until("the row of no port", others);
    // The same number, and a next hop with the same address.
    net.set_ports(&[near, far, second]);
    let shown = send(31, 5);
    assert!(others(&shown), "{shown:#}");
    assert_eq!(rows(&shown)[1..], [(Some("v31".to_owned()), 5.into())], "{shown:#}");
    assert_eq!(port(&shown, "v31").unwrap()["sent_packets"], 5, "{shown:#}");
}

fn frames_that_are_too_short_go_to_the_stack_unchanged<R: Routed>() {
    let mut router = Forward::<R>::new(&[]);
    for to in ["10.0.2.2", "fd00:0:0:2::2"] {
        let whole = from_a(to, 7).udp(PAYLOAD).unwrap();
        for length in 14..=33 {
            let judgement = router.judge(Port::Eth0, &whole[..length]);
            assert_eq!(judgement.verdict, Verdict::Pass, "{to} {length}: {}", judgement.reason);
            assert_eq!(judgement.packet, &whole[..length], "{to} {length}");
            assert_eq!(judgement.reason, "truncated", "{to} {length}");
        }
    }
}

#[test]
fn frames_of_several_pages_are_routed_up_to_the_mtu() {
    let net = Net::new(&LinkOptions { mtu: 9000, ..LinkOptions::default() });
    let (wire, sink) = (Capture::open(&net.net.a, "eth0"), Capture::open(&net.net.c, "eth0"));
    let (wire, sink) = (wire.unwrap(), sink.unwrap());
    for to in ["10.0.2.2", "fd00:0:0:2::2"] {
        for length in [4096, 8000, 9014] {
            let frame = from_a(to, 7).udp_of_length(length).unwrap();
            wire.send(&frame).unwrap();
            let seen = sink.next(PATIENCE, |seen| seen.len() == length).unwrap();
            assert!(seen == to_c(to, 7).udp_of_length(length).unwrap(), "{to} {length}");
        }
    }
    let before = reason(&net.show(), "eth0", "forwarded");
    net.ip("link set eth1 mtu 5000");
    let large = from_a("10.0.2.2", 7).udp_of_length(5015).unwrap();
    wire.send(&large).unwrap();
    let is_counted = |now: &Value| {
        let names = ["too-big", "sent-too-big"];
        names.iter().any(|name| reason(now, "eth0", name) > 0)
    };
    let shown = net.until("the large frame", is_counted);
    assert_eq!(reason(&shown, "eth0", "forwarded"), before, "{shown:#}");
}
