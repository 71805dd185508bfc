//! The record of one chunk of memory.

use crate::sync::{AtomicU32, AtomicU64};

/// What is known of one chunk.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// In a chain of chunks: the next one. In a packet's first chunk, while the kernel transmits
    /// it: `STAMPED` and the data's offset if its time is wanted.
    pub next: AtomicU32,
    /// In a magazine's first chunk: the magazine below. In a fragment: offset and length. In a
    /// packet's first chunk: the number of whoever wants the time of its transmission.
    pub extra: AtomicU64,
}
