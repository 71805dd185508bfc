//! The map elements that programs have changed, by key.
//!
//! Rule: the record may contain an element that did not change, but never omits one that did, with
//! one exception: elements that an LRU map evicts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::machine::Machine;
use crate::maps::Map;
use crate::processor::{CallEvent, Hook, Pointee, Step, WriteEvent};

/// A hook that records changed elements until [`Changes::take`].
#[derive(Debug)]
pub struct Changes {
    maps: Vec<Arc<Map>>,
    changed: BTreeMap<usize, ChangedElements>,
}

/// Elements of one map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedElements {
    /// The elements with these keys.
    Keys(BTreeSet<Vec<u8>>),
    /// Any element: their keys are unknown, or there are too many to list.
    All,
}

impl Changes {
    /// A record for the current maps of a machine.
    pub fn new(machine: &Machine) -> Self {
        Self { maps: machine.maps(), changed: BTreeMap::new() }
    }

    /// Takes the changes since the last call, by the map's number in the object.
    pub fn take(&mut self) -> BTreeMap<usize, ChangedElements> {
        std::mem::take(&mut self.changed)
    }

    /// Adds the element whose value contains an address.
    fn add_value(&mut self, step: &Step<'_>, address: u64) {
        let Pointee::Value { map: number, .. } = step.pointee(address) else { return };
        let number = number as usize;
        let Some(map) = self.maps.get(number) else { return };
        let mut key = vec![0; map.attributes().key_size as usize];
        if map.key_at(address, &mut key).is_some() {
            self.add_key(number, key);
        } else {
            // If an address does not lead to a key, the lookup before has recorded the key.
            self.changed.entry(number).or_insert(ChangedElements::All);
        }
    }

    fn add_key(&mut self, number: usize, key: Vec<u8>) {
        let elements = self.maps[number].attributes().max_entries as usize;
        let none = || ChangedElements::Keys(BTreeSet::new());
        let changed = self.changed.entry(number).or_insert_with(none);
        if let ChangedElements::Keys(keys) = changed {
            keys.insert(key);
            if keys.len() > FEW && keys.len() > elements / SHARE {
                *changed = ChangedElements::All;
            }
        }
    }

    /// Adds the element of a call, by its map and key.
    fn add_named(&mut self, step: &Step<'_>, call: &CallEvent<'_>) {
        let Pointee::Map { map } = step.pointee(call.args[0]) else { return };
        let number = map as usize;
        let Some(map) = self.maps.get(number) else { return };
        let key_size = map.attributes().key_size as usize;
        if key_size == 0 || is_read(call.name) && map.values().is_none_or(|_| has_keys(map)) {
            return;
        }
        match step.read(call.args[1], key_size) {
            Some(key) => self.add_key(number, key),
            None => _ = self.changed.insert(number, ChangedElements::All),
        }
    }
}

impl Hook for Changes {
    fn call(&mut self, step: &Step<'_>, call: &CallEvent<'_>) {
        self.add_named(step, call);
        if !is_read(call.name) {
            call.args.iter().for_each(|address| self.add_value(step, *address));
        }
    }

    fn write(&mut self, step: &Step<'_>, write: &WriteEvent) {
        self.add_value(step, write.address);
    }
}

fn is_read(name: &str) -> bool {
    matches!(name, "bpf_map_lookup_elem" | "bpf_map_lookup_percpu_elem")
}

/// Whether the key can be found from the address of a value. A prefix trie has no such link;
/// another lookup of the prefix finds the same element.
fn has_keys(map: &Map) -> bool {
    map.attributes().kind != spec::MapKind::LPM_TRIE
}

/// Maximum number of keys that are listed for any map.
const FEW: usize = 16;
/// In larger maps, one divided by the share of the elements that is listed. Reading an element by
/// its key takes several times as long as reading it in a scan.
const SHARE: usize = 4;
