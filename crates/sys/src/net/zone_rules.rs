//! Rules that assign packets to a zone of connection tracking: `ct zone set` of nft, and the target
//! `CT --zone` of iptables.
//!
//! Rule: a rule counts wherever it is, because any chain may be called from one that packets meet.
//! Not here: which packets a rule is for.

use netlink_packet_core::{NLM_F_DUMP, NlasIterator};

use super::base_chains::{NFPROTO_INET, NFPROTO_IPV6};
use super::conversation::Request;
use super::legacy_chains::{LegacyTable, legacy_tables};
use super::nftables::{
    NFGENMSG, NFNETLINK_V0, NFNL_SUBSYS_NFTABLES, NFPROTO_IPV4, NFPROTO_NETDEV, NFT_MSG_GETRULE,
    NFTA_EXPR_DATA, NFTA_EXPR_NAME, NFTA_RULE_CHAIN, NFTA_RULE_EXPRESSIONS, NFTA_RULE_TABLE,
    Nftables, inside,
};
use crate::error::Result;

/// The places of all such rules in the calling thread's namespace, such as `inet raw prerouting`
/// or `iptables raw`; each once, and none where the kernel has no rules.
///
/// The same privileges as for [`base_chains`](super::base_chains()).
pub fn zone_rules() -> Result<Vec<String>> {
    let mut places = match Nftables::open() {
        Ok(mut tables) => tables.zone_rules()?,
        Err(error) if error.errno == libc::EPROTONOSUPPORT => Vec::new(),
        Err(error) => return Err(error),
    };
    let legacy = legacy_tables()?;
    let legacy = legacy.iter().filter(|table| has_zone(table));
    places.extend(legacy.map(|table| format!("{} {}", table.layout.family, table.name)));
    places.dedup();
    Ok(places)
}

impl Nftables {
    fn zone_rules(&mut self) -> Result<Vec<String>> {
        let kind = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETRULE;
        let payload = vec![0, NFNETLINK_V0, 0, 0];
        let request = Request { call: CALL, object: "", kind, flags: NLM_F_DUMP, payload };
        match self.conversation.exchange(&request) {
            Ok(replies) => Ok(replies.iter().filter_map(|reply| place(&reply.payload)).collect()),
            Err(error) if [libc::EINVAL, libc::EOPNOTSUPP].contains(&error.errno) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// Where a rule is, if it sets a zone.
fn place(message: &[u8]) -> Option<String> {
    let family = match *message.first()? {
        NFPROTO_INET => "inet",
        NFPROTO_IPV4 => "ip",
        NFPROTO_IPV6 => "ip6",
        NFPROTO_NETDEV => "netdev",
        _ => return None,
    };
    let rule = message.get(NFGENMSG..)?;
    let expressions = inside(rule, NFTA_RULE_EXPRESSIONS)?;
    let mut each = NlasIterator::new(&expressions).flatten();
    each.any(|expression| sets_zone(expression.value()).unwrap_or(false)).then_some(())?;
    let text = |kind| {
        let bytes = inside(rule, kind)?;
        let text = String::from_utf8_lossy(bytes.strip_suffix(b"\0").unwrap_or(&bytes));
        Some(text.into_owned())
    };
    Some(format!("{family} {} {}", text(NFTA_RULE_TABLE)?, text(NFTA_RULE_CHAIN)?))
}

/// Whether an expression writes the zone, or is the target of `iptables-nft` that does.
fn sets_zone(expression: &[u8]) -> Option<bool> {
    let data = inside(expression, NFTA_EXPR_DATA)?;
    match &*inside(expression, NFTA_EXPR_NAME)? {
        b"ct\0" => {
            let key = inside(&data, NFTA_CT_KEY)?;
            Some(key == NFT_CT_ZONE.to_be_bytes() && inside(&data, NFTA_CT_SREG).is_some())
        }
        b"target\0" if inside(&data, NFTA_TARGET_NAME)? == b"CT\0" => {
            Some(is_zone(&inside(&data, NFTA_TARGET_INFO)?))
        }
        _ => Some(false),
    }
}

/// Whether the target `CT` with this `struct xt_ct_target_info` sets a zone.
fn is_zone(info: &[u8]) -> bool {
    let half = |at: usize| info.get(at..at + 2).map(|half| [half[0], half[1]]);
    let flags = half(0).map_or(0, u16::from_ne_bytes);
    flags & XT_CT_ZONE_MARK != 0 || half(2).map_or(0, u16::from_ne_bytes) != 0
}

/// Whether a rule of the table has a target `CT` that sets a zone.
fn has_zone(table: &LegacyTable) -> bool {
    table.targets().any(|target| {
        let name = target.get(2..31).unwrap_or_default();
        name.starts_with(b"CT\0") && is_zone(target.get(32..).unwrap_or_default())
    })
}

const CALL: &str = "nfnetlink(NFT_MSG_GETRULE)";
// include/uapi/linux/netfilter/nf_tables.h, nf_tables_compat.h and xt_CT.h at v6.18.
const NFTA_CT_KEY: u16 = 2;
const NFTA_CT_SREG: u16 = 4;
const NFT_CT_ZONE: u32 = 17;
const NFTA_TARGET_NAME: u16 = 1;
const NFTA_TARGET_INFO: u16 = 3;
const XT_CT_ZONE_MARK: u16 = 1 << 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn rule(name: &[u8], data: &[u8]) -> Vec<u8> {
        let expression =
            [attribute(NFTA_EXPR_NAME, name), attribute(NFTA_EXPR_DATA, data)].concat();
        [
            vec![NFPROTO_INET, 0, 0, 0],
            attribute(NFTA_RULE_TABLE, b"own\0"),
            attribute(NFTA_RULE_CHAIN, b"pre\0"),
            attribute(NFTA_RULE_EXPRESSIONS, &attribute(1, &expression)),
        ]
        .concat()
    }

    fn ct(key: u32, register: u16) -> Vec<u8> {
        let key = attribute(NFTA_CT_KEY, &key.to_be_bytes());
        rule(b"ct\0", &[key, attribute(register, &8_u32.to_be_bytes())].concat())
    }

    fn target(flags: u16, zone: u16) -> Vec<u8> {
        let info = [flags.to_ne_bytes(), zone.to_ne_bytes(), [0; 2], [0; 2]].concat();
        let name = attribute(NFTA_TARGET_NAME, b"CT\0");
        rule(b"target\0", &[name, attribute(NFTA_TARGET_INFO, &info)].concat())
    }

    #[test]
    fn rules_that_set_a_zone() {
        let found = Some("inet own pre".to_owned());
        for message in [ct(17, NFTA_CT_SREG), target(0, 5), target(XT_CT_ZONE_MARK, 0)] {
            assert_eq!(place(&message), found);
            for length in 0..message.len() {
                place(&message[..length]);
            }
        }
        // Reading the zone, setting a mark, no tracking, another target, another family.
        let mut bridge = ct(17, NFTA_CT_SREG);
        bridge[0] = 7;
        for message in [ct(17, 1), ct(3, NFTA_CT_SREG), target(1, 0), rule(b"cmp\0", b""), bridge] {
            assert_eq!(place(&message), None);
        }
    }
}
