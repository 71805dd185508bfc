//! Rules, their routes, and rules that routes cannot express.

use super::*;
use crate::import_export::error::flowspec::ExportError as E;
use crate::import_export::flowspec::import;
use crate::{Policy, Reason, Scope};

fn ruleset(rules: &[&str]) -> Ruleset {
    let parse = |rule: &&str| {
        Rule::parse(rule, &Scope::default()).unwrap_or_else(|error| panic!("{rule}: {error}"))
    };
    let mut ruleset = Ruleset { rules: rules.iter().map(parse).collect(), ..Ruleset::default() };
    for reason in Reason::ALL {
        ruleset.policies.set(reason, Policy::Judge);
    }
    ruleset
}

#[test]
fn rules_become_routes() {
    for (rule, want) in [
        ("drop from 10.0.0.0/8", vec!["source 10.0.0.0/8;"]),
        (
            "drop to {192.0.2.0/25, 192.0.2.128/26, 2001:db8::/32}",
            vec![
                "destination 192.0.2.0/25;",
                "destination 192.0.2.128/26;",
                "destination 2001:db8::/32;",
            ],
        ),
        (
            "drop ipv4 udp dport {53, 1000-2000}",
            vec!["destination-port [ =53 >=1000&<=2000 ]; protocol =17;"],
        ),
        ("drop ipv4 protocol {tcp, udp} sport < 1024", vec!["source-port <=1023;"]),
        ("drop ipv6 protocol not tcp", vec!["protocol [ <=5 >=7 ]; destination ::/0;"]),
        ("drop ipv4 flags syn/syn,ack", vec!["tcp-flags =syn&!ack;"]),
        (
            "drop ipv4 tcp flags {syn|ack/syn|ack|fin, rst|fin/syn|fin|rst}",
            vec![
                "tcp-flags [ =fin+rst&!syn+ack =syn+ack&!fin+rst =fin+rst+ack&!syn \
                 =syn+rst+ack&!fin ];",
            ],
        ),
        ("drop icmp type 3/1-3", vec!["icmp-type =3; icmp-code >=1&<=3;"]),
        ("drop ipv4 icmp type {3/1, 8}", vec!["icmp-type =3; icmp-code =1;", "icmp-type =8;"]),
        ("drop ipv4 length > 100", vec!["packet-length >=87; destination 0.0.0.0/0;"]),
        (
            "drop ipv4 dscp ef fragment any",
            vec!["dscp =46; fragment [ first-fragment is-fragment ];"],
        ),
        ("drop udp", vec!["protocol =17;", "protocol =17; destination ::/0;"]),
        ("drop ipv4", vec!["destination 0.0.0.0/0;"]),
        ("drop ethertype ipv4 length < 100", vec!["packet-length <=85;"]),
        ("drop ethertype ipv4", vec![""]),
        ("drop ipv4 length < 61", vec!["packet-length <=46; destination 0.0.0.0/0;"]),
        ("drop ipv4 protocol 255", vec!["protocol =255;"]),
        ("drop ipv4 protocol 0-254", vec!["protocol <=254;"]),
        ("drop ipv4 icmp type 255", vec!["icmp-type =255;"]),
        (
            "drop ipv4 flags {fin/fin|syn, none/fin|rst}",
            vec!["tcp-flags [ !syn+rst =syn&!fin+rst =fin+rst&!syn ];"],
        ),
        ("drop ethertype ipv6 udp", vec!["protocol =17; destination ::/0;"]),
        ("drop ipv6", vec!["destination ::/0;"]),
    ] {
        let rules = ruleset(&[rule]);
        let text = export(&rules).unwrap_or_else(|error| panic!("{rule}: {error}"));
        let is_match = |line: &str| line.trim().strip_prefix("match { ").map(str::to_owned);
        let found: Vec<_> = text.lines().filter_map(is_match).collect();
        let want: Vec<_> =
            want.into_iter().map(|it| format!("{it} }}").trim().to_owned()).collect();
        assert_eq!(found, want, "{rule}");
        assert_eq!(import(&text).unwrap().rules.len(), want.len());
    }
}

#[test]
fn limits_and_what_they_let_through() {
    let pair = ["a: limit 8mbps to 192.0.2.0/24", "b: pass to 192.0.2.0/24", "c: drop ipv4"];
    let text = export(&ruleset(&pair)).unwrap();
    assert!(text.contains("then { rate-limit 1000000; }"), "{text}");
    assert!(!text.contains("route b"), "{text}");
    let back = import(&text).unwrap();
    let actions: Vec<_> = back.rules.iter().map(|rule| rule.action.decides()).collect();
    assert_eq!(actions, [false, true, true]);
    assert_eq!(back.rules[0].action, ruleset(&pair).rules[0].action);
    assert!(export(&ruleset(&["limit 8mbps ipv4"])).is_ok(), "what is below passes anyway");
    let text = export(&ruleset(&["limit 8796093022208bps ipv4"])).unwrap();
    assert!(text.contains("rate-limit 1099511627776;"), "{text}");
}

#[test]
fn unsupported_rules_are_named_with_the_cause() {
    for (rules, name, cause) in [
        (&["r: drop"][..], "r", E::OtherPackets),
        (&["r: drop ethertype {ipv4, arp}"], "r", E::OtherPackets),
        (&["r: drop length > 100"], "r", E::OtherPackets),
        (&["r: drop arp"], "r", E::OtherPackets),
        (&["r: drop ethertype ipv6"], "r", E::TruncatedIpv6),
        (&["r: drop ethertype {ipv4, ipv6}"], "r", E::TruncatedIpv6),
        (&["r: drop ethertype ipv6 length < 100"], "r", E::TruncatedIpv6),
        (&["r: drop ttl < 5"], "r", E::Field("TTL")),
        (&["r: drop ipv4 vlan 7"], "r", E::Field("VLAN")),
        (&["r: drop ipv4 from-mac 02:00:00:00:00:01"], "r", E::Field("source MAC")),
        (&["r: drop ipv6 extension routing"], "r", E::Field("extension headers")),
        (&["r: drop ipv4 in eth0"], "r", E::Field("interfaces")),
        (&["r: drop ipv4 payload network+8 = 0x01"], "r", E::Field("the payload")),
        (&["r: drop ipv4 dport 80"], "r", E::PortsOfProtocol),
        (&["r: drop sctp dport 80"], "r", E::PortsOfProtocol),
        (&["r: drop ipv4 length > 20"], "r", E::PaddedLength(60)),
        (&["r: count ipv4"], "r", E::Action),
        (&["r: ban 60s ipv4"], "r", E::Action),
        (&["r: limit 10pps ipv4"], "r", E::Limit),
        (&["r: limit 8mbps per source ipv4"], "r", E::Limit),
        (&["r: limit 8mbps burst 1000kbyte ipv4"], "r", E::Burst),
        (&["r: limit 9bps ipv4"], "r", E::Rate),
        (&["r: limit 8796093022216bps ipv4"], "r", E::Rate),
        (&["r: limit 8mbps udp"], "r", E::RateOfRoutes(2)),
        (&["r: limit 8mbps ipv4", "s: drop ipv4 udp"], "r", E::LimitContinues),
        (&["r: drop ipv4 udp icmp type 3"], "r", E::NoIpPacket),
        (&["r: drop from not 10.0.0.1 to not 10.0.0.1"], "r", E::TooManyAddresses(1000)),
        (&["a: pass ipv4", "r: drop to 10.0.0.0/8"], "r", E::Order("a".into())),
        (&["a: pass ipv4 udp", "r: drop to 10.0.0.0/8"], "r", E::Order("a".into())),
        (&["a: pass ipv4 udp", "r: drop ipv4 udp"], "r", E::SameRoute("a".into())),
    ] {
        let error = export(&ruleset(rules)).map(|_| ()).unwrap_err();
        assert_eq!(error.place, format!("rule {name}"), "{rules:?}");
        assert_eq!(error.cause, cause.into(), "{rules:?}");
    }
    let list = |count: usize| (0..count).map(|it| format!("10.0.{it}.1")).collect::<Vec<_>>();
    let product = |one, other| {
        let (from, to) = (list(one).join(", "), list(other).join(", "));
        export(&ruleset(&[&format!("drop from {{{from}}} to {{{to}}}")])).map(|_| ())
    };
    product(25, 40).unwrap();
    product(77, 13).unwrap_err();
    let dropping = Ruleset { default: PassOrDrop::Drop, ..ruleset(&[]) };
    assert_eq!(export(&dropping).unwrap_err().cause, E::DefaultDrop.into());
}

/// Routes may have another order than their rules if they agree or no packet matches both.
#[test]
fn order_matters_only_where_it_does() {
    for rules in [
        &["a: drop ipv4", "b: drop to 10.0.0.0/8"][..],
        &["a: pass ipv4", "b: drop from 10.0.0.0/8"],
        &["a: pass ipv4 tcp", "b: drop ipv4 udp from 10.0.0.0/8"],
        &["a: pass from 10.1.0.0/16", "b: drop from 10.0.0.0/8"],
        &["a: pass from 10.0.0.0/8", "b: drop from 2001:db8::/32"],
    ] {
        export(&ruleset(rules)).unwrap_or_else(|error| panic!("{rules:?}: {error}"));
    }
}

#[test]
fn policies_are_remarks_and_names_stay_unique() {
    let mut rules = ruleset(&["a: drop to {10.0.0.1, 10.0.0.3}", "a-2: drop to 10.0.0.5"]);
    rules.policies.set(Reason::Options, Policy::Drop);
    let text = export(&rules).unwrap();
    assert!(text.starts_with("# not exported: options drop\nflow {\n"), "{text}");
    let names: Vec<_> = import(&text).unwrap().rules.into_iter().map(|rule| rule.name).collect();
    assert_eq!(names, ["a", "a-2", "a-2-2"]);
}
