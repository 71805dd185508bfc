//! `Data`: the memory that generated code reads, which is the one value of a frozen array.
//!
//! Rule: an index that the verifier bounds by a mask may exceed its table by less than the table's
//! size, so the memory is long enough for that. Bytes that are read there are never used.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use spec::{MapDef, MapKind};

/// Name of the map.
pub const MAP: &str = "filter_data";

/// Alignment of tables: a cache line.
const ALIGNMENT: usize = 64;
/// The flag `BPF_F_RDONLY_PROG`.
const READ_ONLY: u32 = 1 << 7;

/// The tables, one after the other.
#[derive(Debug, Default)]
pub struct Data {
    bytes: Vec<u8>,
    /// The end of the memory that code may read.
    reach: usize,
    /// Offsets of tables, by hash and length.
    known: HashMap<(u64, usize), usize>,
}

/// A table in memory, with elements of `stride` bytes.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Offset in bytes.
    pub offset: u32,
    /// A mask that does not change a valid index.
    pub mask: i32,
}

impl Data {
    /// Adds a table of `count` elements, or returns the place of an equal one. Code may read up to
    /// `beyond` elements after the one at a masked index.
    pub fn table(&mut self, bytes: Vec<u8>, count: usize, beyond: usize) -> Place {
        let (length, stride) = (bytes.len(), bytes.len() / count.max(1));
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let key = (hasher.finish(), length);
        let same = |place: &usize| self.bytes[*place..*place + length] == bytes;
        let offset = self.known.get(&key).copied().filter(same).unwrap_or_else(|| {
            let offset = self.bytes.len().next_multiple_of(ALIGNMENT);
            self.bytes.resize(offset, 0);
            self.bytes.extend(bytes);
            self.known.insert(key, offset);
            offset
        });
        let masked = count.max(1).next_power_of_two();
        self.reach = self.reach.max(offset + (masked + beyond) * stride);
        Place {
            offset: u32::try_from(offset).expect("less than 4 GiB of tables"),
            mask: i32::try_from(masked - 1).expect("less than 2^31 elements"),
        }
    }

    /// Adds a table of words.
    pub fn words(&mut self, words: &[u32], beyond: usize) -> Place {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.table(bytes, words.len(), beyond)
    }

    /// Adds a table of pairs of words.
    pub fn pairs(&mut self, pairs: Vec<[u32; 2]>) -> Place {
        let bytes = pairs.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        self.table(bytes, pairs.len(), 0)
    }

    /// Bytes of tables, without padding at the end.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The map with all tables; `None` if there are none.
    pub fn map(mut self) -> Option<MapDef> {
        if self.bytes.is_empty() {
            return None;
        }
        self.bytes.resize(self.reach.max(self.bytes.len()).next_multiple_of(8), 0);
        Some(MapDef {
            name: MAP.to_owned(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: u32::try_from(self.bytes.len()).expect("less than 4 GiB of tables"),
            max_entries: 1,
            flags: READ_ONLY,
            contents: Some(self.bytes),
            frozen: true,
            ..MapDef::default()
        })
    }
}
