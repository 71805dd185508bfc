//! `Ranges`: sorted boundaries of a field, searched with few dependent loads.
//!
//! ```text
//!  value ── in low..high? ──▶ key ──▶ node of level 0 ──▶ …… ──▶ run of entries ──▶ class
//!             │ no              value >> shift,   top bits │ of the key      few probes
//!             ▼                 cut to its width           ▼
//!      below or above                                    a class: done
//! ```
//!
//! Rule: all entries are in order, so a search that reads beyond its run sees only greater keys.
//!
//! Cost: one load of the root returns the class where no boundary is near. Otherwise there are at
//! most `LEVELS` - 1 further nodes, then `short` probes (1 to 3) where boundaries are evenly
//! spread, or `long` probes: the bits of the number of boundaries in the longest run. Probes of a
//! short run are within 7 entries, which are one or two cache lines. Memory: one entry per
//! boundary, a root of at most two words per entry (eight if there are few entries), and at most
//! two words per entry in crowded parts of a level.

use super::boundary::Boundary;

/// The boundaries of a field, for fields with many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// Values below `low` have the class `below`, values from `high` the class `above`.
    pub low: u128,
    pub high: u128,
    pub below: u32,
    pub above: u32,
    /// The key of a value is `value >> shift`, truncated to `width` bits: leading and trailing bits
    /// that all boundaries share are left out.
    pub shift: u32,
    pub width: u32,
    /// The levels of nodes; at least one.
    pub levels: Vec<Level>,
    /// The windows of all levels; see [`Node`].
    pub nodes: Vec<u32>,
    pub entries: Entries,
    /// Probes in short runs; see [`Ranges::probe`].
    pub short: u32,
    /// Probes in long runs; 0 if there are none.
    pub long: u32,
}

/// The bits of a key that select a node of a window: `key >> shift`, truncated to `bits`. These
/// bits are on one side of bit 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    pub shift: u32,
    pub bits: u32,
}

/// Keys in order, each with the class of the values from it on. The first key is 0, for `below`;
/// sentinels with the key of `high` follow the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Keys of at most 32 bits, with the key in the high half and the class in the low half.
    Short(Vec<u64>),
    /// Keys of at most 64 bits, and their classes.
    Long(Vec<u64>, Vec<u32>),
    /// Wider keys, and their classes.
    Full(Vec<u128>, Vec<u32>),
}

/// The meaning of a word of `nodes`. Classes (in first steps: states) never begin with the bits 01,
/// so these mark windows and runs: bit 29 is set for a window of the next level, bit 28 for a long
/// run; the other bits are the index of its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The class of all values of the node.
    Class(u32),
    /// The index of a window in `nodes`.
    Window(u32),
    /// The index of an entry whose key is not greater than any key of the node.
    Run { start: u32, long: bool },
}

impl Node {
    /// A word is not a class if `word >> TAG_SHIFT` is [`Self::TAG`].
    pub const TAG_SHIFT: u32 = 30;
    /// The tag of windows and runs.
    pub const TAG: u32 = 1;
    /// The bit of a window.
    pub const WINDOW: u32 = 1 << 29;
    /// The bit of a long run.
    pub const LONG: u32 = 1 << 28;
    /// The bits of an index.
    pub const INDEX: u32 = Self::LONG - 1;

    /// Decodes a word.
    pub const fn parse(word: u32) -> Self {
        match word {
            class if class >> Self::TAG_SHIFT != Self::TAG => Self::Class(class),
            window if window & Self::WINDOW != 0 => Self::Window(window & Self::INDEX),
            run => Self::Run { start: run & Self::INDEX, long: run & Self::LONG != 0 },
        }
    }

    fn word(self) -> u32 {
        let (flags, index) = match self {
            Self::Class(class) => {
                assert!(class >> Self::TAG_SHIFT != Self::TAG, "less than 2^30 classes");
                return class;
            }
            Self::Window(index) => (Self::WINDOW, index),
            Self::Run { start, long: true } => (Self::LONG, start),
            Self::Run { start, long: false } => (0, start),
        };
        assert!(index <= Self::INDEX, "less than 2^28 boundaries");
        Self::TAG << Self::TAG_SHIFT | flags | index
    }
}

impl Ranges {
    /// The most levels of nodes, including the root.
    pub const LEVELS: usize = 4;
    /// The most probes of a short run, which has up to 7 entries.
    const SHORT: u32 = 3;
    /// The most bits of the root.
    const ROOT_BITS: u32 = 22;
    /// With at most this number of boundaries, the root has more words, so that runs are shorter.
    const SMALL: u32 = 1 << 12;

    /// Ranges from at least three boundaries, which are sorted, with the first one at 0.
    pub(super) fn new(boundaries: &[Boundary]) -> Self {
        let [first, inner @ .., last] = boundaries else { panic!("three boundaries at least") };
        let low = inner.first().expect("three boundaries at least").first;
        let common = inner.iter().fold(last.first, |bits, one| bits | one.first);
        let shift = common.trailing_zeros();
        let width = 128 - ((low ^ last.first) >> shift).leading_zeros();
        let search = Search::new(boundaries, shift, width);
        Self {
            low,
            high: last.first,
            below: first.class,
            above: last.class,
            shift,
            width,
            short: search.short,
            long: search.long,
            entries: search.entries(),
            levels: search.levels,
            nodes: search.nodes,
        }
    }

    /// The key of a value.
    pub fn key(&self, value: u128) -> u128 {
        value >> self.shift & mask(self.width)
    }

    /// The steps of a binary search with a number of probes, each half of the previous one. The
    /// search moves a step ahead if the key there is not greater.
    pub fn probe(probes: u32) -> impl Iterator<Item = usize> {
        (0..probes).rev().map(|power| 1 << power)
    }

    /// The class of a value.
    pub fn class(&self, value: u128) -> u32 {
        if value < self.low {
            return self.below;
        }
        if value >= self.high {
            return self.above;
        }
        let key = self.key(value);
        let mut window = 0;
        for level in &self.levels {
            let place = key >> level.shift & mask(level.bits);
            match Node::parse(self.nodes[window + index(place)]) {
                Node::Class(class) => return class,
                Node::Window(next) => window = next as usize,
                Node::Run { start, long } => {
                    return self.search(key, start as usize, long);
                }
            }
        }
        unreachable!("the last level has no windows below it")
    }

    fn search(&self, key: u128, start: usize, long: bool) -> u32 {
        let probes = if long { self.long } else { self.short };
        let found = Self::probe(probes).fold(start, |place, step| {
            if self.entries.key(place + step) <= key { place + step } else { place }
        });
        self.entries.class(found)
    }

    /// Bytes of memory that it reads.
    pub fn bytes(&self) -> usize {
        let entry = match self.entries {
            Entries::Short(_) => 8,
            Entries::Long(..) => 12,
            Entries::Full(..) => 20,
        };
        4 * self.nodes.len() + entry * self.entries.len()
    }
}

impl Entries {
    /// The number of entries, including sentinels.
    pub fn len(&self) -> usize {
        match self {
            Self::Short(packed) => packed.len(),
            Self::Long(keys, _) => keys.len(),
            Self::Full(keys, _) => keys.len(),
        }
    }

    /// Always `false`: the first entry is that of `below`.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of an entry.
    pub fn key(&self, place: usize) -> u128 {
        match self {
            Self::Short(packed) => u128::from(packed[place] >> 32),
            Self::Long(keys, _) => keys[place].into(),
            Self::Full(keys, _) => keys[place],
        }
    }

    /// The class of an entry.
    pub fn class(&self, place: usize) -> u32 {
        match self {
            Self::Short(packed) => packed[place] as u32,
            Self::Long(_, classes) | Self::Full(_, classes) => classes[place],
        }
    }
}

/// The search structure that is being built.
struct Search {
    width: u32,
    /// Keys and classes in order, from `below` at 0 to the one before `high`.
    keys: Vec<(u128, u32)>,
    high: (u128, u32),
    levels: Vec<Level>,
    nodes: Vec<u32>,
    short: u32,
    long: u32,
}

/// An aligned part of the space of keys, and the entries within it, except one at its beginning.
#[derive(Clone, Copy)]
struct Bucket {
    first: u128,
    start: usize,
    end: usize,
}

impl Search {
    fn new(boundaries: &[Boundary], shift: u32, width: u32) -> Self {
        let cut = |one: &Boundary| (one.first >> shift & mask(width), one.class);
        let mut keys: Vec<_> = boundaries.iter().map(cut).collect();
        let high = keys.pop().expect("three boundaries at least");
        let mut search =
            Self { width, keys, high, levels: Vec::new(), nodes: Vec::new(), short: 1, long: 0 };
        search.grow();
        search
    }

    fn grow(&mut self) {
        let start = 1 + usize::from(self.begins(1, 0));
        let all = Bucket { first: 0, start, end: self.keys.len() };
        let count = u32::try_from(self.keys.len()).expect("less than 2^28 boundaries");
        let spare = if count <= Ranges::SMALL { 3 } else { 1 };
        let bits = (count.ilog2() + spare).min(Ranges::ROOT_BITS).min(self.width);
        let mut level = Level { shift: self.width - bits, bits }.within_a_word();
        let mut crowded = vec![(0, all)];
        self.nodes = vec![0];
        loop {
            crowded = self.open(level, &crowded);
            self.levels.push(level);
            let Some(next) = self.next_level(level, &crowded) else { break };
            level = next;
        }
        self.close(&crowded);
    }

    /// Makes a window of a level for each bucket; returns crowded parts with their nodes.
    fn open(&mut self, level: Level, buckets: &[(usize, Bucket)]) -> Vec<(usize, Bucket)> {
        let mut crowded = Vec::new();
        for (node, bucket) in buckets {
            // The root's window begins at 0, where it replaces the initial node.
            let window = if self.levels.is_empty() { 0 } else { self.nodes.len() };
            if window != 0 {
                self.nodes[*node] = Node::Window(as_index(window)).word();
            }
            self.nodes.resize(window + (1 << level.bits), 0);
            let mut start = bucket.start;
            for place in 0..1_usize << level.bits {
                let part = self.part(*bucket, level, place, start);
                start = part.end;
                self.nodes[window + place] = self.leaf(part);
                let inside = part.end - part.start;
                if inside >= 1 << Ranges::SHORT {
                    crowded.push((window + place, part));
                } else if inside > 0 {
                    self.short = self.short.max(inside.ilog2() + 1);
                }
                // An entry at the beginning of the next part is not within it.
                let next = part.first.wrapping_add(1 << level.shift);
                start += usize::from(self.begins(start, next));
            }
        }
        crowded
    }

    /// The entries from `start` that are in a part of a bucket, except one at its beginning.
    fn part(&self, bucket: Bucket, level: Level, place: usize, start: usize) -> Bucket {
        let first = bucket.first + ((place as u128) << level.shift);
        let last = first + mask(level.shift);
        let inside = self.keys[start..bucket.end].iter().take_while(|(key, _)| *key <= last);
        Bucket { first, start, end: start + inside.count() }
    }

    fn begins(&self, place: usize, first: u128) -> bool {
        self.keys.get(place).is_some_and(|(key, _)| *key == first)
    }

    fn leaf(&self, bucket: Bucket) -> u32 {
        if bucket.start == bucket.end {
            Node::Class(self.keys[bucket.start - 1].1).word()
        } else {
            Node::Run { start: as_index(bucket.start - 1), long: false }.word()
        }
    }

    /// A further level for the crowded buckets, if it would spread their entries.
    fn next_level(&self, above: Level, crowded: &[(usize, Bucket)]) -> Option<Level> {
        if crowded.is_empty() || self.levels.len() == Ranges::LEVELS {
            return None;
        }
        let inside: usize = crowded.iter().map(|(_, bucket)| bucket.end - bucket.start).sum();
        let bits = (2 * inside / crowded.len()).ilog2().min(above.shift);
        let mut level = Level { shift: above.shift - bits, bits };
        if above.shift > 64 {
            level = level.within_a_word();
        }
        let spread = |(_, bucket): &(usize, Bucket)| self.spreads(level, *bucket);
        (4 * crowded.iter().filter(|one| spread(one)).count() >= crowded.len()).then_some(level)
    }

    /// Whether a level separates the first entry of a bucket from the one in its middle.
    fn spreads(&self, level: Level, bucket: Bucket) -> bool {
        let middle = bucket.start + (bucket.end - bucket.start) / 2;
        self.keys[bucket.start].0 >> level.shift != self.keys[middle].0 >> level.shift
    }

    /// Makes long runs of the buckets that are still crowded.
    fn close(&mut self, crowded: &[(usize, Bucket)]) {
        for (node, bucket) in crowded {
            let entries = bucket.end - bucket.start;
            self.long = self.long.max(entries.ilog2() + 1);
            let run = Node::Run { start: as_index(bucket.start - 1), long: true };
            self.nodes[*node] = run.word();
        }
    }

    fn entries(&self) -> Entries {
        let padding = (1 << self.long.max(Ranges::SHORT)) - 1;
        let all = self.keys.iter().copied().chain(std::iter::repeat_n(self.high, padding));
        match self.width {
            ..=32 => Entries::Short(
                all.map(|(key, class)| (key as u64) << 32 | u64::from(class)).collect(),
            ),
            33..=64 => {
                let (keys, classes) = all.map(|(key, class)| (key as u64, class)).unzip();
                Entries::Long(keys, classes)
            }
            _ => {
                let (keys, classes) = all.unzip();
                Entries::Full(keys, classes)
            }
        }
    }
}

impl Level {
    /// The level with the same top bit, without bits below bit 64 if that is above.
    fn within_a_word(self) -> Self {
        let end = self.shift + self.bits;
        let shift = if self.shift < 64 && end > 64 { 64 } else { self.shift };
        Self { shift, bits: end - shift }
    }
}

const fn mask(bits: u32) -> u128 {
    if bits == 0 { 0 } else { u128::MAX >> (128 - bits) }
}

fn index(place: u128) -> usize {
    usize::try_from(place).expect("a place in a window")
}

fn as_index(place: usize) -> u32 {
    u32::try_from(place).expect("less than 2^28 boundaries")
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    /// Boundaries in clusters, with single ones between them.
    fn crowds(crowds: u64, each: u64, apart: u32, bits: u32, seed: u64) -> Vec<Boundary> {
        let mut random = Random(seed);
        let mut firsts = vec![0];
        for _ in 0..crowds {
            let crowd = random.wide() >> (128 - bits);
            firsts.extend((0..each).map(|one| crowd ^ u128::from(one) << apart));
        }
        firsts.extend((0..crowds).map(|_| random.wide() >> (128 - bits)));
        firsts.sort_unstable();
        firsts.dedup();
        (0..).zip(firsts).map(|(class, first)| Boundary { first, class }).collect()
    }

    #[test]
    fn crowded_places_are_searched_in_more_steps() {
        let mut seen = (0, 0);
        for (crowds_of, each, apart, bits) in [
            (1, 2_000, 1, 32),
            (50, 100, 0, 32),
            (3, 500, 8, 48),
            (100, 20, 0, 128),
            (2, 3_000, 60, 128),
            (500, 9, 64, 128),
        ] {
            let boundaries = crowds(crowds_of, each, apart, bits, each);
            let ranges = Ranges::new(&boundaries);
            assert!(ranges.levels.len() <= Ranges::LEVELS);
            for level in &ranges.levels {
                assert!(level.shift >= 64 || level.shift + level.bits <= 64, "{level:?}");
            }
            seen = (seen.0.max(ranges.levels.len()), seen.1.max(ranges.long));
            for one in &boundaries {
                for value in [one.first.saturating_sub(1), one.first, one.first + 1] {
                    let place = boundaries.partition_point(|one| one.first <= value) - 1;
                    assert_eq!(ranges.class(value), boundaries[place].class, "{value:#x}");
                }
            }
        }
        assert!(seen.0 > 2 && seen.1 > 3, "levels and probes {seen:?}");
    }

    #[test]
    fn nodes_are_encoded_in_words() {
        for node in [
            Node::Class(0),
            Node::Class(u32::MAX),
            Node::Class(1 << 31 | 5),
            Node::Window(Node::INDEX),
            Node::Run { start: 7, long: false },
            Node::Run { start: Node::INDEX, long: true },
        ] {
            assert_eq!(Node::parse(node.word()), node);
        }
    }
}
