//! The ring of records of ring buffers in both directions.
//!
//! ```text
//! | length and flags (4), page (4) | data, to a multiple of 8 |   at position modulo size
//! ```
//!
//! Rule: positions only grow; records are read in order and only when the busy bit is clear. The
//! kernel maps the ring twice in succession, so that a record that wraps is contiguous; here it
//! continues into a second half, which is copied from and to the ring's start, so that bytes that a
//! program did not write have the same old values.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use spec::MapKind;

use super::{MapAttributes, flag};
use crate::errno::Errno;
use crate::memory::Slab;

#[derive(Debug)]
pub(crate) struct Ring {
    slab: Arc<Slab>,
    size: u64,
    /// Bytes that are never used: the producer of programs leaves one, that of user space none.
    spare: u64,
    producer: AtomicU64,
    consumer: AtomicU64,
    /// Number of records that did not fit.
    refused: AtomicU64,
    writer: Mutex<()>,
    reader: Mutex<()>,
}

/// State at the consumer's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Nothing,
    /// An unfinished or invalid record: nothing after it can be read.
    Stuck(Errno),
    Discarded(u64),
    Record(Place),
}

/// Bytes of a record: start in the slab, length, and the position after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub start: u64,
    pub len: u32,
    pub end: u64,
}

impl Ring {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        let size = u64::from(attributes.max_entries);
        let shape = attributes.key_size == 0 && attributes.value_size == 0;
        let pages = size.is_power_of_two() && size.is_multiple_of(PAGE);
        if attributes.flags & !flag::NUMA_NODE != 0 || !shape || !pages {
            return Err(Errno::EINVAL);
        }
        Ok(Self {
            slab: Arc::new(Slab::new(2 * size)?),
            size,
            spare: u64::from(attributes.kind == MapKind::RINGBUF),
            producer: AtomicU64::new(0),
            consumer: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            writer: Mutex::new(()),
            reader: Mutex::new(()),
        })
    }

    /// Reserves a record of `len` bytes, busy until it is finished; `None`, counted, when the ring
    /// is full.
    pub fn reserve(&self, len: u64) -> Option<Place> {
        let reserved = self.try_reserve(len);
        if reserved.is_none() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        reserved
    }

    fn try_reserve(&self, len: u64) -> Option<Place> {
        if len > LONGEST || room(len) > self.size {
            return None;
        }
        let _turn = lock(&self.writer);
        let position = self.producer.load(Ordering::Relaxed);
        let end = position + room(len);
        if end - self.consumer.load(Ordering::Acquire) > self.size - self.spare {
            return None;
        }
        self.copy_wrapped(position, len, Towards::Record);
        let header = u64::from(len as u32 | BUSY) | self.page(position) << 32;
        self.header(position).store(header, Ordering::Relaxed);
        self.producer.store(end, Ordering::Release);
        Some(Place { start: self.offset(position) + HEADER, len: len as u32, end })
    }

    /// Finishes a reserved record: the reader gets it, or skips it if it is discarded.
    pub fn finish(&self, place: &Place, discard: bool) {
        self.copy_wrapped(place.start - HEADER, place.len.into(), Towards::Ring);
        let header = self.slab.word((place.start - HEADER) as usize);
        let flags = if discard { DISCARD } else { 0 };
        let page = header.load(Ordering::Relaxed) & !u64::from(u32::MAX);
        header.store(u64::from(place.len | flags) | page, Ordering::Release);
    }

    /// Writes a whole record.
    pub fn output(&self, bytes: &[u8]) -> Option<()> {
        let place = self.reserve(bytes.len() as u64)?;
        self.slab.write(place.start as usize, bytes);
        self.finish(&place, false);
        Some(())
    }

    /// The next state for the consumer. Only one consumer may call it at a time: see
    /// [`Ring::reader`].
    pub fn next(&self) -> Next {
        let position = self.consumer.load(Ordering::Acquire);
        let producer = self.producer.load(Ordering::Acquire);
        if position >= producer {
            return Next::Nothing;
        }
        let header = self.header(position).load(Ordering::Acquire) as u32;
        let len = header & !(BUSY | DISCARD);
        let end = position + room(len.into());
        match header {
            _ if end > producer => Next::Stuck(Errno::EINVAL),
            _ if room(len.into()) > self.size => Next::Stuck(Errno::E2BIG),
            _ if header & DISCARD != 0 => Next::Discarded(end),
            _ if header & BUSY != 0 => Next::Stuck(Errno::ENODATA),
            _ => Next::Record(Place { start: self.offset(position) + HEADER, len, end }),
        }
    }

    /// Releases the space before `end`.
    pub fn consume(&self, end: u64) {
        self.consumer.store(end, Ordering::Release);
    }

    /// The right to read; `None` while another thread has it.
    pub fn reader(&self) -> Option<MutexGuard<'_, ()>> {
        self.reader.try_lock().ok()
    }

    /// Passes every finished record to `each` and releases its space.
    pub fn drain(&self, mut each: impl FnMut(Vec<u8>)) {
        let _turn = lock(&self.reader);
        loop {
            match self.next() {
                Next::Nothing | Next::Stuck(_) => return,
                Next::Discarded(end) => self.consume(end),
                Next::Record(place) => {
                    let mut bytes = vec![0; place.len as usize];
                    self.slab.read(place.start as usize, &mut bytes);
                    self.consume(place.end);
                    each(bytes);
                }
            }
        }
    }

    /// Number of records that did not fit since the last call.
    pub fn take_refused(&self) -> u64 {
        self.refused.swap(0, Ordering::Relaxed)
    }

    /// Bytes from the consumer's to the producer's position.
    pub fn available(&self) -> u64 {
        let consumer = self.consumer_position();
        self.producer_position() - consumer
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn producer_position(&self) -> u64 {
        self.producer.load(Ordering::Acquire)
    }

    pub fn consumer_position(&self) -> u64 {
        self.consumer.load(Ordering::Acquire)
    }

    pub fn slab(&self) -> &Arc<Slab> {
        &self.slab
    }

    fn header(&self, position: u64) -> &AtomicU64 {
        self.slab.word(self.offset(position) as usize)
    }

    fn offset(&self, position: u64) -> u64 {
        position & (self.size - 1)
    }

    /// Copies the part of a record past the ring's end from or to the ring's start.
    fn copy_wrapped(&self, position: u64, len: u64, towards: Towards) {
        let end = self.offset(position) + room(len);
        let mut chunk = [0; 64];
        for at in (0..end.saturating_sub(self.size)).step_by(chunk.len()) {
            let bytes = &mut chunk[..64.min((end - self.size - at) as usize)];
            let (from, to) = match towards {
                Towards::Record => (at, self.size + at),
                Towards::Ring => (self.size + at, at),
            };
            self.slab.read(from as usize, bytes);
            self.slab.write(to as usize, bytes);
        }
    }

    /// The field beside the length in the kernel's header: pages from the start of its structure to
    /// the header.
    fn page(&self, position: u64) -> u64 {
        self.offset(position) / PAGE + PAGES_BEFORE
    }
}

#[derive(Clone, Copy)]
enum Towards {
    Record,
    Ring,
}

/// Bytes that a record of `len` bytes takes.
fn room(len: u64) -> u64 {
    (len + HEADER).next_multiple_of(8)
}

fn lock(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Longest record: the kernel's `RINGBUF_MAX_RECORD_SZ`.
const LONGEST: u64 = u32::MAX as u64 / 4;
const HEADER: u64 = 8;
const BUSY: u32 = 1 << 31;
const DISCARD: u32 = 1 << 30;
const PAGE: u64 = 4096;
/// The kernel's own page and those of the two positions.
const PAGES_BEFORE: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(size: u32) -> Ring {
        let kind = MapKind::RINGBUF;
        let attributes =
            MapAttributes { kind, max_entries: size, ..super::super::fixture::attributes() };
        Ring::create(&attributes).unwrap()
    }

    fn drained(ring: &Ring) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        ring.drain(|record| records.push(record));
        records
    }

    #[test]
    fn records_come_in_order_once_they_are_finished() {
        let ring = ring(4096);
        let first = ring.reserve(3).unwrap();
        ring.output(&[2; 9]).unwrap();
        assert_eq!(drained(&ring), Vec::<Vec<u8>>::new(), "the first is not finished");
        ring.slab().write(first.start as usize, &[1; 3]);
        ring.finish(&first, false);
        let gone = ring.reserve(0).unwrap();
        ring.finish(&gone, true);
        ring.output(&[]).unwrap();
        assert_eq!(drained(&ring), [vec![1; 3], vec![2; 9], vec![]]);
        assert_eq!(ring.available(), 0);
        assert_eq!(ring.consumer_position(), 16 + 24 + 8 + 8);
    }

    #[test]
    fn a_full_ring_refuses_and_counts() {
        let ring = ring(4096);
        // The maximum is one byte less than the ring: with the header and rounding, 4080.
        assert_eq!(ring.reserve(4096 - 8), None, "the whole ring");
        assert!(ring.output(&[7; 4080]).is_some());
        assert_eq!(ring.output(&[]), None);
        assert_eq!(ring.reserve(u64::from(u32::MAX)), None);
        assert_eq!(ring.take_refused(), 3);
        assert_eq!(ring.take_refused(), 0);
        assert_eq!(drained(&ring).len(), 1);
        assert!(ring.output(&[]).is_some());
    }

    #[test]
    fn records_survive_the_wrap() {
        let ring = ring(4096);
        for round in 0..1000_u32 {
            let record = vec![round as u8; (round * 37 % 3000) as usize];
            ring.output(&record).unwrap();
            assert_eq!(drained(&ring), [record], "{round}");
        }
    }
}
