//! Parsers take a number of steps proportional to their input, and input that expands beyond a
//! limit is an error: steps are counted, not timed.

use std::fmt::Write;
use std::path::Path;

use super::{File, Rule, Scope};
use crate::import_export::error::nft::ImportError;
use crate::import_export::{Cause, flowspec, nft};
use crate::language::bounds::counted::assert_linear;
use crate::language::bounds::{TESTS, Work};

fn parse(text: &str) -> Result<File, crate::language::file::Errors> {
    File::parse("rules.toml", text, Path::new(""), |_| Err("not here".to_owned()))
}

fn file(rules: impl Iterator<Item = String>) -> String {
    format!("rules = [\n{}]\n", rules.map(|rule| format!("'{rule}',\n")).collect::<String>())
}

#[test]
fn errors_do_not_count_lines_again() {
    assert_linear("wrong rules", 2_000, |length| {
        let text = file((0..length).map(|number| format!("drop dprot {number}")));
        assert_eq!(parse(&text).unwrap_err().0.len(), length);
    });
    assert_linear("rules of missing sets", 500, |length| {
        let text = file((0..length).map(|number| format!("drop from @office{number}")));
        assert_eq!(parse(&text).unwrap_err().0.len(), length);
    });
}

#[test]
fn equal_rules_get_names() {
    assert_linear("equal rules", 2_000, |length| {
        let text = file((0..length).map(|_| "drop tcp dport 80".to_owned()));
        assert_eq!(parse(&text).unwrap().ruleset.rules.len(), length);
    });
}

/// Each list contains the next one, or the previous one.
#[test]
fn chained_sets() {
    for (what, step) in [("later", 1), ("earlier", -1)] {
        assert_linear(&format!("sets that hold the {what} one"), 1_000, |length| {
            let mut text = "[sets]\n".to_owned();
            for number in 1..=length as i64 {
                let held = number + step;
                let is_last = held == 0 || held > length as i64;
                let item = if is_last { "10.0.0.1".to_owned() } else { format!("@s{held:06}") };
                let _ = writeln!(text, "s{number:06} = [\"{item}\"]");
            }
            assert_eq!(parse(&text).unwrap().scope.sets.names().count(), length);
        });
    }
    assert_linear("missing sets in lists", 500, |length| {
        let items: Vec<_> = (0..length).map(|number| format!("\"@missing{number}\"")).collect();
        let text = format!("[sets]\na = [{}]", items.join(", "));
        assert_eq!(parse(&text).unwrap_err().0.len(), length);
    });
    assert_linear("a set held many times", 500, |length| {
        let items: Vec<_> =
            (0..length).map(|number| format!("\"10.0.{}.0/32\"", number % 250)).collect();
        let held = vec!["\"@a\""; length].join(", ");
        parse(&format!("[sets]\na = [{}]\nb = [{held}]", items.join(", "))).unwrap();
    });
}

#[test]
fn words_of_a_rule() {
    let rule = |text: String| Rule::parse(&text, &Scope::default());
    assert_linear("dashes", 2_000, |length| {
        rule(format!("drop sport {}", "-".repeat(length))).unwrap_err();
    });
    assert_linear("a long unknown word", 2_000, |length| {
        rule(format!("drop {}", "dport".repeat(length))).unwrap_err();
    });
    let most = rule(format!("drop{}", " tcp".repeat(TESTS))).unwrap();
    assert_eq!(most.tests.len(), TESTS);
    let error = rule(format!("drop{}", " tcp".repeat(TESTS + 1))).unwrap_err();
    assert!(error.to_string().contains("at most 256 tests"), "{error}");
}

fn nft(objects: &[String]) -> Result<usize, Cause> {
    let json = format!("{{\"nftables\": [{}]}}", objects.join(","));
    nft::import(&json, None).map(|ruleset| ruleset.rules.len()).map_err(|error| error.cause)
}

fn chain(name: &str, hook: &str) -> String {
    format!(r#"{{"chain": {{"family": "netdev", "table": "t", "name": "{name}"{hook}}}}}"#)
}

fn rule(chain: &str, statement: &str) -> String {
    let place = format!(r#""family": "netdev", "table": "t", "chain": "{chain}""#);
    format!(r#"{{"rule": {{{place}, "expr": [{statement}]}}}}"#)
}

const HOOK: &str = r#", "type": "filter", "hook": "ingress", "prio": 0, "policy": "accept""#;

#[test]
fn chains_of_nft() {
    assert_linear("jumps to one chain", 1_000, |length| {
        let mut objects = vec![chain("base", HOOK), chain("other", "")];
        objects.extend((0..length).map(|_| rule("base", r#"{"jump": {"target": "other"}}"#)));
        objects.push(rule("other", r#"{"drop": null}"#));
        assert_eq!(nft(&objects), Ok(length));
    });
    // 16 chains, each of which jumps to the next one four times: 4^15 rules, or none at all.
    for last in [r#"{"drop": null}"#, r#"{"counter": "named"}"#] {
        let mut objects = vec![chain("c0", HOOK)];
        objects.extend((1..16).map(|number| chain(&format!("c{number}"), "")));
        for number in 0..15 {
            let jump = format!(r#"{{"jump": {{"target": "c{}"}}}}"#, number + 1);
            objects.extend((0..4).map(|_| rule(&format!("c{number}"), &jump)));
        }
        objects.extend((last.contains("drop")).then(|| rule("c15", last)));
        let error = nft(&objects).unwrap_err();
        assert_eq!(error, ImportError::TooLarge.into());
    }
}

#[test]
fn sets_of_nft() {
    let set = |name: &str, elements: &str| {
        let what = r#""family": "netdev", "table": "t", "type": "ipv4_addr""#;
        format!(r#"{{"set": {{{what}, "name": "{name}", "elem": [{elements}]}}}}"#)
    };
    let matching = |name: &str| {
        let left = r#"{"payload": {"protocol": "ip", "field": "saddr"}}"#;
        let test = format!(r#"{{"match": {{"op": "==", "left": {left}, "right": "@{name}"}}}}"#);
        rule("base", &format!(r#"{test}, {{"drop": null}}"#))
    };
    let error = nft(&[chain("base", HOOK), set("a", r#""@a""#), matching("a")]).unwrap_err();
    assert!(matches!(error, Cause::NftImport(ImportError::UnknownValue(_))), "{error}");
    let mut objects = vec![chain("base", HOOK)];
    let elements: Vec<_> =
        (0..10_000).map(|it| format!("\"10.1.{}.{}\"", it / 200, it % 200)).collect();
    objects.push(set("a", &elements.join(",")));
    objects.extend((0..2_000).map(|_| matching("a")));
    let error = nft(&objects).unwrap_err();
    assert_eq!(error, ImportError::TooLarge.into());
}

#[test]
fn routes_of_flowspec() {
    let route = |name: usize, test: &str| {
        format!("route r{name} {{ match {{ {test}; }} then {{ discard; }} }}\n")
    };
    assert_linear("routes", 1_000, |length| {
        let text: String = (0..length).map(|name| route(name, "destination-port =53")).collect();
        assert_eq!(flowspec::import(&text).unwrap().rules.len(), length);
    });
    assert_linear("terms", 1_000, |length| {
        let terms: Vec<_> = (0..length).map(|term| format!("={}", 2 * term)).collect();
        flowspec::import(&route(1, &format!("packet-length {}", terms.join(" ")))).unwrap_err();
        flowspec::import(&route(1, &format!("source-port {}", terms.join(" ")))).unwrap();
    });
    assert_linear("parts of a term", 1_000, |length| {
        let parts: Vec<_> = (0..length).map(|part| format!("!={}", 2 * part)).collect();
        flowspec::import(&route(1, &format!("source-port {}", parts.join("&")))).unwrap();
    });
}

#[test]
fn work_ends() {
    let mut work = Work::of(3);
    assert!(work.spend(2) && work.spend(1) && !work.spend(1) && !work.spend(usize::MAX));
    assert!(!work.spend(0), "what is spent stays spent");
}
