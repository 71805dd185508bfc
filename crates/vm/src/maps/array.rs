//! Arrays, plain and per CPU: every index exists.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::scan::Scan;
use super::values::Values;
use super::{Cursor, Entry, MapAttributes, Storage, flag};
use crate::errno::Errno;
use crate::memory::{Layout, Slab};

#[derive(Debug)]
pub(crate) struct Array {
    values: Values,
}

impl Array {
    pub fn create(facts: &MapAttributes) -> Result<Self, Errno> {
        Ok(Self { values: Values::create(facts, facts.max_entries.into())? })
    }

    /// Passes every element that is not zero to `each` and calls `proceed` at intervals. Returns
    /// whether all elements were passed.
    pub fn scan(&self, facts: &MapAttributes, scan: &mut Scan<'_>) -> Result<bool, Errno> {
        let (count, step) = (u64::from(facts.max_entries), self.values.elements_in(WINDOW));
        let mut used = BTreeSet::new();
        for first in (0..count).step_by(step as usize) {
            if !(scan.proceed)() {
                return Ok(false);
            }
            self.values.used(first..count.min(first + step), &mut used);
            while let Some(element) = used.pop_first() {
                let value = self.values.read(facts, element, flag::ANY)?;
                (scan.each)(&(element as u32).to_ne_bytes(), &value);
            }
        }
        Ok(true)
    }

    #[inline]
    fn element(facts: &MapAttributes, key: &[u8]) -> Option<u64> {
        let index = u32::from_ne_bytes(key.try_into().ok()?);
        (index < facts.max_entries).then_some(index.into())
    }

    /// The element that an update changes.
    fn updated(facts: &MapAttributes, at: &Entry<'_>) -> Result<u64, Errno> {
        if at.flags & !flag::LOCK > flag::EXIST {
            return Err(Errno::EINVAL);
        }
        let element = Self::element(facts, at.key).ok_or(Errno::E2BIG)?;
        if at.flags & flag::NOEXIST != 0 {
            return Err(Errno::EEXIST);
        }
        if at.flags & flag::LOCK != 0 && facts.fields.spin_lock().is_none() {
            return Err(Errno::EINVAL);
        }
        Ok(element)
    }
}

impl Storage for Array {
    #[inline]
    fn lookup(&self, facts: &MapAttributes, cpu: u32, key: &[u8]) -> u64 {
        match Self::element(facts, key) {
            Some(element) => self.values.address(facts, element, cpu),
            None => 0,
        }
    }

    fn update(&self, facts: &MapAttributes, cpu: u32, at: Entry<'_>) -> Result<(), Errno> {
        let element = Self::updated(facts, &at)?;
        if at.flags & flag::LOCK != 0 {
            return self.values.set_locked(facts, element, at.value);
        }
        self.values.set(facts, element, cpu, at.value);
        self.values.free_fields(facts, element, Some(cpu));
        Ok(())
    }

    fn delete(&self, _: &MapAttributes, _: &[u8]) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn read(&self, facts: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let element = Self::element(facts, key).ok_or(Errno::ENOENT)?;
        self.values.read(facts, element, flag::ANY)
    }

    fn read_locked(&self, facts: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let element = Self::element(facts, key).ok_or(Errno::ENOENT)?;
        self.values.read(facts, element, flag::LOCK)
    }

    fn write(&self, facts: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        let element = Self::updated(facts, &at)?;
        if at.flags & flag::LOCK != 0 {
            return self.values.set_locked(facts, element, at.value);
        }
        self.values.set_all(facts, element, at.value);
        self.values.free_fields(facts, element, None);
        Ok(())
    }

    fn next_key(&self, facts: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        let index = key.and_then(|key| key.try_into().ok()).map(u32::from_ne_bytes);
        let next = match index {
            Some(index) if index < facts.max_entries => index + 1,
            _ => 0,
        };
        if next >= facts.max_entries {
            return Err(Errno::ENOENT);
        }
        Ok(next.to_ne_bytes().to_vec())
    }

    fn walk(&self, facts: &MapAttributes, cpu: u32, step: (&mut Cursor, &mut [u8])) -> Option<u64> {
        let (cursor, key) = step;
        let index = u32::try_from(cursor.place).ok().filter(|index| *index < facts.max_entries)?;
        cursor.place += 1;
        key.copy_from_slice(&index.to_ne_bytes());
        Some(self.values.address(facts, index.into(), cpu))
    }

    fn key_at(&self, _: &MapAttributes, address: u64, key: &mut [u8]) -> bool {
        let Some(element) = self.values.element_at(address) else { return false };
        key.copy_from_slice(&(element as u32).to_ne_bytes());
        true
    }

    fn values(&self) -> Option<(&Arc<Slab>, Layout)> {
        Some(self.values.region())
    }
}

/// Bytes of values that are read between two calls of `proceed`.
const WINDOW: u64 = 1 << 20;
