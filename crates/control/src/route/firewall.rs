//! The stack's firewall: the chains that packets which XDP forwards would have met.
//!
//! Rule: a chain counts if it can change something for a forwarded packet: it has rules or drops
//! by policy. Address translation counts unless the program translates the same.
//! Not here: chains of the family `netdev` and `bridge`, which forwarded packets need not meet.

use functions::route::Config;
use sys::net::{BaseChain, Hook, base_chains};

use crate::error::{FunctionError, Result};

/// Whether packets may be forwarded in XDP.
///
/// # Errors
/// They would have met rules of this namespace, and the configuration does not permit to omit them.
pub fn check(config: &Config) -> Result<()> {
    if config.past_firewall {
        return Ok(());
    }
    let all = base_chains()?;
    let chains: Vec<_> = all.iter().filter(|chain| is_met(chain, config.conntrack)).collect();
    if chains.is_empty() {
        return Ok(());
    }
    let chains = chains.into_iter().map(line).collect();
    Err(FunctionError::Firewall { chains }.into())
}

fn is_met(chain: &BaseChain, translates: bool) -> bool {
    let on_path = matches!(chain.hook, Hook::Prerouting | Hook::Forward | Hook::Postrouting);
    let is_replaced = translates && chain.kind == "nat" && !chain.drops;
    on_path && (chain.rules > 0 || chain.drops) && !is_replaced
}

fn line(chain: &BaseChain) -> String {
    let BaseChain { family, table, name, kind, priority, rules, .. } = chain;
    let policy = if chain.drops { "drop" } else { "accept" };
    let plural = if *rules == 1 { "" } else { "s" };
    format!(
        "{family} {table} {name}: type {kind}, hook {}, priority {priority}, policy {policy}, \
         {rules} rule{plural}",
        chain.hook.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(kind: &str, hook: Hook, drops: bool, rules: u32) -> BaseChain {
        let (table, name) = ("fw".to_owned(), "own".to_owned());
        BaseChain {
            family: "inet",
            table,
            name,
            kind: kind.to_owned(),
            hook,
            priority: -5,
            drops,
            rules,
        }
    }

    #[test]
    fn chains_that_forwarded_packets_meet() {
        for (chain, plain, translating) in [
            (chain("filter", Hook::Forward, false, 0), false, false),
            (chain("filter", Hook::Forward, true, 0), true, true),
            (chain("filter", Hook::Forward, false, 1), true, true),
            (chain("filter", Hook::Prerouting, false, 1), true, true),
            (chain("nat", Hook::Postrouting, false, 1), true, false),
            (chain("nat", Hook::Postrouting, true, 1), true, true),
            (chain("filter", Hook::Input, true, 1), false, false),
            (chain("filter", Hook::Output, true, 1), false, false),
        ] {
            assert_eq!(
                [false, true].map(|on| is_met(&chain, on)),
                [plain, translating],
                "{chain:?}"
            );
        }
    }

    #[test]
    fn a_chain_is_described_in_a_line() {
        let text = line(&chain("filter", Hook::Forward, true, 1));
        let expected = "inet fw own: type filter, hook forward, priority -5, policy drop, 1 rule";
        assert_eq!(text, expected);
    }
}
