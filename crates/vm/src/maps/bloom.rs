//! Bloom filters: sets with false positives and without false negatives.
//!
//! Rule: with `BPF_F_ZERO_SEED` it has the same false positives as the kernel's filter, because it
//! sets the same bits. Without the flag, the kernel uses a random seed; here it is 0 as well, so
//! that runs repeat.

use std::sync::atomic::Ordering;

use super::jhash::jhash;
use super::shape::LARGEST_VALUE;
use super::{Entry, MapAttributes, Storage, UNSERVED, flag};
use crate::errno::Errno;
use crate::memory::Slab;

#[derive(Debug)]
pub(crate) struct Bloom {
    bits: Slab,
    /// Number of bits minus one; the number is a power of two.
    mask: u32,
    hashes: u32,
}

impl Bloom {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        if attributes.value_size > LARGEST_VALUE {
            return Err(Errno::E2BIG);
        }
        if attributes.extra > u64::from(MOST_HASHES) {
            return Err(Errno::EINVAL);
        }
        attributes.check_keyless(flag::NUMA_NODE | flag::ZERO_SEED | flag::ACCESS)?;
        let hashes = if attributes.extra == 0 { DEFAULT_HASHES } else { attributes.extra as u32 };
        let bits = bits(attributes.max_entries, hashes);
        let mask = (bits - 1) as u32;
        Ok(Self { bits: Slab::new(bits / 8)?, mask, hashes })
    }

    /// The bits of a value: offset of the word in the slab, and the bit in it.
    fn places(&self, value: &[u8]) -> impl Iterator<Item = (usize, u64)> {
        (0..self.hashes).map(|seed| {
            let bit = jhash(value, seed) & self.mask;
            ((bit / 64) as usize * 8, 1 << (bit % 64))
        })
    }

    fn holds(&self, value: &[u8]) -> bool {
        self.places(value)
            .all(|(word, bit)| self.bits.word(word).load(Ordering::Relaxed) & bit != 0)
    }
}

impl Storage for Bloom {
    fn lookup(&self, _: &MapAttributes, _cpu: u32, _key: &[u8]) -> u64 {
        UNSERVED
    }

    fn update(&self, _: &MapAttributes, _cpu: u32, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, _: &MapAttributes, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    /// `bpf(2)` tests the value in the output buffer, which here is all zeros.
    /// [`Map::holds`](super::Map::holds) tests other values.
    fn read(&self, attributes: &MapAttributes, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        let value = vec![0; attributes.value_size as usize];
        if self.holds(&value) { Ok(value) } else { Err(Errno::ENOENT) }
    }

    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        self.push(attributes, at.value, at.flags)
    }

    fn next_key(&self, _: &MapAttributes, _key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    fn push(&self, _: &MapAttributes, value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags != flag::ANY {
            return Err(Errno::EINVAL);
        }
        for (word, bit) in self.places(value) {
            self.bits.word(word).fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }

    fn peek(&self, _: &MapAttributes, value: &mut [u8]) -> Result<(), Errno> {
        if self.holds(value) { Ok(()) } else { Err(Errno::ENOENT) }
    }
}

/// Number of bits of a filter: elements times hashes over ln 2 (7/5), rounded up to a power of two.
fn bits(elements: u32, hashes: u32) -> u64 {
    let wanted = elements.checked_mul(hashes).and_then(|bits| (bits / 5).checked_mul(7));
    match wanted {
        Some(bits) if bits <= 1 << 31 => u64::from(bits).max(64).next_power_of_two(),
        _ => 1 << 32,
    }
}

/// Maximum number of hash functions, and the default, in the extra number of the creation.
const MOST_HASHES: u32 = 15;
const DEFAULT_HASHES: u32 = 5;
