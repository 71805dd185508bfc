//! Zeroed memory that never moves and that several processors may share.
//!
//! Rule: every access is a relaxed atomic operation on words, or on bytes if it is not aligned.
//! Processors that race on a map value therefore read old or new bytes, as the kernel guarantees to
//! BPF programs.
#![allow(unsafe_code, reason = "pointers into slabs, at checked offsets")]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use memmap2::{MmapOptions, MmapRaw};

use crate::errno::Errno;
use crate::limits;

/// A block of zeroed bytes, aligned to eight.
pub struct Slab {
    /// Only the slab refers to this memory.
    words: NonNull<[AtomicU64]>,
    owner: Owner,
    len: usize,
}

/// Source of a slab's memory.
enum Owner {
    Allocator,
    /// Pages of the system, which are zero and take no memory until they are used. An allocator may
    /// reuse memory instead, and then has to clear all of it.
    Pages {
        _pages: MmapRaw,
    },
}

// SAFETY: the memory belongs to the slab alone, and is accessed by atomic operations only.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Drop for Slab {
    fn drop(&mut self) {
        if matches!(self.owner, Owner::Allocator) {
            // SAFETY: made by `allocated` from the global allocator, and freed only here.
            drop(unsafe { Box::from_raw(self.words.as_ptr()) });
        }
    }
}

impl Slab {
    /// Allocates zeroed bytes; `ENOMEM` for more than [`limits::MAP_BYTES`]. Pages take memory only
    /// when they are used.
    pub fn new(len: u64) -> Result<Self, Errno> {
        if len > limits::MAP_BYTES {
            return Err(Errno::ENOMEM);
        }
        let len = usize::try_from(len).map_err(|_| Errno::ENOMEM)?;
        let count = len.div_ceil(8).max(1);
        let made = if len < PAGES { allocated(count) } else { mapped(count) };
        let (words, owner) = made.ok_or(Errno::ENOMEM)?;
        Ok(Self { words, owner, len })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: allocated with this length, initialized to zero, and freed with `self`.
        unsafe { self.words.as_ref() }
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.words.cast()
    }

    /// # Panics
    /// When `offset` is not a multiple of eight or outside.
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8), "a word's place is a multiple of eight");
        &self.words()[offset / 8]
    }

    /// # Panics
    /// When `offset` is not a multiple of four or outside.
    pub fn half(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.len, "a half word inside the slab");
        let place = self.base().as_ptr().wrapping_add(offset).cast();
        // SAFETY: inside the slab and aligned, as just asserted; the slab lives as long as `self`.
        unsafe { AtomicU32::from_ptr(place) }
    }

    /// Copies bytes from the slab.
    ///
    /// # Panics
    /// When the range is not inside the slab.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        self.check(offset, into.len());
        if offset.is_multiple_of(8) {
            let words = &self.words()[offset / 8..];
            for (chunk, word) in into.chunks_mut(8).zip(words) {
                chunk.copy_from_slice(&word.load(Relaxed).to_ne_bytes()[..chunk.len()]);
            }
            return;
        }
        for (place, byte) in into.iter_mut().enumerate() {
            *byte = self.byte(offset + place).load(Relaxed);
        }
    }

    /// Copies bytes into the slab.
    ///
    /// # Panics
    /// When the range is not inside the slab.
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.check(offset, from.len());
        let whole = if offset.is_multiple_of(8) { from.len() / 8 * 8 } else { 0 };
        let (words, rest) = from.split_at(whole);
        for (place, chunk) in words.chunks_exact(8).enumerate() {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.words()[offset / 8 + place].store(u64::from_ne_bytes(word), Relaxed);
        }
        for (place, byte) in rest.iter().enumerate() {
            self.byte(offset + whole + place).store(*byte, Relaxed);
        }
    }

    /// Sets a range to zero.
    pub fn zero(&self, offset: usize, len: usize) {
        self.check(offset, len);
        for place in offset..offset + len {
            if place.is_multiple_of(8) && place + 8 <= offset + len {
                self.words()[place / 8].store(0, Relaxed);
            } else if place / 8 * 8 < offset || place / 8 * 8 + 8 > offset + len {
                self.byte(place).store(0, Relaxed);
            }
        }
    }

    /// The offset of the first word in `range` that is not zero. The range starts at a multiple of
    /// eight.
    ///
    /// # Panics
    /// When the range is not inside the slab.
    pub fn first_used(&self, range: std::ops::Range<usize>) -> Option<usize> {
        self.check(range.start, range.len());
        let words = &self.words()[range.start / 8..range.end.div_ceil(8)];
        let used = words.iter().position(|word| word.load(Relaxed) != 0)?;
        Some(range.start + used * 8)
    }

    /// Whether the bytes at `offset` equal `with`.
    pub fn equals(&self, offset: usize, with: &[u8]) -> bool {
        self.check(offset, with.len());
        let whole = if offset.is_multiple_of(8) { with.len() / 8 * 8 } else { 0 };
        let (words, rest) = with.split_at(whole);
        let words_match = words.chunks_exact(8).enumerate().all(|(place, chunk)| {
            self.words()[offset / 8 + place].load(Relaxed).to_ne_bytes() == *chunk
        });
        words_match
            && rest
                .iter()
                .enumerate()
                .all(|(place, byte)| self.byte(offset + whole + place).load(Relaxed) == *byte)
    }

    fn byte(&self, offset: usize) -> &AtomicU8 {
        assert!(offset < self.words().len() * 8, "a byte inside the slab");
        let place = self.base().as_ptr().wrapping_add(offset);
        // SAFETY: inside the slab, as just asserted; the slab lives as long as `self`.
        unsafe { AtomicU8::from_ptr(place) }
    }

    fn check(&self, offset: usize, len: usize) {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len);
        assert!(inside, "{offset}+{len} is inside a slab of {} bytes", self.len);
    }
}

/// Zeroed words and their owner; `None` when the system is out of memory. Objects may request sizes
/// that fail, so this must not abort the process.
type Made = Option<(NonNull<[AtomicU64]>, Owner)>;

fn allocated(count: usize) -> Made {
    let layout = std::alloc::Layout::array::<AtomicU64>(count).ok()?;
    assert!(layout.size() > 0, "a slab has at least one word");
    // SAFETY: the layout has a size, as just asserted.
    let words = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }.cast::<AtomicU64>())?;
    Some((NonNull::slice_from_raw_parts(words, count), Owner::Allocator))
}

fn mapped(count: usize) -> Made {
    let bytes = count.checked_mul(8)?;
    let pages = MmapRaw::from(MmapOptions::new().len(bytes).map_anon().ok()?);
    // Pages are aligned to more than a word is.
    let words = NonNull::new(pages.as_mut_ptr().cast::<AtomicU64>())?;
    Some((NonNull::slice_from_raw_parts(words, count), Owner::Pages { _pages: pages }))
}

/// Size in bytes above which a slab has pages of its own.
const PAGES: usize = 1 << 16;

impl std::fmt::Debug for Slab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slab({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_wherever_they_start() {
        for offset in 0..17 {
            for len in 0..40 {
                let slab = Slab::new(64).unwrap();
                let bytes: Vec<u8> = (1..=len as u8).collect();
                slab.write(offset, &bytes);
                let mut back = vec![0; len];
                slab.read(offset, &mut back);
                assert_eq!(back, bytes, "{offset}+{len}");
                assert!(slab.equals(offset, &bytes));
                let mut all = vec![0; 64];
                slab.read(0, &mut all);
                assert!(all[..offset].iter().chain(&all[offset + len..]).all(|b| *b == 0));
                slab.write(0, &[0xff; 64]);
                slab.zero(offset, len);
                slab.read(0, &mut all);
                for (place, byte) in all.iter().enumerate() {
                    let inside = place >= offset && place < offset + len;
                    assert_eq!(*byte == 0, inside, "{offset}+{len} at {place}");
                }
            }
        }
    }
}
