//! The kernel's requirements on a map's definition, and changing its size.
//!
//! The kernel answers a definition that it does not take with an error number alone; the checks
//! here are those of `map_alloc_check` of each kind (`kernel/bpf` and `net/core`, Linux 6.18).

use crate::error::Place;
use crate::{Error, MapDef, MapKind, Spec};

impl Spec {
    /// Sets the number of entries of a map, or the bytes of a ring buffer; also where the map
    /// serves as the template of maps in a map.
    ///
    /// # Errors
    /// [`Error::UnknownMap`], or [`Error::Map`] for a map that holds the object's variables.
    pub fn set_map_entries(&mut self, name: &str, entries: u32) -> Result<(), Error> {
        let Some(number) = self.map_index(name) else {
            let known = self.maps.iter().map(|map| map.name.clone()).collect();
            let (file, name) = (self.name.clone(), name.to_owned());
            return Err(Error::UnknownMap { file, name, known });
        };
        if self.maps[number].contents.is_some() {
            let at = Place::new(&self.name).symbol(name);
            return Err(Error::map(at, "it holds the object's variables and has one entry"));
        }
        let inner = self.maps.iter_mut().filter_map(|map| map.inner.as_deref_mut());
        inner.filter(|inner| inner.name == name).for_each(|inner| inner.max_entries = entries);
        self.maps[number].max_entries = entries;
        Ok(())
    }
}

impl MapDef {
    /// Why no kernel creates this map; `None` where nothing is known to be wrong.
    pub fn refusal(&self) -> Option<&'static str> {
        let kind = KINDS.iter().find(|(kinds, _)| kinds.contains(&self.kind));
        kind.and_then(|(_, rules)| rules.iter().find_map(|rule| rule(self)))
    }
}

type Rule = fn(&MapDef) -> Option<&'static str>;

/// Kinds with their rules, in the order in which they are reported.
const KINDS: &[(&[MapKind], &[Rule])] = &[
    (&[MapKind::HASH, MapKind::PERCPU_HASH], &[entries, key, value]),
    (&[MapKind::LRU_HASH, MapKind::LRU_PERCPU_HASH], &[entries, key, value, preallocated]),
    (&[MapKind::ARRAY, MapKind::PERCPU_ARRAY], &[entries, number, value, preallocated]),
    (&[MapKind::PROG_ARRAY, MapKind::XSKMAP], &[entries, number, word]),
    (&[MapKind::PERF_EVENT_ARRAY], &[number, word]),
    (&[MapKind::ARRAY_OF_MAPS], &[entries, number, word, inner]),
    (&[MapKind::HASH_OF_MAPS], &[entries, key, word, inner]),
    (&[MapKind::DEVMAP, MapKind::DEVMAP_HASH, MapKind::CPUMAP], &[entries, number, pair]),
    (&[MapKind::LPM_TRIE], &[entries, prefix, value, allocated_on_demand]),
    (&[MapKind::QUEUE, MapKind::STACK, MapKind::BLOOM_FILTER], &[entries, no_key, value]),
    (&[MapKind::RINGBUF, MapKind::USER_RINGBUF], &[no_key, no_value]),
];

/// `BPF_F_NO_PREALLOC`.
const NO_PREALLOC: u32 = 1;
/// Size of the prefix length before a key's data, and the largest size of the data.
const PREFIX: u32 = 4;
const LONGEST_PREFIX: u32 = PREFIX + 256;

fn entries(def: &MapDef) -> Option<&'static str> {
    (def.max_entries == 0).then_some("it has no entries: set max_entries, or --map-size NAME=N")
}

fn key(def: &MapDef) -> Option<&'static str> {
    (def.key_size == 0).then_some("its key has no bytes")
}

fn no_key(def: &MapDef) -> Option<&'static str> {
    (def.key_size != 0).then_some("this kind of map has no key: key_size must be 0")
}

fn number(def: &MapDef) -> Option<&'static str> {
    (def.key_size != 4).then_some("its key must be a number of 4 bytes")
}

fn prefix(def: &MapDef) -> Option<&'static str> {
    (!(PREFIX + 1..=LONGEST_PREFIX).contains(&def.key_size))
        .then_some("its key must be 5 to 260 bytes: a prefix length of 4 and the data")
}

fn value(def: &MapDef) -> Option<&'static str> {
    (def.value_size == 0).then_some("its value has no bytes")
}

fn no_value(def: &MapDef) -> Option<&'static str> {
    (def.value_size != 0).then_some("this kind of map has no value: value_size must be 0")
}

fn word(def: &MapDef) -> Option<&'static str> {
    (def.value_size != 4).then_some("its value must be 4 bytes: a descriptor")
}

fn pair(def: &MapDef) -> Option<&'static str> {
    (![4, 8].contains(&def.value_size)).then_some("its value must be 4 bytes, or 8 with a program")
}

fn inner(def: &MapDef) -> Option<&'static str> {
    def.inner.is_none().then_some("no inner map is defined for it")
}

fn preallocated(def: &MapDef) -> Option<&'static str> {
    (def.flags & NO_PREALLOC != 0)
        .then_some("this kind of map is always preallocated: remove BPF_F_NO_PREALLOC")
}

fn allocated_on_demand(def: &MapDef) -> Option<&'static str> {
    (def.flags & NO_PREALLOC == 0)
        .then_some("an LPM trie needs the flag BPF_F_NO_PREALLOC in map_flags")
}
