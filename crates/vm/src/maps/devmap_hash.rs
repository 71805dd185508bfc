//! Devmaps by hash: like `devmap`, with any number as the key.

use std::sync::Arc;

use super::devmap::{CREATE_FLAGS, Request, interface};
use super::key_table::KeyTable;
use super::owner::Owner;
use super::target;
use super::{Entry, MapAttributes, Storage, flag};
use crate::errno::Errno;
use crate::memory::{Layout, Slab};
use crate::redirect::Target;

#[derive(Debug)]
pub(crate) struct DevmapHash {
    table: KeyTable,
    layout: Layout,
    owner: Owner,
}

impl DevmapHash {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        attributes.check_shape(4, &[4, 8], CREATE_FLAGS)?;
        if attributes.max_entries > 1 << 31 {
            return Err(Errno::EINVAL);
        }
        let table = KeyTable::new(attributes.key_size, attributes.max_entries)?;
        let layout = table.layout(attributes.value_size);
        Ok(Self { table, layout, owner: Owner::default() })
    }
}

impl Storage for DevmapHash {
    fn lookup(&self, attributes: &MapAttributes, _cpu: u32, key: &[u8]) -> u64 {
        self.table.find(key).map_or(0, |(place, _)| attributes.address(&self.layout, place.into()))
    }

    fn update(&self, _: &MapAttributes, _cpu: u32, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, _: &MapAttributes, key: &[u8]) -> Result<(), Errno> {
        self.table.remove(key)
    }

    fn read(&self, attributes: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let (_, word) = self.table.find(key).ok_or(Errno::ENOENT)?;
        Ok(word.to_ne_bytes()[..attributes.value_size as usize].to_vec())
    }

    /// `EXIST` does not require an element to exist, as in the kernel.
    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        let asked = Request::read(at.value);
        if at.flags > flag::EXIST || asked.ifindex == 0 {
            return Err(Errno::EINVAL);
        }
        if at.flags == flag::NOEXIST && self.table.find(at.key).is_some() {
            return Err(Errno::EEXIST);
        }
        let word = asked.checked(attributes, &self.owner)?;
        self.table.insert(at.key, word, at.flags & flag::NOEXIST)
    }

    fn next_key(&self, _: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        self.table.next_key(key)
    }

    fn values(&self) -> Option<(&Arc<Slab>, Layout)> {
        Some((self.table.slab(), self.layout))
    }

    #[inline]
    fn target(&self, _: &MapAttributes, key: u32) -> Option<Target> {
        self.table.find(&key.to_ne_bytes()).and_then(|(_, word)| interface(word))
    }

    fn target_from(&self, _: &MapAttributes, from: u32) -> Option<(u32, Target)> {
        let look = |place| self.table.value_in(place).and_then(interface);
        target::first(from, self.table.places(), look)
    }
}
