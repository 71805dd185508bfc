//! Program arrays, the targets of tail calls. A slot holds a program id.

use spec::ProgramKind;

use super::owner::Owner;
use super::slots::{Slots, index_of, next_index};
use super::{Entry, MapAttributes, Storage, UNSERVED, flag, target};
use crate::errno::Errno;

#[derive(Debug)]
pub(crate) struct ProgArray {
    slots: Slots,
    owner: Owner,
}

impl ProgArray {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        let allowed = flag::NUMA_NODE | flag::RDONLY | flag::WRONLY;
        attributes.check_shape(4, &[4], allowed)?;
        Ok(Self { slots: Slots::new(attributes.max_entries)?, owner: Owner::default() })
    }
}

impl Storage for ProgArray {
    fn lookup(&self, _: &MapAttributes, _cpu: u32, _key: &[u8]) -> u64 {
        UNSERVED
    }

    fn update(&self, _: &MapAttributes, _cpu: u32, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, _: &MapAttributes, key: &[u8]) -> Result<(), Errno> {
        match self.slots.swap(index_of(key), 0) {
            Some(0) => Err(Errno::ENOENT),
            Some(_) => Ok(()),
            None => Err(Errno::E2BIG),
        }
    }

    fn read(&self, _: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        match self.slots.load(index_of(key)) {
            0 => Err(Errno::ENOENT),
            id => Ok((id as u32).to_ne_bytes().to_vec()),
        }
    }

    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        let (index, id) = (index_of(at.key), index_of(at.value));
        if at.flags != flag::ANY {
            return Err(Errno::EINVAL);
        }
        if index >= attributes.max_entries {
            return Err(Errno::E2BIG);
        }
        let home = attributes.home.upgrade().ok_or(Errno::EBADF)?;
        let kind = home.program(id).ok_or(Errno::EBADF)?;
        if !self.owner.admits_same(kind) {
            return Err(Errno::EINVAL);
        }
        self.slots.swap(index, id.into());
        Ok(())
    }

    fn next_key(&self, attributes: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        next_index(attributes, key)
    }

    fn admit(&self, kind: ProgramKind) -> bool {
        self.owner.admits_same(kind)
    }

    #[inline]
    fn program_at(&self, index: u32) -> Option<usize> {
        target::number(self.slots.load(index) as u32).map(|number| number as usize)
    }
}
