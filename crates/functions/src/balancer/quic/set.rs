//! Sets of configurations and server ids in the program's maps.
//!
//! Rule: a set is written where no service names one; a service then changes to it with the one
//! write of its entry. In a set that is in use, only the ids of backends that are gone are removed.

use std::collections::{BTreeMap, BTreeSet};

use spec::{Expect, Map};

use super::abi::{Config, Kind, Line};
use super::aes;
use super::config::{Key, QuicConfig, ServerIds};

/// A set, wherever it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// By number; without the fields that state where the lines are.
    configs: BTreeMap<u8, Config>,
    cells: BTreeMap<Cell, u16>,
}

/// A server id and the number of its configuration, as in a line.
type Cell = [u64; 2];

impl Set {
    /// The set of a service, of whose backends are given numbers and server ids.
    pub fn new<'c>(
        configs: &[QuicConfig],
        backends: impl Iterator<Item = (u16, &'c ServerIds)>,
    ) -> Self {
        let entries = configs.iter().map(|config| (config.config, entry(config)));
        let mut set = Self { configs: entries.collect(), cells: BTreeMap::new() };
        for (number, ids) in backends {
            for config in configs {
                let length = usize::from(config.server_id_length);
                for id in ids.0.iter().filter(|id| id.0.len() == length) {
                    set.cells.insert(cell(config.config, &id.0), number);
                }
            }
        }
        set
    }

    /// Adds the ids of backends that the service has no more, where the configuration is the same.
    pub fn carry(&mut self, former: &Self, is_gone: impl Fn(u16) -> bool) {
        for (cell, number) in former.cells.iter().filter(|(_, number)| is_gone(**number)) {
            let config = rotation(cell);
            if self.configs.get(&config) == former.configs.get(&config) {
                self.cells.entry(*cell).or_insert(*number);
            }
        }
        if self.configs.is_empty() {
            self.cells.clear();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.configs.is_empty()
    }

    /// Reads the set of this number; 0 is empty.
    fn read<M: Map>(configs: &M, ids: &M, number: u32) -> Result<Self, M::Error> {
        let mut set = Self::default();
        let mut place = None;
        for config in 0..CONFIGS {
            let found = read_config(configs, number, config)?;
            if number != 0 && found.kind != Kind::None as u8 {
                place = Some(found);
                let entry = Config { factors: [0; 2], first: 0, shift: 0, ..found };
                set.configs.insert(config, entry);
            }
        }
        let Some(place) = place else { return Ok(set) };
        for index in place.first..place.first + count(&place) {
            let line = read_line(ids, index)?;
            set.cells.extend(line.ids.chunks_exact(2).zip(line.backends).filter_map(
                |(words, number)| match *words {
                    [low, high] if high != 0 => Some(([low, high], number)),
                    _ => None,
                },
            ));
        }
        Ok(set)
    }
}

/// Where sets are, and may be written.
#[derive(Debug)]
pub struct Place<'a, M> {
    configs: &'a M,
    ids: &'a M,
    free: Vec<u32>,
    /// Lines in use: the first ones, and their numbers.
    used: BTreeMap<u32, u32>,
    lines: u32,
}

impl<'a, M: Map> Place<'a, M> {
    /// Finds what none of these sets has.
    pub fn new(configs: &'a M, ids: &'a M, used: &BTreeSet<u32>) -> Result<Self, M::Error> {
        let sets = configs.keys()?.len() as u32 / u32::from(CONFIGS + 1);
        let free = (1..sets).rev().filter(|set| !used.contains(set)).collect();
        let lines = ids.keys()?.len() as u32;
        let mut place = Self { configs, ids, free, used: BTreeMap::new(), lines };
        for set in used.iter().filter(|set| **set != 0) {
            for config in 0..CONFIGS {
                let found = read_config(configs, *set, config)?;
                if found.kind != Kind::None as u8 {
                    place.used.insert(found.first, count(&found));
                }
            }
        }
        Ok(place)
    }

    /// Number of lines that the sets have.
    pub fn lines_used(&self) -> u32 {
        self.used.values().sum()
    }

    pub fn read(&self, number: u32) -> Result<Set, M::Error> {
        Set::read(self.configs, self.ids, number)
    }

    /// Writes a set; returns its number, or `None` if there is no space.
    pub fn write(&mut self, set: &Set) -> Result<Option<u32>, M::Error> {
        if set.is_empty() {
            return Ok(Some(0));
        }
        let Some(layout) = Layout::of(&set.cells) else { return Ok(None) };
        let (Some(first), Some(number)) = (self.space(layout.count()), self.free.pop()) else {
            return Ok(None);
        };
        self.used.insert(first, layout.count());
        for (index, line) in (first..).zip(layout.lines(&set.cells)) {
            self.ids.update(&index.to_le_bytes(), &line.to_bytes(), Expect::Any)?;
        }
        let (factors, shift) = (layout.factors, layout.shift);
        for config in 0..=CONFIGS {
            let entry = set.configs.get(&config);
            let entry = entry.map_or(EMPTY, |entry| Config { factors, first, shift, ..*entry });
            self.configs.update(&key(number, config), &entry.to_bytes(), Expect::Any)?;
        }
        Ok(Some(number))
    }

    /// The first of a number of lines that are free.
    fn space(&self, count: u32) -> Option<u32> {
        let mut first = 0;
        for (used, number) in &self.used {
            if first + count <= *used {
                return Some(first);
            }
            first = used + number;
        }
        (first + count <= self.lines).then_some(first)
    }
}

/// Removes the ids of backends that are gone from a set that is in use. Returns the numbers of the
/// others.
pub fn end<M: Map>(
    configs: &M,
    ids: &M,
    number: u32,
    is_gone: impl Fn(u16) -> bool,
) -> Result<BTreeSet<u16>, M::Error> {
    let mut others = BTreeSet::new();
    let Some(config) = first_config(configs, number)? else { return Ok(others) };
    for index in config.first..config.first + count(&config) {
        let before = read_line(ids, index)?;
        let mut line = before;
        for (i, number) in before.backends.into_iter().enumerate() {
            if before.ids[2 * i + 1] == 0 {
                continue;
            }
            if is_gone(number) {
                line.ids[2 * i..2 * i + 2].fill(0);
            } else {
                others.insert(number);
            }
        }
        if line != before {
            ids.update(&index.to_le_bytes(), &line.to_bytes(), Expect::Any)?;
        }
    }
    Ok(others)
}

/// The number of the backend that an id names in a set; whether it is up is not read.
pub fn named<M: Map>(
    configs: &M,
    ids: &M,
    number: u32,
    id: &[u8],
) -> Result<Option<u16>, M::Error> {
    let Some(first) = id.first() else { return Ok(None) };
    let entry = read_config(configs, number, first >> 5)?;
    let Some(config) = config_of(first >> 5, &entry) else { return Ok(None) };
    let Some(server_id) = config.server_id(id) else { return Ok(None) };
    let cell = cell(config.config, &server_id.0);
    let layout = Layout { factors: entry.factors, shift: entry.shift };
    let line = read_line(ids, entry.first + layout.index(&cell) as u32)?;
    let mut cells = line.ids.chunks_exact(2).zip(line.backends);
    Ok(cells.find(|(words, _)| **words == cell).map(|(_, number)| number))
}

/// Lines that suffice for a number of server ids twice, as a change needs.
pub fn lines(ids: usize) -> usize {
    2 * 4 * ids.next_power_of_two().max(2)
}

/// How a hash spreads server ids over lines.
struct Layout {
    factors: [u64; 2],
    shift: u32,
}

impl Layout {
    /// The first one that has space for all.
    fn of(cells: &BTreeMap<Cell, u16>) -> Option<Self> {
        let least = cells.len().next_power_of_two().ilog2().max(1);
        let tries = (least..=MOST_BITS).flat_map(|bits| (0..TRIES).map(move |n| (bits, n)));
        let layouts = tries.map(|(bits, n)| Self {
            factors: [2 * n, 2 * n + 1].map(|n| scattered(n) | 1),
            shift: 64 - bits,
        });
        let fits = |layout: &Self| {
            let mut used = vec![0; layout.count() as usize];
            cells.keys().all(|cell| {
                let used = &mut used[layout.index(cell)];
                *used += 1;
                *used <= CELLS
            })
        };
        let mut layouts = layouts;
        layouts.find(fits)
    }

    fn count(&self) -> u32 {
        1 << (64 - self.shift)
    }

    fn index(&self, [low, high]: &Cell) -> usize {
        let [one, other] = self.factors;
        (low.wrapping_mul(one).wrapping_add(high.wrapping_mul(other)) >> self.shift) as usize
    }

    fn lines(&self, cells: &BTreeMap<Cell, u16>) -> Vec<Line> {
        let mut lines = vec![Line::default(); self.count() as usize];
        for (cell, number) in cells {
            let line = &mut lines[self.index(cell)];
            if let Some(i) = (0..CELLS).find(|i| line.ids[2 * i + 1] == 0) {
                line.ids[2 * i..2 * i + 2].copy_from_slice(cell);
                line.backends[i] = *number;
            }
        }
        lines
    }
}

/// A configuration as the program has it, but for where the lines are.
fn entry(config: &QuicConfig) -> Config {
    let length = config.length();
    let half = length.div_ceil(2);
    let (mut left, mut right) = (first_bytes(half), first_bytes(half));
    if !length.is_multiple_of(2) {
        left ^= 0xf << (8 * (half - 1));
        right ^= 0xf0;
    }
    let (kind, keys) = match &config.key {
        None => (Kind::Plain, [[0; 16]; 11]),
        Some(key) if length == 16 => (Kind::OnePass, aes::inverted(&aes::expand(&key.0))),
        Some(key) => (Kind::FourPass, aes::expand(&key.0)),
    };
    let bytes = keys.as_flattened();
    Config {
        mask: words(first_bytes(config.server_id_length.into())),
        kind: kind as u8,
        least: length as u8 + 1,
        length: length as u8,
        halves: [left as u64, right as u64],
        ends: [left, right].map(|half| (half >> 64) as u16),
        server_id: config.server_id_length,
        cell: self::cell(config.config, &[])[1],
        plain: if config.key.is_none() { length as u32 + 2 } else { u32::MAX },
        keys: std::array::from_fn(|n| {
            u64::from_le_bytes(std::array::from_fn(|i| bytes[8 * n + i]))
        }),
        ..EMPTY
    }
}

/// The configuration that an entry is made of.
fn config_of(number: u8, entry: &Config) -> Option<QuicConfig> {
    let words = match entry.kind {
        kind if kind == Kind::Plain as u8 => None,
        // The last round key of decryption is the key.
        kind if kind == Kind::OnePass as u8 => Some(&entry.keys[20..]),
        kind if kind == Kind::FourPass as u8 => Some(&entry.keys[..2]),
        _ => return None,
    };
    let key = words.map(|words| Key(std::array::from_fn(|i| words[i / 8].to_le_bytes()[i % 8])));
    let server_id_length = entry.server_id;
    let nonce_length = entry.length - server_id_length;
    Some(QuicConfig { config: number, server_id_length, nonce_length, key })
}

/// The bits of the first bytes of sixteen.
fn first_bytes(count: usize) -> u128 {
    (1 << (8 * count)) - 1
}

fn words(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

fn cell(config: u8, server_id: &[u8]) -> Cell {
    let mut bytes = [0; 16];
    bytes[..server_id.len()].copy_from_slice(server_id);
    bytes[15] = config + 1;
    words(u128::from_le_bytes(bytes))
}

/// The number of the configuration in a cell.
fn rotation([_, high]: &Cell) -> u8 {
    ((high >> 56) as u8).wrapping_sub(1)
}

/// Lines of a set.
fn count(config: &Config) -> u32 {
    Layout { factors: config.factors, shift: config.shift }.count()
}

fn first_config<M: Map>(configs: &M, set: u32) -> Result<Option<Config>, M::Error> {
    for config in 0..CONFIGS {
        let found = read_config(configs, set, config)?;
        if set != 0 && found.kind != Kind::None as u8 {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn read_config<M: Map>(configs: &M, set: u32, config: u8) -> Result<Config, M::Error> {
    let bytes = configs.lookup(&key(set, config))?.unwrap_or_default();
    Ok(bytes.first_chunk().map_or(EMPTY, Config::from_bytes))
}

fn read_line<M: Map>(ids: &M, index: u32) -> Result<Line, M::Error> {
    let bytes = ids.lookup(&index.to_le_bytes())?.unwrap_or_default();
    Ok(bytes.first_chunk().map(Line::from_bytes).unwrap_or_default())
}

fn key(set: u32, config: u8) -> [u8; 4] {
    (set * u32::from(CONFIGS + 1) + u32::from(config)).to_le_bytes()
}

/// A number that differs from its neighbours in about half of its bits.
fn scattered(number: u64) -> u64 {
    let mut bits = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        bits = (bits ^ bits >> 31).wrapping_mul(factor);
    }
    bits ^ bits >> 31
}

/// Configurations of a set; `QUIC_ROTATIONS` has one more, which is not used.
const CONFIGS: u8 = 7;
/// `QUIC_CELLS`.
const CELLS: usize = 3;
/// Factors that are tried for each number of lines.
const TRIES: u64 = 64;
/// 2^22 lines have 256 MiB.
const MOST_BITS: u32 = 22;
const EMPTY: Config = Config {
    mask: [0; 2],
    factors: [0; 2],
    cell: 0,
    first: 0,
    plain: u32::MAX,
    kind: 0,
    least: 0,
    length: 0,
    server_id: 0,
    shift: 0,
    halves: [0; 2],
    ends: [0; 2],
    zero: 0,
    keys: [0; 22],
};

#[cfg(test)]
mod tests {
    use super::super::config::ServerId;
    use super::*;

    fn ids(count: u32, length: usize) -> Vec<ServerIds> {
        let id = |n: u32| ServerId([&vec![0; length - 4][..], &n.to_be_bytes()].concat());
        (0..count).map(|n| ServerIds(vec![id(n)])).collect()
    }

    #[test]
    fn layouts_have_space_for_all_within_the_lines_that_maps_have() {
        for count in [0, 1, 3, 4, 100, 1000, 7000] {
            for length in [4, 8, 15] {
                let all = ids(count, length);
                let config = QuicConfig {
                    config: 6,
                    server_id_length: length as u8,
                    nonce_length: 4,
                    key: None,
                };
                let set = Set::new(&[config], (0..).zip(&all));
                assert_eq!(set.cells.len(), count as usize);
                let layout = Layout::of(&set.cells).unwrap();
                assert!(2 * layout.count() as usize <= lines(count as usize), "{count} {length}");
                let lines = layout.lines(&set.cells);
                let held: usize = lines
                    .iter()
                    .map(|line| line.ids.chunks_exact(2).filter(|cell| cell[1] != 0).count())
                    .sum();
                assert_eq!(held, count as usize);
            }
        }
    }

    #[test]
    fn configurations_return_from_entries() {
        for (server_id_length, nonce_length) in [(1, 4), (8, 8), (10, 5), (15, 4)] {
            for key in [None, Some(Key([7; 16]))] {
                let config = QuicConfig { config: 2, server_id_length, nonce_length, key };
                assert_eq!(config_of(2, &entry(&config)), Some(config));
            }
        }
        assert_eq!(config_of(2, &EMPTY), None);
    }

    #[test]
    fn ids_of_gone_backends_remain_with_their_configuration() {
        let config = |key| QuicConfig { config: 2, server_id_length: 4, nonce_length: 4, key };
        let all = ids(3, 4);
        let former = Set::new(&[config(None)], (10..).zip(&all));
        let mut next = Set::new(&[config(None)], (10..).zip(&all[..1]));
        next.carry(&former, |number| number == 12);
        let numbers: Vec<_> = next.cells.values().copied().collect();
        assert_eq!(numbers, [10, 12]);
        let mut other = Set::new(&[config(Some(Key([1; 16])))], (10..).zip(&all[..1]));
        other.carry(&former, |_| true);
        assert_eq!(other.cells.len(), 1, "another key");
        let mut taken = Set::new(&[config(None)], (20..).zip(&all));
        taken.carry(&former, |_| true);
        assert!(taken.cells.values().all(|number| *number >= 20));
    }
}
