//! What earlier programs counted, carried over to the rules that took their place.
//!
//! A change of rules loads a new program with counters of its own beside the old one. Its map
//! `filter_carried` says which old rule became which new one, so that the old counts can be added
//! to it once the old program runs no more: by whoever made the change, or, was that one killed,
//! by the next that writes. Until then a reader adds both.
//!
//! Rule: the map's one value is written whole, so it is settled or not, whenever somebody is
//! killed. Not here: when a program runs no more, and where its maps are found.

use std::collections::HashMap;

use spec::{Expect, Map, MapDef, MapKind};

use crate::abi::Count;
use crate::maps::CARRIED;

/// What a new generation of rules has from the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Number in the kernel of the program whose counts are still to be added.
    pending: Option<u32>,
    /// For each of its rules the new one's number, or that of what is gone.
    becomes: Vec<u32>,
    /// One for each rule, and one for rules that are gone.
    base: Vec<Count>,
}

impl Carried {
    /// For rules that follow upon nothing.
    pub fn nothing(rules: usize) -> Self {
        Self { pending: None, becomes: Vec::new(), base: vec![Count::default(); rules + 1] }
    }

    /// For rules that follow upon those of a program. Rules are one if their identities (names
    /// with texts) are equal.
    pub fn after<I: AsRef<str>>(program: u32, old: &[I], new: &[I]) -> Self {
        let numbers: HashMap<&str, u32> =
            new.iter().map(AsRef::as_ref).zip(0_u32..).collect::<HashMap<_, _>>();
        let gone = new.len() as u32;
        let becomes = old.iter().map(|one| *numbers.get(one.as_ref()).unwrap_or(&gone));
        Self { pending: Some(program), becomes: becomes.collect(), ..Self::nothing(new.len()) }
    }

    /// The program whose counts are still to be added.
    pub fn pending(&self) -> Option<u32> {
        self.pending
    }

    /// Adds what the earlier program's rules had come to, its own carried counts included, the
    /// last of which are those of rules gone before.
    pub fn settle(&mut self, old: &[Count]) {
        let gone = self.base.len().saturating_sub(1);
        for (number, count) in old.iter().enumerate() {
            let place = self.becomes.get(number).map_or(gone, |place| *place as usize);
            let base = &mut self.base[place.min(gone)];
            *base = sum(*base, *count);
        }
        self.pending = None;
        self.becomes.clear();
    }

    /// Everything that was ever counted for the rules, given what their own program counted; the
    /// last is for rules that are gone.
    pub fn totals(&self, own: &[Count]) -> Vec<Count> {
        let own = own.iter().copied().chain(std::iter::repeat(Count::default()));
        self.base.iter().zip(own).map(|(base, own)| sum(*base, own)).collect()
    }

    /// The map that holds it.
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

    /// `None` for what was not written by [`Self::map`] or [`Self::write`].
    pub fn read<M: Map>(map: &M) -> Result<Option<Self>, M::Error> {
        Ok(map.lookup(&[0; 4])?.and_then(|bytes| Self::from_bytes(&bytes)))
    }

    pub fn write<M: Map>(&self, map: &M) -> Result<(), M::Error> {
        let mut bytes = self.to_bytes();
        bytes.resize(map.value_size(), 0);
        map.update(&[0; 4], &bytes, Expect::Any)
    }

    /// Whether something is pending, the program, how many counts, how many old rules; then the
    /// counts, then what old rules become.
    fn to_bytes(&self) -> Vec<u8> {
        let pending = [u32::from(self.pending.is_some()), self.pending.unwrap_or(0)];
        let sizes = [self.base.len() as u32, self.becomes.len() as u32];
        let head = pending.into_iter().chain(sizes).flat_map(u32::to_le_bytes);
        let base = self.base.iter().flat_map(|one| one.to_bytes());
        let becomes = self.becomes.iter().copied().flat_map(u32::to_le_bytes);
        head.chain(base).chain(becomes).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let head: Vec<u32> = words(head).collect();
        let (base, rest) = rest.split_at_checked(Count::SIZE * head[2] as usize)?;
        let becomes = rest.get(..4 * head[3] as usize)?;
        Some(Self {
            pending: (head[0] != 0).then_some(head[1]),
            becomes: words(becomes).collect(),
            base: parts(base).collect(),
        })
    }
}

/// What each rule of a program counted itself, from `filter_counts`.
pub fn counts<M: Map>(map: &M) -> Result<Vec<Count>, M::Error> {
    let mut counts = Vec::new();
    while let Some(value) = map.lookup(&(counts.len() as u32).to_le_bytes())? {
        counts.push(parts(&value).fold(Count::default(), sum));
    }
    Ok(counts)
}

fn parts(bytes: &[u8]) -> impl Iterator<Item = Count> {
    let whole = bytes.chunks_exact(Count::SIZE);
    whole.map(|part| Count::from_bytes(&std::array::from_fn(|at| part[at])))
}

/// Word by word, whatever else is counted.
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
        // c moved to the front, a stayed, b is gone, d is new.
        let mut next = Carried::after(7, &["a", "b", "c"], &["c", "a", "d"]);
        assert_eq!(next.pending(), Some(7));
        next.settle(&old);
        assert_eq!(next.pending(), None);
        let totals = next.totals(&[count(10), count(10), count(10)]);
        assert_eq!(totals, [count(13), count(11), count(10), count(2)]);
        // What is gone stays in the sum.
        let mut last = Carried::after(8, &["c", "a", "d"], &[]);
        last.settle(&totals);
        assert_eq!(last.totals(&[]), [count(36)]);
    }

    #[test]
    fn it_is_kept_whole() {
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
    fn what_is_too_short_is_nothing() {
        let bytes = Carried::after(9, &["a", "b"], &["b"]).to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(Carried::from_bytes(&bytes[..length]), None, "{length}");
        }
        assert!(Carried::from_bytes(&bytes).is_some());
    }
}
