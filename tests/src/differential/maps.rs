//! Random surroundings of a program: its maps, and what the generator must know of each.

use spec::{Initial, MapDef, MapKind};

use super::rng::Rng;

/// The maps of one object.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    pub defs: Vec<MapDef>,
    /// Whether the programs call kernel functions.
    pub kfuncs: bool,
}

/// Where programs leave what they have computed: one value.
pub const OUT: usize = 0;
/// 64-bit places in it.
pub const OUT_WORDS: i16 = 20;
/// Read-only strings.
pub const TEXT: usize = 1;
/// Programs for tail calls.
pub const PROGRAMS: usize = 2;
/// Entries of it; not all of them are filled.
pub const PROGRAM_SLOTS: u32 = 4;

impl Maps {
    /// `programs` is how many there are to call.
    pub fn random(rng: &mut Rng, programs: usize) -> Self {
        let mut defs = vec![out(), text(), program_array(programs)];
        for number in 0..2 + rng.below(3) {
            let kind = rng.pick(&KINDS);
            defs.push(random(rng, kind, format!("m{number}")));
        }
        if rng.one_in(3) {
            nested(rng, &mut defs);
        }
        Self { defs, kfuncs: rng.one_in(16) }
    }

    pub fn kind(&self, map: usize) -> MapKind {
        self.defs[map].kind
    }

    /// Numbers of the random maps of one of some types.
    pub fn of(&self, kinds: &[MapKind]) -> Vec<usize> {
        let random = PROGRAMS + 1..self.defs.len();
        random.filter(|map| kinds.contains(&self.defs[*map].kind)).collect()
    }

    /// Whether the addresses of values are fixed for the life of the map.
    pub fn is_array(&self, map: usize) -> bool {
        matches!(self.kind(map), MapKind::ARRAY | MapKind::PERCPU_ARRAY)
    }
}

/// Types with keys whose values programs look up.
pub const KEYED: [MapKind; 7] = [
    MapKind::ARRAY,
    MapKind::PERCPU_ARRAY,
    MapKind::HASH,
    MapKind::PERCPU_HASH,
    MapKind::LRU_HASH,
    MapKind::LRU_PERCPU_HASH,
    MapKind::LPM_TRIE,
];
/// Types that are pushed to.
pub const PUSHED: [MapKind; 3] = [MapKind::QUEUE, MapKind::STACK, MapKind::BLOOM_FILTER];
/// Types that redirects look into.
pub const REDIRECTS: [MapKind; 4] =
    [MapKind::DEVMAP, MapKind::DEVMAP_HASH, MapKind::XSKMAP, MapKind::CPUMAP];

const KINDS: [MapKind; 18] = [
    MapKind::RINGBUF,
    MapKind::ARRAY,
    MapKind::ARRAY,
    MapKind::PERCPU_ARRAY,
    MapKind::HASH,
    MapKind::HASH,
    MapKind::PERCPU_HASH,
    MapKind::LRU_HASH,
    MapKind::LRU_PERCPU_HASH,
    MapKind::LPM_TRIE,
    MapKind::LPM_TRIE,
    MapKind::QUEUE,
    MapKind::STACK,
    MapKind::BLOOM_FILTER,
    MapKind::DEVMAP,
    MapKind::DEVMAP_HASH,
    MapKind::XSKMAP,
    MapKind::CPUMAP,
];

fn random(rng: &mut Rng, kind: MapKind, name: String) -> MapDef {
    let value_size = rng.pick(&[1, 2, 4, 7, 8, 8, 8, 12, 16, 24, 32, 40, 64]);
    let few = 1 + rng.below(6) as u32;
    let def = MapDef { name, kind, key_size: 4, value_size, max_entries: few, ..MapDef::default() };
    let hash_key = rng.pick(&[1, 2, 4, 4, 8, 8, 12, 16]);
    match kind {
        MapKind::HASH | MapKind::PERCPU_HASH => {
            let flags = if rng.one_in(2) { NO_PREALLOC } else { 0 };
            MapDef { key_size: hash_key, flags, ..def }
        }
        // Which element goes when it is full is not promised, so it never is.
        MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH => {
            MapDef { key_size: hash_key, max_entries: 1024, ..def }
        }
        MapKind::LPM_TRIE => {
            let key_size = 4 + rng.pick(&[1, 2, 4, 8]);
            MapDef { key_size, flags: NO_PREALLOC, max_entries: few + 2, ..def }
        }
        MapKind::QUEUE | MapKind::STACK => MapDef { key_size: 0, ..def },
        // Which absent values seem to be there hangs on the seed.
        MapKind::BLOOM_FILTER => MapDef { key_size: 0, flags: ZERO_SEED, ..def },
        MapKind::DEVMAP | MapKind::DEVMAP_HASH | MapKind::CPUMAP => {
            MapDef { value_size: rng.pick(&[4, 8]), ..def }
        }
        MapKind::XSKMAP => MapDef { value_size: 4, ..def },
        MapKind::RINGBUF => MapDef { key_size: 0, value_size: 0, max_entries: 4096, ..def },
        _ => def,
    }
}

/// Two arrays alike, and a map that holds them.
fn nested(rng: &mut Rng, defs: &mut Vec<MapDef>) {
    let inner = |name: &str| MapDef { max_entries: 2, ..array(name, 16) };
    let initial = (0..2).map(|index| Initial::Map { index, map: defs.len() + index as usize });
    let outer = MapDef {
        name: "outer".to_owned(),
        kind: rng.pick(&[MapKind::ARRAY_OF_MAPS, MapKind::HASH_OF_MAPS]),
        key_size: 4,
        value_size: 4,
        max_entries: 3,
        initial: initial.collect(),
        inner: Some(Box::new(inner("inner"))),
        ..MapDef::default()
    };
    defs.extend([inner("inner0"), inner("inner1"), outer]);
}

fn out() -> MapDef {
    array("out", OUT_WORDS as u32 * 8)
}

fn array(name: &str, value_size: u32) -> MapDef {
    let (name, kind) = (name.to_owned(), MapKind::ARRAY);
    MapDef { name, kind, key_size: 4, value_size, max_entries: 1, ..MapDef::default() }
}

fn text() -> MapDef {
    let contents: Vec<u8> = STRINGS.iter().flat_map(|text| padded(text)).collect();
    let value_size = contents.len() as u32;
    MapDef {
        contents: Some(contents),
        frozen: true,
        flags: RDONLY_PROG,
        ..array("text", value_size)
    }
}

fn padded(text: &str) -> [u8; STRING] {
    let mut bytes = [0; STRING];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

fn program_array(programs: usize) -> MapDef {
    let filled = (0..programs).map(|program| Initial::Program { index: program as u32, program });
    MapDef {
        name: "programs".to_owned(),
        kind: MapKind::PROG_ARRAY,
        key_size: 4,
        value_size: 4,
        max_entries: PROGRAM_SLOTS,
        initial: filled.collect(),
        ..MapDef::default()
    }
}

/// Bytes that each string has in the map of strings.
pub const STRING: usize = 32;

/// Formats and numbers.
pub const STRINGS: [&str; 14] = [
    "plain",
    "%d",
    "%llu and %x",
    "%lld %05u %-8d|",
    "%c%%%08llx",
    "%u.%u.%u %lli",
    "42",
    "-17 rest",
    "0x1fg",
    " \t0777",
    "18446744073709551616",
    "9223372036854775808",
    "abc",
    "%5x|%X",
];
/// Words that each takes as a format.
pub const WORDS: [usize; 14] = [0, 1, 2, 3, 2, 4, 0, 0, 0, 0, 0, 0, 0, 2];

const NO_PREALLOC: u32 = 1;
const ZERO_SEED: u32 = 1 << 6;
const RDONLY_PROG: u32 = 1 << 7;

/// A map's value in which the padding between the processors' parts, which has no contents, is 0.
pub fn padding_cleared(def: &MapDef, mut value: Vec<u8>) -> Vec<u8> {
    if def.kind.is_per_cpu() {
        let (size, stride) = (def.value_size as usize, def.value_size.next_multiple_of(8) as usize);
        value.chunks_mut(stride).for_each(|value| value[size..].fill(0));
    }
    value
}
