//! iptables in table raw, with rules or with a set of ipset.
//!
//! Rule: the table exists in all turns, because it cannot be removed; rules are in it for a turn.
//! Where a host has both kinds of iptables, the legacy one is used: the other one's rules are those
//! of nft.

use std::fmt::Write;
use std::net::Ipv4Addr;

use anyhow::{Result, bail};

use super::line::Line;
use crate::field::Field;
use crate::hook::tool::Tool;

/// The chain PREROUTING of table raw.
pub struct Chain {
    restore: Tool,
}

/// The table with rules in it.
pub struct FilledChain<'a>(&'a Chain);

impl Chain {
    /// The table without rules.
    pub fn new(field: &Field) -> Result<Self> {
        let mut refusals = Vec::new();
        for program in PROGRAMS {
            let chain = Self { restore: Tool::new(field, program) };
            match chain.put("") {
                Ok(()) => return Ok(chain),
                Err(fault) => refusals.push(fault.to_string()),
            }
        }
        bail!(refusals.join("; "))
    }

    /// Loads rules that [`rules`] or [`IpSet::rule`] wrote.
    pub fn fill(&self, rules: &str) -> Result<FilledChain<'_>> {
        self.put(rules)?;
        Ok(FilledChain(self))
    }

    fn put(&self, rules: &str) -> Result<()> {
        let script = format!("*raw\n:PREROUTING ACCEPT [0:0]\n{rules}COMMIT\n");
        self.restore.run(["-w", "5"], &script)?;
        Ok(())
    }
}

impl Drop for FilledChain<'_> {
    fn drop(&mut self) {
        // A destructor cannot report; in a lab it goes with the namespace.
        let _ = self.0.put("");
    }
}

/// The rules in the format of `iptables-restore`.
pub fn rules(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("-A PREROUTING {} -j DROP\n", line.iptables())).collect()
}

/// A set of ipset, which goes with its namespace.
pub struct IpSet;

impl IpSet {
    /// Creates a set of these addresses at the receiver.
    pub fn new(field: &Field, addresses: &[Ipv4Addr]) -> Result<Self> {
        let most = addresses.len().next_power_of_two();
        let mut script =
            format!("create many hash:ip family inet hashsize {most} maxelem {most}\n");
        for address in addresses {
            writeln!(script, "add many {address}")?;
        }
        Tool::new(field, "ipset").run(["restore", "-exist"], &script)?;
        Ok(Self)
    }

    /// A rule that matches if `src` or `dst` is in the set.
    pub fn rule(&self, side: &str) -> String {
        format!("-A PREROUTING -m set --match-set many {side} -j DROP\n")
    }
}

/// Programs to try; the last is the host's default.
const PROGRAMS: [&str; 3] = ["iptables-legacy-restore", "iptables-nft-restore", "iptables-restore"];
