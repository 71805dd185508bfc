//! The record of one chunk of memory.

use crate::sync::{AtomicU32, AtomicU64};

/// The record of one chunk.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// In a chain of chunks: the next one. In the first chunk of a packet, while the kernel
    /// transmits it: `STAMPED` and the offset of the data if the transmit time is requested.
    pub next: AtomicU32,
    /// In the first chunk of a magazine: the magazine below. In a fragment: offset and length. In
    /// the first chunk of a packet: the number of the request for its transmit time.
    pub extra: AtomicU64,
}
