//! Statements as nft prints them, what they become, and what is refused by its name.

use serde_json::{Value, json};

use super::*;
use crate::Action as Verdict;
use crate::filter::{Action, Base, Field, Payload, Test, Values};

/// A listing with one base chain of `policy` whose rules are these, and a chain to jump to.
fn listing(family: &str, policy: &str, rules: &[Value], jumped: &[Value]) -> String {
    let set = |name: &str, kind: Value, flags: Value, elements: Value| {
        json!({"set": {"family": family, "table": "t", "name": name, "type": kind,
            "flags": flags, "elem": elements}})
    };
    let mut objects = vec![
        json!({"metainfo": {"version": "1.0.6"}}),
        json!({"table": {"family": family, "name": "t"}}),
        set(
            "bad",
            json!("ipv4_addr"),
            json!(["interval"]),
            json!(["1.2.3.4", {"prefix": {"addr": "10.0.0.0", "len": 8}},
                {"elem": {"val": {"range": ["192.0.2.1", "192.0.2.9"]}, "comment": "x"}}]),
        ),
        set("timed", json!("ipv4_addr"), json!(["timeout"]), json!([])),
        set("pairs", json!(["ipv4_addr", "inet_service"]), json!([]), json!([])),
        set("ports", json!("inet_service"), json!([]), json!([1, 53])),
        json!({"chain": {"family": family, "table": "t", "name": "sub"}}),
        json!({"chain": {"family": family, "table": "t", "name": "in", "type": "filter",
            "hook": "ingress", "prio": 0, "policy": policy}}),
    ];
    for (chain, rules) in [("in", rules), ("sub", jumped)] {
        objects.extend(rules.iter().map(|statements| {
            json!({"rule": {"family": family, "table": "t", "chain": chain, "expr": statements}})
        }));
    }
    json!({"nftables": objects}).to_string()
}

fn one(statements: Value) -> Result<Ruleset, Error> {
    read(&listing("netdev", "accept", &[statements], &[]), None)
}

fn matched(left: Value, op: &str, right: Value) -> Value {
    json!({"match": {"op": op, "left": left, "right": right}})
}

fn payload(protocol: &str, field: &str) -> Value {
    json!({"payload": {"protocol": protocol, "field": field}})
}

fn meta(key: &str) -> Value {
    json!({"meta": {"key": key}})
}

fn drop() -> Value {
    json!({"drop": null})
}

fn is(field: Field, ranges: &[(u128, u128)]) -> Test {
    Test::Is(field, Values::new(ranges.iter().copied()))
}

#[test]
fn matches_become_tests() {
    let flags = |mask| json!({"&": [payload("tcp", "flags"), mask]});
    let tcp = || is(Field::Protocol, &[(6, 6)]);
    let v4 = || is(Field::EtherType, &[(0x800, 0x800)]);
    let v6 = || is(Field::EtherType, &[(0x86dd, 0x86dd)]);
    let with = |mask, value| Test::Is(Field::TcpFlags, Values::masked(mask, value, 0xff));
    let raw = json!({"&": [{"payload": {"base": "nh", "offset": 64, "len": 16}}, 0xff0f]});
    let table = [
        (
            payload("tcp", "dport"),
            "==",
            json!({"set": [80, {"range": [1000, 2000]}]}),
            vec![tcp(), is(Field::DestPort, &[(80, 80), (1000, 2000)])],
        ),
        (
            payload("udp", "sport"),
            "!=",
            json!("@ports"),
            vec![
                is(Field::Protocol, &[(17, 17)]),
                is(Field::SourcePort, &[(0, 0), (2, 52), (54, 0xffff)]),
            ],
        ),
        (flags(json!(["syn", "ack"])), "==", json!("syn"), vec![tcp(), with(0x12, 2)]),
        (
            payload("tcp", "flags"),
            "==",
            json!({"set": [{"|": ["syn", "ack"]}, "syn"]}),
            vec![tcp(), is(Field::TcpFlags, &[(2, 2), (0x12, 0x12)])],
        ),
        (
            payload("tcp", "flags"),
            "in",
            json!(["syn", "ack"]),
            vec![tcp(), Test::Is(Field::TcpFlags, Values::masked(0x12, 0, 0xff).complement(0xff))],
        ),
        (
            payload("icmp", "type"),
            "==",
            json!("echo-request"),
            vec![v4(), is(Field::Protocol, &[(1, 1)]), is(Field::Icmp, &[(0x800, 0x8ff)])],
        ),
        (
            payload("icmpv6", "type"),
            "<",
            json!(128),
            vec![v6(), is(Field::Protocol, &[(58, 58)]), is(Field::Icmp, &[(0, 0x7fff)])],
        ),
        (
            meta("l4proto"),
            "==",
            json!({"set": ["tcp", 47]}),
            vec![is(Field::Protocol, &[(6, 6), (47, 47)])],
        ),
        (meta("length"), ">", json!(100), vec![is(Field::Length, &[(115, 0xffff_ffff)])]),
        (meta("protocol"), "==", json!("ip6"), vec![v6()]),
        (meta("iifname"), "==", json!("eth7"), vec![Test::Interface(vec!["eth7".into()])]),
        (payload("vlan", "id"), "==", json!({"range": [5, 7]}), vec![is(Field::Vlan, &[(5, 7)])]),
        (
            payload("ip6", "nexthdr"),
            "==",
            json!("esp"),
            vec![v6(), is(Field::Extensions, &[(0, 0)]), is(Field::Protocol, &[(50, 50)])],
        ),
        (payload("ip", "dscp"), "==", json!("ef"), vec![v4(), is(Field::Dscp, &[(46, 46)])]),
        (payload("ip", "ttl"), "<=", json!(5), vec![v4(), is(Field::Ttl, &[(0, 5)])]),
        (
            json!({"&": [payload("ip", "frag-off"), 8191]}),
            "!=",
            json!(0),
            vec![v4(), is(Field::Fragment, &[(2, 2)])],
        ),
        (
            payload("ether", "saddr"),
            "==",
            json!("02:00:00:00:00:01"),
            vec![is(Field::SourceMac, &[(0x0200_0000_0001, 0x0200_0000_0001)])],
        ),
        (
            raw,
            "==",
            json!(0x1203),
            vec![Test::Payload(Payload {
                from: Base::Network,
                offset: 8,
                mask: vec![0xff, 0x0f],
                value: vec![0x12, 0x03],
            })],
        ),
    ];
    for (left, op, right, want) in table {
        let statement = matched(left, op, right);
        let ruleset = one(json!([statement, drop()])).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(ruleset.rules.len(), 1);
        assert_eq!(
            (&ruleset.rules[0].tests, &ruleset.rules[0].action),
            (&want, &Action::Drop),
            "{statement}"
        );
    }
}

#[test]
fn sets_of_addresses_keep_their_names() {
    for (op, is_negated) in [("==", false), ("!=", true)] {
        let statement = matched(payload("ip", "saddr"), op, json!("@bad"));
        let ruleset = one(json!([statement, drop()])).unwrap();
        let Test::Address { addresses, negated, .. } = &ruleset.rules[0].tests[1] else {
            panic!("{:?}", ruleset.rules[0])
        };
        assert_eq!((addresses.name.as_deref(), *negated), (Some("bad"), is_negated));
        assert!(addresses.v4.contains(0x0aff_ffff) && addresses.v4.contains(0xc000_0209));
        assert_eq!((addresses.v4.ranges().len(), addresses.v6.is_empty()), (3, true));
    }
}

#[test]
fn verdicts_counters_and_jumps() {
    let port = |port: u16| matched(payload("udp", "dport"), "==", json!(port));
    let counter = || json!({"counter": {"packets": 7, "bytes": 9}});
    let limit = json!({"limit": {"rate": 120, "burst": 8, "per": "minute", "inv": true}});
    let rules = [
        json!([counter(), port(1), {"accept": null}]),
        json!([port(2), counter(), {"drop": null}]),
        json!([port(3), limit, counter(), {"drop": null}]),
        json!([port(4), {"return": null}]),
        json!([matched(meta("protocol"), "==", json!("ip")), {"jump": {"target": "sub"}}]),
        json!([counter(), {"goto": {"target": "sub"}}]),
    ];
    let jumped = [json!([port(9), {"accept": null}])];
    let ruleset = read(&listing("netdev", "drop", &rules, &jumped), None).unwrap();
    let limit = crate::filter::Limit {
        rate: 2,
        unit: crate::filter::Unit::Packets,
        burst: 8,
        per: crate::filter::Per::Rule,
    };
    let actions: Vec<_> = ruleset
        .rules
        .iter()
        .map(|rule| (rule.name.as_str(), &rule.action, rule.tests.len()))
        .collect();
    assert_eq!(
        actions,
        [
            ("in-1-count", &Action::Count, 0),
            ("in-1", &Action::Pass, 2),
            ("in-2", &Action::Drop, 2),
            ("in-3", &Action::Limit(limit), 2),
            ("in-4", &Action::Drop, 2),
            ("sub-1", &Action::Pass, 3),
            ("in-6-count", &Action::Count, 0),
            ("sub-1.2", &Action::Pass, 2),
            ("in-6-end", &Action::Drop, 0),
        ]
    );
    assert_eq!(ruleset.default, Verdict::Drop);
}

#[test]
fn chains_of_a_family_leave_others_alone() {
    let ruleset = read(&listing("ip", "drop", &[json!([{"accept": null}])], &[]), None).unwrap();
    assert_eq!(ruleset.default, Verdict::Pass);
    let tests: Vec<_> = ruleset.rules.iter().map(|rule| rule.tests.clone()).collect();
    assert_eq!(tests, vec![vec![is(Field::EtherType, &[(0x800, 0x800)])]; 2]);
    assert_eq!(ruleset.rules[1].action, Action::Drop);
}

#[test]
fn what_cannot_be_said_is_named() {
    let dport = || payload("tcp", "dport");
    let bytes = json!({"limit": {"rate": 1, "rate_unit": "mbytes", "per": "second", "inv": true}});
    let below = json!({"limit": {"rate": 10, "per": "second"}});
    let over = json!({"limit": {"rate": 10, "per": "second", "inv": true}});
    let over_odd = json!({"limit": {"rate": 10, "per": "minute", "inv": true}});
    let vmap = json!({"vmap": {"key": meta("protocol"), "data": {"set": []}}});
    let jump = |to: &str| json!({"jump": {"target": to}});
    let table = [
        (json!([matched(json!({"ct": {"key": "state"}}), "in", json!("new"))]), "cannot look"),
        (json!([matched(meta("mark"), "==", json!(1))]), "cannot look"),
        (json!([matched(payload("ip", "length"), ">", json!(1))]), "cannot look"),
        (json!([matched(json!({"exthdr": {"name": "frag"}}), "==", json!(1))]), "cannot look"),
        (json!([matched(payload("th", "dport"), "==", json!(1))]), "meta l4proto"),
        (json!([matched(payload("ip", "saddr"), "==", json!("@none"))]), "no set none"),
        (json!([matched(payload("ip", "saddr"), "==", json!("@timed"))]), "changes by itself"),
        (json!([matched(payload("ip", "saddr"), "==", json!("@pairs"))]), "more than one thing"),
        (json!([matched(payload("ip", "saddr"), "==", json!("::1"))]), "not known"),
        (json!([matched(dport(), "==", json!(65536))]), "not known"),
        (json!([matched(dport(), "^", json!(1))]), "`^`"),
        (json!([matched(dport(), "==", json!({"elem": {"val": 1, "timeout": 9}}))]), "timeout"),
        (json!([matched(dport(), "<", json!(0))]), "no packet"),
        (json!([matched(payload("ip6", "nexthdr"), "==", json!(44))]), "extension header"),
        (json!([matched(payload("ether", "type"), "==", json!(0x8100))]), "vlan id"),
        (json!([matched(meta("iifname"), "!=", json!("a"))]), "not negated"),
        (json!([matched(meta("iifname"), "==", json!("a*"))]), "whole names"),
        (json!([bytes, drop()]), "whole frames"),
        (json!([below, drop()]), "rate over"),
        (json!([over]), "without a drop"),
        (json!([over, {"accept": null}]), "only `drop`"),
        (json!([over_odd, drop()]), "whole packets a second"),
        (json!([{"log": null}]), "`{\"log\":null}`"),
        (json!([{"reject": null}]), "cannot be taken over"),
        (json!([{"counter": "named"}]), "names"),
        (json!([vmap]), "cannot be taken over"),
        (json!([drop(), {"counter": {}}]), "behind a verdict"),
        (json!([jump("nowhere")]), "no chain nowhere"),
        (json!([jump("in")]), "too many"),
        (json!([jump("sub")]), "chain netdev/t/sub, rule 1"),
        (
            json!([
                matched(payload("tcp", "dport"), "==", json!(1)),
                matched(payload("udp", "dport"), "==", json!(1))
            ]),
            "no packet",
        ),
    ];
    for (statements, word) in table {
        let jumped = [json!([{"return": null}])];
        let json = listing("netdev", "accept", std::slice::from_ref(&statements), &jumped);
        let error = read(&json, None).unwrap_err().to_string();
        assert!(error.contains(word), "{statements}: {error}");
        assert!(error.starts_with("chain netdev/t/"), "{error}");
    }
}

#[test]
fn one_chain_is_chosen() {
    let chain = |family: &str, name: &str, kind: &str, hook: &str| json!({"chain": {"family": family, "table": "t", "name": name, "type": kind, "hook": hook}});
    let json = json!({"nftables": [
        chain("ip", "a", "filter", "input"), chain("inet", "a", "filter", "prerouting"),
        chain("ip", "out", "filter", "output"), chain("ip", "nat", "nat", "prerouting"),
        chain("bridge", "b", "filter", "input"),
    ]})
    .to_string();
    for (name, word) in [
        (None, "ip/t/out"),
        (Some("t/a"), "several"),
        (Some("t/none"), "no such chain"),
        (Some("t/out"), "hook output"),
        (Some("t/nat"), "only filters"),
        (Some("t/b"), "family bridge"),
    ] {
        let error = read(&json, name).unwrap_err().to_string();
        assert!(error.contains(word), "{name:?}: {error}");
    }
    assert!(read(&json, Some("inet/t/a")).is_ok());
    for (json, word) in [
        ("nope", "not the JSON"),
        ("{}", "no list"),
        (r#"{"nftables": [1]}"#, "no kind"),
        (r#"{"nftables": [{"new": 1}]}"#, "not known"),
    ] {
        let error = read(json, None).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}
