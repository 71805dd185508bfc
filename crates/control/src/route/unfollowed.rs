//! What of the kernel's forwarding the router cannot follow in this namespace: named when it
//! starts.

use sys::net::{Netlink, TableRule};
use sys::netns::NetNs;

use crate::error::Result;

/// A sentence for each rule and setting by which the router decides differently.
pub(super) fn unfollowed() -> Result<Vec<String>> {
    let rules = Netlink::open()?.table_rules()?;
    let netns = NetNs::current()?;
    let policy = |family: &str| {
        let path = format!("{family}/fib_multipath_hash_policy");
        netns.sysctl(&path).ok()?.trim().parse().ok()
    };
    let policies = [("ipv4", policy("ipv4")), ("ipv6", policy("ipv6"))];
    Ok(sentences(&rules, &policies))
}

fn sentences(rules: &[TableRule], policies: &[(&str, Option<u32>)]) -> Vec<String> {
    let marked = rules.iter().filter(|rule| rule.mark != 0 || rule.mask != 0).map(|rule| {
        format!(
            "rule {} ({}) by the firewall mark {:#x}/{:#x}: XDP runs before packets are marked, so \
             their mark is 0",
            rule.priority,
            if rule.ipv6 { "IPv6" } else { "IPv4" },
            rule.mark,
            rule.mask
        )
    });
    let hashed = policies.iter().filter(|(_, policy)| *policy == Some(INNER)).map(|(family, _)| {
        format!(
            "net.{family}.fib_multipath_hash_policy=2: of several next hops, Linux selects one \
             by the inner addresses of encapsulated packets, the router by the outer ones"
        )
    });
    let suppressed = rules.iter().filter(|rule| rule.ipv6 && rule.suppresses).map(|rule| {
        format!(
            "rule {} (IPv6) with `suppress_prefixlength` or `suppress_ifgroup`, which \
             bpf_fib_lookup() ignores: all IPv6 packets are left to the stack",
            rule.priority
        )
    });
    marked.chain(hashed).chain(suppressed).collect()
}

/// Policy by which the headers of encapsulated packets decide.
const INNER: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_by_marks_and_inner_addresses_are_named() {
        let plain = TableRule { priority: 32766, table: 254, ..TableRule::default() };
        let marked = TableRule { priority: 100, mark: 1, mask: 0xff, ipv6: true, ..plain.clone() };
        assert!(
            sentences(std::slice::from_ref(&plain), &[("ipv4", Some(1)), ("ipv6", None)])
                .is_empty()
        );
        let named = sentences(&[plain, marked], &[("ipv4", Some(0)), ("ipv6", Some(2))]);
        assert_eq!(named.len(), 2, "{named:?}");
        assert!(
            named[0].starts_with("rule 100 (IPv6) by the firewall mark 0x1/0xff: "),
            "{named:?}"
        );
        let suppressed =
            TableRule { priority: 7, ipv6: true, suppresses: true, ..TableRule::default() };
        let ipv4 = TableRule { ipv6: false, ..suppressed.clone() };
        let also = sentences(&[ipv4, suppressed], &[]);
        assert!(also.len() == 1 && also[0].starts_with("rule 7 (IPv6) with "), "{also:?}");
        assert!(named[1].starts_with("net.ipv6.fib_multipath_hash_policy=2: "), "{named:?}");
    }
}
