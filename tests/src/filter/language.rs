//! Every word of the rule language, alone and in random files, from a seed.
//!
//! Rule: each field, action, policy and kind of value of the language is in a table here, and every
//! text parses. Not here: what the rules mean (`seeded` has rules and frames that match them).

use std::path::Path;

use filter::language::classic::{Classic, Program};
use filter::{Environment, File, Form};

use super::seeded::Random;

/// Interfaces that rules name, with their indices.
const INTERFACES: [(&str, u32); 2] = [("port7", 7), ("port9", 9)];

/// Files with one action, with one test, and with one test before another rule; with their text.
pub fn alone() -> impl Iterator<Item = (String, File)> {
    let actions = ACTIONS.iter().map(|action| vec![format!("{action} udp dport 53")]);
    let tests = TESTS.iter().map(|test| vec![format!("drop {test}")]);
    let pairs = TESTS.iter().map(|test| vec![format!("drop {test}"), "drop tcp".to_owned()]);
    actions.chain(tests).chain(pairs).map(|rules| {
        let text = text(&rules);
        let file = file(&text);
        (text, file)
    })
}

/// A file of up to `most` rules, and its text.
pub fn random(random: &mut Random, most: u64) -> (String, File) {
    // Some files have few kinds of actions, and therefore many rules of one kind.
    let kinds = 1 + random.below(ACTIONS.len() as u64);
    let first = random.below(ACTIONS.len() as u64);
    let count = 1 + random.below(most);
    let rules: Vec<String> = (0..count)
        .map(|number| {
            let action = (first + random.below(kinds)) as usize % ACTIONS.len();
            let mut rule = format!("r{number}: {}", ACTIONS[action]);
            // A rule without a test that decides ends a file.
            let least = u64::from(random.below(10) > 0);
            for _ in 0..least + random.below(3) {
                rule = format!("{rule} {}", one(random, TESTS));
            }
            rule
        })
        .collect();
    let mut text = text(&rules);
    if random.below(3) == 0 {
        text = format!("default = \"drop\"\n{text}");
    }
    text.push_str("[policy]\n");
    for oddity in ODDITIES {
        if random.below(6) == 0 {
            let policy = one(random, &["judge", "pass", "drop"]);
            text.push_str(&format!("{oddity} = \"{policy}\"\n"));
        }
    }
    let file = file(&text);
    (text, file)
}

/// A system that has what the rules name.
pub fn environment(form: Form) -> Environment {
    let interfaces = INTERFACES.iter().map(|(name, index)| ((*name).to_owned(), *index)).collect();
    Environment { interfaces, form, ..Environment::default() }
}

/// # Panics
/// If a text of this module does not parse: the language has changed.
pub fn file(text: &str) -> File {
    let file = File::parse("random", text, Path::new(""), expression);
    file.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn text(rules: &[String]) -> String {
    let lines: Vec<String> = rules.iter().map(|rule| format!("  '{rule}',\n")).collect();
    format!("rules = [\n{}]\n", lines.concat())
}

fn one(random: &mut Random, of: &[&'static str]) -> &'static str {
    of[random.below(of.len() as u64) as usize]
}

/// Programs in the place of those that libpcap makes.
fn expression(text: &str) -> Result<Program, String> {
    let insn = |code, jump_true, jump_false, k| Classic { code, jump_true, jump_false, k };
    let accept = insn(0x06, 0, 0, 65_535);
    let refuse = insn(0x06, 0, 0, 0);
    let program = match text {
        "bytes" => vec![insn(0x28, 0, 0, 12), insn(0x15, 0, 1, 0x800), accept, refuse],
        "memory" => vec![
            insn(0x30, 0, 0, 14),
            insn(0x02, 0, 0, 15),
            insn(0x60, 0, 0, 15),
            insn(0x15, 0, 1, 0x45),
            accept,
            refuse,
        ],
        _ => return Err(format!("unknown expression {text}")),
    };
    Program::new(&program).map_err(|error| error.to_string())
}

/// Actions with each form of their options.
pub const ACTIONS: &[&str] = &[
    "pass",
    "drop",
    "drop for 60s",
    "ban 60s",
    "ban 250ms",
    "redirect port7",
    "redirect cpu 0",
    "redirect socket",
    "count",
    "sample 1/100",
    "mark 7",
    "synproxy above 1000pps",
    "synproxy",
    "limit 1000pps",
    "limit 1gpps burst 3",
    "limit 10mbps burst 64kbyte per source",
    "limit 5pps per source total 5kpps burst 100",
    "limit 100pps per source/24,56",
    "limit 100pps per dest",
    "limit 100pps per dport total 1mpps",
    "limit 1kbps per flow",
];

/// Tests of each field, with few values and with many.
pub const TESTS: &[&str] = &[
    "ifindex 7",
    "ifindex < 5",
    "in port7",
    "in not {port7, port9}",
    "queue {0, 2-5}",
    "queue > 1",
    "length > 1500",
    "length {60, 64-100, 200, 300, 400, 500-600, 700}",
    "from-mac 02:00:00:00:00:01",
    "from-mac not 02:ab:cd:00:00:00/24",
    "to-mac broadcast",
    "to-mac {02:00:00:00:00:01, 02:00:00:00:00:03, 02:00:00:00:00:05, 02:00:00:00:00:07}",
    "ethertype {arp, 0x88cc}",
    "ethertype not 0x0800",
    "arp",
    "lldp",
    "vlan 5",
    "vlan {1, 3, 5, 7, 9-20}",
    "vlan any",
    "inner-vlan not 7",
    "inner-vlan {2, 4, 6, 8}",
    "ipv4",
    "ipv6",
    "from 10.0.0.0/8",
    "from not 192.0.2.0/24",
    "from {10.0.0.1, 10.0.0.3, 10.0.0.9-10.0.0.17, 10.2.0.0/16, 2001:db8::1, 2001:db8:1::/48}",
    "to 2001:db8::/32",
    "to {198.51.100.7, 2001:db8::7}",
    "to not {2001:db8::1, 2001:db8::3, 2001:db8::5, 2001:db8::7, 2001:db8::9}",
    "ttl < 5",
    "ttl {1, 3, 5, 7-9}",
    "dscp ef",
    "dscp not {ef, af11-af13, cs1}",
    "dscp {1, 3, 5, 7, 9, 11}",
    "fragment whole",
    "fragment first",
    "fragment later",
    "fragment any",
    "fragment not first",
    "extension routing",
    "extension hop-by-hop",
    "extension fragment-header",
    "extension destination",
    "extension authentication",
    "extension none",
    "extension routing/routing,destination",
    "extension not {routing|hop-by-hop, destination}",
    "protocol {tcp, 89, 17}",
    "protocol not 6",
    "protocol {1, 3, 5, 7, 9, 11}",
    "tcp",
    "udp",
    "icmp",
    "icmpv6",
    "sctp",
    "gre",
    "sport 53",
    "sport {1-9, 53, 123, 1900, 11211}",
    "dport not 80",
    "dport {22, 80, 1000-2000}",
    "dport >= 1024",
    "dport any",
    "flags syn",
    "flags syn/syn,ack",
    "flags none",
    "flags fin,psh,urg/all",
    "flags {syn|fin, rst}",
    "flags not syn,ack/syn,ack",
    "icmp type 8",
    "icmpv6 type {128, 135-136}",
    "type 3/1-3",
    "type 3 code {0, 1}",
    "type 3 code not 4",
    "payload frame+12 = 0x0800",
    "payload network+9 0xff = 0x11",
    "payload transport+8 0xffff0000 = 0x12340000",
    "payload transport+8 != \"GET \"",
    "payload transport+65000 = 0x00112233445566778899aabbccddeeff",
    "expr \"bytes\"",
    "expr \"memory\"",
];

/// Anomalies that have a policy.
const ODDITIES: &[&str] = &[
    "truncated",
    "bad-header",
    "too-many-tags",
    "too-many-extensions",
    "bad-length",
    "source-route",
    "options",
    "unknown-protocol",
    "first-fragment",
    "later-fragment",
    "unknown-fragment",
    "tunnel",
];
