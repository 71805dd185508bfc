//! Many elements of a map in one call. Linux 5.6, and not every kind of map.

use crate::bpf::Map;
use crate::bpf::attr::{self, BatchAttr, Command, call};
use crate::{Error, Result};

/// Position of a batched walk through a map, and the buffers that it fills.
#[derive(Debug)]
pub struct Batch {
    token: Vec<u8>,
    started: bool,
    keys: Vec<u8>,
    values: Vec<u8>,
    capacity: u32,
    remove: bool,
}

impl Batch {
    /// Buffers for `capacity` elements of `map` per call. The kernel returns `ENOSPC` if a hash
    /// bucket holds more than that.
    pub fn new(map: &Map, capacity: u32) -> Self {
        Self {
            token: vec![0; map.key_size().max(size_of::<u32>())],
            started: false,
            keys: vec![0; room(map.key_size(), capacity)],
            values: vec![0; room(map.value_size(), capacity)],
            capacity,
            remove: false,
        }
    }

    /// A walk that begins after this key of an array.
    pub fn after(map: &Map, capacity: u32, key: u32) -> Self {
        let mut batch = Self { started: true, ..Self::new(map, capacity) };
        batch.token[..size_of::<u32>()].copy_from_slice(&key.to_ne_bytes());
        batch
    }

    /// Reads elements and deletes them from the map.
    pub fn taking(map: &Map, capacity: u32) -> Self {
        Self { remove: true, ..Self::new(map, capacity) }
    }

    /// Resizes the buffers to `capacity` elements of `map` per call. The walk keeps its position.
    pub fn resize(&mut self, map: &Map, capacity: u32) {
        self.keys.resize(room(map.key_size(), capacity), 0);
        self.values.resize(room(map.value_size(), capacity), 0);
        self.capacity = capacity;
    }

    /// Reads the next batch. Returns keys and values in parallel, and whether more elements follow.
    pub fn next(&mut self, map: &Map) -> Result<(&[u8], &[u8], bool)> {
        let fits = self.keys.len() == room(map.key_size(), self.capacity)
            && self.values.len() == room(map.value_size(), self.capacity)
            && self.token.len() >= map.key_size();
        if !fits {
            return Err(Error::new("bpf(MAP_LOOKUP_BATCH)", "", libc::EINVAL)
                .with_detail("batch was made for another map"));
        }
        let token = attr::pointer_mut(&mut self.token);
        let mut attr = BatchAttr {
            in_batch: if self.started { token } else { 0 },
            out_batch: token,
            keys: attr::pointer_mut(&mut self.keys),
            values: attr::pointer_mut(&mut self.values),
            count: self.capacity,
            map_fd: map.raw(),
            ..Default::default()
        };
        let command = if self.remove { Command::MapTakeBatch } else { Command::MapLookupBatch };
        // SAFETY: keys and values have room for `count` elements of this map (compared above);
        // the position is at least four bytes (hash, array) and at least a key (other maps).
        let answer = unsafe { call(command, &mut attr) };
        let more = match answer {
            Ok(_) => true,
            Err(error) if error.is(libc::ENOENT) => false,
            Err(error) => return Err(error),
        };
        self.started = true;
        let count = attr.count.min(self.capacity) as usize;
        Ok((&self.keys[..count * map.key_size()], &self.values[..count * map.value_size()], more))
    }
}

impl Map {
    /// Updates elements given in parallel; returns the number that was updated before a failure.
    pub fn update_batch(&self, keys: &[u8], values: &[u8], flags: u64) -> (usize, Result<()>) {
        let count = match self.count(keys, Some(values)) {
            Ok(count) => count,
            Err(error) => return (0, Err(error)),
        };
        let mut attr = BatchAttr {
            keys: attr::pointer(keys),
            values: attr::pointer(values),
            count,
            map_fd: self.raw(),
            elem_flags: flags,
            ..Default::default()
        };
        // SAFETY: keys and values hold `count` elements of this map (`count`), and are only read.
        let answer = unsafe { call(Command::MapUpdateBatch, &mut attr) };
        (done(&attr, count, answer.is_err()), answer.map(drop))
    }

    /// Deletes keys; returns the number that was deleted before a failure.
    pub fn delete_batch(&self, keys: &[u8]) -> (usize, Result<()>) {
        let count = match self.count(keys, None) {
            Ok(count) => count,
            Err(error) => return (0, Err(error)),
        };
        let mut attr = BatchAttr {
            keys: attr::pointer(keys),
            count,
            map_fd: self.raw(),
            ..Default::default()
        };
        // SAFETY: `keys` holds `count` keys of this map (`count`), and is only read.
        let answer = unsafe { call(Command::MapDeleteBatch, &mut attr) };
        (done(&attr, count, answer.is_err()), answer.map(drop))
    }

    fn count(&self, keys: &[u8], values: Option<&[u8]>) -> Result<u32> {
        let count = keys.len().checked_div(self.key_size()).unwrap_or(0);
        let whole = keys.len() == count * self.key_size()
            && values.is_none_or(|values| values.len() == count * self.value_size());
        u32::try_from(count).ok().filter(|count| whole && *count > 0).ok_or_else(|| {
            Error::new("bpf(MAP_*_BATCH)", "", libc::EINVAL)
                .with_detail("keys and values are not the same whole number of elements")
        })
    }
}

/// Bytes of `count` elements; more than there can be where that overflows, so that no buffer is
/// ever shorter than what the kernel copies.
fn room(size: usize, count: u32) -> usize {
    size.saturating_mul(count as usize)
}

/// The kernel writes back how many elements it did, but leaves the number alone when it refused
/// the command as a whole: a failure with all elements done cannot be.
fn done(attr: &BatchAttr, asked: u32, failed: bool) -> usize {
    if failed && attr.count >= asked { 0 } else { attr.count as usize }
}
