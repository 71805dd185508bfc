//! The user side of maps that carry records: ring buffers and perf event arrays.

use spec::MapKind;

use super::perf_event::EVENT_BYTES;
use super::{Map, Ring};
use crate::errno::Errno;

/// A record from a program to user space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The processor that sent it, for maps that separate processors.
    pub cpu: Option<u32>,
    /// The bytes, with the exact length that the program gave; the kernel's perf buffers add
    /// padding.
    pub bytes: Vec<u8>,
}

/// The records since the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The records in order; for a perf event array in order by processor.
    pub records: Vec<Record>,
    /// Number of records that did not fit.
    pub lost: u64,
}

impl Map {
    /// Takes the records that programs have sent: the finished records of a ring buffer up to the
    /// first unfinished one, or those of all processors of a perf event array.
    ///
    /// # Errors
    /// `EOPNOTSUPP` for maps without records.
    pub fn records(&self) -> Result<Records, Errno> {
        let mut records = Vec::new();
        if let Some(events) = self.perf_events() {
            let lost = events.drain(|cpu, bytes| records.push(Record { cpu: Some(cpu), bytes }));
            return Ok(Records { records, lost });
        }
        let ring = self.ring_of(MapKind::RINGBUF)?;
        ring.drain(|bytes| records.push(Record { cpu: None, bytes }));
        Ok(Records { records, lost: ring.take_refused() })
    }

    /// Opens every processor's buffer of a perf event array, with `bytes` bytes, by default 64
    /// pages. Without open buffers programs get `ENOENT`.
    ///
    /// # Errors
    /// `EOPNOTSUPP` for other types of maps.
    pub fn open_events(&self, bytes: Option<usize>) -> Result<(), Errno> {
        let events = self.perf_events();
        let events = events.ok_or(Errno::EOPNOTSUPP)?;
        let cpus = self.attributes().cpus.min(self.attributes().max_entries);
        (0..cpus).try_for_each(|cpu| events.open(cpu, bytes.unwrap_or(EVENT_BYTES)))
    }

    /// Sends a record to programs, through a user ring buffer.
    ///
    /// # Errors
    /// `ENOSPC` when the ring is full, `EOPNOTSUPP` for other types of maps.
    pub fn send(&self, bytes: &[u8]) -> Result<(), Errno> {
        self.ring_of(MapKind::USER_RINGBUF)?.output(bytes).ok_or(Errno::ENOSPC)
    }

    /// Whether a value may be in a bloom filter; `false` is certain.
    ///
    /// # Errors
    /// `EINVAL` for a length other than that of the map's values, `EOPNOTSUPP` for other types.
    pub fn holds(&self, value: &[u8]) -> Result<bool, Errno> {
        if self.attributes().kind != MapKind::BLOOM_FILTER {
            return Err(Errno::EOPNOTSUPP);
        }
        if value.len() != self.attributes().value_size as usize {
            return Err(Errno::EINVAL);
        }
        Ok(self.peek(&mut value.to_vec()).is_ok())
    }

    fn ring_of(&self, kind: MapKind) -> Result<&Ring, Errno> {
        self.ring().filter(|_| self.attributes().kind == kind).ok_or(Errno::EOPNOTSUPP)
    }
}
