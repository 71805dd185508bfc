//! Cpumaps: processors to redirect to, each with a queue and a program that may run there.
//!
//! The word of a slot is the value: queue size in the low half, program id in the high half.

use spec::ProgramKind;

use super::owner::Owner;
use super::slots::{self, Slots, index_of, index_to_write, next_index};
use super::target;
use super::{Entry, MapAttributes, Storage, UNSERVED, flag};
use crate::errno::Errno;
use crate::limits::CPUS;
use crate::redirect::Target;

#[derive(Debug)]
pub(crate) struct Cpumap {
    slots: Slots,
    owner: Owner,
}

impl Cpumap {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        attributes.check_shape(4, &[4, 8], flag::NUMA_NODE)?;
        if attributes.max_entries as usize > CPUS {
            return Err(Errno::E2BIG);
        }
        Ok(Self { slots: Slots::new(attributes.max_entries)?, owner: Owner::default() })
    }

    /// The word for an element that user space sets; 0 if a queue of length 0 removes it.
    fn checked(&self, attributes: &MapAttributes, cpu: u32, value: &[u8]) -> Result<u64, Errno> {
        let qsize = value.get(..4).map_or(0, index_of);
        if qsize > QUEUE {
            return Err(Errno::EOVERFLOW);
        }
        if cpu >= attributes.cpus {
            return Err(Errno::ENODEV);
        }
        let program = value.get(4..8).map_or(0, index_of);
        if qsize == 0 {
            return Ok(0);
        }
        if program.cast_signed() <= 0 {
            return Ok(slots::word(qsize, 0));
        }
        let home = attributes.home.upgrade().ok_or(Errno::ENOMEM)?;
        // The kernel returns ENOMEM for every failure to create the element.
        let kind = home.program(program).ok_or(Errno::ENOMEM)?;
        let fits = kind.is_xdp() && kind.attach_type == ProgramKind::XDP_CPUMAP.attach_type;
        if !fits || !self.owner.admits(kind) {
            return Err(Errno::ENOMEM);
        }
        Ok(slots::word(qsize, program))
    }
}

impl Storage for Cpumap {
    fn lookup(&self, _: &MapAttributes, _cpu: u32, _key: &[u8]) -> u64 {
        UNSERVED
    }

    fn update(&self, _: &MapAttributes, _cpu: u32, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, _: &MapAttributes, key: &[u8]) -> Result<(), Errno> {
        self.slots.swap(index_of(key), 0).map(drop).ok_or(Errno::EINVAL)
    }

    fn read(&self, attributes: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        self.slots.read(attributes, key)
    }

    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        let cpu = index_to_write(attributes, &at)?;
        self.slots.swap(cpu, self.checked(attributes, cpu, at.value)?);
        Ok(())
    }

    fn next_key(&self, attributes: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        next_index(attributes, key)
    }

    fn admit(&self, kind: ProgramKind) -> bool {
        self.owner.admits(kind)
    }

    #[inline]
    fn target(&self, _: &MapAttributes, key: u32) -> Option<Target> {
        let word = self.slots.load(key);
        let program = target::number(slots::high(word));
        (word != 0).then_some(Target::Cpu { cpu: key, program })
    }
}

/// Longest queue of one processor.
const QUEUE: u32 = 16384;
