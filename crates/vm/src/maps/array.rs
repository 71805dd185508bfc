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
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        Ok(Self { values: Values::create(attributes, attributes.max_entries.into())? })
    }

    /// Passes every element that is not zero to `each` and calls `proceed` at intervals. Returns
    /// whether all elements were passed.
    pub fn scan(&self, attributes: &MapAttributes, scan: &mut Scan<'_>) -> Result<bool, Errno> {
        let (count, step) = (u64::from(attributes.max_entries), self.values.elements_in(WINDOW));
        let mut used = BTreeSet::new();
        for first in (0..count).step_by(step as usize) {
            if !(scan.proceed)() {
                return Ok(false);
            }
            self.values.used(first..count.min(first + step), &mut used);
            while let Some(element) = used.pop_first() {
                let value = self.values.read(attributes, element, flag::ANY)?;
                (scan.each)(&(element as u32).to_ne_bytes(), &value);
            }
        }
        Ok(true)
    }

    #[inline]
    fn element(attributes: &MapAttributes, key: &[u8]) -> Option<u64> {
        let index = u32::from_ne_bytes(key.try_into().ok()?);
        (index < attributes.max_entries).then_some(index.into())
    }

    /// The element that an update changes.
    fn updated(attributes: &MapAttributes, at: &Entry<'_>) -> Result<u64, Errno> {
        if at.flags & !flag::LOCK > flag::EXIST {
            return Err(Errno::EINVAL);
        }
        let element = Self::element(attributes, at.key).ok_or(Errno::E2BIG)?;
        if at.flags & flag::NOEXIST != 0 {
            return Err(Errno::EEXIST);
        }
        if at.flags & flag::LOCK != 0 && attributes.fields.spin_lock().is_none() {
            return Err(Errno::EINVAL);
        }
        Ok(element)
    }
}

impl Storage for Array {
    #[inline]
    fn lookup(&self, attributes: &MapAttributes, cpu: u32, key: &[u8]) -> u64 {
        match Self::element(attributes, key) {
            Some(element) => self.values.address(attributes, element, cpu),
            None => 0,
        }
    }

    fn update(&self, attributes: &MapAttributes, cpu: u32, at: Entry<'_>) -> Result<(), Errno> {
        let element = Self::updated(attributes, &at)?;
        if at.flags & flag::LOCK != 0 {
            return self.values.set_locked(attributes, element, at.value);
        }
        self.values.set(attributes, element, cpu, at.value);
        self.values.free_fields(attributes, element, Some(cpu));
        Ok(())
    }

    fn delete(&self, _: &MapAttributes, _: &[u8]) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn read(&self, attributes: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let element = Self::element(attributes, key).ok_or(Errno::ENOENT)?;
        self.values.read(attributes, element, flag::ANY)
    }

    fn read_locked(&self, attributes: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let element = Self::element(attributes, key).ok_or(Errno::ENOENT)?;
        self.values.read(attributes, element, flag::LOCK)
    }

    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        let element = Self::updated(attributes, &at)?;
        if at.flags & flag::LOCK != 0 {
            return self.values.set_locked(attributes, element, at.value);
        }
        self.values.set_all(attributes, element, at.value);
        self.values.free_fields(attributes, element, None);
        Ok(())
    }

    fn next_key(&self, attributes: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        let index = key.and_then(|key| key.try_into().ok()).map(u32::from_ne_bytes);
        let next = match index {
            Some(index) if index < attributes.max_entries => index + 1,
            _ => 0,
        };
        if next >= attributes.max_entries {
            return Err(Errno::ENOENT);
        }
        Ok(next.to_ne_bytes().to_vec())
    }

    fn walk(
        &self,
        attributes: &MapAttributes,
        cpu: u32,
        step: (&mut Cursor, &mut [u8]),
    ) -> Option<u64> {
        let (cursor, key) = step;
        let index =
            u32::try_from(cursor.place).ok().filter(|index| *index < attributes.max_entries)?;
        cursor.place += 1;
        key.copy_from_slice(&index.to_ne_bytes());
        Some(self.values.address(attributes, index.into(), cpu))
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
