//! `Depot`: free chunks that no socket holds, as a lock-free stack of magazines.
//!
//! A magazine is a chain of up to [`MAGAZINE`] chunks. The records of its chunks hold its links,
//! its length and the magazine below it, so nothing is allocated.

use super::chunk::Chunk;
use crate::limits::{MAGAZINE, MOST_FRAMES};
use crate::sync::{AtomicU64, Ordering};

/// The first chunk of the topmost magazine in the lower bits, `NONE` when empty. The upper bits
/// count changes, so that a stack that was changed and changed back is detected, unless a thread
/// sleeps through exactly a multiple of 2^39 changes.
#[derive(Debug)]
pub(crate) struct Depot {
    top: AtomicU64,
}

impl Default for Depot {
    fn default() -> Self {
        Self { top: AtomicU64::new(u64::from(NONE)) }
    }
}

impl Depot {
    /// Puts a magazine of these chunks, which the caller owns.
    ///
    /// # Panics
    /// When there are none, or more than a magazine holds.
    pub fn put(&self, records: &[Chunk], chunks: &[u32]) {
        assert!(!chunks.is_empty() && chunks.len() <= MAGAZINE, "{} chunks", chunks.len());
        for pair in chunks.windows(2) {
            records[pair[0] as usize].next.store(pair[1], Ordering::Relaxed);
        }
        let first = &records[chunks[0] as usize];
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            let below = (chunks.len() as u64) << 32 | top & CHUNK;
            first.extra.store(below, Ordering::Relaxed);
            let new = changed(top) | u64::from(chunks[0]);
            // Release: the thread that takes the magazine sees its links.
            match self.top.compare_exchange_weak(top, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Takes the topmost magazine: writes its chunks into `into`, and returns their number.
    pub fn take(&self, records: &[Chunk], into: &mut [u32; MAGAZINE]) -> usize {
        let mut top = self.top.load(Ordering::Acquire);
        let (first, count) = loop {
            let first = (top & CHUNK) as u32;
            if first == NONE {
                return 0;
            }
            // Another thread may take the magazine and use its records meanwhile; then the value is
            // wrong, and `top` has changed.
            let extra = records[first as usize].extra.load(Ordering::Relaxed);
            let new = changed(top) | extra & CHUNK;
            match self.top.compare_exchange_weak(top, new, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => break (first, (extra >> 32) as usize),
                Err(now) => top = now,
            }
        };
        let mut chunk = first;
        let (last, others) = into[..count].split_last_mut().expect("a magazine has chunks");
        for place in others {
            *place = chunk;
            chunk = records[chunk as usize].next.load(Ordering::Relaxed);
        }
        *last = chunk;
        count
    }
}

/// The upper bits of the successor of `top`.
fn changed(top: u64) -> u64 {
    (top & !CHUNK).wrapping_add(CHUNK + 1)
}

/// The bits of a chunk in the top: one bit more than [`MOST_FRAMES`] needs.
const CHUNK: u64 = 2 * MOST_FRAMES as u64 - 1;
/// The value for an empty stack.
const NONE: u32 = CHUNK as u32;
