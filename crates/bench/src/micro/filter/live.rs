//! Rules under a flood: the filter in the driver, nft and iptables.
//!
//! Rule: each is a guard, and is set up anew for each turn, so that only one has rules at a time;
//! counted is what the last rule dropped (the filter: what came in, since it drops all of it).

use anyhow::{Context, Result, bail};
use functions::filter::PROGRAM;
use kernel::{Link, Mode, Object};
use serde_json::Value;

use super::line::{self, End, Line};
use super::{COUNTS, LIVE_SET};
use crate::field::{self, Field, PORT, Place};
use crate::harness::Arm;
use crate::hook::tool::Tool;
use crate::hook::{self, Set, Span};

/// Rules of every count for every peer; iptables has hosts of its own, since its tables stay.
pub fn arms<'a>(field: &'a Field, apart: &'a Field) -> Result<Vec<Arm<'a>>> {
    let mut arms = Vec::new();
    for count in COUNTS {
        let lines = Line::many(count, end(field)?);
        let object = super::object(&line::ruleset(&lines))?;
        let (nft, iptables) = (nft_rules(&lines), iptables_rules(&Line::many(count, end(apart)?)));
        let name = |what: &str| format!("{what}-{}", super::rules(count));
        arms.push(arm(name("live"), field, move || Attached::set(field, &object)));
        arms.push(arm(name("nft"), field, move || Table::set(field, &nft)));
        arms.push(arm(name("iptables-raw"), apart, move || Chain::set(apart, &iptables, count)));
    }
    let object = super::object(&line::set(LIVE_SET, end(field)?))?;
    arms.push(arm(format!("live-set-{LIVE_SET}"), field, move || Attached::set(field, &object)));
    let nft = nft_set(&line::addresses(LIVE_SET, end(field)?));
    arms.push(arm(format!("nft-set-{LIVE_SET}"), field, move || Table::set(field, &nft)));
    Ok(arms)
}

fn end(field: &Field) -> Result<End> {
    let (source, dest) = field.addresses()?;
    Ok(End { source, dest, port: PORT })
}

/// Packets a second that end.
fn arm<'a>(name: String, field: &'a Field, set: impl Fn() -> Result<Box<dyn Set>> + 'a) -> Arm<'a> {
    Arm::new(&name, "pps", move |window| {
        let set = set()?;
        let flood = field.flood(None, window)?;
        hook::warm_up(set.as_ref())?;
        Ok(Span::of(&flood, set.as_ref(), || std::thread::sleep(window))?.rate())
    })
}

/// The filter in the driver.
struct Attached {
    receiver: Place,
    _link: Link,
}

impl Attached {
    fn set(field: &Field, object: &Object) -> Result<Box<dyn Set>> {
        let receiver = field.receiver.clone();
        let link = receiver.attach(object.program(PROGRAM)?, Mode::Native)?;
        Ok(Box::new(Self { receiver, _link: link }))
    }
}

impl Set for Attached {
    fn ended(&self) -> Result<u64> {
        Ok(self.receiver.statistics()?.rx_packets)
    }
}

/// A table of nft, with a counter of its own, which is quick to list.
struct Table {
    nft: Tool,
    name: String,
}

/// The body of a table, but for the device.
struct Body {
    sets: String,
    rules: String,
}

fn nft_rules(lines: &[Line]) -> Body {
    let rules: Vec<String> = lines.iter().map(|line| format!("{} {DROP}", line.nft())).collect();
    Body { sets: String::new(), rules: rules.join("\n") }
}

fn nft_set(addresses: &[std::net::Ipv4Addr]) -> Body {
    let all: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let sets = format!("set many {{\ntype ipv4_addr\nelements = {{ {} }}\n}}", all.join(", "));
    Body { sets, rules: format!("ip saddr @many {DROP}") }
}

impl Table {
    fn set(field: &Field, body: &Body) -> Result<Box<dyn Set>> {
        let name = field::name()?;
        let table = format!("table netdev {name}");
        let device = field.receiver.device();
        let hook = format!("type filter hook ingress device \"{device}\" priority 0;");
        let Body { sets, rules } = body;
        let chain = format!("chain drops {{\n{hook} policy accept;\n{rules}\n}}");
        let script = format!(
            "add {table}\ndelete {table}\n{table} {{\ncounter hits {{ }}\n{sets}\n{chain}\n}}\n"
        );
        let nft = Tool::new(field, "nft");
        nft.run(["-f", "-"], &script)?;
        Ok(Box::new(Self { nft, name }))
    }
}

impl Set for Table {
    fn ended(&self) -> Result<u64> {
        let list = self.nft.run(["-j", "list", "counter", "netdev", &self.name, "hits"], "")?;
        let list: Value = serde_json::from_str(&list).context("nft answers no JSON")?;
        let objects = list["nftables"].as_array().context("nft lists nothing")?;
        let packets = |object: &Value| object["counter"]["packets"].as_u64();
        objects.iter().find_map(packets).context("the counter is gone: somebody removed it")
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // A destructor cannot report; in a lab it goes with the namespace.
        let _ = self.nft.run(["delete", "table", "netdev", &self.name], "");
    }
}

/// The chain PREROUTING of the table raw.
struct Chain {
    iptables: Tool,
    restore: Tool,
    last: String,
}

fn iptables_rules(lines: &[Line]) -> String {
    let rule = |line: &Line| format!("-A PREROUTING {} -j DROP\n", line.iptables());
    let rules: String = lines.iter().map(rule).collect();
    format!("*raw\n:PREROUTING ACCEPT [0:0]\n{rules}COMMIT\n")
}

impl Chain {
    /// With the legacy kind, if there is one: the other one's rules are those of nft.
    fn set(field: &Field, script: &str, count: u32) -> Result<Box<dyn Set>> {
        let mut refusals = Vec::new();
        for (iptables, restore) in PROGRAMS {
            let [iptables, restore] = [iptables, restore].map(|name| Tool::new(field, name));
            match restore.run(["-w", "5"], script) {
                Ok(_) => {
                    return Ok(Box::new(Self { iptables, restore, last: count.to_string() }));
                }
                Err(fault) => refusals.push(fault.to_string()),
            }
        }
        bail!(refusals.join("; "))
    }
}

impl Set for Chain {
    fn ended(&self) -> Result<u64> {
        let list = ["-w", "5", "-t", "raw", "-nvxL", "PREROUTING", &self.last];
        let list = self.iptables.run(list, "")?;
        let packets = list.split_whitespace().next();
        let packets = packets.context("the last rule is gone: somebody has changed the chain")?;
        packets.parse().with_context(|| format!("\"{packets}\" is no number of packets"))
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        // A destructor cannot report; in a lab it goes with the namespace.
        let _ = self.restore.run(["-w", "5"], &iptables_rules(&[]));
    }
}

const DROP: &str = "counter name hits drop";
const PROGRAMS: [(&str, &str); 3] = [
    ("iptables-legacy", "iptables-legacy-restore"),
    ("iptables-nft", "iptables-nft-restore"),
    ("iptables", "iptables-restore"),
];
