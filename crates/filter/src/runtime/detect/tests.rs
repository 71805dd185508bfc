//! Synthetic traffic, and what is found in it.

use std::time::Duration;

use super::*;
use crate::runtime::tap::TappedPacket;
use crate::{File, Rule, Scope};

/// UDP of 60 bytes to 10.0.0.2, open.
pub(super) fn udp(source: &str, ports: (u16, u16)) -> Packet {
    Packet {
        time_ns: 0,
        outcome: Outcome::Undecided,
        length: 60,
        source: Some(address(source)),
        dest: Some(address("10.0.0.2")),
        protocol: Some(17),
        ports: Some(ports),
        flags: None,
        message: None,
        is_later: false,
        numbers: None,
    }
}

fn address(text: &str) -> Address {
    match text.parse().unwrap() {
        std::net::IpAddr::V4(ip) => Address { is_ipv6: false, bits: ip.to_bits().into() },
        std::net::IpAddr::V6(ip) => Address { is_ipv6: true, bits: ip.to_bits() },
    }
}

fn tcp(source: Address, ports: (u16, u16), flags: u8, numbers: (u32, u32)) -> Packet {
    Packet {
        source: Some(source),
        protocol: Some(6),
        flags: Some(flags),
        numbers: Some(numbers),
        ..udp("10.0.0.1", ports)
    }
}

fn v4(bits: u32) -> Address {
    Address { is_ipv6: false, bits: bits.into() }
}

/// A number that looks random.
fn mixed(number: u32) -> u32 {
    let mixed = number.wrapping_mul(0x9e37_79b9) ^ 0x5bd1_e995;
    (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b) ^ mixed >> 13
}

/// Connections of clients 10.1.x.y to port 80, `packets` long, all open at the same time.
fn clients(connections: u32, packets: u32) -> Vec<Packet> {
    let mut all = Vec::new();
    for step in 0..packets {
        for client in 0..connections {
            let flags = if step == 0 { SYN } else { ACK };
            let base = mixed(client);
            let numbers = (base.wrapping_add(step * 400), base.rotate_left(7) + step * 1000);
            let mut packet = tcp(v4(0x0a01_0000 + client), (20_000, 80), flags, numbers);
            packet.length = if step == 0 { 74 } else { 60 + step * 10 };
            all.push(packet);
        }
    }
    all
}

/// A number of packets, made by their index.
fn flood(count: u32, make: impl Fn(u32) -> Packet) -> Vec<Packet> {
    (0..count).map(make).collect()
}

fn settings() -> Settings {
    Settings {
        threshold: Threshold::Pps(1000),
        hold: Duration::from_secs(60),
        most: 8,
        top: 3,
        allowed: Vec::new(),
    }
}

/// All of them within ten seconds, each kind spread evenly; each stands for ten.
fn seen(kinds: &[Vec<Packet>]) -> Vec<(Packet, f64)> {
    let mut all = Vec::new();
    for kind in kinds {
        for (number, packet) in kind.iter().enumerate() {
            let time_ns = number as u64 * 10_000_000_000 / kind.len() as u64;
            all.push((Packet { time_ns, ..*packet }, 10.0));
        }
    }
    all
}

fn found(kinds: &[Vec<Packet>], settings: &Settings) -> Detection {
    detect(&seen(kinds), 10.0, settings)
}

fn rules(detection: &Detection) -> Vec<&str> {
    detection.findings.iter().map(|finding| finding.rule.as_str()).collect()
}

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

#[test]
fn floods_of_many_kinds_beside_clients() {
    let spoofed = |number: u32| v4(mixed(number));
    let port = |number: u32| mixed(number) as u16;
    type Make<'a> = &'a dyn Fn(u32) -> Packet;
    let cases: [(&str, Make<'_>); 8] = [
        ("drop for 1m udp dport 7 from 203.0.113.9", &|_| udp("203.0.113.9", (9, 7))),
        ("drop for 1m from 203.0.113.9", &|n| udp("203.0.113.9", (port(n), port(n + 1)))),
        ("drop for 1m udp dport 7 from 203.0.113.0/24", &|n| Packet {
            source: Some(v4(0xcb00_7100 + n % 256)),
            ..udp("10.0.0.1", (port(n), 7))
        }),
        ("drop for 1m udp sport 53 to 10.0.0.2", &|n| Packet {
            source: Some(spoofed(n)),
            length: 1000 + n % 400,
            ..udp("10.0.0.1", (53, port(n)))
        }),
        ("drop for 1m udp to 10.0.0.2", &|n| Packet {
            source: Some(spoofed(n)),
            ..udp("10.0.0.1", (port(n), port(n + 1)))
        }),
        ("drop for 1m tcp flags syn/syn,ack dport 80 to 10.0.0.2", &|n| {
            tcp(spoofed(n), (port(n), 80), SYN, (n, 0))
        }),
        ("drop for 1m icmp type 8/0 to 10.0.0.2", &|n| Packet {
            source: Some(spoofed(n)),
            protocol: Some(1),
            ports: None,
            message: Some(0x0800),
            ..udp("10.0.0.1", (0, 0))
        }),
        ("drop for 1m fragment later to 10.0.0.2", &|n| Packet {
            source: Some(spoofed(n)),
            protocol: Some(17 + n as u8 % 100),
            ports: None,
            is_later: true,
            ..udp("10.0.0.1", (0, 0))
        }),
    ];
    for (rule, make) in cases {
        let detection = found(&[clients(50, 10), flood(5000, make)], &settings());
        assert_eq!(rules(&detection)[..1], [rule], "{:?}", rules(&detection));
        let first = &detection.findings[0];
        assert!(first.collateral < 0.05, "{rule}: {first:#?}");
        assert!(first.of_flood > 0.9, "{rule}: {first:#?}");
        assert!((first.takes.packets - 50_000.0).abs() < 3000.0, "{rule}: {first:#?}");
        Rule::parse(&first.rule, &Scope::default()).unwrap();
        // The remaining packets are from clients, and are reported as such.
        for other in &detection.findings[1..] {
            assert!(other.collateral > 0.5, "{rule}: {other:#?}");
        }
    }
}

#[test]
fn two_floods_are_two_findings() {
    let syn =
        |n: u32| Packet { length: 74, ..tcp(v4(mixed(n)), (mixed(n) as u16, 80), SYN, (n, 0)) };
    let dns = |n: u32| Packet {
        source: Some(v4(mixed(n))),
        length: 900 + n % 500,
        ..udp("10.0.0.1", (53, mixed(n) as u16))
    };
    let kinds = [clients(100, 20), flood(8000, syn), flood(4000, dns)];
    let detection = found(&kinds, &settings());
    assert_eq!(
        rules(&detection)[..2],
        [
            "drop for 1m tcp flags syn/syn,ack dport 80 to 10.0.0.2",
            "drop for 1m udp sport 53 to 10.0.0.2"
        ]
    );
    let parts: Vec<_> = detection.findings[..2].iter().map(|one| one.of_flood).collect();
    assert!((parts[0] - 0.66).abs() < 0.03 && (parts[1] - 0.33).abs() < 0.03, "{parts:?}");
}

#[test]
fn quiet_traffic_suggests_nothing() {
    // 200 packets a second in all, and a share of one for some patterns.
    for threshold in [Threshold::Pps(1000), Threshold::Share(0.1)] {
        let detection = found(&[clients(10, 20)], &Settings { threshold, ..settings() });
        assert_eq!(detection.findings, [], "{threshold:?}");
        assert_eq!(detection.open.packets, 2000.0);
    }
    assert_eq!(detect(&[], 10.0, &settings()).findings, []);
}

#[test]
fn a_crowd_of_clients_has_high_collateral() {
    // Connections seen whole, and ones of which hardly anything is seen twice.
    let short: Vec<_> = clients(10_000, 8).into_iter().step_by(9).collect();
    for (what, crowd) in [("long", clients(500, 20)), ("short", short)] {
        let detection = found(&[crowd], &settings());
        assert!(!detection.findings.is_empty(), "{what}: more than the threshold");
        for finding in &detection.findings {
            assert!(finding.collateral > 0.8, "{what}: {finding:#?}");
        }
    }
}

#[test]
fn who_invents_numbers_does_not_talk() {
    // One connection's ends, numbers at random: a flood, however often it is seen.
    let acks = |n: u32| tcp(v4(0xcb00_7109), (9, 80), ACK, (mixed(n), mixed(n + 1)));
    let detection = found(&[clients(100, 20), flood(5000, acks)], &settings());
    assert_eq!(rules(&detection)[..1], ["drop for 1m tcp dport 80 from 203.0.113.9"]);
    assert!(detection.findings[0].collateral < 0.05, "{:#?}", detection.findings[0]);
    assert_eq!(detection.findings[0].evidence.active, 0);
}

#[test]
fn what_came_before_the_flood_is_collateral() {
    let mut packets = seen(&[flood(1000, |n| Packet {
        source: Some(v4(mixed(n))),
        ..udp("10.0.0.1", (mixed(n) as u16, 53))
    })]);
    // From the second half on nine times as much.
    let second = flood(9000, |n| Packet {
        source: Some(v4(mixed(n + 5000))),
        time_ns: 5_000_000_000 + u64::from(n) * 555_555,
        ..udp("10.0.0.1", (mixed(n) as u16, 53))
    });
    packets.extend(second.into_iter().map(|packet| (packet, 10.0)));
    let detection = detect(&packets, 10.0, &settings());
    let finding = &detection.findings[0];
    let quiet = finding.evidence.quiet.unwrap();
    assert!((quiet - 0.1).abs() < 0.02, "{finding:#?}");
    assert_eq!(finding.collateral, quiet);
    // There was no quiet time for a flood that was always there.
    let always = found(&[flood(1000, |n| udp("203.0.113.9", (n as u16, 7)))], &settings());
    assert_eq!(always.findings[0].evidence.quiet, None);
}

#[test]
fn what_is_passed_or_allowed_is_not_touched() {
    let from = |source: u32| {
        move |n: u32| Packet {
            source: Some(v4(source + n % 4)),
            ..udp("10.0.0.1", (mixed(n) as u16, 7))
        }
    };
    let chosen = |n: u32| Packet { outcome: Outcome::Accepted, ..from(0x0b00_0000)(n) };
    let dropped = |n: u32| Packet { outcome: Outcome::Dropped, ..from(0x0c00_0000)(n) };
    let detection = found(&[flood(5000, chosen), flood(5000, dropped)], &settings());
    assert_eq!((rules(&detection).len(), detection.open.packets), (0, 0.0));
    assert_eq!((detection.chosen.packets, detection.dropped.packets), (50_000.0, 50_000.0));

    let text = "rules = ['pass from @office']\n[sets]\noffice = ['10.9.0.0/16', '2001:db8::/32']";
    let file = File::parse("f", text, std::path::Path::new(""), |_| Err(String::new())).unwrap();
    let mut settings = settings();
    settings.allow("@office", &file.scope).unwrap();
    settings.allow("192.0.2.0/24", &file.scope).unwrap();
    assert!(settings.allow("@nobody", &file.scope).is_err());
    assert!(settings.allow("eth0", &file.scope).is_err());
    // All packets are from allowed addresses: there is no finding.
    let office = flood(5000, from(0x0a09_0000));
    assert_eq!(rules(&found(std::slice::from_ref(&office), &settings)), Vec::<&str>::new());
    // Others beside it: a rule that leaves them alone, and one that cannot touch them.
    let spoofed = flood(8000, |n| Packet {
        source: Some(v4(mixed(n))),
        ..udp("10.0.0.1", (mixed(n) as u16, 7))
    });
    let detection = found(&[office.clone(), spoofed], &settings);
    assert_eq!(
        rules(&detection)[..1],
        ["drop for 1m udp dport 7 length 60 to 10.0.0.2 from not @office from not 192.0.2.0/24"]
    );
    let rule = Rule::parse(&detection.findings[0].rule, &file.scope).unwrap();
    assert_eq!(rule.tests.len(), 6);
    let single = flood(8000, |_| udp("203.0.113.9", (9, 7)));
    let detection = found(&[office, single], &settings);
    assert_eq!(rules(&detection)[..1], ["drop for 1m udp dport 7 from 203.0.113.9"]);
}

#[test]
fn blocks_that_meet_the_allowed_ones() {
    let mut settings = settings();
    settings.allow("10.9.8.7", &Scope::default()).unwrap();
    let block = |third: u32| {
        flood(5000, move |n| Packet {
            source: Some(v4(0x0a09_0000 + third * 256 + n % 200 + 10)),
            ..udp("10.0.0.1", (mixed(n) as u16, mixed(n + 9) as u16))
        })
    };
    let of = |third| rules(&found(&[block(third)], &settings))[0].to_owned();
    assert_eq!(of(8), "drop for 1m from 10.9.8.0/24 from not 10.9.8.7");
    assert_eq!(of(7), "drop for 1m from 10.9.7.0/24");
}

#[test]
fn the_threshold_counts_what_packets_stand_for() {
    let some = |count: u32| found(&[flood(count, |_| udp("203.0.113.9", (9, 7)))], &settings());
    // Each stands for ten, in ten seconds.
    assert_eq!((some(999).findings.len(), some(1000).findings.len()), (0, 1));
    let share = Settings { threshold: Threshold::Share(0.5), ..settings() };
    let beside = |count: u32| {
        let other =
            |n: u32| Packet { outcome: Outcome::Accepted, ..udp("10.0.0.1", (n as u16, 9)) };
        found(&[flood(2000, |_| udp("203.0.113.9", (9, 7))), flood(count, other)], &share)
    };
    assert_eq!((beside(2000).findings.len(), beside(2001).findings.len()), (1, 0));
}

#[test]
fn the_busiest_are_listed() {
    let detection =
        found(&[clients(100, 20), flood(3000, |_| udp("203.0.113.9", (9, 7)))], &settings());
    let of = |shape: &str| {
        let busy = detection.busy.iter().find(|busy| busy.shape == shape).unwrap();
        busy.most.iter().map(|one| one.pattern.words()).collect::<Vec<_>>()
    };
    assert_eq!(of("protocol"), ["udp", "tcp"]);
    assert_eq!(of("source")[0], "from 203.0.113.9");
    assert_eq!(of("source/24,64").len(), 2);
    assert_eq!(of("sport dest"), ["udp sport 9 to 10.0.0.2", "tcp sport 20000 to 10.0.0.2"]);
}

#[test]
fn packets_are_read_from_what_is_shown() {
    let tcp = [
        "020000000002 020000000001 0800",
        "4500 05dc 0000 4000 4006 0000 0a000001 0a000002",
        "4e20 0050 00000007 00000009 5010 0100 0000 0000",
    ];
    let bytes = hex(&tcp.concat());
    let seen = TappedPacket {
        time_ns: 5,
        decision: crate::runtime::decision::Decision {
            rule: None,
            verdict: spec::Verdict::Pass,
            reason: Some(crate::Reason::Default),
        },
        one_in: 1,
        length: 1514,
        interface: 3,
        queue: 0,
        bytes: &bytes,
    };
    let packet = Packet::of(&seen, &mut Vec::new());
    assert_eq!(
        (packet.source, packet.dest),
        (Some(address("10.0.0.1")), Some(address("10.0.0.2")))
    );
    assert_eq!((packet.ports, packet.flags), (Some((20_000, 80)), Some(ACK)));
    assert_eq!((packet.numbers, packet.length, packet.time_ns), (Some((7, 9)), 1514, 5));
    for length in 0..bytes.len() {
        let cut = TappedPacket { bytes: &bytes[..length], length: length as u32, ..seen };
        assert_eq!(Packet::of(&cut, &mut Vec::new()).length, length as u32);
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}
