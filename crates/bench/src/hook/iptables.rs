//! iptables: a rule that drops, in one of its tables.
//!
//! Rule: one rule, the first of its chain, which goes with its guard. The table itself remains,
//! because it cannot be removed: in a lab these hooks have their own hosts, and on the machine
//! itself they are not available. Where a host has both kinds, the legacy one is used: the other
//! one's rules are those of nft, which has hooks too.

use std::cell::RefCell;

use anyhow::{Result, bail, ensure};
use sys::net::{Chain, Iptables, NftFamily, Nftables};

use super::tool::Tool;
use super::{ActiveHook, Hook};
use crate::field::{Field, PORT};

/// A rule in the chain INPUT of table filter.
pub const INPUT: Hook =
    Hook::new("iptables-input", "an iptables rule in INPUT, after the routing decision", |field| {
        set(field, "filter", Chain::Input)
    })
    .apart();

/// A rule in the chain PREROUTING of table raw.
pub const RAW: Hook = Hook::new(
    "iptables-raw",
    "an iptables rule in PREROUTING of table raw, before tracking and routing",
    |field| set(field, "raw", Chain::Prerouting),
)
.apart();

/// A rule that may be present.
struct Rule {
    iptables: Tool,
    device: String,
    table: &'static str,
    chain: Chain,
}

fn set(field: &Field, table: &'static str, chain: Chain) -> Result<Box<dyn ActiveHook>> {
    let is_home = field.receiver.is_home();
    ensure!(!is_home, "its tables would remain in this namespace");
    let mut refusals = Vec::new();
    for program in PROGRAMS {
        let device = field.receiver.device().to_owned();
        let rule = Rule { iptables: Tool::new(field, program), device, table, chain };
        match rule.edit("-I") {
            Ok(()) => return Ok(Box::new(ActiveRule { counters: rule.counters(field)?, rule })),
            Err(fault) => refusals.push(fault.to_string()),
        }
    }
    bail!(refusals.join("; "))
}

impl Rule {
    /// Inserts it as the first rule (`-I`) or deletes it (`-D`).
    fn edit(&self, act: &str) -> Result<()> {
        let port = PORT.to_string();
        let table = ["-w", WAIT, "-t", self.table, act, word(self.chain)];
        let rule = ["-i", &self.device, "-p", "udp", "--dport", &port, "-j", "DROP"];
        self.iptables.run(table.iter().chain(&rule), "")?;
        Ok(())
    }
}

/// A rule that is present.
struct ActiveRule {
    rule: Rule,
    counters: Counters,
}

/// Where the kernel keeps the rules of either kind.
enum Counters {
    Legacy(Iptables),
    Nft(RefCell<Nftables>),
}

impl Rule {
    /// Counters of the rule, by the kind of iptables that added it.
    fn counters(&self, field: &Field) -> Result<Counters> {
        let is_nft = self.iptables.run(["--version"], "")?.contains("nf_tables");
        Ok(match is_nft {
            true => Counters::Nft(RefCell::new(field.receiver.run(Nftables::open)??)),
            false => Counters::Legacy(field.receiver.run(Iptables::open)??),
        })
    }
}

impl ActiveHook for ActiveRule {
    fn ended(&self) -> Result<u64> {
        let Rule { table, chain, .. } = self.rule;
        Ok(match &self.counters {
            Counters::Legacy(tables) => tables.first_counted(table, chain)?,
            Counters::Nft(tables) => {
                tables.borrow_mut().counted(NftFamily::Ipv4, table, word(chain))?
            }
        })
    }
}

impl Drop for ActiveRule {
    fn drop(&mut self) {
        // A destructor cannot report; in a lab it goes with the namespace.
        let _ = self.rule.edit("-D");
    }
}

/// Name of the chain in iptables.
fn word(chain: Chain) -> &'static str {
    match chain {
        Chain::Prerouting => "PREROUTING",
        Chain::Input => "INPUT",
    }
}

/// Programs to try; the last is the host's default.
const PROGRAMS: [&str; 3] = ["iptables-legacy", "iptables-nft", "iptables"];
/// Seconds to wait for other processes that change rules.
const WAIT: &str = "5";
