//! Statements as nft prints them, the rules that they become, and the errors for unsupported ones.

use serde_json::{Value, json};

use super::*;
use crate::import_export::error::nft::ImportError as E;
use crate::import_export::{Cause, NoMatch};
use crate::{Action, Field, Rule, Test, Values};
use functions::PassOrDrop;

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
    import(&listing("netdev", "accept", &[statements], &[]), None)
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
    let raw = json!({"&": [{"payload": {"base": "nh", "offset": 64, "len": 16}}, 0xff0f]});
    let offset = json!({"&": [payload("ip", "frag-off"), 8191]});
    let ports = json!({"set": [80, {"range": [1000, 2000]}]});
    let table = [
        (payload("tcp", "dport"), "==", ports, "drop tcp dport {80, 1000-2000}"),
        (payload("udp", "sport"), "!=", json!("@ports"), "drop udp sport not {1, 53}"),
        (flags(json!(["syn", "ack"])), "==", json!("syn"), "drop tcp flags syn/syn,ack"),
        (
            payload("tcp", "flags"),
            "==",
            json!({"set": [{"|": ["syn", "ack"]}, "syn"]}),
            "drop tcp flags syn/fin,syn,rst,psh,urg,ece,cwr",
        ),
        (payload("tcp", "flags"), "!", json!(["syn", "ack"]), "drop tcp flags none/syn,ack"),
        (payload("tcp", "flags"), "in", json!(["syn", "ack"]), "drop tcp flags not none/syn,ack"),
        (
            payload("icmp", "type"),
            "==",
            json!("echo-request"),
            "drop ethertype ipv4 icmp type echo-request",
        ),
        (payload("icmpv6", "type"), "<", json!(128), "drop ethertype ipv6 icmpv6 type 0-127"),
        (meta("l4proto"), "==", json!({"set": ["tcp", 47]}), "drop protocol {tcp, gre}"),
        (meta("length"), ">", json!(100), "drop length > 114"),
        (meta("protocol"), "==", json!("ip6"), "drop ethertype ipv6"),
        (
            payload("ip", "saddr"),
            "==",
            json!({"prefix": {"addr": "10.0.0.1", "len": 32}}),
            "drop ethertype ipv4 from 10.0.0.1",
        ),
        (meta("iifname"), "==", json!("eth7"), "drop in eth7"),
        (meta("iifname"), "!=", json!({"set": ["a", "b"]}), "drop in not {a, b}"),
        (payload("vlan", "id"), "==", json!({"range": [5, 7]}), "drop vlan 5-7"),
        (payload("ip6", "nexthdr"), "==", json!("esp"), "drop ethertype ipv6 extension none esp"),
        (payload("ip", "dscp"), "==", json!("ef"), "drop ethertype ipv4 dscp ef"),
        (payload("ip", "ttl"), "<=", json!(5), "drop ethertype ipv4 ttl < 6"),
        (payload("ip6", "hoplimit"), ">=", json!(255), "drop ethertype ipv6 ttl 255"),
        (
            payload("ip6", "daddr"),
            "!=",
            json!({"prefix": {"addr": "2001:db8::", "len": 32}}),
            "drop ethertype ipv6 to not 2001:db8::/32",
        ),
        (offset.clone(), "!=", json!(0), "drop ethertype ipv4 fragment later"),
        (offset, ">", json!(0), "drop ethertype ipv4 fragment later"),
        (
            payload("ether", "saddr"),
            "==",
            json!("02:00:00:00:00:01"),
            "drop from-mac 02:00:00:00:00:01",
        ),
        (raw.clone(), "==", json!(0x1203), "drop payload network+8 0xff0f = 0x1203"),
        (raw, "!=", json!(0x1203), "drop payload network+8 0xff0f != 0x1203"),
    ];
    for (left, op, right, want) in table {
        let statement = matched(left, op, right);
        let ruleset = one(json!([statement, drop()])).unwrap_or_else(|error| panic!("{error}"));
        let bodies: Vec<_> = ruleset.rules.iter().map(Rule::body).collect();
        assert_eq!(bodies, [want], "{statement}");
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
    let ruleset = import(&listing("netdev", "drop", &rules, &jumped), None).unwrap();
    let limit = crate::Limit {
        rate: 2,
        unit: crate::Unit::Packets,
        burst: 8,
        per: crate::Per::Rule,
        total: None,
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
    assert_eq!(ruleset.default, PassOrDrop::Drop);
}

#[test]
fn a_counter_before_a_limit_counts_all_packets() {
    let limit = json!({"limit": {"rate": 1, "burst": 3, "per": "second", "inv": true}});
    let counter = json!({"counter": {"packets": 7, "bytes": 9}});
    let rules = one(json!([counter, limit, drop()])).unwrap().rules;
    let found: Vec<_> = rules.iter().map(|rule| (rule.name.as_str(), rule.body())).collect();
    let wanted = [("in-1-count", "count"), ("in-1", "limit 1pps burst 3")];
    assert_eq!(found, wanted.map(|(name, body)| (name, body.to_owned())));
}

#[test]
fn names_of_chains_become_names_of_rules() {
    let listing = listing("netdev", "accept", &[json!([drop()])], &[]);
    let listing = listing.replace("\"in\"", "\"in_a.b-c d/é\"");
    let rules = import(&listing, None).unwrap().rules;
    assert_eq!(rules[0].name, "in_a.b-c-d---1");
}

#[test]
fn each_address_has_a_limit_of_its_own() {
    let limit = json!({"limit": {"rate": 10, "burst": 5, "per": "second", "inv": true}});
    let timed = json!({"elem": {"val": payload("ip6", "daddr"), "timeout": 9}});
    for (statement, want) in [
        (
            json!({"set": {"op": "update", "elem": payload("ip", "saddr"), "set": "@f",
                "stmt": [limit]}}),
            "limit 10pps burst 5 per source/32,64 ethertype ipv4",
        ),
        (
            json!({"meter": {"key": payload("ip6", "saddr"), "stmt": limit, "name": "m"}}),
            "limit 10pps burst 5 per source/24,128 ethertype ipv6",
        ),
        (
            json!({"set": {"op": "add", "elem": timed, "set": "@f", "stmt": [limit]}}),
            "limit 10pps burst 5 per dest ethertype ipv6",
        ),
    ] {
        let ruleset = one(json!([statement, {"counter": {}}, drop()])).unwrap();
        assert_eq!(ruleset.rules.iter().map(Rule::body).collect::<Vec<_>>(), [want]);
    }
}

#[test]
fn errors_have_lines_of_the_text() {
    let text = "table netdev t {\n chain in {\n  counter drop\n\n  log drop\n }\n}";
    let rules = [json!([drop()]), json!([{"log": null}, drop()])];
    let lines = Lines::of(text).unwrap();
    let error =
        import_as(&listing("netdev", "accept", &rules, &[]), &lines, &ImportOptions::default())
            .unwrap_err();
    assert_eq!(error.place, "line 5, chain netdev/t/in, rule 2");
    let error = import_as(
        &listing("netdev", "accept", &rules[1..], &[]),
        &lines,
        &ImportOptions::default(),
    );
    assert_eq!(
        error.unwrap_err().place,
        "chain netdev/t/in, rule 1",
        "the text has another number of rules"
    );
}

#[test]
fn chains_of_a_family_do_not_match_other_packets() {
    let ruleset = import(&listing("ip", "drop", &[json!([{"accept": null}])], &[]), None).unwrap();
    assert_eq!(ruleset.default, PassOrDrop::Pass);
    let tests: Vec<_> = ruleset.rules.iter().map(|rule| rule.tests.clone()).collect();
    assert_eq!(tests, vec![vec![is(Field::EtherType, &[(0x800, 0x800)])]; 2]);
    assert_eq!(ruleset.rules[1].action, Action::Drop);
}

/// Fails unless a rule of these statements is refused for this cause.
#[track_caller]
fn refused(statements: &Value, cause: E) {
    let jumped = [json!([{"return": null}]), json!([drop()])];
    let json = listing("netdev", "accept", std::slice::from_ref(statements), &jumped);
    let error = import(&json, None).unwrap_err();
    let chain = if cause == E::NestedReturn { "sub" } else { "in" };
    assert_eq!(error.place, format!("chain netdev/t/{chain}, rule 1"), "{statements}");
    assert_eq!(error.cause, Cause::NftImport(cause), "{statements}");
    let is_of_rule = matches!(error.cause, Cause::NftImport(E::LimitWithoutDrop { .. }));
    assert_eq!(error.statement.is_empty(), is_of_rule, "{error}");
}

#[test]
fn unsupported_matches_are_named_with_the_cause() {
    let (dport, saddr) = (|| payload("tcp", "dport"), || payload("ip", "saddr"));
    let timed = json!({"elem": {"val": 1, "timeout": 9}});
    let table = [
        (json!({"ct": {"key": "state"}}), "in", json!("new"), E::UnsupportedExpression(TRACKING)),
        (meta("mark"), "==", json!(1), E::UnsupportedExpression(MARK)),
        (meta("nothing"), "==", json!(1), E::UnsupportedExpression(OTHER)),
        (payload("ip", "length"), ">", json!(1), E::UnsupportedExpression(LENGTH)),
        (json!({"exthdr": {"name": "frag"}}), "==", json!(1), E::UnsupportedExpression(EXTENSION)),
        (payload("th", "dport"), "==", json!(1), E::PortsOfUnknownProtocol),
        (saddr(), "==", json!("@none"), E::UnknownSet("none".into())),
        (
            saddr(),
            "==",
            json!("@timed"),
            E::DynamicSet { name: "timed".into(), flag: "timeout".into() },
        ),
        (saddr(), "==", json!("@pairs"), E::CombinedSet("pairs".into())),
        (saddr(), "==", json!("::1"), E::UnknownValue("\"::1\"".into())),
        (dport(), "==", json!(65536), E::UnknownValue("65536".into())),
        (dport(), "^", json!(1), E::Operator("^".into())),
        (dport(), "==", timed, E::Element("timeout".into())),
        (dport(), "<", json!(0), E::NoMatch(NoMatch)),
        (payload("ip6", "nexthdr"), "==", json!(44), E::ExtensionHeader),
        (payload("ether", "type"), "==", json!(0x8100), E::TagEtherType),
        (meta("iifname"), "==", json!("a*"), E::InterfacePattern),
        (meta("iifname"), "==", json!({"set": ["a", "b*"]}), E::InterfacePattern),
    ];
    for (left, op, right, cause) in table {
        refused(&json!([matched(left, op, right)]), cause);
    }
    let udp = matched(payload("udp", "dport"), "==", json!(1));
    refused(&json!([matched(dport(), "==", json!(1)), udp]), E::NoMatch(NoMatch));
}

#[test]
fn unsupported_statements_are_named_with_the_cause() {
    let bytes = json!({"limit": {"rate": 1, "rate_unit": "mbytes", "per": "second", "inv": true}});
    let below = json!({"limit": {"rate": 10, "per": "second"}});
    let over = json!({"limit": {"rate": 10, "per": "second", "inv": true}});
    let fractional = json!({"limit": {"rate": 10, "per": "minute", "inv": true}});
    let vmap = json!({"vmap": {"key": meta("protocol"), "data": "@named"}});
    let jump = |to: &str| json!({"jump": {"target": to}});
    let set = |op: &str| json!({"set": {"op": op, "elem": payload("ip", "saddr"), "set": "@x"}});
    let meter =
        |key: Value, limit: &Value| json!({"meter": {"key": key, "stmt": limit, "name": "m"}});
    for (statements, cause) in [
        (json!([set("delete")]), E::UnsupportedStatement(SET)),
        (json!([set("add")]), E::UnsupportedStatement(SET)),
        (json!([meter(payload("tcp", "dport"), &over), drop()]), E::UnsupportedStatement(METER)),
        (json!([meter(payload("ip", "saddr"), &below), drop()]), E::LimitBelow),
        (json!([meter(payload("ip", "saddr"), &over)]), E::LimitWithoutDrop { rate: 10 }),
        (json!([bytes, drop()]), E::ByteLimit),
        (json!([below, drop()]), E::LimitBelow),
        (json!([over]), E::LimitWithoutDrop { rate: 10 }),
        (json!([over, {"accept": null}]), E::AfterLimit),
        (json!([over, over, drop()]), E::AfterLimit),
        (json!([fractional, drop()]), E::FractionalRate),
        (json!([{"log": null}]), E::UnsupportedStatement(LOG)),
        (json!([{"reject": null}]), E::UnsupportedStatement(REJECT)),
        (json!([{"unheard-of": null}]), E::UnsupportedStatement(UNKNOWN)),
        (json!([{"counter": "named"}]), E::NamedCounter),
        (json!([vmap]), E::UnsupportedStatement(VERDICT_MAP)),
        (json!([drop(), {"counter": {}}]), E::AfterVerdict),
        (json!([jump("nowhere")]), E::UnknownChain("nowhere".into())),
        (json!([jump("in")]), E::TooDeep(16)),
        (json!([jump("sub")]), E::NestedReturn),
    ] {
        refused(&statements, cause);
    }
}

const TRACKING: &str = "the filter runs before connection tracking: leave this to the stack, or \
    use --approximate, which tests the state that single packets show";
const MARK: &str = "packets have no mark yet when the filter runs";
const OTHER: &str = "the filter cannot match this";
const UNKNOWN: &str = "this statement cannot be imported";
const LENGTH: &str = "lengths of headers cannot be matched: `meta length` can be imported";
const EXTENSION: &str = "write `extension` or `fragment` in the imported rules";
const SET: &str =
    "for sets that rules write, only `{ ip saddr limit rate over … } drop` can be imported";
const METER: &str = "for meters, only `{ ip saddr limit rate over … } drop` can be imported";
const LOG: &str = "the filter does not log packets: `sample` copies some of them";
const REJECT: &str = "the filter sends no answers: `drop` drops silently";
const VERDICT_MAP: &str = "verdict maps cannot be imported: write a rule for each entry";

#[test]
fn one_chain_is_chosen() {
    let chain = |family: &str, name: &str, kind: &str, hook: &str| {
        let chain = json!({"family": family, "table": "t", "name": name, "type": kind});
        let mut object = json!({"chain": chain});
        object["chain"]["hook"] = json!(hook);
        object
    };
    let json = json!({"nftables": [
        chain("ip", "a", "filter", "input"), chain("inet", "a", "filter", "prerouting"),
        chain("ip", "out", "filter", "output"), chain("ip", "nat", "nat", "prerouting"),
        chain("bridge", "b", "filter", "input"),
    ]})
    .to_string();
    let several = "ip/t/a, ip/t/nat, ip/t/out";
    for (name, cause) in [
        (None, E::SeveralBaseChains(format!("bridge/t/b, inet/t/a, {several}"))),
        (Some("t/a"), E::SeveralBaseChains("inet/t/a, ip/t/a".into())),
        (Some("t/none"), E::NoBaseChain),
        (Some("t/out"), E::ChainHook("output".into())),
        (Some("t/nat"), E::ChainType("nat".into())),
        (Some("t/b"), E::TableFamily("bridge".into())),
    ] {
        assert_eq!(import(&json, name).unwrap_err().cause, cause.into(), "{name:?}");
    }
    assert!(import(&json, Some("inet/t/a")).is_ok());
    for (json, cause) in [
        ("{}", E::NoObjects),
        (r#"{"nftables": [1]}"#, E::ObjectWithoutKind),
        (r#"{"nftables": [{"new": 1}]}"#, E::UnknownObject),
    ] {
        assert_eq!(import(json, None).unwrap_err().cause, cause.into(), "{json}");
    }
    let error = import("nope", None).unwrap_err();
    assert!(matches!(error.cause, Cause::NftImport(E::Json(_))), "{error}");
}
