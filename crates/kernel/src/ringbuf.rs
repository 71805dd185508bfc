//! Reading a BPF ring buffer.
//!
//! Memory, as `kernel/bpf/ringbuf.c` of Linux 5.8 and later maps it:
//!
//! ```text
//! page 0            page 1             2 × size, the same pages twice
//! consumer (ours)   producer (kernel)  records: length and flags (4), page (4), data, padded to 8
//! ```
//!
//! Rule: a record is read only after its busy bit was cleared, and released by moving the consumer
//! position past it, several at a time. The doubled mapping lets a record that wraps be read in one
//! piece.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use sys::bpf::uapi::ringbuf::{BUSY, DISCARD, HEADER_LEN};
use sys::mmap::{Mapping, page_size};
use sys::poll;

use crate::error::{Error, Result, named};
use crate::map::Map;
use spec::MapKind;

/// The one reader of a ring buffer map.
#[derive(Debug)]
pub struct RingBuffer {
    map: Map,
    consumer: Mapping,
    /// Producer page and data.
    producer: Mapping,
    size: usize,
    position: u64,
    record: Vec<u8>,
}

impl RingBuffer {
    /// Maps the ring buffer of a map.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if `map` is not a ring buffer.
    pub fn new(map: &Map) -> Result<Self> {
        if map.kind() != MapKind::RINGBUF {
            return Err(Error::Unsupported {
                what: format!("map `{}`", map.name()),
                why: "not a ring buffer".to_owned(),
            });
        }
        let map = map.duplicate()?;
        let page = page_size();
        let size = map.max_entries() as usize;
        let open = |offset, len, writable| {
            Mapping::new(map.as_fd(), offset, len, writable).map_err(named(map.name()))
        };
        let consumer = open(0, page, true)?;
        let producer = open(page as u64, page + 2 * size, false)?;
        let position = consumer.load_u64(0);
        Ok(Self { map, consumer, producer, size, position, record: Vec::new() })
    }

    /// Passes every available record to `each`, and returns their number.
    pub fn drain(&mut self, mut each: impl FnMut(&[u8])) -> usize {
        let mut count = 0;
        // What is produced meanwhile waits for the next call, so that this one ends.
        let end = self.producer.load_u64(0);
        let mut released = self.position;
        while self.position < end {
            // Each release costs the kernel's side a cache miss, so there are few.
            if self.position - released >= self.size as u64 / RELEASES {
                released = self.release();
            }
            match self.take() {
                Taken::Unfinished => break,
                Taken::Discarded => {}
                Taken::Record => {
                    each(&self.record);
                    count += 1;
                }
            }
        }
        self.release();
        count
    }

    /// Waits until a record comes, at most until `deadline`, then does as [`drain`](Self::drain).
    pub fn wait(&mut self, deadline: Instant, mut each: impl FnMut(&[u8])) -> Result<usize> {
        loop {
            let count = self.drain(&mut each);
            let left = deadline.saturating_duration_since(Instant::now());
            if count > 0 || left == Duration::ZERO {
                return Ok(count);
            }
            poll::readable(self.map.as_fd(), left).map_err(named(self.map.name()))?;
        }
    }

    /// Bytes written and not yet read.
    pub fn backlog(&self) -> u64 {
        self.producer.load_u64(0).saturating_sub(self.position)
    }

    /// Lets the kernel use the space of the records that were taken.
    fn release(&self) -> u64 {
        self.consumer.store_u64(0, self.position);
        self.position
    }

    /// Copies one record.
    fn take(&mut self) -> Taken {
        let at = page_size() + (self.position as usize & (self.size - 1));
        let header = self.producer.load_u32(at);
        if header & BUSY != 0 {
            return Taken::Unfinished;
        }
        let len = (header & !(BUSY | DISCARD)) as usize;
        let discarded = header & DISCARD != 0;
        if !discarded {
            self.record.resize(len, 0);
            self.producer.copy_out(at + HEADER_LEN, &mut self.record);
        }
        self.position += (HEADER_LEN + len).next_multiple_of(8) as u64;
        if discarded { Taken::Discarded } else { Taken::Record }
    }
}

/// How often a full ring is released while it is read.
const RELEASES: u64 = 16;

enum Taken {
    /// The program that reserved it has not submitted it yet.
    Unfinished,
    Discarded,
    /// In [`RingBuffer::record`].
    Record,
}
