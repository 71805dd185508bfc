//! A routing table like the Internet's: its share of prefixes of each length, at random places of
//! the unicast space.
//!
//! Rule: the same number of routes is the same table on every machine. Prefixes at random places
//! cover about two thirds of the space, and three fifths of them lie within a shorter one, so
//! lookups have to go as deep as in the real table; prefixes with adjacent numbers are not adjacent
//! in the table, as they often are there. Not here: adding it to the kernel (`net`).

use std::collections::HashSet;
use std::net::Ipv4Addr;

use anyhow::{Result, ensure};

/// Prefixes, each once, shortest first.
#[derive(Debug)]
pub struct Table {
    prefixes: Vec<Prefix>,
}

/// An IPv4 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    network: u32,
    /// Length of the prefix in bits.
    pub length: u8,
}

impl Table {
    /// # Errors
    /// More than [`MOST`] routes.
    pub fn of(routes: usize) -> Result<Self> {
        ensure!((1..=MOST).contains(&routes), "1 to {MOST} routes can be made up, not {routes}");
        let mut random = Random(SEED);
        let mut known = HashSet::with_capacity(routes);
        let mut prefixes = Vec::with_capacity(routes);
        for (length, share) in shares(routes) {
            let wanted = prefixes.len() + share;
            // A place in six is not unicast, and few are taken.
            for _ in 0..share * ATTEMPTS {
                if prefixes.len() == wanted {
                    break;
                }
                let prefix = Prefix::around(random.next(), length);
                if prefix.is_unicast() && known.insert(prefix) {
                    prefixes.push(prefix);
                }
            }
            ensure!(prefixes.len() == wanted, "there are no {share} networks of length {length}");
        }
        Ok(Self { prefixes })
    }

    /// All prefixes of the table.
    pub fn prefixes(&self) -> &[Prefix] {
        &self.prefixes
    }

    /// Addresses that have a route, all different; of any two such lists the shorter one begins
    /// the longer one.
    ///
    /// # Errors
    /// The table has fewer addresses.
    pub fn destinations(&self, count: usize) -> Result<Vec<Ipv4Addr>> {
        let mut random = Random(!SEED);
        let mut known = HashSet::with_capacity(count);
        let mut found = Vec::with_capacity(count);
        for _ in 0..count * ATTEMPTS {
            if found.len() == count {
                break;
            }
            let route = self.prefixes[random.next() as usize % self.prefixes.len()];
            let address = route.network | random.next() & !mask(route.length);
            if known.insert(address) {
                found.push(Ipv4Addr::from_bits(address));
            }
        }
        ensure!(found.len() == count, "{} routes have no {count} addresses", self.prefixes.len());
        Ok(found)
    }
}

impl Prefix {
    /// The first address of the prefix.
    pub fn address(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network)
    }

    fn around(address: u32, length: u8) -> Self {
        Self { network: address & mask(length), length }
    }

    fn is_unicast(self) -> bool {
        !SPECIAL.iter().any(|(network, length)| {
            let common = mask(self.length.min(*length));
            Ipv4Addr::from(*network).to_bits() & common == self.network & common
        })
    }
}

/// The number of prefixes of each length: the floor of each share, and the rest as /24.
fn shares(routes: usize) -> Vec<(u8, usize)> {
    let share = |count: usize| routes * count / ANNOUNCED;
    let mut shares: Vec<_> = MIX.iter().map(|(length, count)| (*length, share(*count))).collect();
    let short: usize = shares.iter().map(|(_, share)| share).sum();
    if let Some((_, longest)) = shares.last_mut() {
        *longest += routes - short;
    }
    shares
}

const fn mask(length: u8) -> u32 {
    !(u32::MAX >> length)
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

/// Source of the distribution of lengths.
pub const SOURCE: &str = "196,503 prefixes of /8 to /24 in raw data of RIPE's Routing Information \
    Service, March 2021, as kept in github.com/zhu849/IP-Address-Lookup-Algorithms";
/// Prefixes by length, as they were announced.
const MIX: [(u8, usize); 17] = [
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
const ANNOUNCED: usize = 196_503;
/// Networks that routers do not route to, or that the lab has itself (RFC 6890, RFC 1112).
const SPECIAL: [([u8; 4], u8); 13] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 3),
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
        assert_eq!(MIX.iter().map(|(_, count)| count).sum::<usize>(), ANNOUNCED);
        for routes in [1, 2_000, 100_000] {
            let table = Table::of(routes).unwrap();
            assert_eq!(table.prefixes().len(), routes);
            let distinct: HashSet<_> = table.prefixes().iter().collect();
            assert_eq!(distinct.len(), routes);
            for prefix in table.prefixes() {
                assert!(prefix.is_unicast(), "{prefix:?}");
                assert_eq!(prefix.network & !mask(prefix.length), 0, "{prefix:?}");
            }
            for (length, announced) in MIX {
                let here = table.prefixes().iter().filter(|prefix| prefix.length == length).count();
                let exact = routes as f64 * announced as f64 / ANNOUNCED as f64;
                let most = if length == 24 { MIX.len() as f64 } else { 1.0 };
                assert!((here as f64 - exact).abs() <= most, "{routes}: {here} of /{length}");
            }
        }
        assert!(Table::of(0).is_err() && Table::of(MOST + 1).is_err());
    }

    #[test]
    fn networks_that_hold_special_ones_are_special_too() {
        let is_unicast = |text: [u8; 4], length| {
            Prefix::around(Ipv4Addr::from(text).to_bits(), length).is_unicast()
        };
        let cases = [
            ([8, 0, 0, 0], 8, true),
            ([10, 1, 0, 0], 16, false),
            ([11, 1, 0, 0], 16, true),
            ([192, 0, 0, 0], 8, false),
            ([192, 0, 3, 0], 24, true),
            ([239, 1, 2, 0], 24, false),
            ([240, 0, 0, 0], 8, false),
            ([223, 255, 255, 0], 24, true),
        ];
        for (network, length, is) in cases {
            assert_eq!(is_unicast(network, length), is, "{network:?}/{length}");
        }
    }

    #[test]
    fn destinations_have_routes_and_lists_begin_alike() {
        let table = Table::of(2_000).unwrap();
        let all = table.destinations(5_000).unwrap();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 5_000);
        assert_eq!(table.destinations(10).unwrap(), all[..10]);
        for address in &all[..200] {
            let has_route =
                |prefix: &&Prefix| address.to_bits() & mask(prefix.length) == prefix.network;
            assert!(table.prefixes().iter().any(|prefix| has_route(&prefix)), "{address}");
        }
        let one = Table { prefixes: vec![Prefix::around(u32::MAX, 24)] };
        assert!(one.destinations(257).is_err());
    }
}
