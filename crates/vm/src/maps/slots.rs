//! An array of words: the elements of maps of programs, maps and targets.
//!
//! Rule: a slot is one atomic word, so that a reader sees either the old or the new element. Zero
//! is an empty slot. The element of index i is word i of the slab.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Entry, MapAttributes, flag};
use crate::errno::Errno;
use crate::memory::Slab;

#[derive(Debug)]
pub(super) struct Slots {
    words: Arc<Slab>,
    count: u32,
}

impl Slots {
    pub fn new(count: u32) -> Result<Self, Errno> {
        Ok(Self { words: Arc::new(Slab::new(u64::from(count) * WORD)?), count })
    }

    /// The word of an index; 0 when it is empty or outside.
    #[inline]
    pub fn load(&self, index: u32) -> u64 {
        self.at(index).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Replaces a word and returns the previous one; `None` when `index` is outside.
    pub fn swap(&self, index: u32, word: u64) -> Option<u64> {
        self.at(index).map(|place| place.swap(word, Ordering::AcqRel))
    }

    /// The value of a key, the first bytes of its word, as user space reads it.
    pub fn read(&self, attributes: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        match self.load(index_of(key)) {
            0 => Err(Errno::ENOENT),
            word => Ok(word.to_ne_bytes()[..attributes.value_size as usize].to_vec()),
        }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    /// The slab of the words, for programs to read.
    pub fn slab(&self) -> &Arc<Slab> {
        &self.words
    }

    #[inline]
    fn at(&self, index: u32) -> Option<&AtomicU64> {
        (index < self.count).then(|| self.words.word(index as usize * WORD as usize))
    }
}

/// The index in a key of four bytes. Callers have checked the key's size.
#[inline]
pub(super) fn index_of(key: &[u8]) -> u32 {
    key.try_into().map_or(u32::MAX, u32::from_ne_bytes)
}

/// The index of an update of an array of targets: all indexes exist.
pub(super) fn index_to_write(attributes: &MapAttributes, at: &Entry<'_>) -> Result<u32, Errno> {
    let index = index_of(at.key);
    match at.flags {
        flags if flags > flag::EXIST => Err(Errno::EINVAL),
        _ if index >= attributes.max_entries => Err(Errno::E2BIG),
        flag::NOEXIST => Err(Errno::EEXIST),
        _ => Ok(index),
    }
}

/// The index after `key`, as the kernel's arrays count: an absent or unknown one starts at 0.
pub(super) fn next_index(attributes: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
    let next = match key.map(index_of) {
        Some(index) if index < attributes.max_entries => index + 1,
        _ => 0,
    };
    if next < attributes.max_entries { Ok(next.to_ne_bytes().to_vec()) } else { Err(Errno::ENOENT) }
}

/// Combines two halves into a word; the low one is first in memory.
pub(super) fn word(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

pub(super) fn low(word: u64) -> u32 {
    word as u32
}

pub(super) fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

/// Bytes of a slot.
pub(super) const WORD: u64 = 8;
