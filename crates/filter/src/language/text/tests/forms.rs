//! Every form that people can write: text is read, shown, and what is shown is read as the same
//! rule; and the words of `docs/filter.md` are among them.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::scope;
use crate::Rule;

/// The grammar as it is promised.
const PAGE: &str = include_str!("../../../../../../docs/filter.md");

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn text_is_read_and_shown(text in rule()) {
        let read = Rule::parse(&text, &scope());
        prop_assert!(read.is_ok(), "{}: {}", text, read.unwrap_err());
        let (rule, shown) = (read.unwrap(), Rule::to_string);
        let again = Rule::parse(&shown(&rule), &scope());
        prop_assert_eq!(again.as_ref(), Ok(&rule), "{} is shown as {}", text, shown(&rule));
    }
}

fn rule() -> impl Strategy<Value = String> {
    let name = prop::option::of("[a-z][a-z0-9.-]{0,9}");
    let tests = prop::collection::vec(test(), 0..4);
    (name, any::<bool>(), action(), tests).prop_map(|(name, in_front, action, tests)| {
        let (mut words, mut behind) = (Vec::new(), Vec::new());
        if let Some(name) = name {
            let (list, word) = match in_front {
                true => (&mut words, format!("{name}:")),
                false => (&mut behind, format!("as {name}")),
            };
            list.push(word);
        }
        words.push(action.0);
        // Names of types are those of one version.
        let mut messages = 0;
        words.extend(tests.into_iter().filter(|test: &String| {
            messages += usize::from(test.contains("icmp"));
            messages < 2 || !test.contains("icmp")
        }));
        words.extend(action.1);
        words.extend(behind);
        words.join(" ")
    })
}

/// The words of an action, and options that may follow the tests.
fn action() -> impl Strategy<Value = (String, Option<String>)> {
    let plain = select(ACTIONS).prop_map(|it| (it.to_owned(), None));
    let limit = (select(RATES), prop::option::of(select(PER)), any::<bool>()).prop_map(
        |((rate, burst), per, is_behind)| {
            let options =
                [burst.map(|it| format!("burst {it}")), per.map(|it| format!("per {it}"))];
            let options = options.into_iter().flatten().collect::<Vec<_>>().join(" ");
            match is_behind {
                true => (format!("limit {rate}"), Some(options)),
                false => (format!("limit {rate} {options}"), None),
            }
        },
    );
    let proxy = prop::option::of(select(&["above 1000pps", "above 7pps"][..]))
        .prop_map(|above| ("synproxy".to_owned(), above.map(str::to_owned)));
    prop_oneof![4 => plain, 2 => limit, 1 => proxy]
}

fn test() -> impl Strategy<Value = String> {
    let of_field = select(FIELDS).prop_flat_map(|(word, items, ordered)| {
        values(items, ordered).prop_map(move |values| format!("{word} {values}"))
    });
    let payload = select(PLACES).prop_flat_map(|place| {
        let compared = (select(&["=", "==", "!=", "not"][..]), select(BYTES));
        compared.prop_map(move |(sign, bytes)| {
            let (mask, value) = bytes;
            format!("payload {place} {mask} {sign} {value}")
        })
    });
    let alone = select(ALONE).prop_map(str::to_owned);
    prop_oneof![4 => of_field, 1 => payload, 2 => alone]
}

/// One item, several, a comparison where there is an order, `any`; and that all others are meant.
fn values(items: &'static [&'static str], ordered: bool) -> impl Strategy<Value = String> {
    let several = subsequence(items.to_vec(), 0..=items.len().min(4));
    let listed = several.prop_map(|list| format!("{{{}}}", list.join(", ")));
    let not = select(&["", "not ", "!= ", "!="][..]);
    let positive = prop_oneof![select(items).prop_map(str::to_owned), listed];
    let plain = (not, positive).prop_map(|(not, values)| format!("{not}{values}"));
    let compared = (select(&["<", "<=", ">", ">=", "=", "=="][..]), any::<bool>());
    let compared = compared.prop_map(|(sign, space)| {
        let space = if space { " " } else { "" };
        format!("{sign}{space}7")
    });
    match ordered {
        true => prop_oneof![4 => plain, 1 => compared].boxed(),
        false => plain.boxed(),
    }
}

/// The word, items, and whether they have an order.
type Form = (&'static str, &'static [&'static str], bool);

const ADDRESSES: &[&str] = &[
    "10.0.0.0/8",
    "10.0.0.5-10.0.0.9",
    "192.0.2.1",
    "2001:db8::/32",
    "2001:db8::5-2001:db8::9",
    "@office",
    "@good",
];
const MACS: &[&str] = &["02:00:00:00:00:01", "02:ab:cd:00:00:00/24", "broadcast"];
const PORTS: &[&str] = &["22", "https", "1000-2000", "0x35", "1_000", "dns-ntp"];
const FIELDS: &[Form] = &[
    ("from", ADDRESSES, false),
    ("to", ADDRESSES, false),
    ("protocol", &["tcp", "89", "icmp-udp", "gre"], true),
    ("sport", PORTS, true),
    ("dport", PORTS, true),
    ("flags", &["syn", "syn|ack", "syn/syn|ack", "none", "fin|psh|urg/all", "0x10"], false),
    ("ttl", &["1", "5-64", "255"], true),
    ("dscp", &["ef", "af11-af13", "9"], true),
    ("fragment", &["whole", "first", "later"], false),
    ("extension", &["routing", "hop-by-hop", "destination", "fragment-header|routing"], false),
    ("vlan", &["1", "100-200", "4095"], true),
    ("inner-vlan", &["1", "100-200"], true),
    ("ethertype", &["arp", "lldp", "0x88cc", "ipv4", "0x9000-0x9fff"], true),
    ("from-mac", MACS, false),
    ("to-mac", MACS, false),
    ("length", &["60", "100-1514"], true),
    ("in", &["eth0", "eth1.7", "\"not\"", "\"{\""], false),
    ("ifindex", &["1", "2-5"], true),
    ("queue", &["0", "2-5"], true),
    ("icmp type", &["echo-request", "3/1-3", "11", "redirect-echo-request"], false),
    ("icmpv6 type", &["echo-request", "1/port-unreachable", "133-137"], false),
    ("icmp type 3 code", &["port-unreachable", "0-2", "7"], false),
];
const ALONE: &[&str] = &[
    "tcp",
    "udp",
    "icmp",
    "icmpv6",
    "sctp",
    "gre",
    "ipv4",
    "ipv6",
    "arp",
    "lldp",
    "from any",
    "to not any",
    "dport any",
    "vlan any",
    "fragment any",
    "flags syn,ack",
    "tcp flags none/syn,ack",
    "from {@office, @good}",
    "expr \"udp and \\\"x\\\"\"",
];
const PLACES: &[&str] = &["frame", "frame+12", "network+9", "transport+8"];
/// Masks and values.
const BYTES: &[(&str, &str)] = &[
    ("", "0x1234"),
    ("", "\"GET \""),
    ("0xf0", "0x10"),
    ("0xffff0000", "0x12340000"),
    ("0x00", "0x00"),
];
const ACTIONS: &[&str] = &[
    "pass",
    "drop",
    "count",
    "ban 60s",
    "ban 100ms",
    "drop for 1500ms",
    "ban 10m",
    "ban 2h",
    "ban 1d",
    "redirect eth1",
    "redirect \"cpu\"",
    "redirect cpu 3",
    "redirect socket",
    "sample 1/100",
    "mark 7",
    "mark 0xff",
];
/// Rates with bursts that fit them.
const RATES: &[(&str, Option<&str>)] = &[
    ("1000pps", None),
    ("10kpps", Some("200")),
    ("1mpps", Some("3k")),
    ("500kbps", Some("64kbyte")),
    ("10mbps", Some("500kbit")),
    ("1gbps", None),
];
const PER: &[&str] =
    &["rule", "source", "source/24", "source/24,56", "dest", "dest/16", "dport", "flow"];

/// Text between backticks in the tables of tests and values is valid, alone or after the
/// words of its row.
#[test]
fn forms_of_the_page_are_read() {
    let section = PAGE.split("\n## ").find(|it| it.starts_with("A rule\n")).expect("a section");
    let tests = section.split("| test | of | values |").nth(1).expect("a table of tests");
    let (tests, values) = tests.split_once("| values | |").expect("a table of values");
    let mut read = 0;
    for row in tests.lines().take_while(|line| line.is_empty() || line.starts_with('|')) {
        let cells: Vec<_> = row.trim_matches('|').split('|').collect();
        let [words, _, forms] = &cells[..] else { continue };
        let words = quoted(words);
        for form in quoted(forms).into_iter().filter(|form| !form.ends_with("+N")) {
            let whole =
                words.iter().flat_map(|word| CONTEXTS.map(|it| format!("{it} {word} {form}")));
            let alone = CONTEXTS.map(|it| format!("{it} {form}"));
            read_one_of(form, whole.chain(alone));
            read += 1;
        }
        for word in words.iter().filter(|word| !word.contains("PLACE")) {
            let alone = CONTEXTS.map(|it| format!("{it} {word}"));
            let valued =
                VALUES.iter().flat_map(|it| CONTEXTS.map(|of| format!("{of} {word} {it}")));
            read_one_of(word, alone.into_iter().chain(valued));
            read += 1;
        }
    }
    for form in values.lines().take_while(|it| it.starts_with('|')).flat_map(quoted) {
        let form = form.replace("@name", "@office").replace("@vpn", "@good");
        let whole = ["dport", "ttl", "from", ""].map(|word| format!("drop {word} {form}"));
        read_one_of(&form, whole.into_iter());
        read += 1;
    }
    assert!(read > 60, "only {read} forms were found");
}

fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[track_caller]
fn read_one_of(form: &str, mut texts: impl Iterator<Item = String>) {
    let read = |text: &String| {
        let rule = Rule::parse(&text.replace("@set", "@office"), &scope()).ok();
        rule.is_some_and(|rule| Rule::parse(&rule.to_string(), &scope()) == Ok(rule))
    };
    assert!(texts.any(|text| read(&text)), "`{form}` of docs/filter.md is not read, or not shown");
}

const CONTEXTS: [&str; 3] = ["drop", "drop icmp", "drop tcp"];
const VALUES: &[&str] =
    &["1", "10.0.0.0/8", "whole", "routing", "syn", "broadcast", "eth0", "\"udp\""];
