//! Base chains of nftables: where packets meet rules, including those of `iptables-nft`.
//!
//! Not here: the rules themselves, of which only the number is known.

use netlink_packet_core::NLM_F_DUMP;

use super::conversation::Request;
use super::hook::{BaseChain, Hook};
use super::legacy_chains::legacy_chains;
use super::nftables::{
    NFGENMSG, NFNETLINK_V0, NFNL_SUBSYS_NFTABLES, NFPROTO_IPV4, Nftables, inside,
};
use crate::error::Result;

/// All base chains for IPv4 and IPv6 of the calling thread's namespace, and the built-in chains of
/// `iptables-legacy` and `ip6tables-legacy`; none where the kernel has none of both.
///
/// Needs `CAP_NET_ADMIN`, and `CAP_NET_RAW` if there are tables of the older tools. Users other
/// than root cannot read whether there are, and get only those of nftables.
pub fn base_chains() -> Result<Vec<BaseChain>> {
    let mut chains = match Nftables::open() {
        Ok(mut tables) => tables.base_chains()?,
        Err(error) if error.errno == libc::EPROTONOSUPPORT => Vec::new(),
        Err(error) => return Err(error),
    };
    chains.extend(legacy_chains()?);
    Ok(chains)
}

impl Nftables {
    /// Base chains of the socket's namespace.
    fn base_chains(&mut self) -> Result<Vec<BaseChain>> {
        let kind = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN;
        let payload = vec![NFPROTO_UNSPEC, NFNETLINK_V0, 0, 0];
        let request = Request { call: CALL, object: "", kind, flags: NLM_F_DUMP, payload };
        match self.conversation.exchange(&request) {
            Ok(replies) => {
                Ok(replies.iter().filter_map(|reply| base_chain(&reply.payload)).collect())
            }
            Err(error) if [libc::EINVAL, libc::EOPNOTSUPP].contains(&error.errno) => Ok(Vec::new()),
            Err(error) if error.is(libc::EPERM) => {
                Err(error.with_detail("needs CAP_NET_ADMIN: run it as root or grant it"))
            }
            Err(error) => Err(error),
        }
    }
}

/// The chain of a message, if it is called at a hook.
fn base_chain(message: &[u8]) -> Option<BaseChain> {
    let family = match *message.first()? {
        NFPROTO_INET => "inet",
        NFPROTO_IPV4 => "ip",
        NFPROTO_IPV6 => "ip6",
        _ => return None,
    };
    let chain = message.get(NFGENMSG..)?;
    let place = inside(chain, NFTA_CHAIN_HOOK)?;
    let text = |kind| {
        let bytes = inside(chain, kind)?;
        let text = String::from_utf8_lossy(bytes.strip_suffix(b"\0").unwrap_or(&bytes));
        Some(text.into_owned())
    };
    let hook = Hook::from_number(word(&place, NFTA_HOOK_HOOKNUM)?)?;
    Some(BaseChain {
        family,
        table: text(NFTA_CHAIN_TABLE)?,
        name: text(NFTA_CHAIN_NAME)?,
        kind: text(NFTA_CHAIN_TYPE)?,
        hook,
        priority: word(&place, NFTA_HOOK_PRIORITY)?.cast_signed(),
        drops: word(chain, NFTA_CHAIN_POLICY) == Some(NF_DROP),
        // No rule can jump to a base chain, so only its own rules use it.
        rules: word(chain, NFTA_CHAIN_USE)?,
    })
}

fn word(attributes: &[u8], kind: u16) -> Option<u32> {
    Some(u32::from_be_bytes(inside(attributes, kind)?.try_into().ok()?))
}

const CALL: &str = "nfnetlink(NFT_MSG_GETCHAIN)";
// include/uapi/linux/netfilter.h and nf_tables.h at v6.18.
const NFPROTO_UNSPEC: u8 = 0;
pub(super) const NFPROTO_INET: u8 = 1;
pub(super) const NFPROTO_IPV6: u8 = 10;
const NF_DROP: u32 = 0;
const NFT_MSG_GETCHAIN: u16 = 4;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
const NFTA_CHAIN_POLICY: u16 = 5;
const NFTA_CHAIN_USE: u16 = 6;
const NFTA_CHAIN_TYPE: u16 = 7;
const NFTA_HOOK_HOOKNUM: u16 = 1;
const NFTA_HOOK_PRIORITY: u16 = 2;

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

    #[test]
    fn chains_with_a_hook_are_base_chains() {
        let place = [
            attribute(NFTA_HOOK_HOOKNUM, &2_u32.to_be_bytes()),
            attribute(NFTA_HOOK_PRIORITY, &(-10_i32).to_be_bytes()),
        ];
        let named = [
            attribute(NFTA_CHAIN_TABLE, b"fw\0"),
            attribute(NFTA_CHAIN_NAME, b"out\0"),
            attribute(NFTA_CHAIN_TYPE, b"filter\0"),
            attribute(NFTA_CHAIN_USE, &3_u32.to_be_bytes()),
            attribute(NFTA_CHAIN_POLICY, &NF_DROP.to_be_bytes()),
        ]
        .concat();
        let whole = [named.clone(), attribute(NFTA_CHAIN_HOOK, &place.concat())].concat();
        let message = |family: u8, attributes: &[u8]| [&[family, 0, 0, 0], attributes].concat();
        let expected = BaseChain {
            family: "ip6",
            table: "fw".to_owned(),
            name: "out".to_owned(),
            kind: "filter".to_owned(),
            hook: Hook::Forward,
            priority: -10,
            drops: true,
            rules: 3,
        };
        assert_eq!(base_chain(&message(NFPROTO_IPV6, &whole)), Some(expected));
        let (bridge, netdev) = (message(7, &whole), message(5, &whole));
        let short = message(NFPROTO_IPV6, &whole)[..whole.len() - 8].to_vec();
        for other in [bridge, netdev, message(NFPROTO_IPV6, &named), short, vec![]] {
            assert_eq!(base_chain(&other), None, "{other:?}");
        }
    }
}
