//! Routes, the rules that they become and their order, and errors with their lines.

use super::*;
use crate::import_export::error::flowspec::ImportError as E;
use crate::import_export::{Cause, NoMatch};
use crate::{Field, Rule, Test, Values};

fn rules(text: &str) -> Vec<String> {
    let ruleset = import(text).unwrap_or_else(|error| panic!("{error}"));
    ruleset.rules.iter().map(|rule| format!("{}: {}", rule.name, rule.body())).collect()
}

fn one(components: &str) -> Result<Ruleset, Error> {
    import(&format!("route r {{ match {{ {components} }} then {{ discard; }} }}"))
}

#[test]
fn components_become_tests() {
    let table = [
        ("source 192.0.2.0/24;", "drop ethertype ipv4 from 192.0.2.0/24"),
        ("destination 2001:db8::/32/0;", "drop ethertype ipv6 to 2001:db8::/32"),
        ("protocol [ tcp =17 ];", "drop ethertype ipv4 protocol {tcp, udp}"),
        (
            "destination-port [ =80 >8080&<8088 ];",
            "drop ethertype ipv4 protocol {tcp, udp} dport {80, 8081-8087}",
        ),
        (
            "source-port >=1024&!=5000; protocol udp;",
            "drop ethertype ipv4 udp sport {1024-4999, 5001-65535}",
        ),
        ("icmp-type echo-request;", "drop ethertype ipv4 icmp type echo-request"),
        (
            "icmp-type =3; icmp-code <=1;",
            "drop ethertype ipv4 icmp type \
                destination-unreachable/net-unreachable-host-unreachable",
        ),
        ("tcp-flags [ =syn+ack ];", "drop ethertype ipv4 tcp flags syn,ack"),
        ("tcp-flags syn&!ack;", "drop ethertype ipv4 tcp flags syn/syn,ack"),
        ("packet-length >300&<=500;", "drop ethertype ipv4 length 315-514"),
        ("packet-length <100;", "drop ethertype ipv4 length < 114"),
        ("dscp 46;", "drop ethertype ipv4 dscp ef"),
        ("dscp 63;", "drop ethertype ipv4 dscp 63"),
        ("protocol 255;", "drop ethertype ipv4 protocol 255"),
        ("fragment [ first-fragment is-fragment ];", "drop ethertype ipv4 fragment any"),
        ("fragment !is-fragment;", "drop ethertype ipv4 fragment {whole, first}"),
    ];
    for (text, want) in table {
        let ruleset = one(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(ruleset.rules.iter().map(Rule::body).collect::<Vec<_>>(), [want], "{text}");
    }
}

#[test]
fn actions_and_either_port() {
    let text = "flow { # all of them
        route { match { port =53; } then { accept; } }
        route { match { protocol udp; } then { rate-limit 9600; } }
        route zero { match { protocol 47; } then { rate-limit 0; } }
        route nothing { match { protocol 50; } then { } }
    }";
    assert_eq!(
        rules(text),
        [
            "flow-2-limit: limit 76800bps burst 15140byte ethertype ipv4 udp",
            "flow-2: pass ethertype ipv4 udp",
            "zero: drop ethertype ipv4 gre",
            "nothing: pass ethertype ipv4 esp",
            "flow-1: pass ethertype ipv4 protocol {tcp, udp} sport 53",
            "flow-1-2: pass ethertype ipv4 protocol {tcp, udp} dport 53",
        ]
    );
}

#[test]
fn a_code_is_one_of_all_types() {
    let rules = one("icmp-code 1;").unwrap().rules;
    let found = rules[0].tests.iter().find_map(|test| match test {
        Test::Is(Field::Icmp, values) => Some(values),
        _ => None,
    });
    let all = (0..=0xff_u128).map(|kind| (kind << 8 | 1, kind << 8 | 1));
    assert_eq!(found, Some(&Values::new(all)));
}

/// Whatever the order of their components.
#[test]
fn components_are_in_order_before_routes_are() {
    let route = |name: &str, components: &str| {
        format!("route {name} {{ match {{ {components} }} then {{ discard; }} }}\n")
    };
    let text = [
        route("later", "protocol tcp; source 10.0.0.0/8;"),
        route("first", "source 10.0.0.0/8; destination 10.0.0.0/8;"),
        route("second", "destination 10.0.0.0/8; source 10.0.0.0/7;"),
    ];
    let names: Vec<_> =
        import(&text.concat()).unwrap().rules.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["first", "second", "later"]);
}

#[test]
fn routes_are_in_the_order_of_the_rfc() {
    let routes = [
        ("all", ""),
        ("port", "port =1;"),
        ("protocol", "protocol tcp;"),
        ("source", "source 10.0.0.0/8;"),
        ("wide", "destination 10.0.0.0/8;"),
        ("narrow", "destination 10.1.0.0/16;"),
        ("narrow-tcp", "destination 10.1.0.0/16; protocol tcp;"),
        ("low", "destination 9.0.0.0/8;"),
        ("high", "destination 11.0.0.0/24;"),
        ("two", "protocol [ tcp udp ];"),
    ];
    let text = routes.map(|(name, components)| {
        format!("route {name} {{ match {{ {components} }} then {{ discard; }} }}\n")
    });
    let names: Vec<_> =
        import(&text.concat()).unwrap().rules.into_iter().map(|it| it.name).collect();
    // The last operator of a list has a flag, so longer lists come first.
    let want = [
        "low",
        "narrow-tcp",
        "narrow",
        "wide",
        "high",
        "source",
        "two",
        "protocol",
        "port",
        "port-2",
        "all",
    ];
    assert_eq!(names, want);
}

#[test]
fn errors_have_line_statement_and_cause() {
    for (components, cause) in [
        ("flow-label 5;", E::UnknownComponent),
        ("protocol;", E::NoValue),
        ("protocol 256;", E::Number("256".into())),
        ("protocol >>5;", E::Operator(">>".into())),
        ("destination 10.0.0.0/33;", E::Prefix("10.0.0.0/33".into())),
        ("destination 2001:db8::/32/8;", E::Prefix("2001:db8::/32/8".into())),
        ("destination 10.0.0.0/8; source ::/0;", E::MixedFamilies),
        ("dscp 64;", E::Number("64".into())),
        ("tcp-flags nothing;", E::UnknownFlag("nothing".into())),
        ("fragment dont-fragment;", E::UnsupportedFragment("dont-fragment".into())),
        ("fragment last-fragment;", E::UnsupportedFragment("last-fragment".into())),
        ("packet-length >20;", E::PaddedLength(46)),
        ("protocol tcp; protocol udp;", E::DuplicateComponent),
        ("protocol icmp; port =1;", E::NoMatch(NoMatch)),
        ("protocol >5&<5;", E::NoMatch(NoMatch)),
        ("protocol tcp", E::Unterminated),
    ] {
        let error = one(components).unwrap_err();
        assert_eq!((&*error.place, error.cause), ("line 1", cause.into()), "{components}");
    }
    const ROUTE: &str = "route NAME { match { … } then { … } }";
    for (text, (place, statement), cause) in [
        (
            "flow {\n route a {\n match { }\n then { redirect 1:2; } } }",
            ("line 4", "redirect 1:2"),
            E::UnknownAction,
        ),
        (
            "flow {\n route a {\n match { }\n then { mark 5; } } }",
            ("line 4", "mark 5"),
            E::UnknownAction,
        ),
        ("route a { match { } then { discard; accept; } }", ("line 1", "then"), E::SeveralActions),
        ("route a { match { port =1; } then { rate-limit 5; } }", ("line 1", "a"), E::LimitOfPorts),
        ("route a { match { } then { rate-limit -1; } }", ("line 1", "rate-limit -1"), E::Rate),
        (
            "route a { match { } then { } }\nroute a { match { } then { } }",
            ("line 2", "a"),
            E::DuplicateName,
        ),
        ("route a b", ("line 1", "b"), E::Expected("{")),
        ("route a! { }", ("line 1", "a!"), E::Name),
        ("flow { route a { match { } then { } }", ("", ""), E::End("}")),
        ("neighbor 10.0.0.1 { }", ("line 1", "neighbor"), E::Expected(ROUTE)),
    ] {
        let error = import(text).map(|_| ()).unwrap_err();
        assert_eq!((&*error.place, &*error.statement), (place, statement), "{text}");
        assert_eq!(error.cause, Cause::from(cause), "{text}");
    }
}
