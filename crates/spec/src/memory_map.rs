//! A map in the caller's memory, for tests and for planning without a runtime. It is bounded as the
//! kernel's maps are, and counts writes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::{Expect, Map};

/// A map of elements in memory, for tests and for tools that need no runtime.
#[derive(Debug)]
pub struct MemoryMap {
    key_size: usize,
    value_size: usize,
    max_entries: usize,
    entries: RefCell<BTreeMap<Vec<u8>, Vec<u8>>>,
    /// Updates and deletes so far.
    pub writes: Cell<usize>,
}

/// Why an update was rejected.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("the map is full")]
    Full,
    #[error("key or value has the wrong size")]
    Size,
    #[error("the entry exists or is missing, contrary to what the caller required")]
    Expectation,
}

impl MemoryMap {
    /// An empty map. Sizes are in bytes.
    pub fn new(key_size: usize, value_size: usize, max_entries: usize) -> Self {
        let entries = RefCell::default();
        Self { key_size, value_size, max_entries, entries, writes: Cell::new(0) }
    }

    /// All entries exist from the start, as in an array map with 32-bit keys.
    pub fn array(value_size: usize, max_entries: u32) -> Self {
        let map = Self::new(4, value_size, max_entries as usize);
        let zeros = (0..max_entries).map(|n| (n.to_le_bytes().to_vec(), vec![0; value_size]));
        map.entries.borrow_mut().extend(zeros);
        map
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// True if the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Map for MemoryMap {
    type Error = Refused;

    fn key_size(&self) -> usize {
        self.key_size
    }

    fn value_size(&self) -> usize {
        self.value_size
    }

    fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Refused> {
        Ok(self.entries.borrow().get(key).cloned())
    }

    fn update(&self, key: &[u8], value: &[u8], expect: Expect) -> Result<(), Refused> {
        let mut entries = self.entries.borrow_mut();
        let known = entries.contains_key(key);
        if key.len() != self.key_size || value.len() != self.value_size {
            return Err(Refused::Size);
        }
        if matches!((expect, known), (Expect::Absent, true) | (Expect::Present, false)) {
            return Err(Refused::Expectation);
        }
        if !known && entries.len() == self.max_entries {
            return Err(Refused::Full);
        }
        self.writes.set(self.writes.get() + 1);
        entries.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<bool, Refused> {
        self.writes.set(self.writes.get() + 1);
        Ok(self.entries.borrow_mut().remove(key).is_some())
    }

    fn keys(&self) -> Result<Vec<Vec<u8>>, Refused> {
        Ok(self.entries.borrow().keys().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_meets_the_expectation_and_the_bounds_of_a_kernel_map() {
        let map = MemoryMap::new(1, 1, 2);
        let update = |key, expect| map.update(&[key], &[0], expect);
        assert!(matches!(update(1, Expect::Present), Err(Refused::Expectation)));
        update(1, Expect::Absent).unwrap();
        assert!(matches!(update(1, Expect::Absent), Err(Refused::Expectation)));
        update(1, Expect::Present).unwrap();
        update(2, Expect::Any).unwrap();
        assert!(matches!(update(3, Expect::Any), Err(Refused::Full)));
        assert!(matches!(map.update(&[1, 1], &[0], Expect::Any), Err(Refused::Size)));
        assert_eq!((map.len(), map.writes.get()), (2, 3));
    }
}
