//! ICMP errors that the router sends itself: the same as those of Linux' own router on the same
//! topology, within limits, and as sockets read them.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use functions::route::{Config, IcmpErrors, IcmpRate};
use kernel::KernelRuntime;
use lab::frame::{Flow, TcpFlags, check};
use lab::{Capture, Host, LinkOptions, Router};
use spec::Verdict;
use vm::VmRuntime;
use vm::world::RouteKind;
use xway_tests::bpf::packet::*;
use xway_tests::bpf::router::{A, B0, Change, Forward, Port, Routed, from_a, side};
use xway_tests::stage::PATIENCE;
use xway_tests::stories;

use crate::quote::{comparable, is_error, repair};

stories! {
    what_must_not_be_answered_is_dropped
    what_the_stack_answers_goes_there_unchanged
    limits_are_by_network_and_in_total
}

const C4: &str = "10.0.2.2";
const C6: &str = "fd00:0:0:2::2";
const CHANGES: [Change; 5] = [
    Change::Closed(RouteKind::Unreachable, "198.51.101.1"),
    Change::Closed(RouteKind::Unreachable, "fd03::1"),
    Change::Closed(RouteKind::Prohibit, "198.51.102.1"),
    Change::Closed(RouteKind::Prohibit, "fd04::1"),
    Change::Mtu(1300),
];

fn unlimited() -> Config {
    Config { icmp_errors: IcmpErrors::UNLIMITED, ..Config::default() }
}

/// Packets that are answered, and the reason under which.
fn answered() -> Vec<(String, Vec<u8>, &'static str)> {
    const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };
    let mut all = Vec::new();
    let mut add = |name: &str, packet: Vec<u8>, reason| {
        all.push((format!("{name}, {} bytes", packet.len()), packet, reason));
    };
    for to in [C4, C6] {
        let expired = from_a(to, 33434).ttl(1);
        for length in [64, 65, 66, 67, 95, 96, 97, 561, 562, 563, 600, 1245, 1246, 1247, 1300] {
            add("expired", expired.udp_of_length(length).unwrap(), "sent-time-exceeded");
        }
        add("TTL 0", from_a(to, 7).ttl(0).udp(b"x").unwrap(), "sent-time-exceeded");
        add("expired TCP", expired.tcp(SYN, 7, b"").unwrap(), "sent-time-exceeded");
        add("expired ping", expired.ping(1, 2, b"payload").unwrap(), "sent-time-exceeded");
        let mut padded = expired.udp(b"x").unwrap();
        padded.extend([0xee; 30]);
        add("padded", padded, "sent-time-exceeded");
        let unknown = if to == C4 { "10.0.2.99" } else { "fd00:0:0:2::99" };
        let unresolved = from_a(unknown, 7).ttl(1).udp(b"x").unwrap();
        add("expired, to an unknown neighbor", unresolved, "sent-time-exceeded");
    }
    for (to, reason) in [
        ("198.51.101.1", "sent-unreachable"),
        ("fd03::1", "sent-unreachable"),
        ("198.51.102.1", "sent-prohibited"),
        ("fd04::1", "sent-prohibited"),
    ] {
        add(to, from_a(to, 7).udp(b"x").unwrap(), reason);
        add(to, from_a(to, 7).ttl(1).udp_of_length(1000).unwrap(), reason);
    }
    add("too big", from_a(C4, 7).udp_of_length(1315).unwrap(), "sent-too-big");
    add("too big", from_a(C4, 7).udp_of_length(1514).unwrap(), "sent-too-big");
    add("too big", from_a(C6, 7).udp_of_length(1315).unwrap(), "sent-too-big");
    add("too big", from_a(C6, 7).udp_of_length(1514).unwrap(), "sent-too-big");
    for tos in [0x10, 0xb8, 0x03, 0xff] {
        let mut packet = from_a(C4, 7).ttl(1).udp(b"x").unwrap();
        packet[15] = tos;
        repair(&mut packet);
        add(&format!("TOS {tos:#x}"), packet, "sent-time-exceeded");
        let mut packet = from_a(C6, 7).ttl(1).udp(b"x").unwrap();
        packet[14] |= tos >> 4;
        packet[15] |= tos << 4;
        add(&format!("traffic class {tos:#x}"), packet, "sent-time-exceeded");
    }
    let mut first = from_a(C4, 7).ttl(1).udp(b"first fragment").unwrap();
    first[20] = 0x20;
    repair(&mut first);
    add("first fragment", first, "sent-time-exceeded");
    all
}

/// Linux' own router on the same topology.
struct Linux {
    _net: Router,
    wire: Capture,
}

impl Linux {
    fn new() -> Self {
        let net = Router::build(&LinkOptions::default()).unwrap();
        for (path, value) in UNLIMITED {
            net.b.set_sysctl(path, value).unwrap();
        }
        let words = CHANGES.map(|change| match change {
            Change::Closed(kind, to) => {
                format!("route add {} {to}", format!("{kind:?}").to_lowercase())
            }
            Change::Mtu(mtu) => format!("link set eth1 mtu {mtu}"),
            _ => unreachable!("not among the changes"),
        });
        words.iter().for_each(|words| ip(&net.b, words));
        let wire = Capture::open(&net.a, "eth0").unwrap();
        Self { _net: net, wire }
    }

    /// The ICMP error about the packet.
    fn answer(&self, packet: &[u8]) -> Vec<u8> {
        self.wire.send(packet).unwrap();
        self.wire.next(PATIENCE, |frame| is_error(frame) && quotes(frame, packet)).unwrap()
    }
}

/// Whether the error quotes the packet from its IP header.
fn quotes(frame: &[u8], packet: &[u8]) -> bool {
    let quote = if frame[12] == 8 { &frame[42..] } else { &frame[62..] };
    packet[14..].starts_with(quote)
}

#[test]
fn answers_are_those_of_linux_from_kernel_and_engine() {
    let linux = Linux::new();
    let mut kernel = Forward::<KernelRuntime>::configured(&unlimited(), &CHANGES);
    let mut engine = Forward::<VmRuntime>::configured(&unlimited(), &CHANGES);
    for (name, packet, reason) in answered() {
        let expected = comparable(linux.answer(&packet));
        for judgement in [kernel.judge(Port::Eth0, &packet), engine.judge(Port::Eth0, &packet)] {
            assert_eq!(
                (judgement.verdict, &*judgement.reason),
                (Verdict::Redirect, reason),
                "{name}"
            );
            assert_eq!(check(&judgement.packet), Ok(()), "{name}");
            let ours = comparable(judgement.packet);
            assert_eq!(packet::hex(&ours), packet::hex(&expected), "{name}");
        }
    }
}

fn what_must_not_be_answered_is_dropped<R: Routed>() {
    let mut forward = Forward::<R>::configured(&unlimited(), &CHANGES);
    let ip = |v4: V4| {
        let mut frame = unpadded(&[], IPV4, &v4.wrap(&udp(7)));
        frame[..6].copy_from_slice(&B0.parse::<packet::Mac>().unwrap().0);
        frame[22] = 1;
        repair(&mut frame);
        frame
    };
    for kind in [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 19, 255] {
        let mut packet = from_a(C4, 7).ttl(1).ping(1, 2, b"payload").unwrap();
        packet[34] = kind;
        let judgement = forward.judge(Port::Eth0, &packet);
        let found = (judgement.verdict, &*judgement.reason);
        assert_eq!(found, (Verdict::Drop, "unanswerable"), "ICMP {kind}");
    }
    for kind in [1, 2, 3, 4, 127] {
        let mut packet = from_a(C6, 7).ttl(1).ping(1, 2, b"payload").unwrap();
        packet[54] = kind;
        let judgement = forward.judge(Port::Eth0, &packet);
        let found = (judgement.verdict, &*judgement.reason);
        assert_eq!(found, (Verdict::Drop, "unanswerable"), "ICMPv6 {kind}");
    }
    let later = ip(V4 { fragment: 0x2001, ..V4::new(C4, UDP) });
    let judgement = forward.judge(Port::Eth0, &later);
    assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Drop, "unanswerable"));
}

fn what_the_stack_answers_goes_there_unchanged<R: Routed>() {
    let mut forward = Forward::<R>::configured(&unlimited(), &CHANGES);
    let from = |source: &str| Flow::new(side(A, source, 1), side(B0, C4, 7)).ttl(1);
    let mut fragments = from_a(C4, 7).udp_of_length(1315).unwrap();
    fragments[20] = 0;
    repair(&mut fragments);
    for (name, packet, reason) in [
        ("may be fragmented", fragments, "too-big"),
        ("no route", from_a("192.0.2.1", 7).ttl(1).udp(b"x").unwrap(), "not-forwarded"),
        ("for the router", from_a("10.0.1.1", 7).ttl(1).udp(b"x").unwrap(), "not-forwarded"),
        ("unknown sender", from("10.0.1.99").udp(b"x").unwrap(), "ttl-expired"),
        ("no route to the sender", from("192.0.2.9").udp(b"x").unwrap(), "ttl-expired"),
        ("the router as the sender", from("10.0.2.1").udp(b"x").unwrap(), "ttl-expired"),
    ] {
        let judgement = forward.judge(Port::Eth0, &packet);
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Pass, reason), "{name}");
        assert_eq!(judgement.packet, packet, "{name}: unchanged");
    }
    let errors = IcmpErrors { send: false, ..IcmpErrors::default() };
    let config = Config { icmp_errors: errors, ..Config::default() };
    let mut forward = Forward::<R>::configured(&config, &CHANGES);
    for (name, packet, reason) in answered() {
        let judgement = forward.judge(Port::Eth0, &packet);
        assert_eq!((judgement.verdict, &judgement.packet), (Verdict::Pass, &packet), "{name}");
        assert!(!judgement.reason.starts_with("sent"), "{name}: {reason}");
    }
}

/// Rates that refill within days, so that only the bursts count.
fn limits_are_by_network_and_in_total<R: Routed>() {
    // One message in 40 seconds and more.
    let rate = |burst| IcmpRate { rate_pps: 1, burst };
    let errors = IcmpErrors { prefix: rate(40), total: rate(100), ..IcmpErrors::default() };
    let config = Config { icmp_errors: errors, ..Config::default() };
    let mut forward = Forward::<R>::configured(&config, &[]);
    for (first, second) in [("10.0.1.2", "10.0.1.3"), ("fd00:0:0:1::2", "fd00:0:0:9::3")] {
        let to = if first.contains(':') { C6 } else { C4 };
        let mut count = |source: &str, reason: &str| {
            let flow = Flow::new(side(A, source, 1), side(B0, to, 7)).ttl(1);
            let packet = flow.udp(b"x").unwrap();
            (0..60).filter(|_| forward.judge(Port::Eth0, &packet).reason == reason).count()
        };
        let sent = count(first, "sent-time-exceeded");
        assert!((40..60).contains(&sent), "{first}: {sent}");
        assert!(count(second, "icmp-limit") > 40, "{second}, of the same network");
    }
    let unlimited = IcmpRate { rate_pps: 0, burst: 0 };
    let errors = IcmpErrors { prefix: unlimited, ..errors };
    let config = Config { icmp_errors: errors, ..Config::default() };
    let mut forward = Forward::<R>::configured(&config, &[]);
    let packet = from_a(C4, 7).ttl(1).udp(b"x").unwrap();
    let judgements: Vec<_> = (0..200).map(|_| forward.judge(Port::Eth0, &packet)).collect();
    let sent = judgements.iter().filter(|one| one.reason == "sent-time-exceeded").count();
    assert!((100..200).contains(&sent), "{sent}");
    let last = judgements.last().unwrap();
    assert_eq!((last.verdict, &*last.reason), (Verdict::Drop, "icmp-limit"));
    assert_eq!(last.packet, packet);
}

/// No limits of the kernel's own errors.
const UNLIMITED: [(&str, &str); 3] =
    [("ipv4/icmp_ratemask", "0"), ("ipv6/icmp/ratelimit", "0"), ("ipv6/icmp/ratemask", "129")];

/// What sockets of `a` make of the answers. Only the program answers: the stack of the router sees
/// none of these packets.
#[test]
fn sockets_read_the_errors() {
    let forward = Forward::<KernelRuntime>::configured(&unlimited(), &CHANGES);
    let (client, server) = (&forward.site.net.a, &forward.site.net.c);
    let connect = |to: &str| {
        let to: SocketAddr = to.parse().unwrap();
        client.run(|| TcpStream::connect_timeout(&to, PATIENCE)).unwrap()
    };
    for words in [
        "route replace 10.0.2.0/24 via 10.0.1.1 hoplimit 1",
        "route add 198.51.0.0/16 via 10.0.1.1",
    ] {
        ip(client, words);
    }
    for words in [
        "route replace fd00:0:0:2::/64 via fd00:0:0:1::1 hoplimit 1",
        "route add fd00::/8 via fd00:0:0:1::1",
    ] {
        ip(client, &format!("-6 {words}"));
    }
    for (to, kind, reason) in [
        ("10.0.2.2:7", ErrorKind::HostUnreachable, "sent-time-exceeded"),
        ("[fd00:0:0:2::2]:7", ErrorKind::HostUnreachable, "sent-time-exceeded"),
        ("198.51.101.1:7", ErrorKind::HostUnreachable, "sent-unreachable"),
        ("[fd03::1]:7", ErrorKind::NetworkUnreachable, "sent-unreachable"),
        ("198.51.102.1:7", ErrorKind::HostUnreachable, "sent-prohibited"),
        ("[fd04::1]:7", ErrorKind::PermissionDenied, "sent-prohibited"),
    ] {
        let before = forward.site.count(reason);
        let error = connect(to).map(|_| ()).unwrap_err();
        assert!(forward.site.count(reason) > before, "{to}: {reason}, {error}");
        assert_eq!(error.kind(), kind, "{to}");
    }
    ip(client, "route replace 10.0.2.0/24 via 10.0.1.1");
    ip(client, "-6 route replace fd00:0:0:2::/64 via fd00:0:0:1::1");
    for at in ["10.0.2.2:7", "[fd00:0:0:2::2]:7"] {
        let listener = server.run(|| TcpListener::bind(at)).unwrap().unwrap();
        let before = forward.site.count("sent-too-big");
        let mut stream = connect(at).unwrap();
        let (mut heard, _) = listener.accept().unwrap();
        heard.set_read_timeout(Some(PATIENCE)).unwrap();
        let said = vec![7; 20_000];
        stream.write_all(&said).unwrap();
        let mut found = vec![0; said.len()];
        heard.read_exact(&mut found).expect("segments fit after the path MTU is known");
        assert_eq!(found, said, "{at}");
        assert!(forward.site.count("sent-too-big") > before, "{at}");
    }
}

fn ip(host: &Host, words: &str) {
    let status = host.command("ip").unwrap().args(words.split(' ')).status();
    assert!(status.unwrap().success(), "ip {words}");
}
