//! Ring buffer maps: records from programs to user space, or the other way (`user_ringbuf`).
//!
//! They have no elements: whoever asks for one is told so.

use super::ringbuf::Ring;
use super::{Entry, Facts, Storage, UNSERVED};
use crate::errno::Errno;

#[derive(Debug)]
pub(crate) struct RingMap(pub Ring);

impl RingMap {
    pub fn create(facts: &Facts) -> Result<Self, Errno> {
        Ring::create(facts).map(Self)
    }
}

impl Storage for RingMap {
    fn lookup(&self, _: &Facts, _cpu: u32, _key: &[u8]) -> u64 {
        UNSERVED
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

    fn ring(&self) -> Option<&Ring> {
        Some(&self.0)
    }
}
