//! The nodes of a prefix trie in memory: children, prefix, value, and which of them are free.
//!
//! ```text
//! ┌ child 0 u32 ┬ child 1 u32 ┬ prefix length, between? u32 ┬ next free u32 ┬ bits ┬ value ┐
//! ```
//! Rule: only the holder of [`Free`] changes nodes. Readers are concurrent: a node that leaves the
//! trie is unchanged until it is reused, and [`Nodes::reused`] is incremented before.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, fence};

use super::prefix::{Prefix, word_at};
use crate::errno::Errno;
use crate::maps::values::Values;
use crate::maps::{MapAttributes, limited};
use crate::memory::Slab;

/// Number of a node, from 1; 0 is none.
pub(super) type Node = u32;

#[derive(Debug)]
pub(super) struct Nodes {
    slab: Arc<Slab>,
    stride: usize,
    reused: AtomicU32,
    pub values: Values,
    /// Bytes of a prefix.
    data: usize,
}

/// Nodes outside of the trie: unused ones, and freed ones, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Free {
    fresh: Node,
    last: Node,
    oldest: Node,
    newest: Node,
    waiting: u32,
}

/// Number of freed nodes that wait for reuse while there are unused ones: programs may still hold
/// their values.
const RESTING: u32 = 64;
/// Marks a node that only joins two others.
const BETWEEN: u32 = 1 << 31;
const INFO: usize = 8;
const LINK: usize = 12;
const BITS: usize = 16;

impl Nodes {
    pub fn create(attributes: &MapAttributes) -> Result<(Self, Free), Errno> {
        let data = attributes.key_size as usize - 4;
        let head = BITS as u64 + (data as u64).next_multiple_of(8);
        let stride = head + attributes.stride();
        // Each entry may need a joining node, and a replacement exists before the old node is free.
        let room =
            limited(attributes.max_entries, 2 * stride).saturating_mul(2).min(BETWEEN - 2) + 2;
        let slab = Arc::new(Slab::new(u64::from(room) * stride)?);
        let values = Values::inside(attributes, Arc::clone(&slab), room.into(), (head, stride))?;
        let nodes = Self { slab, stride: stride as usize, reused: AtomicU32::new(0), values, data };
        Ok((nodes, Free { last: room, ..Free::default() }))
    }

    /// Number of reused nodes. A reader that reads the same number before and after a walk saw no
    /// node change.
    pub fn reused(&self) -> &AtomicU32 {
        &self.reused
    }

    pub fn child(&self, node: Node, bit: usize) -> &AtomicU32 {
        self.slab.half(self.place(node) + bit * 4)
    }

    pub fn len(&self, node: Node) -> u32 {
        self.info(node).load(Acquire) & !BETWEEN
    }

    /// Whether the node joins two others and holds no entry.
    pub fn is_between(&self, node: Node) -> bool {
        self.info(node).load(Acquire) & BETWEEN != 0
    }

    pub fn set_between(&self, node: Node) {
        self.info(node).store(self.len(node) | BETWEEN, Release);
    }

    /// Number of leading bits that the node and the prefix share.
    #[inline]
    pub fn common(&self, node: Node, prefix: &Prefix<'_>) -> u32 {
        let limit = self.len(node).min(prefix.len);
        let bits = self.place(node) + BITS;
        let mut at = 0;
        while at * 8 < self.data {
            let own = self.slab.word(bits + at * 8).load(Relaxed).to_ne_bytes();
            let differing = u64::from_be_bytes(own) ^ word_at(prefix.bits, at);
            if differing != 0 {
                return limit.min(at as u32 * 64 + differing.leading_zeros());
            }
            at += 1;
        }
        limit
    }

    /// The node's key in the format of user space.
    pub fn key(&self, node: Node) -> Vec<u8> {
        let mut key = vec![0; 4 + self.data];
        let (len, bits) = key.split_at_mut(4);
        len.copy_from_slice(&self.len(node).to_ne_bytes());
        self.slab.read(self.place(node) + BITS, bits);
        key
    }

    /// The node's bit of that number.
    pub fn bit(&self, node: Node, number: u32) -> usize {
        let word = self.slab.word(self.place(node) + BITS + number as usize / 64 * 8);
        let word = u64::from_be_bytes(word.load(Relaxed).to_ne_bytes());
        (word >> (63 - number % 64) & 1) as usize
    }

    /// Allocates a node for an entry, outside of the trie and without children.
    pub fn entry(&self, free: &mut Free, prefix: &Prefix<'_>) -> Result<Node, Errno> {
        let node = self.take(free)?;
        self.slab.write(self.place(node) + BITS, prefix.bits);
        self.info(node).store(prefix.len, Relaxed);
        Ok(node)
    }

    /// Allocates a node that joins others after the first `len` bits of one of them.
    pub fn between(&self, free: &mut Free, like: Node, len: u32) -> Result<Node, Errno> {
        let node = self.take(free)?;
        for at in (0..self.data).step_by(8) {
            let word = self.slab.word(self.place(like) + BITS + at).load(Relaxed);
            self.slab.word(self.place(node) + BITS + at).store(word, Relaxed);
        }
        self.info(node).store(len | BETWEEN, Relaxed);
        Ok(node)
    }

    pub fn give(&self, free: &mut Free, node: Node) {
        self.link(node).store(0, Relaxed);
        match free.newest {
            0 => free.oldest = node,
            newest => self.link(newest).store(node, Relaxed),
        }
        free.newest = node;
        free.waiting += 1;
    }

    fn take(&self, free: &mut Free) -> Result<Node, Errno> {
        let node = if free.fresh < free.last && free.waiting < RESTING {
            free.fresh += 1;
            free.fresh
        } else {
            self.take_oldest(free)?
        };
        self.child(node, 0).store(0, Relaxed);
        self.child(node, 1).store(0, Relaxed);
        Ok(node)
    }

    fn take_oldest(&self, free: &mut Free) -> Result<Node, Errno> {
        let node = free.oldest;
        if node == 0 {
            return Err(Errno::ENOMEM);
        }
        free.oldest = self.link(node).load(Relaxed);
        free.waiting -= 1;
        if free.oldest == 0 {
            free.newest = 0;
        }
        self.reused.fetch_add(1, Release);
        fence(Release);
        Ok(node)
    }

    fn info(&self, node: Node) -> &AtomicU32 {
        self.slab.half(self.place(node) + INFO)
    }

    fn link(&self, node: Node) -> &AtomicU32 {
        self.slab.half(self.place(node) + LINK)
    }

    #[inline]
    fn place(&self, node: Node) -> usize {
        (node as usize - 1) * self.stride
    }
}
