//! `Rule`: which packets go to a socket, as text and in the format of the program.
//!
//! Rule of this file: parts that no packet can have together are rejected, never ignored.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use packet::{EtherType, IpProtocol, ParseError, Prefix, mask4, mask6};

use super::ports::Ports;
use super::redirect::abi::{self, Fields};
use super::redirect::{KNOWN_IP, KNOWN_PORTS};

/// A rule, which matches a packet if all its given parts match. As text: `[TO [PROTOCOL [PORTS]]]
/// [from FROM [PORTS]] [ethertype NUMBER]`, with `any` for a part that is not given: `10.1.0.2 udp
/// 1234`, `any udp from any 53`, `ethertype 0x0806`, and for a single flow `10.1.0.2 tcp 80 from
/// 10.2.0.9 40000`.
///
/// VLAN tags and IPv6 extension headers are skipped. Later fragments and truncated packets have no
/// ports, so rules with ports do not match them. A packet with an invalid IP header matches only by
/// EtherType.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rule {
    /// EtherType after all VLAN tags.
    pub ethertype: Option<u16>,
    /// IP protocol.
    pub protocol: Option<IpProtocol>,
    /// Source address.
    pub from: Option<Prefix>,
    /// Source ports.
    pub from_ports: Option<Ports>,
    /// Destination address.
    pub to: Option<Prefix>,
    /// Destination ports.
    pub ports: Option<Ports>,
}

impl Rule {
    /// Checks that a packet can match.
    ///
    /// # Errors
    /// The parts that no packet can have together.
    pub fn check(&self) -> Result<(), ParseError> {
        let wrong = |reason: String| Err(ParseError::new(self.to_string(), reason));
        match self.protocol {
            Some(protocol) if self.has_ports() && !protocol.has_ports() => {
                return wrong(format!("{protocol} has no ports"));
            }
            _ => {}
        }
        let families: Vec<u16> = self.prefixes().map(ethertype_of).collect();
        if families.windows(2).any(|pair| pair[0] != pair[1]) {
            return wrong("one address is IPv4, the other IPv6".to_owned());
        }
        let Some(ethertype) = self.ethertype else { return Ok(()) };
        match (families.first(), ethertype) {
            (_, VLAN | SERVICE_VLAN) => {
                wrong("this is a VLAN tag, and rules skip all tags".to_owned())
            }
            (Some(family), _) if *family != ethertype => {
                wrong(format!("with these addresses it must be {family:#06x}"))
            }
            (None, IPV4 | IPV6) => Ok(()),
            (None, _) if self.is_about_ip() => {
                wrong(format!("{ethertype:#06x} has neither addresses nor protocols nor ports"))
            }
            _ => Ok(()),
        }
    }

    /// The rule in the format of the program.
    pub fn compiled(&self) -> abi::Rule {
        let (mut mask, mut value) = (Fields::default(), Fields::default());
        if let Some(ethertype) = self.ethertype.or_else(|| self.prefixes().next().map(ethertype_of))
        {
            (mask.ethertype, value.ethertype) = (u16::MAX, ethertype);
        }
        if let Some(protocol) = self.protocol {
            (mask.protocol, value.protocol) = (u8::MAX, protocol.0);
        }
        if self.is_about_ip() {
            mask.known |= KNOWN_IP;
        }
        if self.has_ports() {
            mask.known |= KNOWN_PORTS;
        }
        value.known = mask.known;
        (mask.source, value.source) = address(self.from);
        (mask.destination, value.destination) = address(self.to);
        let (source_first, source_more) = range(self.from_ports);
        let (first, more) = range(self.ports);
        abi::Rule { mask, value, source_first, source_more, first, more }
    }

    fn prefixes(&self) -> impl Iterator<Item = Prefix> {
        [self.to, self.from].into_iter().flatten()
    }

    fn has_ports(&self) -> bool {
        self.ports.is_some() || self.from_ports.is_some()
    }

    fn is_about_ip(&self) -> bool {
        self.prefixes().next().is_some() || self.protocol.is_some() || self.has_ports()
    }
}

fn ethertype_of(prefix: Prefix) -> u16 {
    if prefix.address().is_ipv4() { IPV4 } else { IPV6 }
}

/// Mask and value of an address; IPv4 addresses are the first four bytes.
fn address(prefix: Option<Prefix>) -> ([u8; 16], [u8; 16]) {
    let (mut mask, mut value) = ([0; 16], [0; 16]);
    let Some(prefix) = prefix else { return (mask, value) };
    match prefix.address() {
        IpAddr::V4(address) => {
            mask[..4].copy_from_slice(&mask4(prefix.length()).to_be_bytes());
            value[..4].copy_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            mask = mask6(prefix.length()).to_be_bytes();
            value = address.octets();
        }
    }
    (mask, value)
}

fn range(ports: Option<Ports>) -> (u16, u16) {
    ports.map_or((0, u16::MAX), |ports| (ports.first(), ports.last() - ports.first()))
}

impl FromStr for Rule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut words = text.split_whitespace().peekable();
        let mut rule = Self::default();
        if words.peek().is_none() {
            return Err(ParseError::new(text, "empty; use `any` for all packets"));
        }
        rule.to = part(&mut words, Prefix::from_str)?;
        rule.protocol = part(&mut words, IpProtocol::from_str)?;
        rule.ports = part(&mut words, Ports::from_str)?;
        if words.next_if_eq(&"from").is_some() {
            if words.peek().is_none() {
                return Err(ParseError::new(text, "an address or `any` must follow `from`"));
            }
            rule.from = part(&mut words, Prefix::from_str)?;
            rule.from_ports = part(&mut words, Ports::from_str)?;
        }
        if words.next_if_eq(&"ethertype").is_some() {
            rule.ethertype = Some(ethertype(words.next().unwrap_or_default())?);
        }
        if let Some(word) = words.next() {
            return Err(ParseError::new(text, format!("unexpected `{word}`")));
        }
        rule.check()?;
        Ok(rule)
    }
}

/// The next part; `None` for `any`, before a keyword and at the end.
fn part<'a, T>(
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    parse: impl Fn(&str) -> Result<T, ParseError>,
) -> Result<Option<T>, ParseError> {
    match words.next_if(|word| !KEYWORDS.contains(word)) {
        None | Some("any") => Ok(None),
        Some(word) => parse(word).map(Some),
    }
}

fn ethertype(word: &str) -> Result<u16, ParseError> {
    let number = match word.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    number
        .ok_or_else(|| ParseError::new(word, "not an EtherType; expected a number such as 0x0806"))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |part: Option<String>| part.unwrap_or_else(|| "any".to_owned());
        let mut words = trimmed([
            self.to.map(|to| to.to_string()),
            self.protocol.map(|protocol| protocol.to_string()),
            self.ports.map(|ports| ports.to_string()),
        ]);
        let from = [self.from.map(|from| from.to_string()), self.from_ports.map(|p| p.to_string())];
        let from = trimmed(from);
        if !from.is_empty() {
            words.push(Some("from".to_owned()));
            words.extend(from);
        }
        if let Some(ethertype) = self.ethertype {
            words.push(Some(format!("ethertype {ethertype:#06x}")));
        }
        if words.is_empty() {
            words.push(None);
        }
        f.write_str(&words.into_iter().map(text).collect::<Vec<_>>().join(" "))
    }
}

/// Removes the parts at the end that are not given.
fn trimmed<const N: usize>(parts: [Option<String>; N]) -> Vec<Option<String>> {
    let given = parts.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    parts.into_iter().take(given).collect()
}

const KEYWORDS: [&str; 2] = ["from", "ethertype"];
const IPV4: u16 = EtherType::IPV4.0;
const IPV6: u16 = EtherType::IPV6.0;
const VLAN: u16 = EtherType::VLAN.0;
const SERVICE_VLAN: u16 = EtherType::SERVICE_VLAN.0;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn rules_as_text() {
        for (text, shown) in [
            ("10.1.0.2 udp 1234", "10.1.0.2 udp 1234"),
            ("  10.1.0.0/16   17 ", "10.1.0.0/16 udp"),
            ("any", "any"),
            ("any any any", "any"),
            ("any any 53..53", "any any 53"),
            ("2001:db8::/64 tcp 1024..65535", "2001:db8::/64 tcp 1024..65535"),
            ("any udp from any 53", "any udp from any 53"),
            ("from 10.2.0.0/16", "from 10.2.0.0/16"),
            ("10.1.0.2 tcp 80 from 10.2.0.9 40000", "10.1.0.2 tcp 80 from 10.2.0.9 40000"),
            ("ethertype 0x0806", "ethertype 0x0806"),
            ("ethertype 2054", "ethertype 0x0806"),
            ("any icmpv6 ethertype 0x86dd", "any icmpv6 ethertype 0x86dd"),
            ("10.1.0.2 from any any ethertype 0x800", "10.1.0.2 ethertype 0x0800"),
        ] {
            let rule = text.parse::<Rule>().unwrap();
            assert_eq!(rule.to_string(), shown);
            assert_eq!(shown.parse::<Rule>(), Ok(rule), "{shown}");
        }
    }

    #[test]
    fn invalid_rules() {
        for (text, reason) in [
            ("", "empty"),
            ("10.1.0.2 icmp 80", "icmp has no ports"),
            ("any icmp from any 80", "icmp has no ports"),
            ("10.1.0.2 udp 65536", "not a port"),
            ("10.1.0.2 udp 9..1", "below its first"),
            ("10.1.0.2 udp 53 drop", "unexpected `drop`"),
            ("10.1.0.2 from", "must follow `from`"),
            ("from 10.1.0.2 53 udp", "unexpected `udp`"),
            ("udp 53", "no IPv4 or IPv6 address"),
            ("10.1.0.2/8", "10.0.0.0/8?"),
            ("10.1.0.2 from 2001:db8::1", "one address is IPv4"),
            ("ethertype", "not an EtherType"),
            ("ethertype 0x10000", "not an EtherType"),
            ("ethertype arp", "not an EtherType"),
            ("ethertype 0x8100", "VLAN tag"),
            ("10.1.0.2 ethertype 0x88a8", "VLAN tag"),
            ("10.1.0.2 ethertype 0x86dd", "it must be 0x0800"),
            ("any udp ethertype 0x0806", "neither addresses"),
            ("any any 53 ethertype 0x0806", "neither addresses"),
        ] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
