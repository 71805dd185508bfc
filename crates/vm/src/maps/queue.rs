//! Queues and stacks: values without keys, taken from the oldest or the newest end.
//!
//! The values are in a ring of `max_entries` places; one lock protects both ends.

use std::sync::{Mutex, MutexGuard};

use spec::MapKind;

use super::{Entry, MapAttributes, Storage, UNSERVED, flag};
use crate::errno::Errno;
use crate::memory::Slab;

#[derive(Debug)]
pub(crate) struct Queue {
    slab: Slab,
    ends: Mutex<Ends>,
    newest_first: bool,
}

/// The range of occupied places.
#[derive(Debug, Default)]
struct Ends {
    oldest: u32,
    len: u32,
}

impl Queue {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        attributes.check_keyless(flag::NUMA_NODE | flag::ACCESS)?;
        let slab = Slab::new(u64::from(attributes.max_entries) * attributes.stride())?;
        let newest_first = attributes.kind == MapKind::STACK;
        Ok(Self { slab, ends: Mutex::default(), newest_first })
    }

    /// Copies the next value to `into`, or zeros if the map is empty.
    fn copy(&self, attributes: &MapAttributes, into: &mut [u8], remove: bool) -> Result<(), Errno> {
        let mut ends = self.lock();
        if ends.len == 0 {
            into.fill(0);
            return Err(Errno::ENOENT);
        }
        let step = if self.newest_first { ends.len - 1 } else { 0 };
        self.slab.read(place(attributes, ends.oldest, step), into);
        if remove {
            if !self.newest_first {
                ends.oldest = (ends.oldest + 1) % attributes.max_entries;
            }
            ends.len -= 1;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().expect("no thread panics while it moves an end")
    }
}

impl Storage for Queue {
    fn lookup(&self, _: &MapAttributes, _cpu: u32, _key: &[u8]) -> u64 {
        UNSERVED
    }

    fn update(&self, _: &MapAttributes, _cpu: u32, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, _: &MapAttributes, _key: &[u8]) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn read(&self, attributes: &MapAttributes, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut value = vec![0; attributes.value_size as usize];
        self.copy(attributes, &mut value, false).map(|()| value)
    }

    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        self.push(attributes, at.value, at.flags)
    }

    fn next_key(&self, _: &MapAttributes, _key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        Err(Errno::EINVAL)
    }

    fn take(&self, attributes: &MapAttributes, _key: &[u8], _flags: u64) -> Result<Vec<u8>, Errno> {
        let mut value = vec![0; attributes.value_size as usize];
        self.copy(attributes, &mut value, true).map(|()| value)
    }

    /// `EXIST` drops the oldest value if the map is full, also for a stack.
    fn push(&self, attributes: &MapAttributes, value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags != flag::ANY && flags != flag::EXIST {
            return Err(Errno::EINVAL);
        }
        let mut ends = self.lock();
        if ends.len == attributes.max_entries {
            if flags != flag::EXIST {
                return Err(Errno::E2BIG);
            }
            ends.oldest = (ends.oldest + 1) % attributes.max_entries;
            ends.len -= 1;
        }
        self.slab.write(place(attributes, ends.oldest, ends.len), value);
        ends.len += 1;
        Ok(())
    }

    fn pop(&self, attributes: &MapAttributes, into: &mut [u8]) -> Result<(), Errno> {
        self.copy(attributes, into, true)
    }

    fn peek(&self, attributes: &MapAttributes, into: &mut [u8]) -> Result<(), Errno> {
        self.copy(attributes, into, false)
    }
}

/// Offset in the slab of the value `step` places after the oldest.
fn place(attributes: &MapAttributes, oldest: u32, step: u32) -> usize {
    let place = (u64::from(oldest) + u64::from(step)) % u64::from(attributes.max_entries);
    (place * attributes.stride()) as usize
}
