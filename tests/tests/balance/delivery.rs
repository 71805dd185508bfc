//! How packets are delivered: packet in, verdict and packet out, in each tunnel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lab::frame::{Flow, Side, TcpFlags, check};
use packet::checksum::{is_valid, sum};
use spec::Verdict;
use xway_tests::bpf::balancer::{Balanced, Balancer, mac};
use xway_tests::stories;

stories! {
    packets_are_in_the_tunnel_of_the_backend
    outer_headers_are_of_the_flow
    user_space_makes_the_same_outer_headers
    to_the_mac_address_of_the_backend
    udp_checksums_are_of_any_packet
    udp_checksums_are_of_errors
    what_cannot_be_delivered_is_dropped
    larger_than_the_mtu_with_the_outer_headers
    senders_of_large_packets_learn_the_mtu
    errors_are_limited_and_not_about_errors
    a_packet_cut_at_any_length_goes_to_the_stack
}

const SERVICE4: &str = "192.0.2.1";
const SERVICE6: &str = "2001:db8::1";
const BACKEND4: &str = "10.0.2.10";
const BACKEND6: &str = "fd00:0:0:2::10";
/// As 16 in hexadecimal: addresses of IPv6 are written with the decimal number.
const BACKEND6_ADDRESS: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 2, 0, 0, 0, 0x10);

/// A service of both families whose backend is `backend`.
pub fn config(backend: &str, delivery: &str) -> String {
    let service = |name: &str, address: &str, protocol: &str| {
        format!(
            "[[service]]\nname = '{name}'\naddress = '{address}'\nprotocol = '{protocol}'\n\
             delivery = {delivery}\nbackend = [{{ address = '{backend}' }}]\n"
        )
    };
    let mut text = "source = ['10.0.2.1', 'fd00:0:0:2::1']\n".to_owned();
    for (family, address) in [(4, SERVICE4), (6, SERVICE6)] {
        for protocol in ["tcp", "udp", "icmp"] {
            text += &service(&format!("{protocol}{family}"), address, protocol);
        }
    }
    text
}

pub fn client(to: &str, port: u16) -> Flow {
    let from = if to.contains(':') { "fd00:0:0:1::2" } else { "10.0.1.2" };
    let side = |mac, ip, port| Side::new(mac, ip, port).unwrap();
    Flow::new(side("02:78:77:00:01:02", from, port), side("02:78:77:00:01:01", to, 80))
}

const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };

pub fn kinds(flow: &Flow) -> [(&'static str, Vec<u8>); 3] {
    [
        ("tcp", flow.tcp(SYN, 7, b"").unwrap()),
        ("udp", flow.udp(b"odd").unwrap()),
        ("icmp", flow.ping(1, 2, b"payload").unwrap()),
    ]
}

/// Bytes of the IP packet in a frame, without padding.
pub fn ip_packet(frame: &[u8]) -> &[u8] {
    let ip = &frame[14..];
    let length = match ip[0] >> 4 {
        4 => usize::from(u16::from_be_bytes([ip[2], ip[3]])),
        _ => 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]])),
    };
    &ip[..length]
}

/// What an outer packet contains, and where it is from and to; its own checksums are right.
struct Outer<'p> {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    inner: &'p [u8],
}

fn outer(frame: &[u8]) -> Outer<'_> {
    let ip = ip_packet(frame);
    if ip[0] >> 4 == 4 {
        assert_eq!((ip[0], ip[8]), (0x45, 64));
        assert!(is_valid(sum(&ip[..20])), "checksum of the outer IPv4 header");
        let address = |at: usize| Ipv4Addr::from(*ip[at..].first_chunk::<4>().unwrap());
        let (from, to) = (address(12).into(), address(16).into());
        return Outer { from, to, protocol: ip[9], inner: &ip[20..] };
    }
    assert_eq!(ip[7], 64);
    let address = |at: usize| Ipv6Addr::from(*ip[at..].first_chunk::<16>().unwrap());
    let (from, to) = (address(8).into(), address(24).into());
    Outer { from, to, protocol: ip[6], inner: &ip[40..] }
}

fn packets_are_in_the_tunnel_of_the_backend<R: Balanced>() {
    for (delivery, header) in
        [("'ipip'", 0), ("{ gue = {} }", 8), ("{ geneve = { vni = 0x123456 } }", 16)]
    {
        for backend in [BACKEND4, BACKEND6] {
            let mut balancer = Balancer::<R>::of(&config(backend, delivery));
            for to in [SERVICE4, SERVICE6] {
                for (name, packet) in kinds(&client(to, 1000)) {
                    let name = format!("{name} to {to} by {delivery} to {backend}");
                    let judgement = balancer.judge(&packet);
                    assert_eq!(judgement.reason, "balanced", "{name}");
                    assert_eq!(judgement.verdict, Verdict::Redirect, "{name}");
                    tunnelled(&name, &packet, &judgement.packet, (backend, header));
                }
            }
        }
    }
}

/// The frame is to the backend, with these bytes of headers between IP and the packet.
#[track_caller]
fn tunnelled(name: &str, packet: &[u8], sent: &[u8], (backend, header): (&str, usize)) {
    let to: packet::Mac = mac(10).parse().unwrap();
    assert_eq!((&sent[..6], &sent[6..12]), (&to.0[..], &[2, 0x78, 0x77, 0, 2, 1][..]), "{name}");
    let is_inner6 = packet[14] >> 4 == 6;
    let outer = outer(sent);
    assert_eq!(outer.inner[header..], *ip_packet(packet), "{name}");
    let expected: IpAddr = backend.parse().unwrap();
    assert_eq!(outer.to, expected, "{name}");
    assert!(["10.0.2.1", "fd00:0:0:2::1"].contains(&&*outer.from.to_string()), "{name}");
    if header == 0 {
        assert_eq!(outer.protocol, if is_inner6 { 41 } else { 4 }, "{name}");
        return;
    }
    assert_eq!(outer.protocol, 17, "{name}");
    assert_eq!(check(sent), Ok(()), "{name}: outer checksum");
    let udp = &outer.inner[..8];
    assert_eq!(usize::from(u16::from_be_bytes([udp[4], udp[5]])), outer.inner.len(), "{name}");
    let port = u16::from_be_bytes([udp[2], udp[3]]);
    assert_eq!(port, if header == 8 { 6080 } else { 6081 }, "{name}");
    assert!(u16::from_be_bytes([udp[0], udp[1]]) >= 49152, "{name}: a dynamic port");
    if header == 16 {
        let of = if is_inner6 { [0x86, 0xdd] } else { [8, 0] };
        assert_eq!(outer.inner[8..16], [0, 0, of[0], of[1], 0x12, 0x34, 0x56, 0], "{name}");
    }
}

/// The traffic class with ECN, and "don't fragment", are those of the packet; ports and flow label
/// differ between flows and not within one.
fn outer_headers_are_of_the_flow<R: Balanced>() {
    let mut balancer = Balancer::<R>::of(&config(BACKEND4, "{ gue = {} }"));
    let mut ports = std::collections::BTreeSet::new();
    for port in 1000..1032 {
        let flow = client(SERVICE4, port);
        let mut packet = flow.udp(b"x").unwrap();
        for (class, fragment) in [(0xb9, 0), (3, 0x40)] {
            (packet[15], packet[20]) = (class, fragment);
            let sent = balancer.judge(&packet).packet;
            assert_eq!((sent[15], sent[20]), (class, fragment));
            ports.insert([sent[34], sent[35]]);
        }
    }
    assert!((24..=32).contains(&ports.len()), "{} ports of 32 flows", ports.len());

    let mut balancer = Balancer::<R>::of(&config(BACKEND6, "'ipip'"));
    let mut packet = client(SERVICE6, 1000).udp(b"x").unwrap();
    packet[14..18].copy_from_slice(&[0x6b, 0x91, 0x23, 0x45]);
    let sent = balancer.judge(&packet).packet;
    assert_eq!((sent[14], sent[15] & 0xf0), (0x6b, 0x90), "traffic class");
    let label = |sent: &[u8]| [sent[15] & 15, sent[16], sent[17]];
    assert_eq!(label(&sent), label(&balancer.judge(&packet).packet));
    let other = client(SERVICE6, 1001).udp(b"x").unwrap();
    assert_ne!(label(&sent), label(&balancer.judge(&other).packet));

    let text = config(BACKEND4, "'ipip'").replace("10.0.2.1'", "10.0.3.0/24'");
    let mut balancer = Balancer::<R>::of(&text);
    let sources: std::collections::BTreeSet<_> = (0..64)
        .map(|port| outer(&balancer.judge(&client(SERVICE4, port).udp(b"x").unwrap()).packet).from)
        .collect();
    assert!(sources.len() > 32, "{sources:?}");
    assert!(sources.iter().all(|one| one.to_string().starts_with("10.0.3.")), "{sources:?}");
}

/// Checks of backends are encapsulated by user space.
fn user_space_makes_the_same_outer_headers<R: Balanced>() {
    let deliveries = [
        "'ipip'",
        "{ gue = {} }",
        "{ gue = { port = 7777, zero_checksum = true } }",
        "{ geneve = { vni = 0x123456 } }",
    ];
    let heads = ["", "key = 'secret'\n"];
    let by = ["flow", "source/8", "port"];
    for (number, delivery) in deliveries.into_iter().enumerate() {
        for backend in [BACKEND4, BACKEND6] {
            let text = heads[number % 2].to_owned()
                + &config(backend, delivery)
                    .replace("10.0.2.1'", "10.0.3.0/25'")
                    .replace("delivery", &format!("by = '{}'\ndelivery", by[number % 3]));
            let parsed: functions::balancer::Config = toml::from_str(&text).unwrap();
            let mut balancer = Balancer::<R>::of(&text);
            for to in [SERVICE4, SERVICE6] {
                for (name, mut packet) in kinds(&client(to, 1234)) {
                    let family = if to == SERVICE4 { 4 } else { 6 };
                    let name = format!("{name}{family}");
                    let service = parsed.services.iter().find(|one| one.name == name).unwrap();
                    for class in [0, 0xb9] {
                        if family == 4 {
                            (packet[15], packet[20]) = (class, 0x40);
                            packet[24..26].fill(0);
                            let sum = packet::checksum::fold(sum(&packet[14..34]));
                            packet[24..26].copy_from_slice(&(!sum).to_be_bytes());
                        } else {
                            (packet[14], packet[15]) = (0x60 | class >> 4, class << 4);
                        }
                        let inner = ip_packet(&packet);
                        let own = functions::balancer::wrap(
                            &parsed,
                            service,
                            &service.backends[0],
                            inner,
                        );
                        let sent = balancer.judge(&packet).packet;
                        assert_eq!(own, ip_packet(&sent), "{name} by {delivery} to {backend}");
                    }
                }
            }
        }
    }
}

fn to_the_mac_address_of_the_backend<R: Balanced>() {
    for (to, backend) in [(SERVICE4, BACKEND4), (SERVICE6, BACKEND6)] {
        let own =
            |one: &&str| one.is_empty() || one.contains(if to.contains(':') { '6' } else { '4' });
        let text: String = config(backend, "'mac'")
            .split_inclusive("[[service]]")
            .filter(|part| part.starts_with("source") || own(&part.lines().nth(1).unwrap_or("")))
            .collect();
        let text = text.trim_end_matches("[[service]]").to_owned();
        let mut balancer = Balancer::<R>::of(&text);
        for (name, packet) in kinds(&client(to, 1000)) {
            let judgement = balancer.judge(&packet);
            assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Redirect, "balanced"));
            assert_eq!(judgement.packet[12..], packet[12..], "{name}: only the addresses differ");
            let to: packet::Mac = mac(10).parse().unwrap();
            assert_eq!(judgement.packet[..6], to.0, "{name}");
        }
    }
}

/// Without a checksum inside, in fragments and with any bytes.
fn udp_checksums_are_of_any_packet<R: Balanced>() {
    let mut balancer = Balancer::<R>::of(&config(BACKEND6, "{ geneve = {} }"));
    for length in (0..200).chain([500, 511, 512, 513, 1000, 1300]) {
        let payload: Vec<u8> = (0..length).map(|n| (n * 37 + length) as u8).collect();
        for to in [SERVICE4, SERVICE6] {
            for port in [7, 1000] {
                let packet = client(to, port).udp(&payload).unwrap();
                let sent = balancer.judge(&packet).packet;
                assert_eq!(check(&sent), Ok(()), "{length} bytes to {to}");
            }
        }
        let mut bare = client(SERVICE4, 9).udp(&payload).unwrap();
        bare[40..42].fill(0);
        assert_eq!(check(&balancer.judge(&bare).packet), Ok(()), "{length} bytes, no checksum");
    }
    let zero = config(BACKEND6, "{ gue = { zero_checksum = true } }");
    let mut balancer = Balancer::<R>::of(&zero);
    let sent = balancer.judge(&client(SERVICE4, 9).udp(b"x").unwrap()).packet;
    assert_eq!(sent[60..62], [0, 0]);
}

/// An error has no pseudo header in IPv4, whatever the protocol of the packet that it quotes.
fn udp_checksums_are_of_errors<R: Balanced>() {
    let mut balancer = Balancer::<R>::of(&config(BACKEND6, "{ gue = {} }"));
    for (to, kind, at) in [(SERVICE4, 3, 34), (SERVICE6, 1, 54)] {
        let flow = client(to, 7);
        for reply in [flow.reversed().udp(b"x").unwrap(), flow.reversed().tcp(SYN, 7, b"").unwrap()]
        {
            let mut error = flow.ping(0, 0, ip_packet(&reply)).unwrap();
            let mut update = packet::checksum::Update::default();
            update.replace(&[error[at], 0], &[kind, 0]);
            error[at] = kind;
            let repaired = update.apply(u16::from_be_bytes([error[at + 2], error[at + 3]]));
            error[at + 2..at + 4].copy_from_slice(&repaired.to_be_bytes());
            assert_eq!(check(&error), Ok(()), "{to}");
            let judgement = balancer.judge(&error);
            assert_eq!(judgement.reason, "balanced", "{to}");
            assert_eq!(check(&judgement.packet), Ok(()), "{to}");
        }
    }
}

fn what_cannot_be_delivered_is_dropped<R: Balanced>() {
    for (backend, reason) in [("10.9.9.9", "no-route"), ("10.0.2.77", "no-neighbour")] {
        let mut balancer = Balancer::<R>::of(&config(backend, "'ipip'"));
        let packet = client(SERVICE4, 9).udp(b"x").unwrap();
        let judgement = balancer.judge(&packet);
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Drop, reason), "{backend}");
    }
    let none = config(BACKEND4, "'ipip'").replace("' }]", "', state = 'drain' }]");
    let mut balancer = Balancer::<R>::of(&none);
    let judgement = balancer.judge(&client(SERVICE4, 9).udp(b"x").unwrap());
    assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Drop, "no-backend"));
}

/// The sender learns the MTU, from the address of the service.
fn senders_of_large_packets_learn_the_mtu<R: Balanced>() {
    for (backend, delivery, overhead) in
        [(BACKEND4, "'ipip'", 20), (BACKEND6, "{ geneve = {} }", 56)]
    {
        for (to, most, kind) in [(SERVICE4, 548, [3, 4]), (SERVICE6, 1232, [2, 0])] {
            let mut balancer = Balancer::<R>::of(&config(backend, delivery));
            let mut packet = client(to, 9).udp(&[7; 1460]).unwrap();
            if to == SERVICE4 {
                packet[20] = 0x40;
                packet[24..26].fill(0);
                let sum = packet::checksum::fold(sum(&packet[14..34]));
                packet[24..26].copy_from_slice(&(!sum).to_be_bytes());
            }
            let name = format!("to {to} by {delivery}");
            let judgement = balancer.judge(&packet);
            let came = (judgement.verdict, &*judgement.reason);
            assert_eq!(came, (Verdict::Tx, "sent-too-big"), "{name}");
            let error = &judgement.packet;
            assert_eq!(check(error), Ok(()), "{name}");
            assert_eq!((&error[..6], &error[6..12]), (&packet[6..12], &packet[..6]), "{name}");
            let header = if to == SERVICE4 { 20 } else { 40 };
            let icmp = &error[14 + header..];
            assert_eq!(icmp[..2], kind, "{name}");
            let mtu = u32::from_be_bytes(*icmp[4..].first_chunk().unwrap());
            assert_eq!(mtu, 1500 - overhead, "{name}");
            assert_eq!(icmp[8..], packet[14..14 + most], "{name}: the quote");
            let at = if to == SERVICE4 { 12 } else { 8 };
            let size = header / 2 - if to == SERVICE4 { 6 } else { 4 };
            let (from, back) = (&error[14 + at..][..size], &error[14 + at + size..][..size]);
            let quoted = &packet[14 + at..][..2 * size];
            assert_eq!((from, back), (&quoted[size..], &quoted[..size]), "{name}");
        }
    }
}

/// No error about an error, and only some in a time.
fn errors_are_limited_and_not_about_errors<R: Balanced>() {
    let mut balancer = Balancer::<R>::of(&config(BACKEND4, "'ipip'"));
    let flow = client(SERVICE6, 9);
    let quoted = flow.reversed().udp(&[7; 1440]).unwrap();
    let mut error = flow.ping(0, 0, &quoted[14..]).unwrap();
    error[54] = 1;
    let judgement = balancer.judge(&error);
    assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Drop, "too-big"));
    let packet = flow.udp(&[7; 1440]).unwrap();
    let reasons: std::collections::BTreeSet<_> =
        (0..64).map(|_| balancer.judge(&packet).reason).collect();
    assert!(reasons.contains("sent-too-big"), "{reasons:?}");
    assert!(reasons.iter().all(|one| one == "sent-too-big" || one == "icmp-limit"));
}

fn larger_than_the_mtu_with_the_outer_headers<R: Balanced>() {
    for (backend, delivery, overhead) in
        [(BACKEND4, "'ipip'", 20), (BACKEND6, "{ geneve = {} }", 56)]
    {
        let mut balancer = Balancer::<R>::of(&config(backend, delivery));
        let fits = 1500 - overhead - 28;
        let flow = client(SERVICE4, 9);
        for (payload, reason) in [(fits, "balanced"), (fits + 1, "sent-too-big")] {
            let packet = flow.udp(&vec![0; payload]).unwrap();
            assert_eq!(balancer.judge(&packet).reason, reason, "{payload} bytes by {delivery}");
            let mut packet = packet;
            packet[20] = 0;
            let reason = reason.replace("sent-", "");
            assert_eq!(balancer.judge(&packet).reason, reason, "that may be fragmented");
        }
    }
}

fn a_packet_cut_at_any_length_goes_to_the_stack<R: Balanced>() {
    let mut balancer = Balancer::<R>::of(&config(BACKEND4, "{ geneve = {} }"));
    for to in [SERVICE4, SERVICE6] {
        for (name, packet) in kinds(&client(to, 1000)) {
            let end = 14 + ip_packet(&packet).len();
            for length in 14..end {
                let judgement = balancer.judge(&packet[..length]);
                assert_eq!(
                    (judgement.verdict, &*judgement.reason),
                    (Verdict::Pass, "truncated"),
                    "{length} bytes of {name} to {to}"
                );
            }
        }
    }
    assert_eq!(BACKEND6.parse::<Ipv6Addr>().unwrap(), BACKEND6_ADDRESS);
}
