//! forward: packet in, verdict, reason and packet out, on the kernel's router with real routes and
//! neighbors, and on the engine with the same in a world.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use functions::route::{Config, IcmpErrors, Nat};
use kernel::KernelRuntime;
use lab::frame::{Flow, TcpFlags, check};
use packet::{Mac, checksum};
use spec::Verdict;
use vm::world::RouteKind;
use xway_tests::bpf::packet::*;
use xway_tests::bpf::router::{A, B0, B1, C, Change, Forward, Port, Routed, from_a, side, to_c};
use xway_tests::random::Random;
use xway_tests::stories;

stories! {
    routes_without_translation
    translates_there_and_back
    udp_checksums_of_zero
    checksums_are_right_for_any_addresses_and_ports
    frames_to_other_hosts_are_the_stacks
    what_the_stack_does_better_goes_there_unchanged
    closed_routes_drop_or_are_answered_by_the_stack
    larger_than_the_mtu
    forwarding_turned_off
    interfaces_that_are_not_listed_are_the_stacks
    translation_required
    translated_packets_reach_the_stack_translated
    fragments_follow_a_translated_address
    a_packet_cut_at_any_length_goes_to_the_stack
}

const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };

/// The three protocols whose checksums are known.
fn kinds(flow: &Flow) -> [(&'static str, Vec<u8>); 3] {
    [
        ("udp", flow.udp(b"odd").unwrap()),
        ("tcp", flow.tcp(SYN, 7, b"").unwrap()),
        ("ping", flow.ping(1, 2, b"payload").unwrap()),
    ]
}

/// The packet leaves exactly as `sent`.
fn leaves<R: Routed>(forward: &mut Forward<R>, port: Port, name: &str, packet: &[u8], sent: &[u8]) {
    let judgement = forward.judge(port, packet);
    assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Redirect, "forwarded"), "{name}");
    assert_eq!(check(&judgement.packet), Ok(()), "{name}");
    assert_eq!(judgement.packet, sent, "{name}");
}

/// The packet is not forwarded, and is as it was.
fn stays<R: Routed>(
    forward: &mut Forward<R>,
    name: &str,
    packet: &[u8],
    verdict: Verdict,
    reason: &str,
) {
    let judgement = forward.judge(Port::Eth0, packet);
    assert_eq!((judgement.verdict, &*judgement.reason), (verdict, reason), "{name}");
    assert_eq!(judgement.packet, packet, "{name}: unchanged");
}

fn routes_without_translation<R: Routed>() {
    for nat in [Nat::Off, Nat::Optional] {
        let mut forward = Forward::<R>::with(&Config { nat, ..Config::default() });
        for to in ["10.0.2.2", "fd00:0:0:2::2"] {
            let sent = kinds(&to_c(to, 7));
            for ((name, packet), (_, sent)) in kinds(&from_a(to, 7)).into_iter().zip(sent) {
                leaves(
                    &mut forward,
                    Port::Eth0,
                    &format!("{name} to {to}, {nat:?}"),
                    &packet,
                    &sent,
                );
            }
        }
    }
}

fn translates_there_and_back<R: Routed>() {
    for (rule, vip, port, to, to_port) in [
        ("10.1.0.2 udp 1234 -> 10.0.2.2", "10.1.0.2", 1234, "10.0.2.2", 1234),
        ("10.1.0.2 udp 1234 -> 10.0.2.2:5678", "10.1.0.2", 1234, "10.0.2.2", 5678),
        ("10.1.0.2 tcp 80 -> 10.0.2.2:8080", "10.1.0.2", 80, "10.0.2.2", 8080),
        ("10.1.0.2 -> 10.0.2.2", "10.1.0.2", 99, "10.0.2.2", 99),
        ("fd01::2 udp 1234 -> fd00:0:0:2::2", "fd01::2", 1234, "fd00:0:0:2::2", 1234),
        ("fd01::2 tcp 80 -> [fd00:0:0:2::2]:8080", "fd01::2", 80, "fd00:0:0:2::2", 8080),
        ("fd01::2 -> fd00:0:0:2::2", "fd01::2", 99, "fd00:0:0:2::2", 99),
    ] {
        let mut forward = Forward::<R>::new(&[rule]);
        let client = if to.contains(':') { "fd00:0:0:1::2" } else { "10.0.1.2" };
        let reply = Flow::new(side(C, to, to_port), side(B1, client, 4000));
        let replied = Flow::new(side(B0, vip, port), side(A, client, 4000)).ttl(63);
        let there = kinds(&from_a(vip, port)).into_iter().zip(kinds(&to_c(to, to_port)));
        let back = kinds(&reply).into_iter().zip(kinds(&replied));
        for (port, ((name, packet), (_, sent))) in
            there.map(|pair| (Port::Eth0, pair)).chain(back.map(|pair| (Port::Eth1, pair)))
        {
            if !rule.contains(" tcp ") && !rule.contains(" udp ")
                || rule.contains(&format!(" {name} "))
            {
                leaves(&mut forward, port, &format!("{rule}: {name} at {port:?}"), &packet, &sent);
            }
        }
    }
}

fn udp_checksums_of_zero<R: Routed>() {
    let mut forward = Forward::<R>::new(&["10.1.0.2 udp 1234 -> 10.0.2.2:5678"]);
    let none = from_a("10.1.0.2", 1234).udp_of_length(60).unwrap();
    let sent = to_c("10.0.2.2", 5678).udp_of_length(60).unwrap();
    leaves(&mut forward, Port::Eth0, "none stays none", &none, &sent);

    let into = to_c("10.0.2.2", 5678);
    let zero = |payload: &[u8; 2]| into.udp(payload).unwrap()[40..42] == [0xff, 0xff];
    let payload = (0..=u16::MAX).map(u16::to_be_bytes).find(zero).unwrap();
    let packet = from_a("10.1.0.2", 1234).udp(&payload).unwrap();
    let sent = into.udp(&payload).unwrap();
    leaves(&mut forward, Port::Eth0, "a computed zero is 0xffff", &packet, &sent);
}

fn checksums_are_right_for_any_addresses_and_ports<R: Routed>() {
    let mut forward =
        Forward::<R>::new(&["10.1.0.2 -> 10.0.2.2", "10.1.0.2 udp 65535 -> 10.0.2.2:1"]);
    let mut random = Random::new(0x5eed_0002);
    for round in 0..500 {
        let from = format!("10.{}.{}.{}", random.below(256), random.below(256), random.below(256));
        let source = random.below(65536) as u16;
        let port = if round % 2 == 0 { 65535 } else { 2 + random.below(65000) as u16 };
        let to_port = if port == 65535 { 1 } else { port };
        let payload: Vec<u8> = (0..random.below(64)).map(|_| random.below(256) as u8).collect();
        let ttl = 2 + random.below(254) as u8;
        let flow = Flow::new(side(A, &from, source), side(B0, "10.1.0.2", port)).ttl(ttl);
        let sent = Flow::new(side(B1, &from, source), side(C, "10.0.2.2", to_port)).ttl(ttl - 1);
        let (packet, sent) = (flow.udp(&payload).unwrap(), sent.udp(&payload).unwrap());
        leaves(&mut forward, Port::Eth0, &format!("round {round}"), &packet, &sent);
    }
}

/// A packet in a frame to the router's port towards `a`.
fn to_router(ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = addressed(B0, unpadded(&[], ether_type, packet));
    if ether_type == IPV4 {
        let check = !checksum::fold(checksum::sum(&frame[14..34]));
        frame[24..26].copy_from_slice(&check.to_be_bytes());
    }
    frame
}

/// The frame with another destination.
fn addressed(to: &str, mut frame: Vec<u8>) -> Vec<u8> {
    frame[..6].copy_from_slice(&to.parse::<Mac>().unwrap().0);
    frame
}

fn frames_to_other_hosts_are_the_stacks<R: Routed>() {
    let mut forward = Forward::<R>::new(&["10.1.0.2 -> 10.0.2.2", "fd01::2 -> fd00:0:0:2::2"]);
    for vip in ["10.0.2.2", "10.1.0.2", "fd00:0:0:2::2", "fd01::2"] {
        for (name, packet) in kinds(&from_a(vip, 1234)) {
            // The other port's address is not the address of the one that receives.
            for foreign in [A, B1, C, "02:00:00:00:00:01", "02:78:77:00:01:00"] {
                let (name, frame) =
                    (format!("{name} {foreign}"), addressed(foreign, packet.clone()));
                stays(&mut forward, &name, &frame, Verdict::Pass, "other-host");
            }
            assert_eq!(forward.judge(Port::Eth0, &packet).reason, "forwarded", "{name} to {vip}");
        }
    }
}

fn what_the_stack_does_better_goes_there_unchanged<R: Routed>() {
    let translations = vec!["10.1.0.9 -> 10.0.2.2".parse().unwrap()];
    let mut forward = Forward::<R>::with(&Config { translations, ..without_errors() });
    let to_c = |ttl| from_a("10.0.2.2", 7).ttl(ttl).udp(b"x").unwrap();
    let to = |address: &str| from_a(address, 7).udp(b"x").unwrap();
    let from = |address: &str| {
        Flow::new(
            side(A, address, 1),
            side(B0, if address.contains(':') { "fd00:0:0:2::2" } else { "10.0.2.2" }, 7),
        )
    };
    let ip = |v4: V4| to_router(IPV4, &v4.wrap(&udp(7)));
    let tagged = from_a("10.0.2.2", 7).vlan(5).udp(b"x").unwrap();
    let v4 = V4::new("10.0.2.2", UDP);
    let error = [&[3, 3, 0, 0, 0, 0, 0, 0][..], &V4::new("10.0.2.2", UDP).wrap(&udp(7))].concat();
    let mut group = to("10.0.2.2");
    group[0] |= 1;
    let mut wrong = to("10.0.2.2");
    wrong[24] ^= 1;
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("TTL 1", to_c(1), "ttl-expired"),
        ("TTL 0", to_c(0), "ttl-expired"),
        ("hop limit 1", from_a("fd00:0:0:2::2", 7).ttl(1).udp(b"x").unwrap(), "ttl-expired"),
        ("unknown neighbour", to("10.0.2.99"), "no-neighbour"),
        ("unknown IPv6 neighbour", to("fd00:0:0:2::99"), "no-neighbour"),
        ("the router itself", to("10.0.1.1"), "not-forwarded"),
        ("no route", to("192.0.2.1"), "not-forwarded"),
        ("multicast", to("224.0.0.5"), "not-routable"),
        ("broadcast", to("255.255.255.255"), "not-routable"),
        ("IPv6 multicast", to("ff02::1"), "not-routable"),
        ("link-local", to("fe80::1"), "not-routable"),
        ("loopback", to("::1"), "not-routable"),
        ("from loopback", from("127.0.0.1").udp(b"x").unwrap(), "not-routable"),
        ("from link-local", from("fe80::9").udp(b"x").unwrap(), "not-routable"),
        ("from nowhere", from("0.0.0.0").udp(b"x").unwrap(), "not-routable"),
        ("from IPv4 in IPv6", from("::ffff:10.0.1.2").udp(b"x").unwrap(), "not-routable"),
        ("wrong IP checksum", wrong, "bad-header"),
        ("to a group's MAC", group, "not-routable"),
        ("IPv4 options", ip(V4 { options: 4, ..v4.clone() }), "options"),
        (
            "extension header",
            to_router(IPV6, &v6("fd00:0:0:2::2", DESTINATION, &extensions(1, UDP, &udp(7)))),
            "options",
        ),
        ("first fragment", ip(V4 { fragment: 0x2000, ..v4.clone() }), "fragment"),
        ("later fragment", ip(V4 { fragment: 0x0001, ..v4.clone() }), "fragment"),
        (
            "IPv6 fragment",
            to_router(IPV6, &v6("fd00:0:0:2::2", FRAGMENT, &fragment6(UDP, 8, &udp(7)))),
            "fragment",
        ),
        ("VLAN", tagged, "tagged"),
        ("ARP", eth(&[], ARP, &[0; 28]), "not-ip"),
        (
            "ICMP error to a translated address",
            to_router(IPV4, &V4::new("10.1.0.9", ICMP).wrap(&error)),
            "untranslatable",
        ),
        (
            "unknown protocol to one",
            to_router(IPV4, &V4::new("10.1.0.9", 89).wrap(&[0; 24])),
            "untranslatable",
        ),
    ];
    for (name, packet, reason) in cases {
        stays(&mut forward, name, &packet, Verdict::Pass, reason);
    }
}

/// The stack sends all ICMP errors.
fn without_errors() -> Config {
    let icmp_errors = IcmpErrors { send: false, ..IcmpErrors::default() };
    Config { icmp_errors, ..Config::default() }
}

fn closed_routes_drop_or_are_answered_by_the_stack<R: Routed>() {
    const CLOSED: [(RouteKind, Verdict, &str, &str); 3] = [
        (RouteKind::Blackhole, Verdict::Drop, "198.51.100.1", "fd02::1"),
        (RouteKind::Unreachable, Verdict::Pass, "198.51.101.1", "fd03::1"),
        (RouteKind::Prohibit, Verdict::Pass, "198.51.102.1", "fd04::1"),
    ];
    let routes =
        CLOSED.map(|(kind, _, v4, v6)| [Change::Closed(kind, v4), Change::Closed(kind, v6)]);
    let mut forward = Forward::<R>::configured(&without_errors(), routes.as_flattened());
    for (kind, verdict, v4, v6) in CLOSED {
        let kind = format!("{kind:?}").to_lowercase();
        for address in [v4, v6] {
            let packet = from_a(address, 7).udp(b"x").unwrap();
            stays(&mut forward, &format!("{kind} {address}"), &packet, verdict, &kind);
        }
    }
}

fn larger_than_the_mtu<R: Routed>() {
    let mut forward = Forward::<R>::configured(&without_errors(), &[Change::Mtu(1300)]);
    for (to, most) in [("10.0.2.2", 1314), ("fd00:0:0:2::2", 1314)] {
        let fits = from_a(to, 7).udp_of_length(most).unwrap();
        let judgement = forward.judge(Port::Eth0, &fits);
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Redirect, "forwarded"));
        let large = from_a(to, 7).udp_of_length(most + 1).unwrap();
        stays(&mut forward, to, &large, Verdict::Pass, "too-big");
    }
}

fn forwarding_turned_off<R: Routed>() {
    let mut forward = Forward::<R>::changed(&[], &[Change::NotForwarding]);
    let packet = from_a("10.0.2.2", 7).udp(b"x").unwrap();
    stays(&mut forward, "off at the ingress", &packet, Verdict::Pass, "forwarding-off");
}

fn interfaces_that_are_not_listed_are_the_stacks<R: Routed>() {
    let mut forward = Forward::<R>::new(&[]);
    let packet = from_a("10.0.2.2", 7).udp(b"x").unwrap();
    forward.update(&Config::default(), &forward.ports[..1]);
    stays(&mut forward, "no egress", &packet, Verdict::Pass, "no-egress");
}

fn translation_required<R: Routed>() {
    let translations = vec!["10.1.0.2 udp 1234 -> 10.0.2.2".parse().unwrap()];
    let config = Config { nat: Nat::Required, translations, ..Config::default() };
    let mut forward = Forward::<R>::with(&config);
    let packet = from_a("10.1.0.2", 1234).udp(b"x").unwrap();
    let sent = to_c("10.0.2.2", 1234).udp(b"x").unwrap();
    leaves(&mut forward, Port::Eth0, "has one", &packet, &sent);
    for (name, flow) in [
        ("other port", from_a("10.1.0.2", 1235)),
        ("plain route", from_a("10.0.2.2", 7)),
        ("IPv6", from_a("fd00:0:0:2::2", 7)),
    ] {
        let packet = flow.udp(b"x").unwrap();
        stays(&mut forward, name, &packet, Verdict::Pass, "no-translation");
    }
    let packet = from_a("10.1.0.2", 1234).tcp(SYN, 1, b"").unwrap();
    stays(&mut forward, "other protocol", &packet, Verdict::Pass, "no-translation");
}

fn translated_packets_reach_the_stack_translated<R: Routed>() {
    let mut forward = Forward::<R>::new(&[
        "10.1.0.2 udp 1234 -> 10.0.2.99",
        "10.1.0.3 -> 10.0.1.1",
        "fd01::2 -> fd00:0:0:2::99",
    ]);
    for (vip, to, reason) in [
        ("10.1.0.2", "10.0.2.99", "no-neighbour"),
        ("10.1.0.3", "10.0.1.1", "not-forwarded"),
        ("fd01::2", "fd00:0:0:2::99", "no-neighbour"),
    ] {
        let judgement = forward.judge(Port::Eth0, &from_a(vip, 1234).udp(b"x").unwrap());
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Pass, reason), "{vip}");
        assert_eq!(judgement.packet, from_a(to, 1234).udp(b"x").unwrap(), "{vip}");
    }
    let expired = from_a("10.1.0.2", 1234).ttl(1).udp(b"x").unwrap();
    let judgement = forward.judge(Port::Eth0, &expired);
    assert_eq!(judgement.reason, "sent-time-exceeded");
    assert!(expired[14..].starts_with(&judgement.packet[42..]), "the error quotes what was sent");
}

fn fragments_follow_a_translated_address<R: Routed>() {
    let mut forward = Forward::<R>::new(&["10.1.0.9 -> 10.0.2.2", "10.1.0.2 udp 1234 -> 10.0.2.2"]);
    for fragment in [0x2000, 0x2001, 0x0001] {
        let packet = |to| to_router(IPV4, &V4 { fragment, ..V4::new(to, UDP) }.wrap(&udp(1234)));
        let judgement = forward.judge(Port::Eth0, &packet("10.1.0.9"));
        assert_eq!(judgement.verdict, Verdict::Redirect, "{fragment:#x}");
        assert_eq!(judgement.packet[30..34], [10, 0, 2, 2]);
        assert_eq!(judgement.packet[34..], packet("10.1.0.9")[34..], "no checksum, no change");
        stays(&mut forward, "a service", &packet("10.1.0.2"), Verdict::Pass, "fragment");
    }
}

fn a_packet_cut_at_any_length_goes_to_the_stack<R: Routed>() {
    let mut forward = Forward::<R>::new(&["10.1.0.2 -> 10.0.2.2", "fd01::2 -> fd00:0:0:2::2"]);
    for vip in ["10.1.0.2", "fd01::2"] {
        for (name, whole) in kinds(&from_a(vip, 1234)) {
            for length in 14..whole.len() {
                let name = format!("{name} to {vip}, {length} bytes");
                stays(&mut forward, &name, &whole[..length], Verdict::Pass, "truncated");
            }
        }
    }
    for (name, at, value, reason) in [
        ("TCP data offset 4", 46, 0x40, "bad-header"),
        ("TCP data offset 15", 46, 0xf0, "truncated"),
    ] {
        let mut packet = from_a("10.1.0.2", 1).tcp(SYN, 1, b"").unwrap();
        packet[at] = value;
        stays(&mut forward, name, &packet, Verdict::Pass, reason);
    }
    for (name, length, reason) in
        [("UDP length 7", 7, "bad-header"), ("UDP length beyond the packet", 10, "truncated")]
    {
        let mut packet = from_a("10.1.0.2", 1).udp(b"x").unwrap();
        packet[39] = length;
        stays(&mut forward, name, &packet, Verdict::Pass, reason);
    }
}

/// The kernel's answer to a route back to the sender names the new address.
#[test]
fn an_address_that_changes_is_followed() {
    const NEW: &str = "02:78:77:00:01:99";
    for to in ["10.0.2.2", "fd00:0:0:2::2"] {
        let mut forward = Forward::<KernelRuntime>::new(&[]);
        let frame = |mac: &str| addressed(mac, from_a(to, 7).udp(b"x").unwrap());
        stays(&mut forward, "not yet", &frame(NEW), Verdict::Pass, "other-host");
        forward.site.ip(&format!("link set eth0 address {NEW}"));
        // A change of address forgets the neighbors, until they are resolved again.
        for (address, mac) in [("10.0.1.2", A), ("fd00:0:0:1::2", A)] {
            forward.site.ip(&format!("neigh replace {address} dev eth0 lladdr {mac}"));
        }
        let judgement = forward.judge(Port::Eth0, &frame(NEW));
        assert_eq!(judgement.reason, "forwarded", "{to}: the new address");
        stays(&mut forward, "the old address", &frame(B0), Verdict::Pass, "other-host");
    }
}

/// The service's address is nowhere: only the program makes the talk possible.
#[test]
fn sockets_talk_through_a_translation() {
    let forward = Forward::<KernelRuntime>::new(&[
        "10.1.0.2 udp 1234 -> 10.0.2.2:5678",
        "10.1.0.2 tcp 80 -> 10.0.2.2:8080",
        "fd01::2 udp 1234 -> [fd00:0:0:2::2]:5678",
        "fd01::2 tcp 80 -> [fd00:0:0:2::2]:8080",
    ]);
    let (client, server) = (&forward.site.net.a, &forward.site.net.c);
    for words in ["route add 10.1.0.2 via 10.0.1.1", "route add fd01::2 via fd00:0:0:1::1"] {
        assert!(client.command("ip").unwrap().args(words.split(' ')).status().unwrap().success());
    }
    for (vip, at, any) in
        [("10.1.0.2", "10.0.2.2", "0.0.0.0:0"), ("[fd01::2]", "[fd00:0:0:2::2]", "[::]:0")]
    {
        let address =
            |host: &str, port: u16| format!("{host}:{port}").parse::<SocketAddr>().unwrap();
        let udp = server.run(|| UdpSocket::bind(address(at, 5678))).unwrap().unwrap();
        let tcp = server.run(|| TcpListener::bind(address(at, 8080))).unwrap().unwrap();
        let asking = client.run(|| UdpSocket::bind(any)).unwrap().unwrap();
        for socket in [&udp, &asking] {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let mut buffer = [0; 64];
        asking.send_to(b"question", address(vip, 1234)).unwrap();
        let (length, from) = udp.recv_from(&mut buffer).expect("the question arrives");
        assert_eq!(&buffer[..length], b"question");
        udp.send_to(b"answer", from).unwrap();
        let (length, from) = asking.recv_from(&mut buffer).expect("the answer arrives");
        assert_eq!((&buffer[..length], from), (&b"answer"[..], address(vip, 1234)));

        let echo = std::thread::spawn(move || {
            let (mut stream, _) = tcp.accept().unwrap();
            let mut heard = Vec::new();
            stream.read_to_end(&mut heard).unwrap();
            stream.write_all(&heard).unwrap();
        });
        let mut stream = client
            .run(|| TcpStream::connect_timeout(&address(vip, 80), PATIENCE))
            .unwrap()
            .unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let said: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
        stream.write_all(&said).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, said);
        echo.join().unwrap();
    }
}

const PATIENCE: Duration = Duration::from_secs(5);
