//! Rules sorted into shapes, the sets of parts that rules leave open.
//!
//! Rule: a shape that is installed keeps its number, and a number that any installed rule carries
//! is given to no other shape. So while the maps change a packet meets old rules or new ones under
//! their own shape, whatever moves in the list.

use std::collections::BTreeSet;
use std::net::IpAddr;

use packet::{Prefix, mask4, mask6};

use super::abi::{Rule4, Rule6, Shape4, Shape6, Shapes};
use super::config::{Config, Rule};
use super::installed::InstalledRules;

/// The rules of one address family leave different parts open in more ways than the program tries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{family} rules combine prefix length, protocol and port in {used} ways; at most {most} fit: \
     widen or split prefixes so that more rules are alike"
)]
/// The rules of a family have more shapes than the program supports.
pub struct TooManyShapes {
    pub family: &'static str,
    pub used: usize,
    pub most: usize,
}

/// The family of a shape.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

/// Which parts count.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    length: u8,
    protocol: bool,
    port: bool,
}

/// A shape in use with its rules.
pub(super) struct Group {
    shape: Shape,
    number: u8,
    first: Part,
    rules: BTreeSet<Part>,
}

/// A rule within its shape; what is left open is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    /// An IPv4 address in the low 32 bits.
    address: u128,
    protocol: u8,
    port: u16,
}

impl Family {
    /// The rules of this family by shape, in the order of the configuration.
    pub(super) fn group(
        self,
        config: &Config,
        installed: &InstalledRules,
    ) -> Result<Vec<Group>, TooManyShapes> {
        let mut numbers = Numbers::new(self, installed);
        let mut groups: Vec<Group> = Vec::new();
        for rule in config.rules.iter().filter(|rule| self.has(rule)) {
            let shape = Shape::of(rule);
            let part = Part::of(rule);
            match groups.iter_mut().find(|group| group.shape == shape) {
                Some(group) => {
                    group.rules.insert(part);
                }
                None => {
                    let rules = BTreeSet::from([part]);
                    groups.push(Group { shape, number: numbers.of(shape), first: part, rules });
                }
            }
        }
        let (used, most) = (groups.len(), Shapes::default().v4.len());
        let family = if self == Self::V4 { "IPv4" } else { "IPv6" };
        if used > most { Err(TooManyShapes { family, used, most }) } else { Ok(groups) }
    }

    /// A rule without a prefix belongs to both families.
    fn has(self, rule: &Rule) -> bool {
        rule.to.is_none_or(|prefix| prefix.address().is_ipv4() == (self == Self::V4))
    }
}

/// Numbers of shapes: those in use, and which are free.
struct Numbers {
    installed: Vec<(Shape, u8)>,
    taken: BTreeSet<u8>,
}

impl Numbers {
    fn new(family: Family, installed: &InstalledRules) -> Self {
        let InstalledRules { shapes, rules4, rules6 } = installed;
        let (installed, at, rules): (Vec<_>, _, _) = match family {
            Family::V4 => (shapes.v4.iter().filter_map(Shape::live4).collect(), 7, rules4),
            Family::V6 => (shapes.v6.iter().filter_map(Shape::live6).collect(), 19, rules6),
        };
        let carried = rules.keys().filter_map(|key| key.get(at).copied());
        let taken = installed.iter().map(|(_, number)| *number).chain(carried).collect();
        Self { installed, taken }
    }

    fn of(&mut self, shape: Shape) -> u8 {
        if let Some((_, number)) = self.installed.iter().find(|(installed, _)| *installed == shape)
        {
            return *number;
        }
        // At most a full list was installed before, and leftovers of a killed run: 256 are not used
        // up.
        let number = (0..=u8::MAX).find(|number| !self.taken.contains(number)).unwrap_or(u8::MAX);
        self.taken.insert(number);
        number
    }
}

impl Shape {
    fn of(rule: &Rule) -> Self {
        Self {
            length: rule.to.map_or(0, Prefix::length),
            protocol: rule.protocol.is_some(),
            port: rule.port.is_some(),
        }
    }

    fn live4(installed: &Shape4) -> Option<(Self, u8)> {
        let Rule4 { address, port, protocol, shape: number } = installed.mask;
        let length = u32::from_be_bytes(address).count_ones() as u8;
        let shape = Self { length, protocol: protocol != 0, port: port != [0; 2] };
        (installed.rules > 0).then_some((shape, number))
    }

    fn live6(installed: &Shape6) -> Option<(Self, u8)> {
        let Rule6 { address, port, protocol, shape: number, .. } = installed.mask;
        let length = u128::from_be_bytes(address).count_ones() as u8;
        let shape = Self { length, protocol: protocol != 0, port: port != [0; 2] };
        (installed.rules > 0).then_some((shape, number))
    }

    /// Ones where a part counts.
    fn mask(self, address: u128) -> Part {
        Part {
            address,
            protocol: if self.protocol { u8::MAX } else { 0 },
            port: if self.port { u16::MAX } else { 0 },
        }
    }
}

impl Part {
    fn of(rule: &Rule) -> Self {
        let address = rule.to.map_or(0, |prefix| match prefix.address() {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        });
        let protocol = rule.protocol.map_or(0, |protocol| protocol.0);
        Self { address, protocol, port: rule.port.unwrap_or_default() }
    }
}

impl Group {
    /// The shape in the layout of the program for IPv4.
    pub(super) fn shape4(&self) -> Shape4 {
        let mask = self.shape.mask(u128::from(mask4(self.shape.length)));
        Shape4 {
            mask: self.rule4(&mask),
            first: self.rule4(&self.first),
            rules: self.rules.len() as u32,
            zero: 0,
        }
    }

    /// The shape in the layout of the program for IPv6.
    pub(super) fn shape6(&self) -> Shape6 {
        let mask = self.shape.mask(mask6(self.shape.length));
        Shape6 {
            mask: self.rule6(&mask),
            first: self.rule6(&self.first),
            rules: self.rules.len() as u32,
            zero: 0,
        }
    }

    /// The keys of the rules in the layout of the program for IPv4.
    pub(super) fn rules4(&self) -> impl Iterator<Item = Rule4> {
        self.rules.iter().map(|rule| self.rule4(rule))
    }

    /// The keys of the rules in the layout of the program for IPv6.
    pub(super) fn rules6(&self) -> impl Iterator<Item = Rule6> {
        self.rules.iter().map(|rule| self.rule6(rule))
    }

    fn rule4(&self, part: &Part) -> Rule4 {
        Rule4 {
            address: (part.address as u32).to_be_bytes(),
            port: part.port.to_be_bytes(),
            protocol: part.protocol,
            shape: self.number,
        }
    }

    fn rule6(&self, part: &Part) -> Rule6 {
        Rule6 {
            address: part.address.to_be_bytes(),
            port: part.port.to_be_bytes(),
            protocol: part.protocol,
            shape: self.number,
            zero: 0,
        }
    }
}
