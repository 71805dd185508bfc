//! The work that one object's DWARF may cause: entries and their attributes, each once.

use std::cell::Cell;

use gimli::DebuggingInformationEntry;

use super::Reader;

/// What is left. An attribute may take no bytes, so the size of the object does not bound it.
#[derive(Debug)]
pub struct Budget(Cell<usize>);

impl Budget {
    pub fn new() -> Self {
        Self(Cell::new(WORK))
    }

    /// Takes the work of reading an entry; `None` when nothing is left.
    pub fn take(&self, entry: &DebuggingInformationEntry<Reader<'_>>) -> Option<()> {
        let left = self.0.get().checked_sub(1 + entry.attrs().len());
        self.0.set(left.unwrap_or(0));
        left.map(drop)
    }
}

/// Entries and attributes that are read.
const WORK: usize = 1 << 23;
