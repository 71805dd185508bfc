//! Tests of maps without programs: errors, order, threads.

mod hash;
mod lru;
mod scan;
mod special;
mod threads;
mod trie;

use std::sync::Weak;

use spec::{MapDef, MapKind};

use super::{Entry, Map, flag};
use crate::errno::Errno;

pub(super) const CPUS: u32 = 4;

pub(super) fn def(kind: MapKind, shape: [u32; 3], flags: u32) -> MapDef {
    let [key_size, value_size, max_entries] = shape;
    let name = "test".to_owned();
    MapDef { name, kind, key_size, value_size, max_entries, flags, ..MapDef::default() }
}

pub(super) fn made(kind: MapKind, shape: [u32; 3], flags: u32) -> Map {
    Map::create(&def(kind, shape, flags), 0, CPUS, &Weak::new()).unwrap()
}

/// An update as a program on `cpu` makes it.
pub(super) fn update(map: &Map, cpu: u32, key: &[u8], value: &[u8]) -> Result<(), Errno> {
    map.update(cpu, Entry { key, value, flags: flag::ANY })
}

pub(super) fn key(number: u32) -> [u8; 4] {
    number.to_ne_bytes()
}

pub(super) fn value(number: u64) -> [u8; 8] {
    number.to_ne_bytes()
}

/// A small generator of numbers with a fixed start.
pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        ((self.0 >> 33) % end as u64) as usize
    }
}
