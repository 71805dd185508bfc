//! Counters of nftables rules (nfnetlink), including those that `iptables-nft` created.
//!
//! Rule: a query takes microseconds, so that two of them yield a rate under load, which starting
//! `nft` twice cannot. Not here: making tables and rules.

use netlink_packet_core::{NLM_F_DUMP, NlasIterator};

use super::conversation::{Conversation, Request};
use crate::error::{Error, Result};

/// A netfilter socket in the namespace that it was opened in.
#[derive(Debug)]
pub struct Nftables {
    pub(super) conversation: Conversation,
}

/// Family of the packets that a table processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NftFamily {
    Ipv4,
    Netdev,
}

impl Nftables {
    /// Opens a socket in this thread's network namespace.
    pub fn open() -> Result<Self> {
        let protocol = netlink_sys::protocols::NETLINK_NETFILTER;
        let conversation = Conversation::open("socket(NETLINK_NETFILTER)", protocol)?;
        Ok(Self { conversation })
    }

    /// Packets that the first rule with a counter in this chain has counted.
    ///
    /// # Errors
    /// `ENOENT` when there is no such table, chain or rule.
    pub fn counted(&mut self, family: NftFamily, table: &str, chain: &str) -> Result<u64> {
        let family = match family {
            NftFamily::Ipv4 => NFPROTO_IPV4,
            NftFamily::Netdev => NFPROTO_NETDEV,
        };
        let mut payload = vec![family, NFNETLINK_V0, 0, 0];
        for (kind, name) in [(NFTA_RULE_TABLE, table), (NFTA_RULE_CHAIN, chain)] {
            attribute(&mut payload, kind, name);
        }
        let kind = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETRULE;
        let request = Request { call: CALL, object: table, kind, flags: NLM_F_DUMP, payload };
        let replies = self.conversation.exchange(&request)?;
        let mut counts = replies.iter().filter_map(|reply| packets(reply.payload.get(NFGENMSG..)?));
        counts.next().ok_or_else(|| {
            let why = format!("no rule of chain {chain} counts");
            Error::new(CALL, table, libc::ENOENT).with_detail(why)
        })
    }
}

/// Packets of the first counter among a rule's expressions.
fn packets(rule: &[u8]) -> Option<u64> {
    let expressions = inside(rule, NFTA_RULE_EXPRESSIONS)?;
    let each = NlasIterator::new(&expressions).flatten();
    let mut counters = each.filter_map(|expression| {
        let expression = expression.value();
        let name = inside(expression, NFTA_EXPR_NAME)?;
        (name == COUNTER).then_some(())?;
        let count = inside(&inside(expression, NFTA_EXPR_DATA)?, NFTA_COUNTER_PACKETS)?;
        Some(u64::from_be_bytes(count.try_into().ok()?))
    });
    counters.next()
}

/// The value of the first attribute of a kind.
pub(super) fn inside(attributes: &[u8], kind: u16) -> Option<Vec<u8>> {
    let mut all = NlasIterator::new(attributes).flatten();
    Some(all.find(|nla| nla.kind() == kind)?.value().to_vec())
}

/// A string with its zero, padded to four bytes.
fn attribute(payload: &mut Vec<u8>, kind: u16, text: &str) {
    let length = (HEADER + text.len() + 1) as u16;
    payload.extend(length.to_ne_bytes());
    payload.extend(kind.to_ne_bytes());
    payload.extend(text.as_bytes());
    payload.push(0);
    payload.resize(payload.len().next_multiple_of(4), 0);
}

const CALL: &str = "nfnetlink(NFT_MSG_GETRULE)";
const COUNTER: &[u8] = b"counter\0";
/// `struct nlattr`.
const HEADER: usize = 4;
// include/uapi/linux/netfilter.h, nfnetlink.h and nf_tables.h at v6.18.
pub(super) const NFPROTO_IPV4: u8 = 2;
pub(super) const NFPROTO_NETDEV: u8 = 5;
pub(super) const NFNETLINK_V0: u8 = 0;
/// `struct nfgenmsg`.
pub(super) const NFGENMSG: usize = 4;
pub(super) const NFNL_SUBSYS_NFTABLES: u16 = 10;
pub(super) const NFT_MSG_GETRULE: u16 = 7;
pub(super) const NFTA_RULE_TABLE: u16 = 1;
pub(super) const NFTA_RULE_CHAIN: u16 = 2;
pub(super) const NFTA_RULE_EXPRESSIONS: u16 = 4;
pub(super) const NFTA_EXPR_NAME: u16 = 1;
pub(super) const NFTA_EXPR_DATA: u16 = 2;
const NFTA_COUNTER_PACKETS: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn expression(name: &str, data: &[u8]) -> Vec<u8> {
        let name = nested(NFTA_EXPR_NAME, format!("{name}\0").as_bytes());
        nested(1, &[name, nested(NFTA_EXPR_DATA, data)].concat())
    }

    #[test]
    fn the_counter_is_found_among_a_rules_expressions() {
        let bytes = nested(1, &9u64.to_be_bytes());
        let count = [bytes, nested(NFTA_COUNTER_PACKETS, &17u64.to_be_bytes())].concat();
        let rule = |list: &[Vec<u8>]| {
            let before = nested(NFTA_RULE_TABLE, b"drops\0");
            [before, nested(NFTA_RULE_EXPRESSIONS, &list.concat())].concat()
        };
        let (other, counter) = (expression("cmp", &count), expression("counter", &count));
        assert_eq!(packets(&rule(&[other.clone(), counter.clone()])), Some(17));
        assert_eq!(packets(&rule(&[other])), None);
        let short = expression("counter", &nested(NFTA_COUNTER_PACKETS, &[1, 2, 3]));
        for odd in [rule(&[short]), rule(&[]), vec![], rule(&[counter])[..40].to_vec()] {
            assert_eq!(packets(&odd), None, "{odd:?}");
        }
    }

    #[test]
    fn names_are_padded_strings() {
        let mut payload = Vec::new();
        attribute(&mut payload, 1, "raw");
        attribute(&mut payload, 2, "drops");
        assert_eq!(payload, [nested(1, b"raw\0"), nested(2, b"drops\0")].concat());
    }
}
