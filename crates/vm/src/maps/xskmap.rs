//! Xskmaps: AF_XDP sockets to redirect to. Every number names a socket: its output stream.
//!
//! A program that looks up an element may read the socket's queue, which is the key: sockets are
//! inserted under the queue to which they are bound.
//!
//! ```text
//! | queue (4), unused (4) | stream in the low half, 1 in the high half (8) |
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::slots::{self, index_of, next_index};
use super::{Entry, MapAttributes, Storage, flag};
use crate::errno::Errno;
use crate::memory::{Layout, Slab};
use crate::redirect::Target;

#[derive(Debug)]
pub(crate) struct Xskmap {
    slab: Arc<Slab>,
    layout: Layout,
    count: u32,
    /// Lock of the writers.
    writer: Mutex<()>,
}

impl Xskmap {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        attributes.check_shape(4, &[4], flag::NUMA_NODE | flag::RDONLY | flag::WRONLY)?;
        let count = attributes.max_entries;
        let slab = Arc::new(Slab::new(u64::from(count) * STRIDE as u64)?);
        let layout = Layout::elements(count.into(), 4, STRIDE as u64);
        let layout = Layout { writable: false, ..layout };
        Ok(Self { slab, layout, count, writer: Mutex::new(()) })
    }

    fn socket(&self, index: u32) -> Option<&AtomicU64> {
        (index < self.count).then(|| self.slab.word(index as usize * STRIDE + 8))
    }

    fn load(&self, index: u32) -> u64 {
        self.socket(index).map_or(0, |socket| socket.load(Ordering::Acquire))
    }
}

impl Storage for Xskmap {
    fn lookup(&self, attributes: &MapAttributes, _cpu: u32, key: &[u8]) -> u64 {
        let index = index_of(key);
        match self.load(index) {
            0 => 0,
            _ => attributes.address(&self.layout, index.into()),
        }
    }

    fn update(&self, _: &MapAttributes, _cpu: u32, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, _: &MapAttributes, key: &[u8]) -> Result<(), Errno> {
        let _turn = self.writer.lock().expect("no thread panics while it writes a map");
        let socket = self.socket(index_of(key)).ok_or(Errno::EINVAL)?;
        socket.store(0, Ordering::Release);
        Ok(())
    }

    fn read(&self, _: &MapAttributes, _key: &[u8]) -> Result<Vec<u8>, Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    fn write(&self, _: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        if at.flags > flag::EXIST {
            return Err(Errno::EINVAL);
        }
        let index = index_of(at.key);
        let socket = self.socket(index).ok_or(Errno::E2BIG)?;
        let _turn = self.writer.lock().expect("no thread panics while it writes a map");
        let (old, new) = (socket.load(Ordering::Acquire), slots::word(index_of(at.value), 1));
        match at.flags {
            _ if old == new => return Ok(()),
            flag::NOEXIST if old != 0 => return Err(Errno::EEXIST),
            flag::EXIST if old == 0 => return Err(Errno::ENOENT),
            _ => {}
        }
        self.slab.half(index as usize * STRIDE).store(index, Ordering::Relaxed);
        socket.store(new, Ordering::Release);
        Ok(())
    }

    fn next_key(&self, attributes: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        next_index(attributes, key)
    }

    fn values(&self) -> Option<(&Arc<Slab>, Layout)> {
        Some((&self.slab, self.layout))
    }

    #[inline]
    fn target(&self, attributes: &MapAttributes, key: u32) -> Option<Target> {
        (self.load(key) != 0).then_some(Target::Xsk { map: attributes.number, key })
    }
}

/// Bytes of an element.
const STRIDE: usize = 16;
