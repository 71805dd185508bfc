//! Prefix tries: a lookup finds the entry with the longest matching prefix.
//!
//! Rule: one writer at a time; readers take no lock. Every change becomes visible with one store of
//! a child, so a reader sees the state before or after it; if a node is reused during its walk, the
//! reader starts again. A path skips bits: a node is where entries diverge, and holds an entry or
//! joins two nodes.

mod nodes;
mod prefix;

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, atomic};

use self::nodes::{Free, Node, Nodes};
use self::prefix::Prefix;
use super::{Entry, MapAttributes, Storage, flag};
use crate::errno::Errno;
use crate::memory::{Layout, Slab};

#[derive(Debug)]
pub(crate) struct Trie {
    nodes: Nodes,
    root: AtomicU32,
    writer: Mutex<Writer>,
}

/// State of the writer.
#[derive(Debug)]
struct Writer {
    free: Free,
    entries: u32,
}

/// Result of a walk to a prefix: the link that it reached and its child, which shares `common` bits
/// with the prefix.
struct Spot<'a> {
    slot: &'a AtomicU32,
    node: Node,
    common: u32,
    /// The node that holds `slot`, and the link to it; 0 at the root.
    parent: Node,
    parent_slot: &'a AtomicU32,
}

impl Trie {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        let (nodes, free) = Nodes::create(attributes)?;
        let writer = Mutex::new(Writer { free, entries: 0 });
        Ok(Self { nodes, root: AtomicU32::new(0), writer })
    }

    /// The entry with the longest prefix that `key` begins with; 0 is none.
    #[inline]
    fn find(&self, key: &[u8]) -> Node {
        let Some(prefix) = Prefix::of(key) else { return 0 };
        loop {
            let before = self.nodes.reused().load(Acquire);
            let found = self.longest(&prefix);
            atomic::fence(Acquire);
            if self.nodes.reused().load(Relaxed) == before {
                return found;
            }
        }
    }

    fn longest(&self, prefix: &Prefix<'_>) -> Node {
        let mut found = 0;
        let mut node = self.root.load(Acquire);
        while node != 0 {
            let (common, len) = (self.nodes.common(node, prefix), self.nodes.len(node));
            if common < len {
                break;
            }
            if !self.nodes.is_between(node) {
                found = node;
            }
            // A node that is being reused may have any length.
            if common >= prefix.most() {
                break;
            }
            node = self.nodes.child(node, prefix.bit(common)).load(Acquire);
        }
        found
    }

    /// The path to the place of the prefix.
    fn spot(&self, prefix: &Prefix<'_>) -> Spot<'_> {
        let root = &self.root;
        let mut spot = Spot { slot: root, node: 0, common: 0, parent: 0, parent_slot: root };
        loop {
            spot.node = spot.slot.load(Relaxed);
            if spot.node == 0 {
                return spot;
            }
            let len = self.nodes.len(spot.node);
            spot.common = self.nodes.common(spot.node, prefix);
            if len != spot.common || len == prefix.len {
                return spot;
            }
            spot.parent = spot.node;
            spot.parent_slot = spot.slot;
            spot.slot = self.nodes.child(spot.node, prefix.bit(len));
        }
    }

    fn put(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        if at.flags > flag::EXIST {
            return Err(Errno::EINVAL);
        }
        let prefix = Prefix::of(at.key).ok_or(Errno::EINVAL)?;
        let mut writer = self.writer();
        let spot = self.spot(&prefix);
        let same = spot.node != 0 && spot.common == self.nodes.len(spot.node);
        let replaces = same && !self.nodes.is_between(spot.node);
        check(attributes, &at, replaces, writer.entries)?;
        let new = self.nodes.entry(&mut writer.free, &prefix)?;
        self.nodes.values.set(attributes, element(new), 0, at.value);
        if same {
            self.replace(&mut writer.free, &spot, new);
        } else {
            self.place(&mut writer.free, &spot, new, &prefix)?;
        }
        writer.entries += u32::from(!replaces);
        Ok(())
    }

    /// Replaces a node by one with the same prefix.
    fn replace(&self, free: &mut Free, spot: &Spot<'_>, new: Node) {
        for bit in 0..2 {
            let child = self.nodes.child(spot.node, bit).load(Relaxed);
            self.nodes.child(new, bit).store(child, Relaxed);
        }
        spot.slot.store(new, Release);
        self.nodes.give(free, spot.node);
    }

    /// Inserts a node whose prefix is new.
    fn place(
        &self,
        free: &mut Free,
        spot: &Spot<'_>,
        new: Node,
        prefix: &Prefix<'_>,
    ) -> Result<(), Errno> {
        if spot.node == 0 {
            spot.slot.store(new, Release);
            return Ok(());
        }
        let bit = self.nodes.bit(spot.node, spot.common);
        if spot.common == prefix.len {
            self.nodes.child(new, bit).store(spot.node, Relaxed);
            spot.slot.store(new, Release);
            return Ok(());
        }
        let joint = match self.nodes.between(free, spot.node, spot.common) {
            Ok(joint) => joint,
            Err(errno) => {
                self.nodes.give(free, new);
                return Err(errno);
            }
        };
        self.nodes.child(joint, bit).store(spot.node, Relaxed);
        self.nodes.child(joint, 1 - bit).store(new, Relaxed);
        spot.slot.store(joint, Release);
        Ok(())
    }

    fn remove(&self, key: &[u8]) -> Result<(), Errno> {
        let prefix = Prefix::of(key).ok_or(Errno::EINVAL)?;
        let mut writer = self.writer();
        let spot = self.spot(&prefix);
        let exact = spot.node != 0 && spot.common == self.nodes.len(spot.node);
        if !exact || spot.common != prefix.len || self.nodes.is_between(spot.node) {
            return Err(Errno::ENOENT);
        }
        writer.entries -= 1;
        let child = |bit| self.nodes.child(spot.node, bit).load(Relaxed);
        match (child(0), child(1)) {
            (0, 0) if spot.parent != 0 && self.nodes.is_between(spot.parent) => {
                // A joining node now has only one child.
                let sibling = [0, 1].map(|bit| self.nodes.child(spot.parent, bit).load(Relaxed));
                let sibling = if sibling[0] == spot.node { sibling[1] } else { sibling[0] };
                spot.parent_slot.store(sibling, Release);
                self.nodes.give(&mut writer.free, spot.parent);
            }
            (0, only) | (only, 0) => spot.slot.store(only, Release),
            (_, _) => {
                self.nodes.set_between(spot.node);
                return Ok(());
            }
        }
        self.nodes.give(&mut writer.free, spot.node);
        Ok(())
    }

    /// The entry after an entry: more specific ones precede less specific ones, a 0 bit precedes a
    /// 1 bit. For an absent one, the first.
    fn behind(&self, prefix: Option<Prefix<'_>>) -> Option<Node> {
        let root = self.root.load(Relaxed);
        let Some(mut path) = prefix.and_then(|prefix| self.path(&prefix)) else {
            return self.first_below(root);
        };
        let mut node = path.pop()?;
        while let Some(parent) = path.pop() {
            let [left, right] = [0, 1].map(|bit| self.nodes.child(parent, bit).load(Relaxed));
            if left == node && right != 0 {
                return self.first_below(right);
            }
            if !self.nodes.is_between(parent) {
                return Some(parent);
            }
            node = parent;
        }
        None
    }

    /// The nodes from the root to the entry with exactly that prefix, if there is one.
    fn path(&self, prefix: &Prefix<'_>) -> Option<Vec<Node>> {
        let mut path = Vec::new();
        let mut node = self.root.load(Relaxed);
        while node != 0 {
            path.push(node);
            let (common, len) = (self.nodes.common(node, prefix), self.nodes.len(node));
            if common != len {
                return None;
            }
            if len == prefix.len {
                return (!self.nodes.is_between(node)).then_some(path);
            }
            node = self.nodes.child(node, prefix.bit(len)).load(Relaxed);
        }
        None
    }

    /// The leftmost most specific entry below a node.
    fn first_below(&self, mut node: Node) -> Option<Node> {
        let mut first = None;
        while node != 0 {
            first = Some(node);
            node = match self.nodes.child(node, 0).load(Relaxed) {
                0 => self.nodes.child(node, 1).load(Relaxed),
                left => left,
            };
        }
        first
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().expect("no thread panics while it writes a trie")
    }
}

impl Storage for Trie {
    #[inline]
    fn lookup(&self, attributes: &MapAttributes, _: u32, key: &[u8]) -> u64 {
        match self.find(key) {
            0 => 0,
            node => self.nodes.values.address(attributes, element(node), 0),
        }
    }

    fn update(&self, attributes: &MapAttributes, _: u32, at: Entry<'_>) -> Result<(), Errno> {
        self.put(attributes, at)
    }

    fn delete(&self, _: &MapAttributes, key: &[u8]) -> Result<(), Errno> {
        self.remove(key)
    }

    fn read(&self, attributes: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let _held = self.writer();
        match self.find(key) {
            0 => Err(Errno::ENOENT),
            node => self.nodes.values.read(attributes, element(node), flag::ANY),
        }
    }

    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        self.put(attributes, at)
    }

    fn next_key(&self, _: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        let _held = self.writer();
        let next = self.behind(key.and_then(Prefix::of)).ok_or(Errno::ENOENT)?;
        Ok(self.nodes.key(next))
    }

    fn values(&self) -> Option<(&Arc<Slab>, Layout)> {
        Some(self.nodes.values.region())
    }
}

/// Whether the flags allow the update, and a new entry fits.
fn check(
    attributes: &MapAttributes,
    at: &Entry<'_>,
    replaces: bool,
    entries: u32,
) -> Result<(), Errno> {
    match at.flags {
        flag::NOEXIST if replaces => Err(Errno::EEXIST),
        flag::EXIST if !replaces => Err(Errno::ENOENT),
        _ if !replaces && entries == attributes.max_entries => Err(Errno::ENOSPC),
        _ => Ok(()),
    }
}

fn element(node: Node) -> u64 {
    u64::from(node) - 1
}
