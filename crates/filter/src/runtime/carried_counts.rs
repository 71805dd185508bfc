//! `Carried`: counters of earlier programs, carried over to the rules that replaced theirs.
//!
//! A change of rules loads a new program, with its own counters, beside the old one. Its map
//! `filter_carried` assigns old rules to new ones, so that the old counts can be added to it when
//! the old program no longer runs: by the process that makes the change or, if that is killed, by
//! the next process that writes. Until then, readers add both.
//!
//! Rule: the only value of the map is written in one call, so a killed process leaves it either
//! settled or pending. Not here: whether a program still runs, and finding its maps.

use std::collections::HashMap;

use spec::{Expect, Map, MapDef, MapKind};

use crate::abi::Count;
use crate::maps::CARRIED;

/// The counters that a generation of rules has from earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Id of the program whose counts are not added yet.
    pending: Option<u32>,
    /// For each of its rules, the number of the new rule, or of the counter of removed rules.
    successors: Vec<u32>,
    /// Counters per rule, then one for removed rules.
    base: Vec<Count>,
}

impl Carried {
    /// Counters of rules without predecessors.
    pub fn nothing(rules: usize) -> Self {
        Self { pending: None, successors: Vec::new(), base: vec![Count::default(); rules + 1] }
    }

    /// Counters of rules that replace those of a program. Rules are the same if their identities
    /// (name and text) are equal.
    pub fn after<I: AsRef<str>>(program: u32, old: &[I], new: &[I]) -> Self {
        let numbers: HashMap<&str, u32> =
            new.iter().map(AsRef::as_ref).zip(0_u32..).collect::<HashMap<_, _>>();
        let gone = new.len() as u32;
        let successors = old.iter().map(|one| *numbers.get(one.as_ref()).unwrap_or(&gone));
        Self {
            pending: Some(program),
            successors: successors.collect(),
            ..Self::nothing(new.len())
        }
    }

    /// The id of the program whose counts are not added yet.
    pub fn pending(&self) -> Option<u32> {
        self.pending
    }

    /// Adds the counts of the earlier program, including those that it carried; the last one is
    /// that of removed rules.
    pub fn settle(&mut self, old: &[Count]) {
        let gone = self.base.len().saturating_sub(1);
        for (number, count) in old.iter().enumerate() {
            let place = self.successors.get(number).map_or(gone, |place| *place as usize);
            let base = &mut self.base[place.min(gone)];
            *base = sum(*base, *count);
        }
        self.pending = None;
        self.successors.clear();
    }

    /// The total counts of the rules, from the counts of their own program; the last one is that of
    /// removed rules.
    pub fn totals(&self, own: &[Count]) -> Vec<Count> {
        let own = own.iter().copied().chain(std::iter::repeat(Count::default()));
        self.base.iter().zip(own).map(|(base, own)| sum(*base, own)).collect()
    }

    /// The map for these counters.
    pub fn map(&self) -> MapDef {
        let contents = self.to_bytes();
        MapDef {
            name: CARRIED.to_owned(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: contents.len() as u32,
            max_entries: 1,
            contents: Some(contents),
            ..MapDef::default()
        }
    }

    /// Reads a map; `None` if its value is invalid.
    pub fn read<M: Map>(map: &M) -> Result<Option<Self>, M::Error> {
        Ok(map.lookup(&[0; 4])?.and_then(|bytes| Self::from_bytes(&bytes)))
    }

    /// Writes the map.
    pub fn write<M: Map>(&self, map: &M) -> Result<(), M::Error> {
        let mut bytes = self.to_bytes();
        bytes.resize(map.value_size(), 0);
        map.update(&[0; 4], &bytes, Expect::Any)
    }

    /// The layout: whether a program is pending, its id, the number of counters, the number of old
    /// rules; then the counters, then the successors of the old rules.
    fn to_bytes(&self) -> Vec<u8> {
        let pending = [u32::from(self.pending.is_some()), self.pending.unwrap_or(0)];
        let sizes = [self.base.len() as u32, self.successors.len() as u32];
        let head = pending.into_iter().chain(sizes).flat_map(u32::to_le_bytes);
        let base = self.base.iter().flat_map(|one| one.to_bytes());
        let successors = self.successors.iter().copied().flat_map(u32::to_le_bytes);
        head.chain(base).chain(successors).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let head: Vec<u32> = words(head).collect();
        let (base, rest) = rest.split_at_checked(Count::SIZE * head[2] as usize)?;
        let successors = rest.get(..4 * head[3] as usize)?;
        Some(Self {
            pending: (head[0] != 0).then_some(head[1]),
            successors: words(successors).collect(),
            base: parts(base).collect(),
        })
    }
}

/// The counters of a program's own rules, from `filter_counts`.
pub fn counts<M: Map>(map: &M) -> Result<Vec<Count>, M::Error> {
    let values = map.array()?;
    Ok(values.iter().map(|value| parts(value).fold(Count::default(), sum)).collect())
}

fn parts(bytes: &[u8]) -> impl Iterator<Item = Count> {
    let whole = bytes.chunks_exact(Count::SIZE);
    whole.map(|part| Count::from_bytes(&std::array::from_fn(|at| part[at])))
}

/// The sum of all words of two counters.
fn sum(one: Count, other: Count) -> Count {
    let (mut sum, other) = (one.to_bytes(), other.to_bytes());
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    for (to, from) in sum.chunks_exact_mut(8).zip(other.chunks_exact(8)) {
        let both = word(to).wrapping_add(word(from));
        to.copy_from_slice(&both.to_le_bytes());
    }
    Count::from_bytes(&sum)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default()))
}

const HEAD: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use spec::MemoryMap;

    fn count(packets: u64) -> Count {
        Count { packets, bytes: packets * 60, ..Count::default() }
    }

    fn kept(carried: &Carried) -> MemoryMap {
        let map = MemoryMap::array(carried.map().value_size as usize, 1);
        carried.write(&map).unwrap();
        map
    }

    #[test]
    fn counts_follow_their_rules() {
        let mut first = Carried::nothing(3);
        assert_eq!(first.totals(&[count(1), count(2), count(3)])[3], count(0));
        first.settle(&[]);
        let old = first.totals(&[count(1), count(2), count(3)]);
        // c moved to the front, a remained, b was removed, d is new.
        let mut next = Carried::after(7, &["a", "b", "c"], &["c", "a", "d"]);
        assert_eq!(next.pending(), Some(7));
        next.settle(&old);
        assert_eq!(next.pending(), None);
        let totals = next.totals(&[count(10), count(10), count(10)]);
        assert_eq!(totals, [count(13), count(11), count(10), count(2)]);
        // Counts of removed rules remain in the sum.
        let mut last = Carried::after(8, &["c", "a", "d"], &[]);
        last.settle(&totals);
        assert_eq!(last.totals(&[]), [count(36)]);
    }

    #[test]
    fn the_map_has_all_of_it() {
        let mut carried = Carried::after(9, &["a", "b"], &["b", "x", "y"]);
        let map = kept(&carried);
        assert_eq!(Carried::read(&map).unwrap().as_ref(), Some(&carried));
        carried.settle(&[count(5), count(6), count(7)]);
        carried.write(&map).unwrap();
        let found = Carried::read(&map).unwrap().unwrap();
        assert_eq!(found, carried);
        assert_eq!(found.totals(&[]), [count(6), count(0), count(0), count(12)]);
    }

    #[test]
    fn truncated_values_are_invalid() {
        let bytes = Carried::after(9, &["a", "b"], &["b"]).to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(Carried::from_bytes(&bytes[..length]), None, "{length}");
        }
        assert!(Carried::from_bytes(&bytes).is_some());
    }
}
