//! Rulesets and what they cut off.

use std::path::Path;

use crate::File;
use crate::language::text::tests::scope;
use crate::model::cut_off::*;

fn rules(default: &str, rules: &[&str]) -> Ruleset {
    let rules: Vec<_> = rules.iter().map(|rule| format!("'{rule}'")).collect();
    let text = format!("default = '{default}'\nrules = [{}]", rules.join(", "));
    File::parse("f", &text, Path::new(""), scope().compile).unwrap().ruleset
}

/// First words of what is cut off.
fn found(default: &str, written: &[&str], place: &Surroundings) -> Vec<String> {
    let warnings = cut_off(&rules(default, written), place);
    assert!(warnings.iter().all(|one| one.kind == Kind::CutOff));
    warnings.into_iter().map(|one| one.text).collect()
}

const WHATS: [&str; 6] = ["drops ARP", "neighbor", "TCP", "DNS", "DHCP", "path MTU"];

fn whats(texts: &[String]) -> Vec<&'static str> {
    let all = WHATS.into_iter();
    all.filter(|what| texts.iter().any(|text| text.contains(what))).collect()
}

#[test]
fn a_default_that_drops_names_all_that_it_cuts_off() {
    let anywhere = Surroundings::default();
    let all = found("drop", &["pass tcp dport 443"], &anywhere);
    assert_eq!(whats(&all), WHATS, "{all:#?}");
    assert_eq!(all.len(), WHATS.len());
    assert_eq!(found("pass", &["drop tcp", "drop arp"], &anywhere), [""; 0], "meant so");
    assert_eq!(found("drop", &["pass"], &anywhere), [""; 0]);
}

#[test]
fn the_rules_that_are_proposed_are_enough() {
    let mut written = vec!["pass tcp dport 443".to_owned()];
    let warnings = cut_off(&rules("drop", &["pass tcp dport 443"]), &Surroundings::default());
    for warning in &warnings {
        let proposed = warning.text.split_once("; add ").unwrap().1;
        written.extend(proposed.split('`').skip(1).step_by(2).map(str::to_owned));
    }
    let written: Vec<_> = written.iter().map(String::as_str).collect();
    assert_eq!(found("drop", &written, &Surroundings::default()), [""; 0], "{written:?}");
}

#[test]
fn what_some_rule_passes_from_somewhere_is_not_cut_off() {
    let anywhere = Surroundings::default();
    for (written, left) in [
        (&["pass arp"][..], &WHATS[1..]),
        (&["pass from {10.0.0.0/8, fd00::/8}"], &["drops ARP", "neighbor"]),
        (&["pass in eth1"], &[]),
        (&["pass vlan 7"], &[]),
        (&["pass udp sport 53"], &["drops ARP", "neighbor", "TCP", "DHCP", "path MTU"]),
        (&["drop udp sport 53", "pass"], &[]),
        (&["limit 5pps tcp", "pass tcp"], &["drops ARP", "neighbor", "DNS", "DHCP", "path MTU"]),
    ] {
        assert_eq!(whats(&found("drop", written, &anywhere)), left, "{written:?}");
    }
    let eth0 = Surroundings { interface: Some("eth0".to_owned()), session: None };
    assert_eq!(whats(&found("drop", &["pass in eth1"], &eth0)), WHATS, "of another interface");
    assert_eq!(found("drop", &["pass in eth0"], &eth0), [""; 0]);
}

#[test]
fn one_family_alone_is_named_with_its_rule() {
    let texts = found("drop", &["pass arp", "pass ipv4"], &Surroundings::default());
    assert_eq!(whats(&texts), &WHATS[1..]);
    let dhcp = texts.iter().find(|text| text.contains("DHCP")).unwrap();
    assert!(dhcp.ends_with("add `pass udp sport 547 dport 546`"), "{dhcp}");
}

#[test]
fn a_session_is_cut_off_by_whatever_drops_it() {
    for (variable, client) in [
        ("203.0.113.9 50000 192.0.2.1 22", "203.0.113.9"),
        ("2001:db8::9 50000 2001:db8::1 22", "2001:db8::9"),
        ("::ffff:203.0.113.9 50000 ::ffff:192.0.2.1 22", "203.0.113.9"),
    ] {
        let session = Session::parse(variable);
        let place = Surroundings { interface: None, session };
        let text = |default: &str, written: &[&str]| {
            let texts = found(default, written, &place);
            texts.into_iter().find(|text| text.contains("SSH"))
        };
        let remedy = format!("`pass tcp dport 22 from {client}`");
        let by_default = text("drop", &["pass tcp dport 443"]).unwrap();
        assert!(by_default.starts_with("the default drops") && by_default.contains(&remedy));
        let by_rule = text("pass", &["other: pass udp", "no: drop tcp dport 1-99"]).unwrap();
        assert!(by_rule.starts_with("rule 2 `no` drops"), "{by_rule}");
        for kept in [&["pass tcp dport 22", "drop tcp"][..], &["drop udp"], &["pass tcp"]] {
            assert_eq!(text("pass", kept), None, "{kept:?}");
        }
        assert_eq!(text("drop", &["pass tcp dport 22"]), None);
    }
    for wrong in ["", "203.0.113.9", "a 1 b 2", "203.0.113.9 1 192.0.2.1 99999"] {
        assert_eq!(Session::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn sessions_end_by_their_packets_or_by_those_of_their_neighbors() {
    let session = Session::parse("192.0.2.7 50122 10.0.0.1 22");
    let place = Surroundings { interface: Some("eth0".to_owned()), session };
    for (default, written, ends) in [
        ("pass", &["drop tcp dport 23"][..], false),
        ("pass", &["drop tcp dport 22"], true),
        ("pass", &["drop arp"], true),
        ("pass", &["drop icmpv6"], false),
        ("drop", &["pass tcp dport 22"], true),
        ("drop", &["pass tcp dport 22", "pass arp"], false),
        ("drop", &["pass arp"], true),
    ] {
        let found = session_end(&rules(default, written), &place);
        assert_eq!(found.is_some(), ends, "{default} {written:?}");
    }
    assert_eq!(session_end(&rules("drop", &[]), &Surroundings::default()), None, "no session");
}

#[test]
fn frames_of_a_session_are_for_this_host_or_for_all() {
    let session = Session::parse("192.0.2.7 50122 10.0.0.1 22").unwrap();
    let frames = session_frames(&session, [6; 6]);
    let heads: Vec<_> = frames.iter().map(|(what, frame)| (&**what, frame[0])).collect();
    let all = [("the SSH session from 192.0.2.7", 6), ("ARP", 0xff), ("ARP", 6)];
    assert_eq!(heads, all);
}
