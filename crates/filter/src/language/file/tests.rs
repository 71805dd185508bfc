//! Rule files: their content, and their mistakes with line numbers.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::language::text::tests::scope;
use crate::{Policies, Policy, Reason, Source, Test};
use functions::PassOrDrop;

fn parse(text: &str) -> Result<File, Errors> {
    File::parse("f.toml", text, Path::new("/nowhere"), scope().compile)
}

fn names(file: &File) -> Vec<&str> {
    file.ruleset.rules.iter().map(|rule| rule.name.as_str()).collect()
}

const WHOLE: &str = r#"
default = "drop"
rules = [
  "dns: limit 1000pps per source udp dport 53",
  'drop expr "udp and \"x\""',
  "drop from @all",
  "pass to @all",
  "pass to @all",
]
[policy]
options = "drop"
later-fragment = "judge"
[sets]
all = ["@office", "192.0.2.1-192.0.2.9", "2001:db8::/32"]
office = ["10.0.0.0/9", "10.128.0.0/9"]
"#;

#[test]
fn a_file_becomes_rules_policies_and_sets() {
    let file = parse(WHOLE).unwrap();
    assert_eq!(file.ruleset.default, PassOrDrop::Drop);
    let made = ["dns", "drop-expr-udp-and-x", "drop-from-all", "pass-to-all", "pass-to-all-2"];
    assert_eq!(names(&file), made);
    let mut policies = Policies::default();
    policies.set(Reason::Options, Policy::Drop).set(Reason::LaterFragment, Policy::Judge);
    assert_eq!(file.ruleset.policies, policies);
    let set = file.scope.sets.set("all").unwrap();
    let items: Vec<_> = set.addresses.items().collect();
    assert_eq!(items, ["10.0.0.0/8", "192.0.2.1-192.0.2.9", "2001:db8::/32"]);
    let tests = file.ruleset.rules.iter().flat_map(|rule| &rule.tests);
    let shared = tests.filter(|test| match test {
        Test::Address { addresses, .. } => Arc::ptr_eq(addresses, &set.addresses),
        _ => false,
    });
    assert_eq!(shared.count(), 3, "rules share a set");
    assert_eq!(parse("").unwrap().ruleset, Ruleset::default());
}

#[test]
fn what_is_written_is_read() {
    for text in [WHOLE, "", "[sets]\n'a.b' = []", "rules = ['drop expr \"a \\\\\\\" b\"']"] {
        let file = parse(text).unwrap();
        let again = parse(&file.to_toml()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((again.ruleset, again.scope.sets), (file.ruleset, file.scope.sets));
    }
    assert!(!parse("").unwrap().to_toml().contains("policy"), "defaults are not written");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, line, reason) in [
        ("default = ", 1, ""),
        ("default = \"accept\"", 1, "expected `pass` or `drop`"),
        ("rule = []", 1, "did you mean `rules`?"),
        ("[polciy]\noptions = \"drop\"", 1, "did you mean `policy`?"),
        ("rules = \"drop\"", 1, "a list of rules"),
        ("rules = [\n 7 ]", 2, "rule 1: a rule must be in quotes"),
        ("rules = [\n'drop',\n'drop dprot 5']", 3, "rule 2: `dprot`"),
        ("rules = [\n'drop',\n'drop dprot 5']", 3, "\n    drop dprot 5\n         ^^^^^"),
        (
            "rules = [\n'a: drop',\n'a: pass']",
            3,
            "two rules have the name `a`; the other is in line 2",
        ),
        ("rules = ['drop from @x']\n[sets]\ny = []", 1, "unknown set"),
        ("policy = 7", 1, "[policy] must be a table"),
        ("[policy]\noption = \"drop\"", 2, "did you mean `options`?"),
        ("[policy]\nrule = \"drop\"", 2, "unknown packet condition"),
        (
            "[policy]\noptions = \"dorp\"",
            2,
            "options: expected one of \"judge\", \"pass\", \"drop\"; did you",
        ),
        ("[policy]\noptions = \"track\"", 2, "options: expected one of"),
        ("[sets]\n\"a b\" = []", 2, "invalid name; expected a-z"),
        ("[sets]\na = \"10.0.0.1\"", 2, "a list of addresses or"),
        ("[sets]\na = [\n\"10.0.0.1/8\"]", 3, "did you mean 10.0.0.0/8?"),
        ("[sets]\na = [\"@b\"]\nbb = []", 2, "unknown set; did you mean `@bb`?"),
        ("[sets]\na = [\"@b\"]\nb = [\"@a\"]", 2, "set `a` contains itself"),
        ("[sets]\na = [7]", 2, "in quotes"),
        ("[sets]\na = { fiel = \"x\" }", 2, "did you mean `file`?"),
        ("[sets]\na = { file = \"x\" }", 2, "the set's file /nowhere/x cannot be read"),
        ("[sets]\nrules = [\"drop\"]", 2, "must precede [policy]"),
    ] {
        let errors = parse(text).err().unwrap_or_else(|| panic!("{text}")).0;
        let found = errors.iter().any(|one| one.line == Some(line) && one.reason.contains(reason));
        assert!(found, "{text}: {errors:?}");
    }
    let both = parse("default = 1\nrules = [\"dorp\", \"pass from @gone\"]").unwrap_err();
    assert_eq!(both.0.len(), 3, "{both}");
}

#[test]
fn lists_have_one_item_a_line() {
    let text = "# bad\n10.0.0.0/8\n\n 192.0.2.1 ; comment\r\n2001:db8::/32#x\n10.0.0.1-10.0.0.9\n";
    let items: Vec<_> = parse_list("bad.txt", text).unwrap().items().collect();
    assert_eq!(items, ["10.0.0.0/8", "192.0.2.1", "2001:db8::/32"]);
    let error = parse_list("bad.txt", "::1\n\nx\n1.2.3\n10.0.0.1/8\n").unwrap_err().to_string();
    assert_eq!(error, "bad.txt:3: `x`: no IPv4 or IPv6 address (and 2 more invalid lines)");
}

#[test]
fn lists_as_other_programs_write_them() {
    for (text, items) in [
        ("", &[][..]),
        ("\n\r\n  \t\n# nothing\n; at all", &[]),
        ("10.0.0.1", &["10.0.0.1"]),
        ("\u{feff}10.0.0.1\r\n10.0.0.3\r\n", &["10.0.0.1", "10.0.0.3"]),
        (
            "\t10.0.0.1  \n 10.0.0.3 # why\n10.0.0.5;why\n#10.0.0.7",
            &["10.0.0.1", "10.0.0.3", "10.0.0.5"],
        ),
        ("10.0.0.1\n10.0.0.1\n10.0.0.0/31\n10.0.0.0-10.0.0.1\n", &["10.0.0.0/31"]),
        ("10.0.0.128/25\n10.0.0.0/24\n10.0.0.64-10.0.1.255\n", &["10.0.0.0/23"]),
        ("::1\n::1/128\n2001:db8::/33\n2001:db8:8000::/33\n", &["::1", "2001:db8::/32"]),
        ("0.0.0.0/0\n::/0", &["0.0.0.0/0", "::/0"]),
    ] {
        let list = parse_list("list", text).unwrap_or_else(|error| panic!("{error}: {text:?}"));
        assert_eq!(list.items().collect::<Vec<_>>(), items, "{text:?}");
    }
    for (text, told) in [
        ("10.0.0.1\r10.0.0.2\n", "list:1: `10.0.0.1\\r10.0.0.2`"),
        ("10.0.0.1\n\u{feff}10.0.0.2\n", "list:2: `\\u{feff}10.0.0.2`"),
        ("10.0.0.1 10.0.0.2\n", "list:1: `10.0.0.1 10.0.0.2`"),
        ("10.0.0.1,\n", "list:1: `10.0.0.1,`"),
        ("\0\u{fffd}\u{1b}[2J\n", "list:1: `\\0\u{fffd}\\u{1b}[2J`"),
        ("10.0.0.256\n\n10.0.0.9-10.0.0.1\n::1-10.0.0.1\n", "(and 2 more invalid lines)"),
    ] {
        let error = parse_list("list", text).unwrap_err().to_string();
        assert!(error.contains(told), "{text:?}: {error}");
    }
    let long = parse_list("list", &"\u{7}x".repeat(1 << 20)).unwrap_err().to_string();
    assert!(long.len() < 1000 && long.contains('…'), "{long}");
}

#[test]
fn one_wrong_line_of_a_million_is_found() {
    const LINES: u32 = 1_000_000;
    let mut random = crate::compile::plan::random::Random(7);
    let line = |_: u32| format!("{}\n", std::net::Ipv4Addr::from_bits(random.next() as u32));
    let mut text: String = (0..LINES).map(line).collect();
    let set = parse_list("list", &text).unwrap();
    assert!(set.v4.ranges().len() > 999_000);
    let at = text.match_indices('\n').nth(765_431).unwrap().0;
    text.insert_str(at, "/8");
    let error = parse_list("list", &text).unwrap_err();
    assert_eq!(error.line, Some(765_432), "{error}");
    assert!(!error.reason.contains("more invalid lines"), "{error}");
}

#[test]
fn sets_of_files_are_found_beside_the_rules() {
    let folder = std::env::temp_dir().join(format!("xway-filter-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("bad.txt"), "192.0.2.7\n").unwrap();
    let path = folder.join("rules.toml");
    std::fs::write(&path, "rules = ['drop from @bad']\n[sets]\nbad = { file = 'bad.txt' }")
        .unwrap();
    let file = File::read(&path, scope().compile).unwrap();
    let set = file.scope.sets.set("bad").unwrap();
    assert_eq!((set.ranges(), &set.source), (1, &Source::File(folder.join("bad.txt"))));
    let again = File::parse("x", &file.to_toml(), Path::new(""), scope().compile).unwrap();
    assert_eq!(again.ruleset, file.ruleset, "written paths hold in any folder");
    std::fs::write(folder.join("bad.txt"), "192.0.2.7\nx\n").unwrap();
    let error = File::read(&path, scope().compile).unwrap_err().to_string();
    assert!(error.ends_with("bad.txt:2: `x`: no IPv4 or IPv6 address"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
    let error = File::read(&path, scope().compile).unwrap_err().to_string();
    assert!(error.contains("rules.toml: cannot be read: "), "{error}");
}

#[test]
fn rules_come_and_go() {
    let mut file = parse("rules = ['a: drop udp', 'pass tcp']").unwrap();
    assert_eq!(file.insert(0, "drop icmp").unwrap(), 0);
    assert_eq!(file.insert(99, "pass tcp").unwrap(), 3);
    assert_eq!(names(&file), ["drop-icmp", "a", "pass-tcp", "pass-tcp-2"]);
    let error = file.insert(0, "a: pass").unwrap_err().to_string();
    assert!(error.contains("rule 2 already has this name"), "{error}");
    assert!(file.insert(0, "dorp").is_err());
    assert_eq!(file.remove("a").unwrap().name, "a");
    assert_eq!(file.remove("pass-tpc"), Err(Some("pass-tcp".to_owned())));
    assert_eq!(file.remove("zzzz"), Err(None));
    assert_eq!(file.ruleset.rules.len(), 3);
}
