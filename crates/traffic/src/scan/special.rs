//! `Reach`: which addresses a scan may probe, by the IANA special-purpose address registries.
//!
//! Source of the networks: the registries iana-ipv4-special-registry and
//! iana-ipv6-special-registry (RFC 6890 and what updated it), multicast (RFC 5771, RFC 4291), and
//! what is reserved (RFC 1112; IPv6 outside of 2000::/3, RFC 4291).

/// Which addresses may be probed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Private, shared and documentation networks, and those for measurements. Any other target is
    /// refused.
    #[default]
    Private,
    /// Addresses of the public Internet. Special-purpose networks are excluded.
    Public,
}

/// Networks that are not of the public Internet, whatever is their use.
pub const SPECIAL: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/3",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "4000::/2",
    "8000::/1",
];

/// Special-purpose networks in which a scan disturbs only its own organization.
pub(super) const PRIVATE: &[&str] = &[
    "10.0.0.0/8",
    "100.64.0.0/10",
    "172.16.0.0/12",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "2001:2::/48",
    "2001:db8::/32",
    "3fff::/20",
    "fc00::/7",
];

#[cfg(test)]
mod tests {
    use packet::Prefix;

    use super::*;

    #[test]
    fn private_networks_are_special() {
        let parse = |text: &&str| text.parse::<Prefix>().unwrap();
        let special: Vec<Prefix> = SPECIAL.iter().map(parse).collect();
        for private in PRIVATE.iter().map(parse) {
            let is_in =
                |of: &Prefix| of.contains(private.address()) && of.length() <= private.length();
            assert!(special.iter().any(is_in), "{private}");
        }
    }
}
