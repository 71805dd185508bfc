//! A map of the object that was not created, because no loaded program uses it.
//!
//! Rule: it keeps its number, so that the maps after it have the numbers that the object gives
//! them; it has no elements and takes no memory.

use super::{Entry, Facts, Storage};
use crate::errno::Errno;

#[derive(Debug)]
pub(crate) struct Absent {
    pub why: String,
}

impl Storage for Absent {
    fn lookup(&self, _: &Facts, _cpu: u32, _key: &[u8]) -> u64 {
        0
    }

    fn update(&self, _: &Facts, _cpu: u32, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    fn delete(&self, _: &Facts, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    fn read(&self, _: &Facts, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOTSUPP)
    }

    fn write(&self, _: &Facts, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::ENOTSUPP)
    }

    fn next_key(&self, _: &Facts, _key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOTSUPP)
    }
}
