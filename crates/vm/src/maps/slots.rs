//! A numbered row of words: what arrays of programs, maps and targets keep for each index.
//!
//! Rule: a slot is one atomic word, so that a reader sees the old element or the new one whole.
//! Zero is an empty slot. The element of index i is the slab's word i.

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

    /// Puts a word in place and answers what was there; `None` when `index` is outside.
    pub fn swap(&self, index: u32, word: u64) -> Option<u64> {
        self.at(index).map(|place| place.swap(word, Ordering::AcqRel))
    }

    /// The value of a key that holds a word in its first bytes, as user space reads it.
    pub fn read(&self, facts: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        match self.load(index_of(key)) {
            0 => Err(Errno::ENOENT),
            word => Ok(word.to_ne_bytes()[..facts.value_size as usize].to_vec()),
        }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    /// The words themselves, for programs to read.
    pub fn slab(&self) -> &Arc<Slab> {
        &self.words
    }

    #[inline]
    fn at(&self, index: u32) -> Option<&AtomicU64> {
        (index < self.count).then(|| self.words.word(index as usize * WORD as usize))
    }
}

/// A key of four bytes as the index that it is. Callers know the key's size.
#[inline]
pub(super) fn index_of(key: &[u8]) -> u32 {
    key.try_into().map_or(u32::MAX, u32::from_ne_bytes)
}

/// The index that an update of an array of targets is for: all are always there.
pub(super) fn index_to_write(facts: &MapAttributes, at: &Entry<'_>) -> Result<u32, Errno> {
    let index = index_of(at.key);
    match at.flags {
        flags if flags > flag::EXIST => Err(Errno::EINVAL),
        _ if index >= facts.max_entries => Err(Errno::E2BIG),
        flag::NOEXIST => Err(Errno::EEXIST),
        _ => Ok(index),
    }
}

/// The index behind `key`, as the kernel's arrays count: an absent or unknown one starts anew.
pub(super) fn next_index(facts: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
    let next = match key.map(index_of) {
        Some(index) if index < facts.max_entries => index + 1,
        _ => 0,
    };
    if next < facts.max_entries { Ok(next.to_ne_bytes().to_vec()) } else { Err(Errno::ENOENT) }
}

/// Two halves as one word; the low one comes first in memory.
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
