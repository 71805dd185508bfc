//! nftables: a rule that counts and drops, in one of its hooks.
//!
//! Rule: everything is in a table of this process's name, which goes with its guard; what a run
//! that was killed left is swept by the next one (`field`).

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::tool::Tool;
use super::{Hook, Set};
use crate::field::{self, Field, PORT};

pub const INPUT: Hook =
    Hook::new("nft-input", "an nft rule in the input hook, behind the routing decision", |field| {
        // Without an address, nothing is routed there.
        field.receiver.ipv4()?;
        set(field, "ip", "hook input priority filter", "")
    });

pub const CONNTRACK: Hook = Hook::new(
    "conntrack",
    "the same behind `ct state established accept`, so that connections are tracked",
    |field| {
        let is_home = field.receiver.is_home();
        ensure!(!is_home, "it would track the connections of every interface of this namespace");
        set(field, "ip", "hook input priority filter", "ct state established accept")
    },
);

pub const RAW: Hook = Hook::new(
    "nft-raw",
    "an nft rule in the prerouting hook at priority raw, before tracking and routing",
    |field| set(field, "ip", "hook prerouting priority raw", ""),
);

pub const NETDEV: Hook = Hook::new(
    "nft-netdev",
    "an nft rule in the device's ingress hook, before the stack looks at the protocol",
    |field| {
        let hook = format!("hook ingress device \"{}\" priority 0", field.receiver.device());
        set(field, "netdev", &hook, "")
    },
);

struct Table {
    nft: Tool,
    family: &'static str,
    name: String,
}

fn set(field: &Field, family: &'static str, hook: &str, before: &str) -> Result<Box<dyn Set>> {
    let name = field::name()?;
    let table = format!("table {family} {name}");
    // A netdev chain sees one device anyhow.
    let from = match family {
        "netdev" => String::new(),
        _ => format!("iif {} ", field.receiver.ifindex()?),
    };
    let chain = format!("type filter {hook}; policy accept;");
    let rule = format!("{from}udp dport {PORT} counter drop");
    let body = format!("chain drops {{\n{chain}\n{before}\n{rule}\n}}");
    let script = format!("add {table}\ndelete {table}\n{table} {{\n{body}\n}}\n");
    let nft = Tool::new(field, "nft");
    nft.run(["-f", "-"], &script)?;
    Ok(Box::new(Table { nft, family, name }))
}

impl Set for Table {
    fn ended(&self) -> Result<u64> {
        counted(&self.nft.run(["-j", "list", "table", self.family, &self.name], "")?)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // A destructor cannot report; in a lab it goes with the namespace.
        let _ = self.nft.run(["delete", "table", self.family, &self.name], "");
    }
}

/// Packets of the one rule that counts.
fn counted(list: &str) -> Result<u64> {
    let list: Value = serde_json::from_str(list).context("nft answers no JSON")?;
    let objects = list["nftables"].as_array().context("nft lists nothing")?;
    let statements = objects.iter().filter_map(|object| object["rule"]["expr"].as_array());
    let mut counters = statements.flatten().map(|statement| &statement["counter"]["packets"]);
    counters.find_map(Value::as_u64).context("the rule is gone: somebody else has changed it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_among_the_rest() {
        let list = |statements: &str| {
            format!(
                r#"{{"nftables": [{{"metainfo": {{"version": "1.0.6"}}}},
                    {{"table": {{"family": "ip", "name": "xway-bench", "handle": 1}}}},
                    {{"rule": {{"chain": "drop", "expr": [{{"accept": null}}]}}}},
                    {{"rule": {{"chain": "drop", "expr": [{statements}]}}}}]}}"#
            )
        };
        let ours = r#"{"match": {}}, {"counter": {"packets": 17, "bytes": 9}}, {"drop": null}"#;
        assert_eq!(counted(&list(ours)).unwrap(), 17);
        let gone = counted(&list(r#"{"drop": null}"#)).unwrap_err().to_string();
        assert!(gone.contains("the rule is gone"), "{gone}");
        assert!(counted("table ip xway-bench").is_err());
    }
}
