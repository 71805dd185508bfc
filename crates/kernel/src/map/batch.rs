//! Operations on many elements, with single calls where the kernel has no batches for the map.

use spec::{Expect, Map as _};
use sys::bpf::Batch;
use sys::errno::{EINVAL, ENOSPC, ENOTSUPP, EOPNOTSUPP};

use super::{Map, flags_of};
use crate::error::{Error, Result, named};

/// Key and value of one element.
pub type Element = (Vec<u8>, Vec<u8>);

/// Elements a call; large hash buckets make it grow.
const CHUNK: u32 = 512;
const CHUNK_LIMIT: u32 = 1 << 20;

impl Map {
    /// Reads every element. Elements that change meanwhile may be included or missing.
    pub fn entries(&self) -> Result<Vec<Element>> {
        self.walk(Batch::new)
    }

    /// Reads this number of elements of an array, or up to its end.
    pub(super) fn part(&self, first: u32, count: u32) -> Result<Vec<Vec<u8>>> {
        if count == 0 || first >= self.info.max_entries {
            return Ok(Vec::new());
        }
        let mut batch = match first.checked_sub(1) {
            Some(before) => Batch::after(&self.raw, count, before),
            None => Batch::new(&self.raw, count),
        };
        match batch.next(&self.raw) {
            Ok((_, values, _)) => {
                let size = self.raw.value_size().max(1);
                Ok(values.chunks_exact(size).map(<[u8]>::to_vec).collect())
            }
            Err(error) if is_unsupported(&error) => {
                let indices = first..first.saturating_add(count).min(self.info.max_entries);
                let values = indices.map(|index| self.lookup(&index.to_ne_bytes()));
                Ok(values.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
            }
            Err(error) => Err(named(&self.name)(error)),
        }
    }

    /// Passes every element to `each` and keeps none, until `each` returns `false`. Returns whether
    /// all were passed. What changes meanwhile may be missed or come twice.
    pub fn scan(&self, mut each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<bool> {
        if self.raw.key_size() == 0 {
            return Ok(true);
        }
        let (mut batch, mut room) = (Batch::new(&self.raw, CHUNK), CHUNK);
        let mut passed = 0;
        while passed <= 2 * self.info.max_entries as usize {
            let (keys, values, more) = match batch.next(&self.raw) {
                Ok(next) => next,
                Err(error) if error.is(ENOSPC) && room < CHUNK_LIMIT => {
                    room *= 4;
                    batch.resize(&self.raw, room);
                    continue;
                }
                Err(error) if is_unsupported(&error) && passed == 0 => return self.scan_keys(each),
                Err(error) => return Err(named(&self.name)(error)),
            };
            passed += keys.len() / self.raw.key_size();
            let keys = keys.chunks_exact(self.raw.key_size());
            let mut elements = keys.zip(values.chunks_exact(self.raw.value_size().max(1)));
            if !elements.all(|(key, value)| each(key, value)) {
                return Ok(false);
            }
            if !more {
                break;
            }
        }
        Ok(true)
    }

    fn scan_keys(&self, mut each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<bool> {
        let mut key = vec![0; self.raw.key_size()];
        let mut value = vec![0; self.raw.value_size()];
        let mut last: Option<Vec<u8>> = None;
        for _ in 0..=self.info.max_entries {
            if !self.raw.next_key(last.as_deref(), &mut key).map_err(named(&self.name))? {
                break;
            }
            let found = self.raw.lookup(&key, &mut value, 0).map_err(named(&self.name))?;
            if found && !each(&key, &value) {
                return Ok(false);
            }
            last.get_or_insert_default().clone_from(&key);
        }
        Ok(true)
    }

    /// Every element, removed from the map. Hashes only.
    pub fn drain(&self) -> Result<Vec<Element>> {
        self.walk(Batch::taking)
    }

    /// Writes all elements.
    ///
    /// # Errors
    /// [`Error::PartialUpdate`] with the number of elements that were written before one was
    /// rejected.
    pub fn update_all(&self, elements: &[Element], expect: Expect) -> Result<()> {
        for (key, value) in elements {
            self.check(key, Some(value))?;
        }
        let mut done = 0;
        for chunk in elements.chunks(CHUNK as usize) {
            let keys: Vec<u8> = chunk.iter().flat_map(|(key, _)| key).copied().collect();
            let values: Vec<u8> = chunk.iter().flat_map(|(_, value)| value).copied().collect();
            let (count, answer) = self.raw.update_batch(&keys, &values, flags_of(expect));
            let (count, answer) = match answer {
                Err(error) if is_unsupported(&error) => {
                    let (more, answer) = self.update_each(&chunk[count..], expect);
                    (count + more, answer)
                }
                other => (count, other),
            };
            done += count;
            answer.map_err(|source| Error::PartialUpdate {
                map: self.name.clone(),
                done,
                wanted: elements.len(),
                source,
            })?;
        }
        Ok(())
    }

    /// One batch, without the fallback to single calls: for finding out whether there are batches.
    pub(crate) fn batch_only(&self, elements: &[Element], expect: Expect) -> Result<()> {
        let keys: Vec<u8> = elements.iter().flat_map(|(key, _)| key).copied().collect();
        let values: Vec<u8> = elements.iter().flat_map(|(_, value)| value).copied().collect();
        self.raw.update_batch(&keys, &values, flags_of(expect)).1.map_err(named(&self.name))
    }

    /// Deletes all keys and returns their number.
    pub fn delete_all(&self, keys: &[Vec<u8>]) -> Result<usize> {
        for key in keys {
            self.check(key, None)?;
        }
        let mut removed = 0;
        let mut rest = keys;
        while !rest.is_empty() {
            let chunk = &rest[..rest.len().min(CHUNK as usize)];
            let (done, answer) = self.raw.delete_batch(&chunk.concat());
            if answer.is_ok() {
                removed += chunk.len();
                rest = &rest[chunk.len()..];
                continue;
            }
            // The kernel stops at an absent key, or rejects batches: continue one by one.
            removed += done;
            for key in &chunk[done..] {
                removed += usize::from(self.delete(key)?);
            }
            rest = &rest[chunk.len()..];
        }
        Ok(removed)
    }

    fn update_each(&self, elements: &[Element], expect: Expect) -> (usize, sys::Result<()>) {
        for (done, (key, value)) in elements.iter().enumerate() {
            if let Err(error) = self.raw.update(key, value, flags_of(expect)) {
                return (done, Err(error));
            }
        }
        (elements.len(), Ok(()))
    }

    fn walk(&self, start: fn(&sys::bpf::Map, u32) -> Batch) -> Result<Vec<Element>> {
        if self.raw.key_size() == 0 {
            return Ok(Vec::new());
        }
        let mut room = CHUNK;
        loop {
            match self.walk_batches(start(&self.raw, room)) {
                Err(error) if error.is(ENOSPC) && room < CHUNK_LIMIT => room *= 4,
                Err(error) if is_unsupported(&error) => return self.walk_keys(),
                other => return other.map_err(named(&self.name)),
            }
        }
    }

    /// Bounded: a map that grows faster than it is read ends the walk at twice its capacity.
    fn walk_batches(&self, mut batch: Batch) -> sys::Result<Vec<Element>> {
        let mut all = Vec::new();
        loop {
            let (keys, values, more) = batch.next(&self.raw)?;
            let keys = keys.chunks_exact(self.raw.key_size());
            let values = values.chunks_exact(self.raw.value_size().max(1));
            all.extend(keys.zip(values).map(|(key, value)| (key.to_vec(), value.to_vec())));
            if !more || all.len() > 2 * self.info.max_entries as usize {
                return Ok(all);
            }
        }
    }

    fn walk_keys(&self) -> Result<Vec<Element>> {
        let mut all = Vec::new();
        for key in self.keys()? {
            if let Some(value) = self.lookup(&key)? {
                all.push((key, value));
            }
        }
        Ok(all)
    }
}

/// Kernels before 5.6 do not know the command (`EINVAL`), later ones not for every kind of map.
fn is_unsupported(error: &sys::Error) -> bool {
    [EOPNOTSUPP, ENOTSUPP, EINVAL].contains(&error.errno)
}
