//! nftables: a rule that counts and drops, in one of its hooks.
//!
//! Rule: everything is in a table of this process's name, which goes with its guard; the table of a
//! killed run is removed by the next one (`field`).

use std::cell::RefCell;

use anyhow::{Result, ensure};
use sys::net::{NftFamily, Nftables};

use super::tool::Tool;
use super::{ActiveHook, Hook};
use crate::field::{self, Field, PORT};

/// A rule in the input hook.
pub const INPUT: Hook =
    Hook::new("nft-input", "an nft rule in the input hook, after the routing decision", |field| {
        // Without an address, nothing is routed there.
        field.receiver.ipv4()?;
        set(field, NftFamily::Ipv4, "hook input priority filter", "")
    });

/// A rule in the input hook with connection tracking.
pub const CONNTRACK: Hook = Hook::new(
    "conntrack",
    "the same after `ct state established accept`, so that connections are tracked",
    |field| {
        let is_home = field.receiver.is_home();
        ensure!(!is_home, "it would track the connections of every interface of this namespace");
        set(field, NftFamily::Ipv4, "hook input priority filter", "ct state established accept")
    },
);

/// A rule in the prerouting hook at priority raw.
pub const RAW: Hook = Hook::new(
    "nft-raw",
    "an nft rule in the prerouting hook at priority raw, before tracking and routing",
    |field| set(field, NftFamily::Ipv4, "hook prerouting priority raw", ""),
);

/// A rule in the ingress hook of the device.
pub const NETDEV: Hook = Hook::new(
    "nft-netdev",
    "an nft rule in the device's ingress hook, before the stack reads the protocol",
    |field| {
        let hook = format!("hook ingress device \"{}\" priority 0", field.receiver.device());
        set(field, NftFamily::Netdev, &hook, "")
    },
);

struct Table {
    nft: Tool,
    counters: RefCell<Nftables>,
    family: NftFamily,
    name: String,
}

fn set(field: &Field, family: NftFamily, hook: &str, before: &str) -> Result<Box<dyn ActiveHook>> {
    let name = field::name()?;
    let table = format!("table {} {name}", word(family));
    // A netdev chain sees one device anyhow.
    let from = match family {
        NftFamily::Netdev => String::new(),
        NftFamily::Ipv4 => format!("iif {} ", field.receiver.ifindex()?),
    };
    let chain = format!("type filter {hook}; policy accept;");
    let rule = format!("{from}udp dport {PORT} counter drop");
    let body = format!("chain {CHAIN} {{\n{chain}\n{before}\n{rule}\n}}");
    let script = format!("add {table}\ndelete {table}\n{table} {{\n{body}\n}}\n");
    let nft = Tool::new(field, "nft");
    nft.run(["-f", "-"], &script)?;
    let counters = RefCell::new(field.receiver.run(Nftables::open)??);
    Ok(Box::new(Table { nft, counters, family, name }))
}

/// Name of the table in `nft`.
fn word(family: NftFamily) -> &'static str {
    match family {
        NftFamily::Ipv4 => "ip",
        NftFamily::Netdev => "netdev",
    }
}

impl ActiveHook for Table {
    fn ended(&self) -> Result<u64> {
        Ok(self.counters.borrow_mut().counted(self.family, &self.name, CHAIN)?)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // A destructor cannot report; in a lab it goes with the namespace.
        let _ = self.nft.run(["delete", "table", word(self.family), &self.name], "");
    }
}

const CHAIN: &str = "drops";
