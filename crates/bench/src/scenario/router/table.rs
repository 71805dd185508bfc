//! Routing tables like the Internet's: its share of prefixes of each length, at random places of
//! the unicast space.
//!
//! Rule: the same number of routes is the same table on every machine. Prefixes at random places
//! cover about two thirds of the IPv4 space, and three fifths of them lie within a shorter one, so
//! lookups have to go as deep as in the real table; prefixes with adjacent numbers are not adjacent
//! in the table, as they often are there. Of the IPv6 space they cover next to nothing.
//! Not here: adding them to the kernel (`net`).

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::{Result, ensure};

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    V4,
    V6,
}

/// Prefixes of one family, each once, shortest first.
#[derive(Debug)]
pub struct Table {
    family: Family,
    prefixes: Vec<Prefix>,
}

/// A network. The bits of an IPv4 address are the highest of the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    network: u128,
    /// Length of the prefix in bits.
    pub length: u8,
}

impl Family {
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::V4 => "ipv4",
            Self::V6 => "ipv6",
        }
    }

    /// The address whose bits are the highest of the number.
    pub fn address(self, bits: u128) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::from_bits((bits >> 96) as u32).into(),
            Self::V6 => Ipv6Addr::from_bits(bits).into(),
        }
    }

    /// Any number that is an address of the family.
    fn draw(self, random: &mut Random) -> u128 {
        let mut word = || u128::from(random.next());
        match self {
            Self::V4 => word() << 96,
            Self::V6 => word() << 96 | word() << 64 | word() << 32 | word(),
        }
    }

    /// A number in the unicast space.
    fn place(self, random: &mut Random) -> u128 {
        match self {
            Self::V4 => self.draw(random),
            Self::V6 => self.draw(random) >> 3 | 1 << 125,
        }
    }

    /// How often each length is announced.
    fn mix(self) -> &'static [(u8, usize)] {
        match self {
            Self::V4 => &MIX4,
            Self::V6 => &MIX6,
        }
    }

    fn special(self) -> &'static [(u128, u8)] {
        match self {
            Self::V4 => &SPECIAL4,
            Self::V6 => &SPECIAL6,
        }
    }
}

impl Table {
    /// # Errors
    /// More than [`MOST`] routes.
    pub fn of(family: Family, routes: usize) -> Result<Self> {
        ensure!((1..=MOST).contains(&routes), "1 to {MOST} routes can be made up, not {routes}");
        let mut random = Random(SEED);
        let mut known = HashSet::with_capacity(routes);
        let mut prefixes = Vec::with_capacity(routes);
        for (length, share) in shares(family.mix(), routes) {
            let wanted = prefixes.len() + share;
            // A place in six is not unicast, and few are taken.
            for _ in 0..share * ATTEMPTS {
                if prefixes.len() == wanted {
                    break;
                }
                let prefix = Prefix::around(family.place(&mut random), length);
                if prefix.is_unicast(family) && known.insert(prefix) {
                    prefixes.push(prefix);
                }
            }
            ensure!(prefixes.len() == wanted, "there are no {share} networks of length {length}");
        }
        Ok(Self { family, prefixes })
    }

    /// All prefixes of the table.
    pub fn prefixes(&self) -> &[Prefix] {
        &self.prefixes
    }

    /// The address family of its routes.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Addresses that have a route, all different; of any two such lists the shorter one begins
    /// the longer one.
    ///
    /// # Errors
    /// The table has fewer addresses.
    pub fn destinations(&self, count: usize) -> Result<Vec<IpAddr>> {
        let mut random = Random(!SEED);
        let mut known = HashSet::with_capacity(count);
        let mut found = Vec::with_capacity(count);
        for _ in 0..count * ATTEMPTS {
            if found.len() == count {
                break;
            }
            let route = self.prefixes[random.next() as usize % self.prefixes.len()];
            let address = route.network | self.family.draw(&mut random) & !mask(route.length);
            if known.insert(address) {
                found.push(self.family.address(address));
            }
        }
        ensure!(found.len() == count, "{} routes have no {count} addresses", self.prefixes.len());
        Ok(found)
    }
}

impl Prefix {
    /// The first address of the prefix, with its length.
    pub fn in_family(self, family: Family) -> (IpAddr, u8) {
        (family.address(self.network), self.length)
    }

    fn around(address: u128, length: u8) -> Self {
        Self { network: address & mask(length), length }
    }

    fn is_unicast(self, family: Family) -> bool {
        !family.special().iter().any(|(network, length)| {
            let common = mask(self.length.min(*length));
            network & common == self.network & common
        })
    }
}

/// The number of prefixes of each length: the floor of each share, and the rest as the longest.
fn shares(mix: &[(u8, usize)], routes: usize) -> Vec<(u8, usize)> {
    let announced: usize = mix.iter().map(|(_, count)| count).sum();
    let share = |count: usize| routes * count / announced;
    let mut shares: Vec<_> = mix.iter().map(|(length, count)| (*length, share(*count))).collect();
    let short: usize = shares.iter().map(|(_, share)| share).sum();
    if let Some((_, longest)) = shares.last_mut() {
        *longest += routes - short;
    }
    shares
}

const fn mask(length: u8) -> u128 {
    !u128::MAX.unbounded_shr(length as u32)
}

const fn net4(a: u8, b: u8, c: u8) -> u128 {
    (a as u128) << 120 | (b as u128) << 112 | (c as u128) << 104
}

const fn net6(first: u16, second: u16) -> u128 {
    (first as u128) << 112 | (second as u128) << 96
}

/// Numbers that look random and are the same every time (Steele et al., "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as u32
    }
}

/// Source of the distribution of lengths in IPv4.
pub const SOURCE4: &str = "196,503 prefixes of /8 to /24 in raw data of RIPE's Routing Information \
    Service, March 2021, as kept in github.com/zhu849/IP-Address-Lookup-Algorithms";
/// Prefixes by length, as they were announced.
const MIX4: [(u8, usize); 17] = [
    (8, 3),
    (9, 3),
    (10, 11),
    (11, 29),
    (12, 117),
    (13, 193),
    (14, 341),
    (15, 552),
    (16, 2_454),
    (17, 1_880),
    (18, 3_792),
    (19, 6_761),
    (20, 9_161),
    (21, 11_054),
    (22, 22_947),
    (23, 19_978),
    (24, 117_227),
];
/// Made up: shares of a thousand prefixes, 43 bits long on average, as those that
/// [`SOURCE6`] counts.
const MIX6: [(u8, usize); 14] = [
    (29, 20),
    (32, 105),
    (33, 10),
    (34, 10),
    (36, 55),
    (38, 10),
    (40, 105),
    (42, 20),
    (43, 10),
    (44, 120),
    (45, 20),
    (46, 40),
    (47, 30),
    (48, 445),
];
/// Source of the average length in IPv6.
pub const SOURCE6: &str = "AS6447 at bgp.potaroo.net/v6, October 2024: 226,415 prefixes of 43.2 \
    bits on average";
/// Networks that routers do not route to, or that the lab has itself (RFC 6890, RFC 1112).
const SPECIAL4: [(u128, u8); 13] = [
    (net4(0, 0, 0), 8),
    (net4(10, 0, 0), 8),
    (net4(100, 64, 0), 10),
    (net4(127, 0, 0), 8),
    (net4(169, 254, 0), 16),
    (net4(172, 16, 0), 12),
    (net4(192, 0, 0), 24),
    (net4(192, 0, 2), 24),
    (net4(192, 168, 0), 16),
    (net4(198, 18, 0), 15),
    (net4(198, 51, 100), 24),
    (net4(203, 0, 113), 24),
    (net4(224, 0, 0), 3),
];
/// Special networks in 2000::/3.
const SPECIAL6: [(u128, u8); 4] = [
    (net6(0x2001, 0), 23),
    (net6(0x2001, 0xdb8), 32),
    (net6(0x2002, 0), 16),
    (net6(0x3fff, 0), 20),
];
/// One and a half times the size of the Internet's table in 2026.
const MOST: usize = 1_500_000;
/// Attempts for each chosen prefix.
const ATTEMPTS: usize = 64;
const SEED: u64 = 752_138;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_mix_and_nothing_twice() {
        assert_eq!(MIX4.iter().map(|(_, count)| count).sum::<usize>(), 196_503);
        let bits: usize = MIX6.iter().map(|(length, count)| usize::from(*length) * count).sum();
        assert_eq!((MIX6.iter().map(|(_, count)| count).sum::<usize>(), bits / 100), (1000, 432));
        for (family, routes) in Family::ALL.into_iter().zip([1, 2_000, 100_000].repeat(2)) {
            let (table, mix) = (Table::of(family, routes).unwrap(), family.mix());
            assert_eq!(table.prefixes().len(), routes);
            let distinct: HashSet<_> = table.prefixes().iter().collect();
            assert_eq!(distinct.len(), routes);
            for prefix in table.prefixes() {
                assert!(prefix.is_unicast(family), "{prefix:?}");
                assert_eq!(prefix.network & !mask(prefix.length), 0, "{prefix:?}");
            }
            let announced: usize = mix.iter().map(|(_, count)| count).sum();
            for (length, count) in mix {
                let here =
                    table.prefixes().iter().filter(|prefix| prefix.length == *length).count();
                let exact = routes as f64 * *count as f64 / announced as f64;
                let is_last = mix.last().is_some_and(|(last, _)| last == length);
                let most = if is_last { mix.len() as f64 } else { 1.0 };
                assert!((here as f64 - exact).abs() <= most, "{routes}: {here} of /{length}");
            }
        }
        assert!(Table::of(Family::V4, 0).is_err() && Table::of(Family::V4, MOST + 1).is_err());
    }

    #[test]
    fn networks_that_hold_special_ones_are_special_too() {
        let is_unicast = |text: &str, length| {
            let (family, bits) = match text.parse().unwrap() {
                IpAddr::V4(ip) => (Family::V4, u128::from(ip.to_bits()) << 96),
                IpAddr::V6(ip) => (Family::V6, ip.to_bits()),
            };
            Prefix::around(bits, length).is_unicast(family)
        };
        let cases = [
            ("8.0.0.0", 8, true),
            ("10.1.0.0", 16, false),
            ("11.1.0.0", 16, true),
            ("192.0.0.0", 8, false),
            ("192.0.3.0", 24, true),
            ("239.1.2.0", 24, false),
            ("240.0.0.0", 8, false),
            ("223.255.255.0", 24, true),
            ("2001:db8:1::", 48, false),
            ("2001::", 20, false),
            ("2001:4000::", 32, true),
            ("2a00::", 29, true),
        ];
        for (network, length, is) in cases {
            assert_eq!(is_unicast(network, length), is, "{network}/{length}");
        }
    }

    #[test]
    fn destinations_have_routes_and_lists_begin_alike() {
        for family in Family::ALL {
            let table = Table::of(family, 2_000).unwrap();
            let all = table.destinations(5_000).unwrap();
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), 5_000);
            assert_eq!(table.destinations(10).unwrap(), all[..10]);
            for address in &all[..200] {
                let has_route = |prefix: &Prefix| {
                    let bits = match address {
                        IpAddr::V4(ip) => u128::from(ip.to_bits()) << 96,
                        IpAddr::V6(ip) => ip.to_bits(),
                    };
                    bits & mask(prefix.length) == prefix.network
                };
                assert!(table.prefixes().iter().any(has_route), "{address}");
            }
        }
        let prefixes = vec![Prefix::around(u128::MAX, 24)];
        assert!(Table { family: Family::V4, prefixes }.destinations(257).is_err());
    }
}
