//! Errors about translated packets, from the router and from beyond it, are those of Linux' NAT on
//! the same topology.

use std::collections::BTreeMap;

use kernel::KernelRuntime;
use lab::frame::check;
use lab::{Capture, LinkOptions, Router};
use spec::Verdict;
use vm::VmRuntime;
use xway_tests::bpf::router::{A, C, Forward, Port, from_a};
use xway_tests::nft;
use xway_tests::stage::PATIENCE;

use super::{CHANGES, FAMILIES, translating};
use crate::quote::{comparable, is_error, repair};

/// The translations for Linux. Hosts answer nothing themselves.
const RULES: &str = "\
table inet translations {
  chain in {
    type nat hook prerouting priority dstnat;
    ip daddr 10.1.0.2 udp dport 1234 dnat ip to 10.0.2.2:5678
    ip daddr 10.1.0.2 tcp dport 80 dnat ip to 10.0.2.2:8080
    ip daddr 10.1.0.3 dnat ip to 10.0.2.2
    ip daddr 10.1.0.4 dnat ip to 198.51.101.1
    ip6 daddr fd01::2 udp dport 1234 dnat ip6 to [fd00:0:0:2::2]:5678
    ip6 daddr fd01::2 tcp dport 80 dnat ip6 to [fd00:0:0:2::2]:8080
    ip6 daddr fd01::3 dnat ip6 to fd00:0:0:2::2
    ip6 daddr fd01::4 dnat ip6 to fd03::1
  }
}
";
const QUIET: &str = "\
table inet quiet {
  chain in {
    type filter hook input priority 0;
    meta l4proto { tcp, udp, icmp } drop
    icmpv6 type { 1-127, echo-request, echo-reply } drop
  }
}
";
const LIMITS: [(&str, &str); 3] =
    [("ipv4/icmp_ratemask", "0"), ("ipv6/icmp/ratelimit", "0"), ("ipv6/icmp/ratemask", "129")];

/// Linux' NAT on the same topology.
struct Linux {
    _net: Router,
    wires: BTreeMap<bool, Capture>,
}

impl Linux {
    fn new() -> Self {
        let net = Router::build(&LinkOptions::default()).unwrap();
        for (path, value) in LIMITS {
            net.b.set_sysctl(path, value).unwrap();
        }
        for words in [
            "link set eth1 mtu 1300",
            "route add unreachable 198.51.101.1",
            "route add unreachable fd03::1",
        ] {
            let status = net.b.command("ip").unwrap().args(words.split(' ')).status().unwrap();
            assert!(status.success(), "ip {words}");
        }
        nft::run(&net.b, &["-f", "-"], RULES).unwrap();
        let wire = |host| {
            nft::run(host, &["-f", "-"], QUIET).unwrap();
            Capture::open(host, "eth0").unwrap()
        };
        let wires = [(false, wire(&net.a)), (true, wire(&net.c))].into();
        let this = Self { _net: net, wires };
        for talk in FAMILIES.iter().flat_map(|family| family.talks()) {
            assert_eq!(this.pass(Port::Eth0, &talk.request), talk.received, "{}", talk.name);
            assert_eq!(this.pass(Port::Eth1, &talk.reply), talk.replied, "{}", talk.name);
        }
        this
    }

    fn wire(&self, port: Port) -> &Capture {
        &self.wires[&(port == Port::Eth1)]
    }

    /// How the packet leaves on the other side.
    fn pass(&self, port: Port, packet: &[u8]) -> Vec<u8> {
        let other = if port == Port::Eth0 { Port::Eth1 } else { Port::Eth0 };
        self.wire(port).send(packet).unwrap();
        let protocol = if packet[12] == 8 { 23 } else { 20 };
        let is_sent = |frame: &[u8]| {
            !is_error(frame) && frame.len() == packet.len() && frame[protocol] == packet[protocol]
        };
        self.wire(other).next(PATIENCE, is_sent).unwrap()
    }

    /// The error that arrives on a side after a packet was sent.
    fn error(&self, at: Port, from: Port, packet: &[u8]) -> Vec<u8> {
        self.wire(from).send(packet).unwrap();
        let mac = if at == Port::Eth0 { A } else { C }.parse::<packet::Mac>().unwrap().0;
        self.wire(at).next(PATIENCE, |frame| is_error(frame) && frame[..6] == mac).unwrap()
    }
}

/// Both runtimes make of the packet what Linux makes of it.
struct Twins {
    linux: Linux,
    kernel: Forward<KernelRuntime>,
    engine: Forward<VmRuntime>,
}

impl Twins {
    fn new() -> Self {
        let config = translating(true, true);
        Self {
            linux: Linux::new(),
            kernel: Forward::configured(&config, &CHANGES),
            engine: Forward::configured(&config, &CHANGES),
        }
    }

    fn agree(&mut self, name: &str, at: Port, from: Port, packet: &[u8], reason: &str) {
        let expected = packet::hex(&comparable(self.linux.error(at, from, packet)));
        for judgement in [self.kernel.judge(from, packet), self.engine.judge(from, packet)] {
            let found = (judgement.verdict, &*judgement.reason);
            assert_eq!(found, (Verdict::Redirect, reason), "{name}");
            assert_eq!(check(&judgement.packet), Ok(()), "{name}");
            assert_eq!(packet::hex(&comparable(judgement.packet)), expected, "{name}");
        }
    }
}

/// What the router itself cannot forward after a translation.
#[test]
fn the_routers_errors_are_those_of_linux_nat() {
    let mut twins = Twins::new();
    for family in FAMILIES {
        for talk in family.talks() {
            for ttl in [1, 0] {
                let expired = |mut packet: Vec<u8>| {
                    packet[if family.is_ipv6() { 21 } else { 22 }] = ttl;
                    repair(&mut packet);
                    packet
                };
                let (request, reply) = (expired(talk.request.clone()), expired(talk.reply.clone()));
                let name = format!("{} to {}, TTL {ttl}", talk.name, family.client);
                let reason = "sent-time-exceeded";
                twins.agree(&name, Port::Eth0, Port::Eth0, &request, reason);
                twins.agree(&name, Port::Eth1, Port::Eth1, &reply, reason);
            }
        }
        for (vip, port, length) in
            [(family.service, 1234, 1315), (family.whole, 99, 1514), (family.whole, 99, 1315)]
        {
            let large = from_a(vip, port).udp_of_length(length).unwrap();
            twins.agree(vip, Port::Eth0, Port::Eth0, &large, "sent-too-big");
        }
        let closed = from_a(family.closed, 7).udp(b"closed").unwrap();
        twins.agree(family.closed, Port::Eth0, Port::Eth0, &closed, "sent-unreachable");
    }
}

/// What hops beyond the router report about translated packets.
#[test]
fn errors_from_beyond_are_translated_as_by_linux_nat() {
    let mut twins = Twins::new();
    for (name, from, packet) in FAMILIES.iter().flat_map(|family| family.errors_from_beyond()) {
        let at = if from == Port::Eth0 { Port::Eth1 } else { Port::Eth0 };
        twins.agree(&name, at, from, &packet, "forwarded");
    }
}

/// Tags before the packet change nothing: one without a VLAN has a priority only.
#[test]
fn packets_with_tags_are_translated_as_without() {
    let mut router = Forward::<KernelRuntime>::configured(&translating(true, true), &CHANGES);
    for family in FAMILIES {
        let mut cases = family.errors_from_beyond();
        for vip in [family.service, family.whole, family.closed] {
            let large = from_a(vip, 1234).udp_of_length(1400).unwrap();
            cases.push((vip.to_owned(), Port::Eth0, large));
        }
        for (name, port, packet) in cases {
            let mut tagged = packet.clone();
            tagged.splice(12..12, [0x81, 0, 0x60, 0]);
            let plain = router.judge(port, &packet);
            let found = router.judge(port, &tagged);
            assert_eq!(found.reason, plain.reason, "{name}");
            assert_eq!(found.verdict, Verdict::Redirect, "{name}");
            let [found, plain] = [found, plain].map(|one| packet::hex(&comparable(one.packet)));
            assert_eq!(found, plain, "{name}");
        }
    }
}
