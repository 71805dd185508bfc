//! Rules made of words that go together, chosen by the input.

use std::path::Path;

use arbitrary::{Result, Unstructured};
use filter::language::file::Errors;
use filter::{File, Ruleset};

/// Policies for all that is unusual in a packet.
pub const POLICIES: &[(&str, &[&str])] = &[
    ("truncated", &["drop", "pass", "judge"]),
    ("bad-header", &["drop", "pass", "judge"]),
    ("too-many-tags", &["drop", "pass", "judge"]),
    ("too-many-extensions", &["drop", "pass", "judge"]),
    ("bad-length", &["drop", "pass", "judge"]),
    ("source-route", &["drop", "pass", "judge"]),
    ("options", &["drop", "pass", "judge"]),
    ("unknown-protocol", &["drop", "pass", "judge"]),
    ("tunnel", &["drop", "pass", "judge"]),
];

/// A ruleset of these rules, with the first choice of each policy.
pub fn rules(texts: &[&str], policies: &[(&str, &[&str])]) -> Ruleset {
    let lines: Vec<String> =
        policies.iter().map(|(name, choices)| format!("{name} = \"{}\"", choices[0])).collect();
    let quoted: Vec<String> = texts.iter().map(|text| format!("'{text}'")).collect();
    let text = format!("rules = [{}]\n[policy]\n{}", quoted.join(", "), lines.join("\n"));
    parse(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// A ruleset that the input chooses; `None` where its words contradict each other.
pub fn chosen(input: &mut Unstructured<'_>) -> Result<Option<Ruleset>> {
    let default = *input.choose(&["pass", "drop"])?;
    let count = input.int_in_range(1..=12)?;
    let rules: Vec<String> = (0..count).map(|_| rule(input)).collect::<Result<_>>()?;
    let mut text = format!("default = \"{default}\"\nrules = [");
    for rule in rules {
        text.push_str(&format!("'{rule}', "));
    }
    text.push_str("]\n[policy]\n");
    for (name, choices) in POLICIES {
        if input.ratio(1, 4)? {
            text.push_str(&format!("{name} = \"{}\"\n", input.choose(choices)?));
        }
    }
    Ok(parse(&text).ok())
}

fn parse(text: &str) -> std::result::Result<Ruleset, Errors> {
    let compile = |_: &str| Err("no expressions".to_owned());
    let file = File::parse("rules.toml", text, Path::new("/nonexistent"), compile)?;
    Ok(file.ruleset)
}

fn rule(input: &mut Unstructured<'_>) -> Result<String> {
    let mut text = (*input.choose(&["drop", "pass", "count", "drop"])?).to_owned();
    for _ in 0..input.int_in_range(0..=3)? {
        text.push(' ');
        text.push_str(&test(input)?);
    }
    Ok(text)
}

fn test(input: &mut Unstructured<'_>) -> Result<String> {
    let byte: u8 = input.arbitrary()?;
    let port: u16 = u16::from(input.int_in_range(0..=80u8)?);
    let not = if input.ratio(1, 5)? { "not " } else { "" };
    Ok(match input.int_in_range(0..=19)? {
        0 => "udp".to_owned(),
        1 => "tcp".to_owned(),
        2 => "icmp".to_owned(),
        3 => format!("udp dport {not}{port}"),
        4 => format!("tcp sport {not}{port}-{}", port + 3),
        5 => format!("from {not}10.0.{}.0/24", byte & 3),
        6 => format!("to {not}10.0.0.0/{}", 8 + byte % 24),
        7 => format!("from {not}2001:db8:{:x}::/48", byte & 3),
        8 => format!("to {not}2001:db8::{:x}", byte & 3),
        9 => format!("vlan {not}{}", byte & 7),
        10 => format!("length {not}{}-{}", byte, u32::from(byte) + 60),
        11 => format!("ttl {not}{byte}"),
        12 => format!("dscp {not}{}", byte & 63),
        13 => format!("fragment {}", input.choose(&["whole", "first", "later", "any"])?),
        14 => {
            let names = ["routing", "hop-by-hop", "destination", "fragment"];
            format!("extension {}", input.choose(&names)?)
        }
        15 => format!("tcp flags {}", input.choose(&["syn", "ack", "syn/syn,ack", "rst"])?),
        16 => format!("icmp type {not}{byte}"),
        17 => format!("protocol {not}{byte}"),
        18 => format!("ethertype {not}{:#06x}", 0x800 + u16::from(byte & 7)),
        _ => (*input.choose(&["ipv4", "ipv6", "arp"])?).to_owned(),
    })
}
