//! Devmaps by index: interfaces to redirect to, each with a program that may run there.
//!
//! The word of a slot is the value as programs read it: interface in the low half, program id in
//! the high half. An environment without interfaces accepts any interface number.

use std::sync::Arc;

use spec::ProgramKind;

use super::owner::Owner;
use super::slots::{self, Slots, WORD, index_of, index_to_write, next_index};
use super::target;
use super::{Entry, MapAttributes, Storage, flag};
use crate::errno::Errno;
use crate::memory::{Layout, Slab};
use crate::redirect::Target;

#[derive(Debug)]
pub(crate) struct Devmap {
    slots: Slots,
    layout: Layout,
    owner: Owner,
}

impl Devmap {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        attributes.check_shape(4, &[4, 8], CREATE_FLAGS)?;
        let slots = Slots::new(attributes.max_entries)?;
        let layout =
            Layout::elements(attributes.max_entries.into(), attributes.value_size.into(), WORD);
        let layout = Layout { writable: false, ..layout };
        Ok(Self { slots, layout, owner: Owner::default() })
    }
}

impl Storage for Devmap {
    fn lookup(&self, attributes: &MapAttributes, _cpu: u32, key: &[u8]) -> u64 {
        let index = index_of(key);
        match self.slots.load(index) {
            0 => 0,
            _ => attributes.address(&self.layout, index.into()),
        }
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
        let index = index_to_write(attributes, &at)?;
        let asked = Request::read(at.value);
        let word = match asked.ifindex {
            0 if asked.program.is_some() => return Err(Errno::EINVAL),
            0 => 0,
            _ => asked.checked(attributes, &self.owner)?,
        };
        self.slots.swap(index, word);
        Ok(())
    }

    fn next_key(&self, attributes: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        next_index(attributes, key)
    }

    fn values(&self) -> Option<(&Arc<Slab>, Layout)> {
        Some((self.slots.slab(), self.layout))
    }

    fn admit(&self, kind: ProgramKind) -> bool {
        self.owner.admits(kind)
    }

    #[inline]
    fn target(&self, _: &MapAttributes, key: u32) -> Option<Target> {
        interface(self.slots.load(key))
    }

    fn target_from(&self, _: &MapAttributes, from: u32) -> Option<(u32, Target)> {
        target::first(from, self.slots.count(), |place| interface(self.slots.load(place)))
    }
}

/// The element that user space requests.
pub(super) struct Request {
    pub ifindex: u32,
    /// Id of the program; `None` for a number from user space that is not positive.
    pub program: Option<u32>,
}

impl Request {
    pub fn read(value: &[u8]) -> Self {
        let program = value.get(4..8).map_or(0, index_of);
        Self {
            ifindex: value.get(..4).map_or(0, index_of),
            program: (program.cast_signed() > 0).then_some(program),
        }
    }

    /// The word to store, after the checks that interface and program exist and are suitable.
    pub fn checked(&self, attributes: &MapAttributes, owner: &Owner) -> Result<u64, Errno> {
        let home = attributes.home.upgrade().ok_or(Errno::EINVAL)?;
        if !home.has_interface(self.ifindex) {
            return Err(Errno::EINVAL);
        }
        if let Some(id) = self.program {
            let kind = home.program(id).ok_or(Errno::EINVAL)?;
            let fits = kind.is_xdp() && kind.attach_type == ProgramKind::XDP_DEVMAP.attach_type;
            if !fits || !owner.admits(kind) {
                return Err(Errno::EINVAL);
            }
        }
        Ok(slots::word(self.ifindex, self.program.unwrap_or(0)))
    }
}

/// The target in the word of an element.
#[inline]
pub(super) fn interface(word: u64) -> Option<Target> {
    let (ifindex, program) = (slots::low(word), target::number(slots::high(word)));
    (ifindex != 0).then_some(Target::Device { ifindex, program })
}

pub(super) const CREATE_FLAGS: u32 = flag::NUMA_NODE | flag::RDONLY | flag::WRONLY;
