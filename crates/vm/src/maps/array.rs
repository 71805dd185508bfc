//! Arrays, plain and per CPU: every index is always there.
//!
//! A per-CPU array keeps the values of one index side by side, one for each processor.

use std::sync::Arc;

use spec::MapKind;

use super::{Entry, Facts, Storage, flag};
use crate::errno::Errno;
use crate::memory::{Layout, Slab};

#[derive(Debug)]
pub(crate) struct Array {
    slab: Arc<Slab>,
    layout: Layout,
    /// Values for each index.
    copies: u32,
}

impl Array {
    pub fn create(facts: &Facts) -> Result<Self, Errno> {
        let sizes = facts.key_size == 4 && facts.value_size != 0 && facts.max_entries != 0;
        let preallocated = facts.flags & flag::NO_PREALLOC == 0;
        if !sizes || !preallocated {
            return Err(Errno::EINVAL);
        }
        let per_cpu = facts.kind == MapKind::PERCPU_ARRAY;
        let copies = if per_cpu { facts.cpus } else { 1 };
        let elements = u64::from(facts.max_entries) * u64::from(copies);
        let slab = Slab::new(elements.checked_mul(facts.stride()).ok_or(Errno::ENOMEM)?)?;
        let layout = Layout::elements(elements, facts.value_size.into(), facts.stride());
        Ok(Self { slab: Arc::new(slab), layout, copies })
    }

    /// Element of an index's first value.
    fn element(&self, facts: &Facts, key: &[u8]) -> Option<u64> {
        let index = u32::from_ne_bytes(key.try_into().ok()?);
        (index < facts.max_entries).then_some(u64::from(index) * u64::from(self.copies))
    }

    /// Where the value of `key` starts in the slab; the errors are an update's.
    fn update_place(&self, facts: &Facts, at: &Entry<'_>) -> Result<usize, Errno> {
        if at.flags & !flag::LOCK > flag::EXIST {
            return Err(Errno::EINVAL);
        }
        let element = self.element(facts, at.key).ok_or(Errno::E2BIG)?;
        if at.flags & flag::NOEXIST != 0 {
            return Err(Errno::EEXIST);
        }
        Ok((element * facts.stride()) as usize)
    }
}

impl Storage for Array {
    #[inline]
    fn lookup(&self, facts: &Facts, cpu: u32, key: &[u8]) -> u64 {
        match self.element(facts, key) {
            Some(element) if self.copies == 1 => facts.address(&self.layout, element),
            Some(element) => facts.address(&self.layout, element + u64::from(cpu)),
            None => 0,
        }
    }

    fn update(&self, facts: &Facts, cpu: u32, at: Entry<'_>) -> Result<(), Errno> {
        let first = self.update_place(facts, &at)?;
        let own = if self.copies == 1 { 0 } else { cpu as usize * facts.stride() as usize };
        self.slab.write(first + own, at.value);
        Ok(())
    }

    fn delete(&self, _: &Facts, _: &[u8]) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn read(&self, facts: &Facts, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let first = self.element(facts, key).ok_or(Errno::ENOENT)? * facts.stride();
        let len = if self.copies == 1 {
            facts.value_size as usize
        } else {
            facts.stride() as usize * self.copies as usize
        };
        let mut value = vec![0; len];
        self.slab.read(first as usize, &mut value);
        Ok(value)
    }

    fn write(&self, facts: &Facts, at: Entry<'_>) -> Result<(), Errno> {
        let first = self.update_place(facts, &at)?;
        self.slab.write(first, at.value);
        Ok(())
    }

    fn next_key(&self, facts: &Facts, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
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

    fn values(&self) -> Option<(&Arc<Slab>, Layout)> {
        Some((&self.slab, self.layout))
    }
}
