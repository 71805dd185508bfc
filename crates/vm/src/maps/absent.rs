//! A map of the object that was not created, because no loaded program uses it.
//!
//! Rule: it keeps its number, so that the maps after it have the numbers that the object assigns;
//! it has no elements and takes no memory.

use super::{MapAttributes, Storage};

#[derive(Debug)]
pub(crate) struct Absent {
    pub why: String,
}

impl Storage for Absent {
    fn lookup(&self, _: &MapAttributes, _cpu: u32, _key: &[u8]) -> u64 {
        0
    }
}
