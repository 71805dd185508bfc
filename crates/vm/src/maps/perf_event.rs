//! Perf event arrays: for each processor a bounded buffer of records to user space.
//!
//! User space opens a processor's buffer by writing any value at its index, or all of them with
//! [`Map::open_events`](super::Map::open_events). Rule: a buffer holds as much as the kernel's of
//! that size, including headers; a record that does not fit is counted and reported as lost.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use super::slots::{index_of, next_index};
use super::{Entry, MapAttributes, Storage, UNSERVED, flag};
use crate::errno::Errno;

#[derive(Debug)]
pub(crate) struct PerfEvents {
    /// Buffers by processor; `None` until user space opens one.
    buffers: Box<[Mutex<Option<Buffer>>]>,
}

/// Records of one processor, as a sequence of `length, bytes`.
#[derive(Debug)]
struct Buffer {
    bytes: VecDeque<u8>,
    capacity: usize,
    /// Bytes that the kernel's buffer would hold.
    used: usize,
    lost: Lost,
}

/// Lost records: those to report to the reader, and later ones.
#[derive(Debug, Default)]
struct Lost {
    told: u64,
    since: u64,
}

impl PerfEvents {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        let allowed = flag::NUMA_NODE | flag::RDONLY | flag::WRONLY | flag::PRESERVE_ELEMS;
        attributes.check_shape(4, &[4], allowed)?;
        let count = attributes.max_entries.min(attributes.cpus);
        Ok(Self { buffers: (0..count).map(|_| Mutex::new(None)).collect() })
    }

    /// Opens an empty buffer of that many bytes for a processor.
    pub fn open(&self, cpu: u32, capacity: usize) -> Result<(), Errno> {
        let buffer = self.buffers.get(cpu as usize).ok_or(Errno::EBADF)?;
        *lock(buffer) = Some(Buffer::new(capacity));
        Ok(())
    }

    /// As processor `cpu`, writes a record to `index`; `write` appends its `len` bytes.
    pub fn output(
        &self,
        cpu: u32,
        index: u32,
        len: usize,
        write: impl FnOnce(&mut VecDeque<u8>),
    ) -> Result<(), Errno> {
        let mut place = lock(self.buffers.get(index as usize).ok_or(Errno::ENOENT)?);
        let buffer = place.as_mut().ok_or(Errno::ENOENT)?;
        if index != cpu {
            return Err(Errno::EOPNOTSUPP);
        }
        buffer.push(len, write)
    }

    /// Takes all records and passes them to `each` with their processor; returns the number of lost
    /// records.
    pub fn drain(&self, mut each: impl FnMut(u32, Vec<u8>)) -> u64 {
        let mut lost = 0;
        for (buffer, cpu) in self.buffers.iter().zip(0..) {
            if let Some(buffer) = &mut *lock(buffer) {
                lost += buffer.drain(|record| each(cpu, record));
            }
        }
        lost
    }
}

impl Buffer {
    fn new(capacity: usize) -> Self {
        let bytes = VecDeque::with_capacity(capacity);
        Self { bytes, capacity, used: 0, lost: Lost::default() }
    }

    fn push(&mut self, len: usize, write: impl FnOnce(&mut VecDeque<u8>)) -> Result<(), Errno> {
        let notice = if self.lost.since > 0 { LOST_RECORD } else { 0 };
        let room = HEADER + (LENGTH + len).next_multiple_of(8) + notice;
        if self.used + room >= self.capacity {
            self.lost.since += 1;
            return Err(Errno::ENOSPC);
        }
        self.lost.told += std::mem::take(&mut self.lost.since);
        self.used += room;
        self.bytes.extend((len as u32).to_ne_bytes());
        write(&mut self.bytes);
        Ok(())
    }

    fn drain(&mut self, mut each: impl FnMut(Vec<u8>)) -> u64 {
        while !self.bytes.is_empty() {
            let mut len = [0; LENGTH];
            for (place, byte) in len.iter_mut().zip(self.bytes.drain(..LENGTH)) {
                *place = byte;
            }
            each(self.bytes.drain(..u32::from_ne_bytes(len) as usize).collect());
        }
        self.used = 0;
        let lost = std::mem::take(&mut self.lost);
        lost.told + lost.since
    }
}

impl Storage for PerfEvents {
    fn lookup(&self, _: &MapAttributes, _cpu: u32, _key: &[u8]) -> u64 {
        UNSERVED
    }

    fn update(&self, _: &MapAttributes, _cpu: u32, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, attributes: &MapAttributes, key: &[u8]) -> Result<(), Errno> {
        let index = index_of(key);
        if index >= attributes.max_entries {
            return Err(Errno::E2BIG);
        }
        let buffer = self.buffers.get(index as usize).ok_or(Errno::ENOENT)?;
        lock(buffer).take().map(drop).ok_or(Errno::ENOENT)
    }

    fn read(&self, _: &MapAttributes, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        Err(Errno::ENOTSUPP)
    }

    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        let index = index_of(at.key);
        if at.flags != flag::ANY {
            return Err(Errno::EINVAL);
        }
        if index >= attributes.max_entries {
            return Err(Errno::E2BIG);
        }
        self.open(index, EVENT_BYTES)
    }

    fn next_key(&self, attributes: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        next_index(attributes, key)
    }

    fn perf_events(&self) -> Option<&PerfEvents> {
        Some(self)
    }
}

fn lock(buffer: &Mutex<Option<Buffer>>) -> MutexGuard<'_, Option<Buffer>> {
    buffer.lock().expect("no thread panics while it holds a buffer")
}

/// Bytes of a buffer that is opened without a size: 64 pages.
pub(super) const EVENT_BYTES: usize = 64 * 4096;
/// Bytes around a record in the kernel's buffer: `perf_event_header`, and the raw length.
const HEADER: usize = 8;
const LENGTH: usize = 4;
/// Bytes of the record that reports lost ones.
const LOST_RECORD: usize = 24;
