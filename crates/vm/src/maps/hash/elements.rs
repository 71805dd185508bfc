//! Keys and values of a hash: chains of nodes; each node has the value of the same number.

use std::sync::Arc;

use super::chains::Chains;
use super::chains::Node;
use super::hasher::hash;
use crate::errno::Errno;
use crate::maps::values::Values;
use crate::maps::{Cursor, Entry, MapAttributes, flag};
use crate::memory::Slab;

#[derive(Debug)]
pub(super) struct Elements {
    pub chains: Chains,
    pub values: Values,
}

impl Elements {
    /// Memory for `count` elements, none of them in a chain.
    pub fn create(attributes: &MapAttributes, count: u64) -> Result<Self, Errno> {
        let head = Chains::head_bytes(attributes.key_size);
        let together = !attributes.kind.is_per_cpu();
        let stride = if together { head + attributes.stride() } else { head };
        let bytes = count.checked_mul(stride).ok_or(Errno::ENOMEM)?;
        let nodes = Arc::new(Slab::new(bytes)?);
        let values = if together {
            Values::inside(attributes, Arc::clone(&nodes), count, (head, stride))?
        } else {
            Values::create(attributes, count)?
        };
        let chains = Chains::new(attributes.max_entries, attributes.key_size, nodes, stride)?;
        Ok(Self { chains, values })
    }

    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<Node> {
        self.chains.find(hash(key), key)
    }

    /// The address of `cpu`'s value.
    #[inline]
    pub fn address(&self, attributes: &MapAttributes, cpu: u32, node: Node) -> u64 {
        self.values.address(attributes, element(node), cpu)
    }

    /// Inserts a new element into its chain.
    pub fn insert(
        &self,
        attributes: &MapAttributes,
        chain: &super::chains::Locked<'_>,
        node: Node,
        at: &Put<'_>,
    ) {
        chain.insert(node, at.hash, at.entry.key, || {
            let (number, value) = (element(node), at.entry.value);
            match at.cpu {
                Some(cpu) => self.values.set_first(attributes, number, cpu, value),
                None => self.values.set_all(attributes, number, value),
            }
            self.values.init_fields(attributes, number);
        });
    }

    /// Changes the values of an element in place.
    pub fn overwrite(
        &self,
        attributes: &MapAttributes,
        node: Node,
        at: &Put<'_>,
    ) -> Result<(), Errno> {
        let (number, value) = (element(node), at.entry.value);
        if at.entry.flags & flag::LOCK != 0 {
            return self.values.set_locked(attributes, number, value);
        }
        match at.cpu {
            Some(cpu) => self.values.set(attributes, number, cpu, value),
            None => self.values.set_all(attributes, number, value),
        }
        Ok(())
    }

    /// User side: a copy of the value.
    pub fn read(
        &self,
        attributes: &MapAttributes,
        key: &[u8],
        flags: u64,
    ) -> Result<Vec<u8>, Errno> {
        let node = self.find(key).ok_or(Errno::ENOENT)?;
        self.values.read(attributes, element(node), flags)
    }

    /// User side: the key after `key`; the first if `key` no longer exists.
    pub fn next_key(
        &self,
        attributes: &MapAttributes,
        key: Option<&[u8]>,
    ) -> Result<Vec<u8>, Errno> {
        let place = key.and_then(|key| Some((hash(key), self.find(key)?)));
        let next = match place {
            Some((hash, node)) => self.chains.behind(node).or_else(|| {
                let bucket = self.chains.bucket_of(hash) + 1;
                self.chains.first_behind(bucket).map(|(_, node)| node)
            }),
            None => self.chains.first_behind(0).map(|(_, node)| node),
        };
        let mut key = vec![0; attributes.key_size as usize];
        self.chains.key(next.ok_or(Errno::ENOENT)?, &mut key);
        Ok(key)
    }

    /// Copies the key of the element that contains an address.
    pub fn key_at(&self, address: u64, key: &mut [u8]) -> bool {
        let Some(element) = self.values.element_at(address) else { return false };
        self.chains.key(element as Node + 1, key);
        true
    }

    /// The element at the cursor, which advances to the next.
    pub fn walk(&self, cursor: &mut Cursor, key: &mut [u8]) -> Option<Node> {
        let at = |(bucket, node): (u32, Node)| (u64::from(bucket), node);
        let (bucket, node) = match cursor.node {
            0 => at(self.chains.first_behind(u32::try_from(cursor.place).ok()?)?),
            node => (cursor.place, node),
        };
        let behind = self.chains.behind(node);
        *cursor = match behind {
            Some(behind) => Cursor { place: bucket, node: behind },
            None => Cursor { place: bucket + 1, node: 0 },
        };
        self.chains.key(node, key);
        Some(node)
    }
}

/// An update in progress.
pub(super) struct Put<'a> {
    pub entry: Entry<'a>,
    pub hash: u32,
    /// The processor whose value is set; `None` for user space, which sets all.
    pub cpu: Option<u32>,
}

impl<'a> Put<'a> {
    pub fn new(entry: Entry<'a>, cpu: Option<u32>) -> Self {
        Self { entry, hash: hash(entry.key), cpu }
    }

    /// Whether the flags allow the update of an existing or a new element.
    pub fn allows(&self, old: Option<Node>) -> Result<(), Errno> {
        match (old, self.entry.flags & !flag::LOCK) {
            (Some(_), flag::NOEXIST) => Err(Errno::EEXIST),
            (None, flag::EXIST) => Err(Errno::ENOENT),
            _ => Ok(()),
        }
    }
}

/// The number of a node's value.
#[inline]
pub(super) fn element(node: Node) -> u64 {
    u64::from(node) - 1
}
