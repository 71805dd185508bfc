//! Arrays and hashes of maps: an element is the id of another map; a program's lookup returns the
//! map.
//!
//! Rule: every inner map matches the template of the outer map. Programs get a map pointer; a
//! processor that does not have the map yet adds it then.

use spec::MapKind;

use super::key_table::KeyTable;
use super::slots::{Slots, index_of, next_index};
use super::{Entry, Map, MapAttributes, Storage, flag, target};
use crate::errno::Errno;
use crate::memory::RegionId;

#[derive(Debug)]
pub(crate) struct ArrayOfMaps {
    slots: Slots,
    template: MapAttributes,
}

#[derive(Debug)]
pub(crate) struct HashOfMaps {
    table: KeyTable,
    template: MapAttributes,
}

impl ArrayOfMaps {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        attributes.check_shape(4, &[4], flag::NUMA_NODE | flag::RDONLY | flag::WRONLY)?;
        let template = template(attributes)?;
        Ok(Self { slots: Slots::new(attributes.max_entries)?, template })
    }
}

impl HashOfMaps {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        let allowed = flag::NO_PREALLOC | flag::NUMA_NODE | flag::ZERO_SEED | flag::ACCESS;
        attributes.check_shape(attributes.key_size.max(1), &[4], allowed)?;
        let template = template(attributes)?;
        Ok(Self { table: KeyTable::new(attributes.key_size, attributes.max_entries)?, template })
    }
}

impl Storage for ArrayOfMaps {
    #[inline]
    fn lookup(&self, _: &MapAttributes, _cpu: u32, key: &[u8]) -> u64 {
        pointer(self.slots.load(index_of(key)))
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
        let index = index_of(at.key);
        if at.flags != flag::ANY {
            return Err(Errno::EINVAL);
        }
        if index >= attributes.max_entries {
            return Err(Errno::E2BIG);
        }
        self.slots.swap(index, inner_id(attributes, &self.template, at.value)?);
        Ok(())
    }

    fn next_key(&self, attributes: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        next_index(attributes, key)
    }
}

impl Storage for HashOfMaps {
    #[inline]
    fn lookup(&self, _: &MapAttributes, _cpu: u32, key: &[u8]) -> u64 {
        self.table.find(key).map_or(0, |(_, id)| pointer(id))
    }

    fn update(&self, _: &MapAttributes, _cpu: u32, _: Entry<'_>) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }

    fn delete(&self, _: &MapAttributes, key: &[u8]) -> Result<(), Errno> {
        self.table.remove(key)
    }

    fn read(&self, _: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let (_, id) = self.table.find(key).ok_or(Errno::ENOENT)?;
        Ok((id as u32).to_ne_bytes().to_vec())
    }

    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        let id = inner_id(attributes, &self.template, at.value)?;
        if at.flags > flag::EXIST {
            return Err(Errno::EINVAL);
        }
        self.table.insert(at.key, id, at.flags)
    }

    fn next_key(&self, _: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        self.table.next_key(key)
    }
}

/// Map pointer for an element, 0 if it is empty.
#[inline]
fn pointer(id: u64) -> u64 {
    target::number(id as u32).map_or(0, |number| RegionId::MAPS.at(number.into()))
}

/// The id in a value, of a map that exists and matches the template.
fn inner_id(
    attributes: &MapAttributes,
    template: &MapAttributes,
    value: &[u8],
) -> Result<u64, Errno> {
    let id = index_of(value);
    let home = attributes.home.upgrade().ok_or(Errno::EBADF)?;
    let map = home.map(id).ok_or(Errno::EBADF)?;
    if is_like(template, map.attributes()) { Ok(id.into()) } else { Err(Errno::EINVAL) }
}

/// Whether a map matches the template.
fn is_like(template: &MapAttributes, map: &MapAttributes) -> bool {
    let counted =
        matches!(map.kind, MapKind::ARRAY | MapKind::XSKMAP) && map.flags & flag::INNER_MAP == 0;
    template.kind == map.kind
        && template.key_size == map.key_size
        && template.value_size == map.value_size
        && template.flags == map.flags
        && template.fields == map.fields
        && (!counted || template.max_entries == map.max_entries)
}

/// Attributes of the template; it must be a map that can be created, of a type that the kernel can
/// compare.
fn template(attributes: &MapAttributes) -> Result<MapAttributes, Errno> {
    let template = attributes.inner.as_deref().ok_or(Errno::EINVAL)?;
    if template.kind.is_map_of_maps() {
        return Err(Errno::EINVAL);
    }
    if template.kind == MapKind::PROG_ARRAY {
        return Err(Errno::ENOTSUPP);
    }
    let made = Map::create(template, attributes.number, attributes.cpus, &attributes.home)?;
    Ok(made.attributes().clone())
}
