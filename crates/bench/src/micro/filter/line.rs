//! The rules that are measured, in the syntax of each program.
//!
//! Rule: the same number of rules is the same rules, everywhere; the last one matches the frames
//! that are sent, and no other can, since all other networks are those that RFC 1918 and RFC 2544
//! have besides 10.0.0.0/8.

use std::net::Ipv4Addr;
use std::sync::Arc;

use filter::{Action, Addresses, Field, Rule, Ruleset, Side, Test, Values};

/// The addresses and the port of frames.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Source address of the rule.
    pub source: Ipv4Addr,
    /// Destination address of the rule.
    pub dest: Ipv4Addr,
    /// Destination port of the rule.
    pub port: u16,
}

/// A rule that drops.
#[derive(Clone, Debug)]
pub struct Line {
    source: Option<(Ipv4Addr, u8)>,
    dest: Option<(Ipv4Addr, u8)>,
    is_udp: bool,
    port: u16,
}

impl Line {
    /// Rules of which the last one matches the frames.
    pub fn many(count: u32, end: End) -> Vec<Self> {
        let mut lines: Vec<_> = (1..count).map(Self::other).collect();
        lines.push(Self {
            source: Some((end.source, 32)),
            dest: Some((end.dest, 32)),
            is_udp: true,
            port: end.port,
        });
        lines
    }

    /// Hosts and networks on one side or both; one in ten tests protocol, port and a big network.
    fn other(number: u32) -> Self {
        let random = mix(number);
        let network = |base: u32, bits: u32, length: u8| {
            let host = u32::MAX.checked_shr(length.into()).unwrap_or(0);
            let address = base | mix(number ^ base) >> bits;
            (Ipv4Addr::from_bits(address & !host), length)
        };
        let source = |length| Some(network(PRIVATE, 12, length));
        let dest = |length| Some(network(BENCHMARK, 15, length));
        let (source, dest) = match number % 10 {
            0 => (None, dest(20)),
            1 | 2 => (source(24), None),
            3 | 4 => (None, dest(32)),
            5 | 6 => (source(32), dest(24)),
            _ => (source(28), dest(32)),
        };
        // Below the port of the frames.
        let port = 1 + (random >> 8) as u16 % 1_000;
        Self { source, dest, is_udp: random & 3 != 0, port }
    }

    /// The fields that it tests, with the lengths of prefixes.
    pub fn shape(&self) -> Shape {
        let length = |network: Option<(Ipv4Addr, u8)>| network.map(|(_, length)| length);
        Shape { source: length(self.source), dest: length(self.dest) }
    }

    /// The rule as an element of a set of nft for its shape.
    pub fn element(&self) -> String {
        let networks = self.source.iter().chain(&self.dest);
        let networks: String = networks.map(|(ip, length)| format!("{ip}/{length} . ")).collect();
        format!("{networks}{} . {}", self.protocol().0, self.port)
    }

    fn protocol(&self) -> (&'static str, u8) {
        if self.is_udp { ("udp", 17) } else { ("tcp", 6) }
    }

    fn rule(&self, number: usize) -> Rule {
        let prefix = |side, (address, length): (Ipv4Addr, u8)| {
            let host = u32::MAX.checked_shr(length.into()).unwrap_or(0);
            let v4 = Values::range(address.to_bits(), address.to_bits() | host);
            let addresses = Arc::new(Addresses { v4, ..Addresses::default() });
            Test::Address { side, addresses, negated: false }
        };
        let source = self.source.map(|network| prefix(Side::Source, network));
        let dest = self.dest.map(|network| prefix(Side::Dest, network));
        let mut tests: Vec<Test> = source.into_iter().chain(dest).collect();
        tests.push(Test::Is(Field::Protocol, Values::one(self.protocol().1)));
        tests.push(Test::Is(Field::DestPort, Values::one(self.port)));
        Rule { name: format!("line-{number}"), tests, action: Action::Drop }
    }

    /// The rule as a statement of nft, without its verdict.
    pub fn nft(&self) -> String {
        let side = |word, network: Option<(Ipv4Addr, u8)>| {
            network.map(|(ip, length)| format!("ip {word} {ip}/{length} ")).unwrap_or_default()
        };
        let (source, dest) = (side("saddr", self.source), side("daddr", self.dest));
        format!("{source}{dest}{} dport {}", self.protocol().0, self.port)
    }

    /// The rule as arguments of iptables, without its target.
    pub fn iptables(&self) -> String {
        let side = |word, network: Option<(Ipv4Addr, u8)>| {
            network.map(|(ip, length)| format!("{word} {ip}/{length} ")).unwrap_or_default()
        };
        let (source, dest) = (side("-s", self.source), side("-d", self.dest));
        format!("{source}{dest}-p {} --dport {}", self.protocol().0, self.port)
    }
}

/// Lengths of prefixes, where there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    source: Option<u8>,
    dest: Option<u8>,
}

impl Shape {
    /// The types of an element for nft, and the expression that is looked up.
    pub fn words(self) -> (String, String) {
        let (mut types, mut key) = (String::new(), String::new());
        for (length, side) in [(self.source, "ip saddr . "), (self.dest, "ip daddr . ")] {
            if length.is_some() {
                types += "ipv4_addr . ";
                key += side;
            }
        }
        (types + "inet_proto . inet_service", key + "meta l4proto . th dport")
    }
}

/// The rules as a ruleset of the filter.
pub fn ruleset(lines: &[Line]) -> Ruleset {
    let rules = (1..).zip(lines).map(|(number, line)| line.rule(number)).collect();
    Ruleset { rules, ..Ruleset::default() }
}

/// Random addresses outside of 10.0.0.0/8, and that of the frames.
pub fn addresses(count: u32, end: End) -> Vec<Ipv4Addr> {
    let other = (1..count).map(|number| Ipv4Addr::from_bits(mix(number)));
    other.filter(|address| address.octets()[0] != 10).chain([end.source]).collect()
}

/// One rule that tests whether an address is one of `count`.
pub fn set(count: u32, side: Side, end: End) -> Ruleset {
    let number = |address: Ipv4Addr| u128::from(address.to_bits());
    let ranges = addresses(count, end).into_iter().map(number).map(|one| (one, one));
    let v4 = Values::new(ranges);
    let addresses =
        Arc::new(Addresses { name: Some("set".to_owned()), v4, ..Addresses::default() });
    let tests = vec![Test::Address { side, addresses, negated: false }];
    let rules = vec![Rule { name: "set".to_owned(), tests, action: Action::Drop }];
    Ruleset { rules, ..Ruleset::default() }
}

/// All numbers once, in disorder: each step can be undone (the finalizer of MurmurHash3).
const fn mix(number: u32) -> u32 {
    let number = (number ^ number >> 16).wrapping_mul(0x85eb_ca6b);
    let number = (number ^ number >> 13).wrapping_mul(0xc2b2_ae35);
    number ^ number >> 16
}

/// 172.16.0.0/12 and 198.18.0.0/15.
const PRIVATE: u32 = 0xac10_0000;
const BENCHMARK: u32 = 0xc612_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_the_same_in_all_words() {
        let end =
            End { source: Ipv4Addr::new(10, 0, 0, 1), dest: Ipv4Addr::new(10, 0, 0, 2), port: 9 };
        let [.., last] = &Line::many(3, end)[..] else { panic!("three") };
        assert_eq!(last.nft(), "ip saddr 10.0.0.1/32 ip daddr 10.0.0.2/32 udp dport 9");
        assert_eq!(last.iptables(), "-s 10.0.0.1/32 -d 10.0.0.2/32 -p udp --dport 9");
        assert_eq!(last.element(), "10.0.0.1/32 . 10.0.0.2/32 . udp . 9");
        let key = "ip saddr . ip daddr . meta l4proto . th dport";
        assert_eq!(last.shape().words().1, key);
        assert_eq!(last.rule(3).tests.len(), 4);
        assert_eq!(addresses(1_000, end).last(), Some(&end.source));
    }

    #[test]
    fn only_the_last_rule_can_match() {
        let end =
            End { source: Ipv4Addr::new(10, 0, 0, 1), dest: Ipv4Addr::new(10, 0, 0, 2), port: 9 };
        let lines = Line::many(10_000, end);
        let [others @ .., _] = &lines[..] else { panic!("ten thousand") };
        for line in others {
            let networks = line.source.iter().chain(&line.dest);
            assert!(networks.clone().count() > 0, "{line:?}");
            for (address, _) in networks {
                assert_ne!(address.octets()[0], 10, "{line:?}");
            }
        }
    }
}
