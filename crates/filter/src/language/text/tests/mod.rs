//! The grammar as tables: what rules mean, how they are shown, what is refused and in which words.

mod forms;
mod round_trip;

use std::sync::Arc;
use std::time::Duration;

use crate::language::classic::{Classic, Program};
use crate::{
    Action, Addresses, Base, Field, Limit, Payload, Per, Redirect, Rule, Scope, Sets, Side,
    SynProxy, Test, Unit, Values,
};

/// Sets `@office` and `@good`; expressions return the length of their text.
pub fn scope() -> Scope {
    let mut sets = Sets::default();
    for (name, prefix) in [("office", "10.1.0.0/16"), ("good", "2001:db8::/32")] {
        sets.insert_list(name, Addresses::of([prefix.parse().unwrap()]));
    }
    let compile = |text: &str| match text {
        "wrong" => Err("syntax error".to_owned()),
        _ => {
            let length = Classic { code: 6, jump_true: 0, jump_false: 0, k: text.len() as u32 };
            Ok(Program::new(&[length]).unwrap())
        }
    };
    Scope { sets, compile }
}

fn parse(text: &str) -> Rule {
    Rule::parse(text, &scope()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn is(field: Field, ranges: &[(u128, u128)]) -> Test {
    Test::Is(field, Values::new(ranges.iter().copied()))
}

fn addresses(side: Side, negated: bool, items: &[&str]) -> Test {
    let addresses = Addresses::of(items.iter().map(|item| item.parse().unwrap()));
    Test::Address { side, addresses: Arc::new(addresses), negated }
}

fn interfaces(negated: bool, names: &[&str]) -> Test {
    Test::Interface { names: names.iter().map(|name| (*name).to_owned()).collect(), negated }
}

#[test]
fn tests_mean_what_they_say() {
    let protocol = |number: u128| is(Field::Protocol, &[(number, number)]);
    for (text, tests) in [
        ("udp dport 1234", vec![protocol(17), is(Field::DestPort, &[(1234, 1234)])]),
        (
            "tcp dport {22, 80, 1000-2000}",
            vec![protocol(6), is(Field::DestPort, &[(22, 22), (80, 80), (1000, 2000)])],
        ),
        ("dport dns", vec![is(Field::DestPort, &[(53, 53)])]),
        ("sport not 53", vec![is(Field::SourcePort, &[(0, 52), (54, 65535)])]),
        ("sport != {0-9,}", vec![is(Field::SourcePort, &[(10, 65535)])]),
        ("sport any", vec![is(Field::SourcePort, &[(0, 65535)])]),
        ("sport {}", vec![is(Field::SourcePort, &[])]),
        ("ttl < 5", vec![is(Field::Ttl, &[(0, 4)])]),
        ("ttl>=5", vec![is(Field::Ttl, &[(5, 255)])]),
        ("length > 1_500", vec![is(Field::Length, &[(1501, 0xffff_ffff)])]),
        (
            "vlan 7 inner-vlan 0x10",
            vec![is(Field::Vlan, &[(7, 7)]), is(Field::InnerVlan, &[(16, 16)])],
        ),
        ("dscp {ef, 7}", vec![is(Field::Dscp, &[(7, 7), (46, 46)])]),
        ("dscp af11-af13", vec![is(Field::Dscp, &[(10, 14)])]),
        ("ethertype pppoe-discovery-0x8865", vec![is(Field::EtherType, &[(0x8863, 0x8865)])]),
        ("arp", vec![is(Field::EtherType, &[(0x806, 0x806)])]),
        ("protocol not {tcp, udp}", vec![is(Field::Protocol, &[(0, 5), (7, 16), (18, 255)])]),
        ("ipv6", vec![is(Field::Source6, &[(0, u128::MAX)])]),
        ("fragment any", vec![is(Field::Fragment, &[(1, 2)])]),
        ("fragment {whole, later}", vec![is(Field::Fragment, &[(0, 0), (2, 2)])]),
        (
            "from-mac 02:00:00:00:0a:ff",
            vec![is(Field::SourceMac, &[(0x0200_0000_0aff, 0x0200_0000_0aff)])],
        ),
        (
            "to-mac 02:ab:cd:00:00:00/24",
            vec![is(Field::DestMac, &[(0x02ab_cd00_0000, 0x02ab_cdff_ffff)])],
        ),
        ("to-mac broadcast", vec![is(Field::DestMac, &[(0xffff_ffff_ffff, 0xffff_ffff_ffff)])]),
        ("in eth0", vec![interfaces(false, &["eth0"])]),
        ("in {eth0, eth0.7}", vec![interfaces(false, &["eth0", "eth0.7"])]),
        ("in not eth0", vec![interfaces(true, &["eth0"])]),
        ("in != {eth0, \"not\"}", vec![interfaces(true, &["eth0", "not"])]),
        ("in \"not\"", vec![interfaces(false, &["not"])]),
        ("queue 3 ifindex 2", vec![is(Field::Queue, &[(3, 3)]), is(Field::Interface, &[(2, 2)])]),
        ("from 10.0.0.0/8", vec![addresses(Side::Source, false, &["10.0.0.0/8"])]),
        (
            "to not {10.0.0.5-10.0.0.9, 2001:db8::1}",
            vec![addresses(Side::Dest, true, &["10.0.0.5-10.0.0.9", "2001:db8::1"])],
        ),
        ("from any", vec![addresses(Side::Source, false, &["0.0.0.0/0", "::/0"])]),
    ] {
        assert_eq!(parse(&format!("drop {text}")).tests, tests, "{text}");
    }
}

#[test]
fn bits_types_and_payloads() {
    let bits = |text: &str, of: Field| match &parse(text).tests[..] {
        [.., Test::Is(field, values)] if *field == of => values.clone(),
        other => panic!("{text}: {other:?}"),
    };
    for (text, mask, value) in [
        ("syn", 0x02, 0x02),
        ("syn,ack", 0x12, 0x12),
        ("syn/syn,ack", 0x12, 0x02),
        ("none", 0xff, 0),
        ("none/syn,ack", 0x12, 0),
        ("fin|psh|urg/all", 0xff, 0x29),
        ("0x12/0x13", 0x13, 0x12),
    ] {
        let values = bits(&format!("drop tcp flags {text}"), Field::TcpFlags);
        assert_eq!(values, Values::masked(mask, value, 0xff), "{text}");
    }
    let either = Values::masked(2, 2, 0xff).union(&Values::masked(4, 4, 0xff));
    assert_eq!(bits("drop flags {syn, rst}", Field::TcpFlags), either);
    assert_eq!(bits("drop flags not {syn, rst}", Field::TcpFlags), Values::masked(6, 0, 0xff));
    assert_eq!(bits("drop extension routing", Field::Extensions), Values::masked(2, 2, 0xff));

    for (text, ranges) in [
        ("icmp type echo-request", vec![(0x0800, 0x08ff)]),
        ("icmpv6 type echo-request", vec![(0x8000, 0x80ff)]),
        ("icmp type {0, 8-9}", vec![(0, 0xff), (0x0800, 0x09ff)]),
        ("icmp type destination-unreachable code port-unreachable", vec![(0x0303, 0x0303)]),
        ("icmp type 3 code {0, 2-4}", vec![(0x0300, 0x0300), (0x0302, 0x0304)]),
        (
            "icmp type {3/port-unreachable, time-exceeded/0-1}",
            vec![(0x0303, 0x0303), (0x0b00, 0x0b01)],
        ),
        ("type 8", vec![(0x0800, 0x08ff)]),
    ] {
        assert_eq!(bits(&format!("drop {text}"), Field::Icmp), Values::new(ranges), "{text}");
    }

    let payload = |from, offset, mask: &[u8], value: &[u8]| {
        let (mask, value) = (mask.to_vec(), value.to_vec());
        Test::Payload(Payload { from, offset, mask, value, negated: false })
    };
    for (text, test) in [
        (
            "transport+8 0xffff0000 = 0x12340000",
            payload(Base::Transport, 8, &[0xff, 0xff, 0, 0], &[0x12, 0x34, 0, 0]),
        ),
        ("frame = 0x02", payload(Base::Frame, 0, &[0xff], &[2])),
        ("network+20=\"GE\"", payload(Base::Network, 20, &[0xff, 0xff], b"GE")),
    ] {
        assert_eq!(
            parse(&format!("drop payload {text}")).tests,
            std::slice::from_ref(&test),
            "{text}"
        );
        let (place, value) = text.split_once('=').unwrap();
        for sign in ["!=", "not "] {
            let mut tests = parse(&format!("drop payload {place} {sign}{value}")).tests;
            let Some(Test::Payload(payload)) = tests.first_mut() else { panic!("{text}") };
            assert!(std::mem::take(&mut payload.negated), "{place}{sign}{value}");
            assert_eq!(tests, std::slice::from_ref(&test), "{text}");
        }
    }
}

/// A list may hold sets: it has what they have, and keeps their names.
#[test]
fn lists_hold_sets() {
    for (list, shown) in [
        ("{@office, @good}", "{@good, @office}"),
        ("{10.9.0.0/16, @office, @good, @office}", "{@good, @office, 10.9.0.0/16}"),
        ("{@office, 10.1.0.0/24}", "{@office, 10.1.0.0/24}"),
        ("{@good, 10.0.0.2, 10.0.0.1}", "{@good, 10.0.0.1-10.0.0.2}"),
        ("{@office}", "@office"),
        ("{@office, @office}", "@office"),
        ("not {@office, 2001:db8:1::/48}", "not {@office, 2001:db8:1::/48}"),
    ] {
        let rule = parse(&format!("drop from {list}"));
        assert_eq!(rule.to_string(), format!("drop from {shown}"), "{list}");
        let [Test::Address { addresses, negated, .. }] = &rule.tests[..] else { panic!("{list}") };
        assert_eq!(*negated, list.starts_with("not"));
        let holds = |set: &str| addresses.sets().any(|name| name == set);
        assert_eq!(holds("office"), list.contains("@office"), "{list}");
        assert_eq!(holds("good"), list.contains("@good"), "{list}");
        assert_eq!(addresses.v4.contains(0x0a01_0203), holds("office"), "{list}");
        assert_eq!(addresses.v6.contains(0x2001_0db8 << 96), holds("good"), "{list}");
    }
}

#[test]
fn actions_and_their_options() {
    let limit =
        |rate, unit, burst, per| Action::Limit(Limit { rate, unit, burst, per, total: None });
    for (text, action) in [
        ("pass", Action::Pass),
        ("drop", Action::Drop),
        ("count", Action::Count),
        ("drop for 90s", Action::DropFor(Duration::from_secs(90))),
        ("drop udp dport 53 for 2h", Action::DropFor(Duration::from_hours(2))),
        ("ban 10m", Action::Ban(Duration::from_mins(10))),
        ("ban 100ms", Action::Ban(Duration::from_millis(100))),
        ("drop for 250ms", Action::DropFor(Duration::from_millis(250))),
        ("drop for 1500ms", Action::DropFor(Duration::from_millis(1500))),
        ("sample 1/100", Action::Sample { one_in: 100 }),
        ("mark 0x7", Action::Mark(7)),
        ("redirect eth1", Action::Redirect(Redirect::Interface("eth1".into()))),
        ("redirect \"cpu\"", Action::Redirect(Redirect::Interface("cpu".into()))),
        ("redirect cpu 3", Action::Redirect(Redirect::Cpu(3))),
        ("redirect socket", Action::Redirect(Redirect::Socket)),
        ("limit 1000pps", limit(1000, Unit::Packets, 100, Per::Rule)),
        ("limit 5pps", limit(5, Unit::Packets, 10, Per::Rule)),
        ("limit 2Mpps burst 3k per flow", limit(2_000_000, Unit::Packets, 3000, Per::Flow)),
        (
            "limit 10mbps burst 64kbyte per source/24",
            limit(10_000_000, Unit::Bits, 512_000, Per::Source { v4: 24, v6: 64 }),
        ),
        (
            "limit 1gbps per dest/16,48",
            limit(1_000_000_000, Unit::Bits, 100_000_000, Per::Dest { v4: 16, v6: 48 }),
        ),
        ("limit 9pps per source/56", limit(9, Unit::Packets, 10, Per::Source { v4: 32, v6: 56 })),
        ("synproxy", Action::SynProxy(SynProxy { above: 0 })),
        ("synproxy tcp dport 80 above 1kpps", Action::SynProxy(SynProxy { above: 1000 })),
    ] {
        assert_eq!(parse(text).action, action, "{text}");
    }
    let behind = parse("limit 10pps udp per source burst 7");
    assert_eq!(behind.body(), "limit 10pps burst 7 per source udp");
}

/// A burst that directly follows a total belongs to the total, any other to the limit.
#[test]
fn totals_of_limits() {
    for (text, shown) in [
        ("limit 5pps per source total 5kpps", "burst 10 per source total 5000pps burst 500"),
        ("limit 5pps total 5kpps burst 7 per flow", "burst 10 per flow total 5000pps burst 7"),
        ("limit 5pps burst 7 total 5kpps per dport", "burst 7 per dport total 5000pps burst 500"),
        (
            "limit 5pps per source udp total 5kpps burst 9 burst 7",
            "burst 7 per source total 5000pps burst 9 udp",
        ),
    ] {
        let body = parse(text).body();
        assert_eq!(body.replace("5kpps", "5000pps"), format!("limit 5pps {shown}"), "{text}");
    }
}

#[test]
fn rules_are_shown_in_the_shortest_way() {
    for (text, shown) in [
        ("drop dport {1-80, 81, 90}", "drop dport {1-81, 90}"),
        ("drop dport 0-1023", "drop dport < 1024"),
        ("drop dport {0-79, 81-65535}", "drop dport not 80"),
        ("drop protocol 17", "drop udp"),
        ("drop protocol 200", "drop protocol 200"),
        ("drop protocol {17, 6}", "drop protocol {tcp, udp}"),
        ("drop flags 0x02/0x12", "drop flags syn/syn,ack"),
        ("drop flags {syn,rst}", "drop flags not none/syn,rst"),
        ("drop icmp type 8", "drop icmp type echo-request"),
        ("drop icmp type 3 code 3", "drop icmp type destination-unreachable/port-unreachable"),
        ("drop type 8", "drop type 8"),
        ("drop extension not none", "drop extension not none"),
        ("drop from {10.0.0.0/9, 10.128.0.0/9}", "drop from 10.0.0.0/8"),
        ("drop from {10.0.0.1, 10.0.0.2}", "drop from 10.0.0.1-10.0.0.2"),
        ("drop from {::/0, 0.0.0.0/0}", "drop from any"),
        ("ban 120s from not @good", "ban 2m from not @good"),
        ("ban 2000ms", "ban 2s"),
        ("ban 60000ms", "ban 1m"),
        ("drop for 90500ms", "drop for 90500ms"),
        ("drop for 3600000ms udp", "drop for 1h udp"),
        ("mark 255 ethertype 0x8899", "mark 0xff ethertype 0x8899"),
        ("drop expr \"udp and \\\"x\\\\\"", "drop expr \"udp and \\\"x\\\\\""),
        ("drop fragment {first, later}", "drop fragment any"),
        ("drop in {\"not\"}", "drop in \"not\""),
    ] {
        assert_eq!(parse(text).to_string(), shown, "{text}");
    }
}

#[test]
fn names_are_given_or_made() {
    assert_eq!(parse("dns: drop udp").name, "dns");
    assert_eq!(parse("drop udp as dns").name, "dns");
    assert_eq!(parse("drop udp as dns").to_string(), "dns: drop udp");
    assert_eq!(parse("drop udp from 10.0.0.0/8").name, "drop-udp-from-10.0.0.0-8");
    assert_eq!(parse("drop-udp: drop udp").to_string(), "drop udp");
    let long =
        |port: u16| parse(&format!("drop udp dport {{1000-2000, 3000-4000, {port}, 50000}}"));
    assert_ne!(long(9).name, long(10).name);
    assert!(long(9).name.len() <= 48 && Rule::is_name(&long(9).name));
}

/// Invalid rules, the word that the error marks, and a part of the reason.
const NOT_RULES: &[(&str, &str, &str)] = &[
    ("", "", "an action (drop"),
    ("dorp udp", "dorp", "did you mean `drop`?"),
    ("accept udp", "accept", "did you mean `pass`?"),
    ("drop udp dprot 53", "dprot", "did you mean `dport`?"),
    ("drop src 10.0.0.1", "src", "did you mean `from`?"),
    ("drop udp dport", "", "the rule ends where a number was expected"),
    ("drop udp dport 65536", "65536", "65535"),
    ("drop udp dport htps", "htps", "did you mean `https`?"),
    ("drop udp dport 22,80", "22,80", "{22, 80, 1000-2000}"),
    ("drop udp dport 22 80", "80", "dport {22, 80}"),
    ("drop udp dport {22 80}", "80", "separated by commas"),
    ("drop udp dport {22, 80", "", "a closing `}`"),
    ("drop udp dport 80-22", "80-22", "greater than the last"),
    ("drop ttl < 0", "0", "no value is < it"),
    ("drop ttl > 255", "255", "no value is > it"),
    ("drop flags < syn", "<", "no order"),
    ("drop tcp flags sny", "sny", "did you mean `syn`?"),
    ("drop tcp flags syn/ack", "syn/ack", "must be among"),
    ("drop type echo-request", "echo-request", "a preceding `icmp` or `icmpv6`"),
    ("drop icmp type echo-requst", "echo-requst", "did you mean `echo-request`?"),
    (
        "drop icmp type 3 code port-unreachabel",
        "port-unreachabel",
        "did you mean `port-unreachable`",
    ),
    ("drop icmp code 3", "code", "must follow a type"),
    ("drop icmp type {3, 4} code 3", "code", "follow a single type"),
    ("drop icmp type 256", "256", "up to 255"),
    ("drop fragment frist", "frist", "did you mean `first`?"),
    ("drop from 10.1.2.3/16", "10.1.2.3/16", "did you mean 10.1.0.0/16?"),
    ("drop from office", "office", "did you mean `@office`?"),
    ("drop from @ofice", "@ofice", "did you mean `@office`?"),
    ("drop from {10.0.0.1, @ofice}", "@ofice", "did you mean `@office`?"),
    ("drop from {10.0.0.1, office}", "office", "did you mean `@office`?"),
    ("drop from {@office @good}", "@good", "separated by commas"),
    ("drop from {@office, not @good}", "not", "no IPv4 or IPv6 address"),
    ("drop from", "", "an address, a prefix or @set"),
    ("drop from 10.0.0.9-10.0.0.5", "10.0.0.9-10.0.0.5", "greater than the last"),
    ("drop from 10.0.0.9-::1", "10.0.0.9-::1", "IPv4 and the other IPv6"),
    ("drop from-mac 02:00", "02:00", "invalid Ethernet address"),
    (
        "drop from-mac 02:00:00:00:00:01/24",
        "02:00:00:00:00:01/24",
        "did you mean 02:00:00:00:00:00/24?",
    ),
    ("drop in interface-too-long", "interface-too-long", "up to 15"),
    ("drop in not", "", "the name of an interface"),
    ("drop not tcp", "not", "protocol not tcp"),
    ("drop tcp not dport 80", "not", "dport not {22, 80}"),
    ("drop udp dport not htps", "htps", "did you mean `https`?"),
    ("drop expr udp", "udp", "must be in quotes"),
    ("drop expr \"wrong\"", "wrong", "syntax error"),
    ("drop expr \"udp", "", "a closing quote"),
    ("drop \"udp\"", "udp", "unknown test"),
    ("drop pass", "pass", "one action"),
    ("drop burst 7", "burst", "an option of `limit`"),
    ("drop udp as", "", "a name"),
    ("drop udp as a/b", "a/b", "invalid name"),
    ("a: drop udp as b", "as", "already has a name"),
    ("drop payload trnsport+8 = 0x12", "trnsport+8", "did you mean `transport`?"),
    ("drop payload transport+8 0xff 0x12", "0x12", "`=`"),
    ("drop payload transport+8 0xff", "", "`=`"),
    ("drop payload transport+8 0xffff = 0x12", "0x12", "the value has 1 bytes, the mask 2"),
    ("drop payload transport+8 0xf0 = 0x12", "0x12", "did you mean 0x10?"),
    ("drop payload transport+8 = 0x123", "0x123", "two digits"),
    ("drop payload transport+8 = \"\"", "", "1 to 16"),
];

#[test]
fn invalid_rules_are_errors() {
    for (text, word, reason) in NOT_RULES {
        refused(text, word, reason);
    }
}

#[test]
fn invalid_actions_are_errors() {
    for (text, word, reason) in [
        ("ban 0s", "0s", "steps of up to 67 ms, so the minimum is 100ms"),
        ("ban 99ms", "99ms", "the minimum is 100ms"),
        ("drop for 50ms", "50ms", "steps of up to 67 ms, so the minimum is 100ms"),
        ("drop for 100.5ms", "100.5ms", "invalid time; expected whole milliseconds"),
        ("ban 60", "60", "invalid time"),
        ("ban 100us", "100us", "invalid time"),
        ("drop for 31536000001ms", "31536000001ms", "more than a year"),
        ("ban 24856d", "24856d", "more than 68 years"),
        ("ban 18446744073709551616ms", "18446744073709551616ms", "more than 68 years"),
        ("sample 100", "100", "1/100"),
        ("sample 1/0", "1/0", "1/100"),
        ("mark 0x100000000", "0x100000000", "32 bits"),
        ("redirect cpu eth0", "eth0", "in quotes"),
        ("limit 1000", "1000", "1000pps"),
        ("limit 0pps", "0pps", "use `drop`"),
        ("limit 10pps burst 0", "0", "use `drop`"),
        ("limit 10mbps burst 200", "200", "64kbyte"),
        ("limit 10pps burst 1 burst 2", "burst", "twice"),
        ("limit 10pps per src", "src", "did you mean `source`?"),
        ("limit 10pps per source/33,64", "source/33,64", "up to 32"),
        ("limit 10pps per source total 10mbps", "10mbps", "in the unit of its limit"),
        ("limit 10pps per source total 9kpps total 8kpps", "total", "twice"),
        ("limit 10pps per source total 9kpps burst 0", "0", "use `drop`"),
        ("drop udp total 10pps", "total", "an option of `limit`"),
        ("limit 10pps above 5pps", "above", "an option of `synproxy`"),
        ("synproxy above 5mbps", "5mbps", "packets per second"),
    ] {
        refused(text, word, reason);
    }
}

#[track_caller]
fn refused(text: &str, word: &str, reason: &str) {
    let error = match Rule::parse(text, &scope()) {
        Err(error) => error,
        Ok(rule) => panic!("{text}: {rule}"),
    };
    assert_eq!(error.word.clone().unwrap_or_default(), word, "{text}: {error}");
    assert!(error.to_string().contains(reason), "{text}: {error}");
    assert!(text[error.at..].trim_start_matches('"').starts_with(word), "{text}: {error:?}");
}
