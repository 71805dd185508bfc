//! Hash tables, plain and per CPU.
//!
//! Rule: an update of a plain hash inserts a new element at the front and removes the old one, so
//! that readers see one of them whole; values of per-CPU hashes change in place. The memory of a
//! deleted element is unchanged until an insertion reuses it.

mod chains;
mod elements;
mod hasher;
mod lru;
mod pool;

use std::sync::Arc;

use spec::MapKind;

use self::elements::{Elements, Put, element};
use self::hasher::hash;
use self::pool::{Pool, Spares};
use super::{Cursor, Entry, MapAttributes, Storage, flag, limited};
use crate::errno::Errno;
use crate::memory::{Layout, Slab};

pub(crate) use self::lru::{Lru, rounded_entries};

#[derive(Debug)]
pub(crate) struct Hash {
    elements: Elements,
    free: Pool,
    spares: Spares,
    /// Error of an insertion when no node is free.
    full: Errno,
}

impl Hash {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        let spares = attributes.cpus + 1;
        let lazy = attributes.flags & flag::NO_PREALLOC != 0;
        let bytes = u64::from(attributes.key_size)
            + attributes.stride() * u64::from(attributes.copies())
            + 16;
        let room =
            if lazy { limited(attributes.max_entries, bytes) } else { attributes.max_entries };
        let full = if room < attributes.max_entries { Errno::ENOMEM } else { Errno::E2BIG };
        let elements = Elements::create(attributes, u64::from(room) + u64::from(spares))?;
        Ok(Self {
            elements,
            free: Pool::new(0, room),
            spares: Spares::of(room + 1..=room + spares),
            full,
        })
    }

    fn put(&self, attributes: &MapAttributes, at: &Put<'_>) -> Result<(), Errno> {
        check_flags(attributes, at.entry.flags)?;
        let Elements { chains, values } = &self.elements;
        let chain = chains.lock(at.hash);
        let old = chain.find(at.hash, at.entry.key);
        at.allows(old)?;
        let in_place = attributes.kind.is_per_cpu() || at.entry.flags & flag::LOCK != 0;
        match old {
            Some(old) if in_place => self.elements.overwrite(attributes, old, at)?,
            Some(old) => self.spares.swap(at.cpu.unwrap_or(attributes.cpus), |new| {
                self.elements.insert(attributes, &chain, new, at);
                chain.remove(old);
                values.free_fields(attributes, element(old), None);
                old
            }),
            None => {
                let new = self.free.pop(chains).ok_or(self.full)?;
                self.elements.insert(attributes, &chain, new, at);
            }
        }
        Ok(())
    }

    /// Removes the element; `look` receives it before.
    fn remove<T>(
        &self,
        attributes: &MapAttributes,
        key: &[u8],
        look: impl Fn(u64) -> T,
    ) -> Result<T, Errno> {
        let Elements { chains, values } = &self.elements;
        let hash = hash(key);
        let chain = chains.lock(hash);
        let node = chain.find(hash, key).ok_or(Errno::ENOENT)?;
        let seen = look(element(node));
        chain.remove(node);
        drop(chain);
        values.free_fields(attributes, element(node), None);
        self.free.push(chains, node);
        Ok(seen)
    }
}

impl Storage for Hash {
    #[inline]
    fn lookup(&self, attributes: &MapAttributes, cpu: u32, key: &[u8]) -> u64 {
        match self.elements.find(key) {
            Some(node) => self.elements.address(attributes, cpu, node),
            None => 0,
        }
    }

    fn update(&self, attributes: &MapAttributes, cpu: u32, at: Entry<'_>) -> Result<(), Errno> {
        self.put(attributes, &Put::new(at, Some(cpu)))
    }

    fn delete(&self, attributes: &MapAttributes, key: &[u8]) -> Result<(), Errno> {
        self.remove(attributes, key, |_| ())
    }

    fn read(&self, attributes: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        self.elements.read(attributes, key, flag::ANY)
    }

    fn read_locked(&self, attributes: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        self.elements.read(attributes, key, flag::LOCK)
    }

    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        self.put(attributes, &Put::new(at, None))
    }

    fn take(&self, attributes: &MapAttributes, key: &[u8], flags: u64) -> Result<Vec<u8>, Errno> {
        self.remove(attributes, key, |element| {
            self.elements.values.read(attributes, element, flags)
        })?
    }

    fn next_key(&self, attributes: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        self.elements.next_key(attributes, key)
    }

    fn walk(
        &self,
        attributes: &MapAttributes,
        cpu: u32,
        step: (&mut Cursor, &mut [u8]),
    ) -> Option<u64> {
        let node = self.elements.walk(step.0, step.1)?;
        Some(self.elements.address(attributes, cpu, node))
    }

    fn key_at(&self, _: &MapAttributes, address: u64, key: &mut [u8]) -> bool {
        self.elements.key_at(address, key)
    }

    fn values(&self) -> Option<(&Arc<Slab>, Layout)> {
        Some(self.elements.values.region())
    }
}

/// Only plain hashes support values under a lock, and only if the value has one.
fn check_flags(attributes: &MapAttributes, flags: u64) -> Result<(), Errno> {
    let plain = attributes.kind == MapKind::HASH;
    let known = if plain { flags & !flag::LOCK } else { flags };
    let lockable = attributes.fields.spin_lock().is_some();
    if known > flag::EXIST || flags & flag::LOCK != 0 && !lockable {
        return Err(Errno::EINVAL);
    }
    Ok(())
}
