//! iptables: a rule that drops, in one of its tables.
//!
//! Rule: one rule, the first of its chain, which goes with its guard. The table itself stays, since
//! nobody can take it away: in a lab these hooks have hosts of their own, and at home there are
//! none. Where a host has both kinds, the legacy one is used: the other one's rules are those of
//! nft, which has hooks too.

use anyhow::{Context, Result, bail, ensure};

use super::tool::Tool;
use super::{Hook, Set};
use crate::field::{Field, PORT};

pub const INPUT: Hook = Hook::new(
    "iptables-input",
    "an iptables rule in INPUT, behind the routing decision",
    |field| set(field, "filter", "INPUT"),
)
.apart();

pub const RAW: Hook = Hook::new(
    "iptables-raw",
    "an iptables rule in PREROUTING of table raw, before tracking and routing",
    |field| set(field, "raw", "PREROUTING"),
)
.apart();

/// One that may be there.
struct Rule {
    iptables: Tool,
    device: String,
    table: &'static str,
    chain: &'static str,
}

fn set(field: &Field, table: &'static str, chain: &'static str) -> Result<Box<dyn Set>> {
    let is_home = field.receiver.is_home();
    ensure!(!is_home, "its tables would stay in this namespace, and its rule if the run is killed");
    let mut refusals = Vec::new();
    for program in PROGRAMS {
        let device = field.receiver.device().to_owned();
        let rule = Rule { iptables: Tool::new(field, program), device, table, chain };
        match rule.edit("-I") {
            Ok(()) => return Ok(Box::new(Put(rule))),
            Err(fault) => refusals.push(fault.to_string()),
        }
    }
    bail!(refusals.join("; "))
}

impl Rule {
    /// Puts it first (`-I`) or takes it away (`-D`).
    fn edit(&self, act: &str) -> Result<()> {
        let port = PORT.to_string();
        let table = ["-w", WAIT, "-t", self.table, act, self.chain];
        let rule = ["-i", &self.device, "-p", "udp", "--dport", &port, "-j", "DROP"];
        self.iptables.run(table.iter().chain(&rule), "")?;
        Ok(())
    }
}

/// One that is there.
struct Put(Rule);

impl Set for Put {
    fn ended(&self) -> Result<u64> {
        let Rule { iptables, table, chain, .. } = &self.0;
        counted(&iptables.run(["-w", WAIT, "-t", table, "-nvxL", chain, "1"], "")?)
    }
}

impl Drop for Put {
    fn drop(&mut self) {
        // A destructor cannot report; in a lab it goes with the namespace.
        let _ = self.0.edit("-D");
    }
}

/// Packets of the one rule that is listed; they are the line's first word.
fn counted(list: &str) -> Result<u64> {
    let port = format!("dpt:{PORT}");
    let mut lines = list.lines().filter(|line| line.contains("DROP") && line.contains(&port));
    let packets = lines.next().and_then(|line| line.split_whitespace().next());
    let packets = packets.context("the rule is not where it was: somebody else has changed it")?;
    packets.parse().with_context(|| format!("\"{packets}\" is no number of packets"))
}

/// The last is what a host calls its own choice.
const PROGRAMS: [&str; 3] = ["iptables-legacy", "iptables-nft", "iptables"];
/// Seconds to wait for others that change rules.
const WAIT: &str = "5";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_the_first_word_of_our_rule() {
        let legacy = "  1234567890123 74074073407380 DROP       17   --  eth0   *       \
                      0.0.0.0/0            0.0.0.0/0            udp dpt:1234\n";
        assert_eq!(counted(legacy).unwrap(), 1_234_567_890_123);
        let other = legacy.replace("dpt:1234", "dpt:53");
        for list in ["", "\n", &other] {
            assert!(counted(list).is_err(), "{list}");
        }
    }
}
