//! Rulesets and their warnings, which are checked against packets.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::language::text::tests::scope;
use crate::{Field, PacketFields};

fn file(rules: &[&str], rest: &str) -> File {
    let rules: Vec<_> = rules.iter().map(|rule| format!("'{rule}'")).collect();
    let text = format!("rules = [{}]\n{rest}", rules.join(", "));
    File::parse("f", &text, Path::new(""), scope().compile).unwrap()
}

/// Kinds with the rules that they are about and their reasons.
fn found(rules: &[&str]) -> Vec<(Kind, Vec<usize>, Vec<usize>)> {
    let refers = rules.iter().any(|rule| rule.contains("@office"));
    let sets = if refers { "[sets]\noffice = [\"10.1.0.0/16\"]" } else { "" };
    let warnings = lint(&file(rules, sets));
    warnings.into_iter().map(|one| (one.kind, one.rules, one.because)).collect()
}

#[test]
fn what_never_matches() {
    for (rule, why) in [
        ("drop dport {}", "no packet has `dport {}`"),
        ("drop dport 1 dport 2", "no packet has `dport 1` and `dport 2`"),
        ("drop vlan 1 udp flags syn", "no packet has `vlan 1 udp` and `flags syn`"),
        ("drop icmp dport 5", "`icmp` and `dport 5`"),
        ("drop icmp type 8 ipv6", "and `ipv6`"),
        ("drop from 10.0.0.0/8 from 2001:db8::/32", "and `from 2001:db8::/32`"),
        ("drop from 10.0.0.0/8 to ::1", "and `to ::1`"),
        ("drop fragment later dport 5", "and `dport 5`"),
        ("drop from {}", "its list of addresses is empty"),
        ("drop from not any", "no packet has `from not any`"),
    ] {
        let warnings = lint(&file(&[rule], ""));
        let [warning] = &warnings[..] else { panic!("{rule}: {warnings:?}") };
        assert_eq!(warning.kind, Kind::NeverMatches, "{rule}");
        assert!(warning.text.contains(why), "{rule}: {}", warning.text);
    }
    let empty = lint(&file(&["drop from @bad"], "[sets]\nbad = []"));
    assert!(empty[0].text.ends_with("never matches: set `bad` is empty"), "{empty:?}");
}

#[test]
fn what_is_never_reached() {
    let reached: [&[&str]; 9] = [
        &["drop udp dport 53", "pass tcp dport 53"],
        &["drop from 10.0.0.0/8", "pass from 10.0.0.0/7"],
        &["count", "pass udp"],
        &["drop in eth0", "pass in eth1"],
        &["drop dport any", "pass udp"],
        &["drop ipv4", "drop ipv6", "pass"],
        &["drop dport 1-5", "drop dport 7-9", "pass udp dport 1-9"],
        &["drop udp dport 1-5", "drop tcp dport 6-9", "pass dport 1-9"],
        &["drop payload transport+8 = 0x01", "pass udp"],
    ];
    for rules in reached {
        assert_eq!(found(rules), [], "{rules:?}");
    }
    let unreached: [(&[&str], &[usize]); 13] = [
        (&["drop udp", "pass udp dport 53"], &[0]),
        (&["drop dport < 100", "count", "pass tcp dport 22"], &[0]),
        (&["drop from 10.0.0.0/8", "pass from {10.1.0.0/16, 10.2.0.1}"], &[0]),
        (&["drop from not @office", "pass from 192.0.2.0/24"], &[0]),
        (&["drop from @office", "pass from @office udp"], &[0]),
        (&["drop tcp", "pass flags syn"], &[0]),
        (&["drop icmp", "drop icmpv6", "pass type 3"], &[0, 1]),
        (&["drop ipv4", "drop ipv6", "pass dport 5"], &[0, 1]),
        (&["drop dport 1-5", "drop dport 6-9", "pass udp dport 2-8"], &[0, 1]),
        (&["drop udp dport 1-5", "drop dport 5-9", "pass udp dport 2-8 from 10.0.0.1"], &[0, 1]),
        (&["drop in {eth0, eth1}", "pass in {eth1, eth0} udp"], &[0]),
        (&["drop payload transport+8 = 0x01", "pass udp payload transport+8 = 0x01"], &[0]),
        (&["drop expr \"x\"", "pass udp expr \"x\""], &[0]),
    ];
    for (rules, because) in unreached {
        let last = rules.len() - 1;
        let expected = [(Kind::NeverReached, vec![last], because.to_vec())];
        assert_eq!(found(rules), expected, "{rules:?}");
    }
}

#[test]
fn other_warnings() {
    assert_eq!(found(&["count udp", "count udp"]), [(Kind::Duplicate, vec![1], vec![0])]);
    assert_eq!(found(&["drop", "pass udp", "count"]), [(Kind::NeverReached, vec![1, 2], vec![0])]);
    let all = lint(&file(&["a: drop", "pass udp", "count"], ""));
    assert_eq!(
        all[0].text,
        "rules 2 to 3 are never reached: rule 1 `a` decides about every packet"
    );
    assert_eq!(found(&["limit 1mbps burst 1kbyte"])[0].0, Kind::Action);
    assert_eq!(found(&["limit 5kpps per source total 5kpps udp"])[0].0, Kind::Action);
    assert_eq!(found(&["limit 5kpps per source total 6kpps udp"]), []);
    let small = found(&["limit 1mbps per source total 9mbps burst 100byte udp"]);
    assert_eq!(small[0].0, Kind::Action);
    assert_eq!(found(&["synproxy dport 80"])[0].0, Kind::Action);
    assert_eq!(found(&["synproxy tcp dport 80", "synproxy flags syn"]), []);

    let later =
        |policy: &str| lint(&file(&["drop fragment later"], &format!("[policy]\n{policy}")));
    assert_eq!(later("later-fragment = \"drop\"")[0].kind, Kind::Policy);
    assert_eq!(later("later-fragment = \"judge\""), []);
    assert_eq!(later("later-fragment = \"track\""), [], "nothing is tracked without ports");

    let sets = "[sets]\na = []\nb = [\"@a\"]\nc = [\"::1\"]";
    let warnings = lint(&file(&["drop from not @b"], sets));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].text, "no rule uses the set `c`");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_said_is_true(rules in prop::collection::vec(rule(), 2..8)) {
        let rules: Vec<_> = rules.iter().map(String::as_str).collect();
        let file = file(&rules, "");
        let mut silent = vec![false; rules.len()];
        for warning in lint(&file) {
            if matches!(warning.kind, Kind::NeverMatches | Kind::NeverReached) {
                warning.rules.iter().for_each(|number| silent[*number] = true);
            }
        }
        for packet in packets() {
            for (number, rule) in file.ruleset.rules.iter().enumerate() {
                if matches(rule, &packet) {
                    prop_assert!(!silent[number], "{rule} of {rules:#?} matches {packet:?}");
                    if rule.action.decides() {
                        break;
                    }
                }
            }
        }
    }
}

fn rule() -> impl Strategy<Value = String> {
    let action = select(vec!["drop", "pass", "count"]);
    let tests = select(vec![
        "",
        "udp",
        "tcp",
        "icmp",
        "icmpv6",
        "ipv4",
        "ipv6",
        "dport 1",
        "dport 1-2",
        "dport {2, 3}",
        "dport not 2",
        "dport any",
        "sport < 3",
        "sport > 1",
        "flags syn",
        "flags not syn",
        "type 8",
        "type not 8",
        "from 10.0.0.0/31",
        "from 10.0.0.1",
        "from not 10.0.0.1",
        "from any",
        "from {10.0.0.0, ::1}",
        "to ::1",
        "fragment whole",
        "fragment any",
        "fragment later",
        "protocol not {tcp, udp}",
        "ttl < 5",
        "ttl > 3",
        "ttl any",
        "ethertype not arp",
    ]);
    (action, prop::collection::vec(tests, 0..4))
        .prop_map(|(action, tests)| format!("{action} {}", tests.join(" ")))
}

/// Possible packets, with values that the rules distinguish.
fn packets() -> Vec<PacketFields> {
    let mut packets = vec![link(0x806)];
    for (source, dest) in [(0x0a00_0000, 7), (0x0a00_0001, 7), (0x0b00_0000, 7)] {
        let mut packet = link(0x800);
        packet.set(Field::Source4, source as u128).set(Field::Dest4, dest as u128);
        transports(&packet, &mut packets);
    }
    for (source, dest) in [(1, 1), (1, 2), (2, 1)] {
        let mut packet = link(0x86dd);
        packet.set(Field::Source6, source as u128).set(Field::Dest6, dest as u128);
        transports(&packet.set(Field::Extensions, 0_u8).clone(), &mut packets);
    }
    packets
}

fn link(ethertype: u16) -> PacketFields {
    let mut packet = PacketFields::default();
    for field in [Field::Interface, Field::Queue, Field::Length, Field::SourceMac, Field::DestMac] {
        packet.set(field, 1_u8);
    }
    packet.set(Field::EtherType, ethertype).clone()
}

fn transports(packet: &PacketFields, packets: &mut Vec<PacketFields>) {
    for (protocol, fragment, ttl) in combined() {
        let mut packet = packet.clone();
        packet.set(Field::Protocol, protocol).set(Field::Fragment, fragment).set(Field::Ttl, ttl);
        packet.set(Field::Dscp, 0_u8);
        let is_ipv6 = packet.field(Field::Source6).is_some();
        match protocol {
            _ if fragment == 2 => packets.push(packet),
            6 | 17 => {
                for (source, dest, flags) in [(1, 1, 2), (2, 2, 16), (3, 3, 18), (1, 2, 0)] {
                    packet.set(Field::SourcePort, source as u16).set(Field::DestPort, dest as u16);
                    if protocol == 6 {
                        packet.set(Field::TcpFlags, flags as u8);
                    }
                    packets.push(packet.clone());
                }
            }
            1 | 58 if (protocol == 58) == is_ipv6 => {
                for kind in [8_u16, 3] {
                    packets.push(packet.set(Field::Icmp, kind << 8).clone());
                }
            }
            _ => packets.push(packet),
        }
    }
}

/// Protocols, fragments and times to live, each with each.
fn combined() -> impl Iterator<Item = (u8, u8, u8)> {
    let protocols = [1, 6, 17, 58, 47].into_iter();
    protocols.flat_map(|protocol| {
        let fragments = [0, 1, 2].into_iter();
        fragments.flat_map(move |fragment| [4, 5, 2].map(|ttl| (protocol, fragment, ttl)))
    })
}

fn matches(rule: &Rule, packet: &PacketFields) -> bool {
    rule.tests.iter().all(|test| {
        let known = test.field(packet.family(), |_| None);
        known.is_none_or(|(field, values)| {
            packet.field(field).is_some_and(|value| values.contains(value))
        })
    })
}
