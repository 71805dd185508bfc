//! Buckets, each a chain of nodes: read without a lock, changed under the bucket's lock.
//!
//! ```text
//! bucket  ┌ first node u32 ┬ changes u32 ┐
//! node    ┌ next u32 ┬ hash u32 ┬ key, padded to 8 ┬ whatever else the map keeps ┐
//! ```
//! Rule: a node that leaves its chain may enter another one immediately, while readers are at it.
//! The end of a chain therefore names its bucket: a reader that reaches the end of another bucket
//! starts again. The successor of a replaced node enters at the front, which a reader may have
//! passed: a reader that finds nothing repeats the search if the bucket was changed meanwhile, so a
//! node that remains is never missed. The lock of a bucket counts its changes; bit 0 is set while
//! it is held. Before the key of a node changes, its chain is cut by an end of no bucket, then its
//! hash is changed: a reader reads the hash again after comparing the key, and the chain after the
//! hash. While a node is free, its hash is a link of the [`Pool`](super::pool::Pool). Buckets that
//! were never used are zero: the creation of a map writes nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, fence};

use crate::errno::Errno;
use crate::maps::fields::relax;
use crate::memory::Slab;

/// Number of a node, from 1; 0 is none.
pub(super) type Node = u32;

/// Marks the end of a chain; the other bits are the bucket.
const END: u32 = 1 << 31;
/// An end that belongs to no bucket.
const CUT: u32 = u32::MAX;
/// Bit in a bucket's changes: its lock is held.
const HELD: u32 = 1;
const HASH: usize = 4;
/// Offset of the key in a node.
const KEY: usize = 8;

#[derive(Debug)]
pub(super) struct Chains {
    buckets: Slab,
    mask: u32,
    nodes: Arc<Slab>,
    stride: usize,
    key_size: usize,
}

impl Chains {
    /// Bytes of a node's head: links and key.
    pub fn head_bytes(key_size: u32) -> u64 {
        KEY as u64 + u64::from(key_size).next_multiple_of(8)
    }

    /// Empty chains for `max_entries` nodes that are `stride` bytes apart.
    pub fn new(
        max_entries: u32,
        key_size: u32,
        nodes: Arc<Slab>,
        stride: u64,
    ) -> Result<Self, Errno> {
        // Twice the number of the kernel: most chains have at most one node.
        let count = max_entries.next_power_of_two() * 2;
        let buckets = Slab::new(u64::from(count) * 8)?;
        let (stride, key_size) = (stride as usize, key_size as usize);
        Ok(Self { buckets, mask: count - 1, nodes, stride, key_size })
    }

    /// The node of that key.
    #[inline]
    pub fn find(&self, hash: u32, key: &[u8]) -> Option<Node> {
        let bucket = hash & self.mask;
        let changes = self.changes(bucket);
        let mut round = 0;
        loop {
            let before = changes.load(Acquire);
            let found = self.search(bucket, hash, key);
            if found.is_some() {
                return found;
            }
            fence(Acquire);
            if before & HELD == 0 && changes.load(Relaxed) == before {
                return None;
            }
            relax(round);
            round = round.wrapping_add(1);
        }
    }

    /// One pass over a bucket's chain; a node that is replaced meanwhile may be missed.
    #[inline]
    fn search(&self, bucket: u32, hash: u32, key: &[u8]) -> Option<Node> {
        loop {
            let mut node = self.first(bucket);
            while node & END == 0 {
                if self.holds(node, hash, key) {
                    return Some(node);
                }
                node = self.next(node).load(Acquire);
            }
            if node == END | bucket {
                return None;
            }
        }
    }

    /// Takes the lock of a hash's bucket.
    pub fn lock(&self, hash: u32) -> Locked<'_> {
        let bucket = hash & self.mask;
        let changes = self.changes(bucket);
        let mut round = 0;
        loop {
            let free = changes.load(Relaxed) & !HELD;
            if changes.compare_exchange_weak(free, free | HELD, Acquire, Relaxed).is_ok() {
                // A reader that sees part of the change also sees that it is in progress.
                fence(Release);
                return Locked { chains: self, bucket, changes };
            }
            relax(round);
            round = round.wrapping_add(1);
        }
    }

    /// The first node in `bucket` or a later one, and its bucket.
    pub fn first_behind(&self, bucket: u32) -> Option<(u32, Node)> {
        for bucket in bucket..=self.mask {
            let node = self.first(bucket);
            if node & END == 0 {
                return Some((bucket, node));
            }
        }
        None
    }

    /// The next node in the chain. That of a node that left the chain may be in another one.
    pub fn behind(&self, node: Node) -> Option<Node> {
        let next = self.next(node).load(Acquire);
        (next & END == 0).then_some(next)
    }

    pub fn bucket_of(&self, hash: u32) -> u32 {
        hash & self.mask
    }

    /// The hash of the node's key, while it is in a chain.
    pub fn hash_of(&self, node: Node) -> u32 {
        self.link(node).load(Acquire)
    }

    /// Copies the node's key to `into`.
    pub fn key(&self, node: Node, into: &mut [u8]) {
        self.nodes.read(self.place(node) + KEY, into);
    }

    /// The word of a node's hash, or of the link to the next free node.
    pub fn link(&self, node: Node) -> &AtomicU32 {
        self.nodes.half(self.place(node) + HASH)
    }

    #[inline]
    fn holds(&self, node: Node, hash: u32, key: &[u8]) -> bool {
        let link = self.link(node);
        if link.load(Acquire) != hash {
            return false;
        }
        let same = self.key_is(node, key);
        fence(Acquire);
        same && link.load(Acquire) == hash
    }

    #[inline]
    fn key_is(&self, node: Node, key: &[u8]) -> bool {
        let place = self.place(node) + KEY;
        match *key {
            [a, b, c, d] => {
                let key = u32::from_ne_bytes([a, b, c, d]);
                self.nodes.half(place).load(Relaxed) == key
            }
            [a, b, c, d, e, f, g, h] => {
                let key = u64::from_ne_bytes([a, b, c, d, e, f, g, h]);
                self.nodes.word(place).load(Relaxed) == key
            }
            _ => {
                let (words, rest) = key.as_chunks::<8>();
                let mut at = place;
                for word in words {
                    if self.nodes.word(at).load(Relaxed) != u64::from_ne_bytes(*word) {
                        return false;
                    }
                    at += 8;
                }
                rest.is_empty() || self.nodes.equals(at, rest)
            }
        }
    }

    /// A bucket's first node, or its end.
    #[inline]
    fn first(&self, bucket: u32) -> u32 {
        match self.buckets.half(bucket as usize * 8).load(Acquire) {
            0 => END | bucket,
            first => first,
        }
    }

    #[inline]
    fn changes(&self, bucket: u32) -> &AtomicU32 {
        self.buckets.half(bucket as usize * 8 + 4)
    }

    #[inline]
    fn next(&self, node: Node) -> &AtomicU32 {
        self.nodes.half(self.place(node))
    }

    #[inline]
    fn place(&self, node: Node) -> usize {
        (node as usize - 1) * self.stride
    }
}

/// A locked bucket.
#[derive(Debug)]
pub(super) struct Locked<'a> {
    chains: &'a Chains,
    bucket: u32,
    changes: &'a AtomicU32,
}

impl Locked<'_> {
    /// The node of that key in this bucket.
    pub fn find(&self, hash: u32, key: &[u8]) -> Option<Node> {
        self.chains.search(self.bucket, hash, key)
    }

    /// Inserts a node at the front. `fill` writes the node's other data before readers can reach
    /// it.
    pub fn insert(&self, node: Node, hash: u32, key: &[u8], fill: impl FnOnce()) {
        let Chains { nodes, key_size, .. } = self.chains;
        debug_assert_eq!(key.len(), *key_size, "sizes of keys are checked before");
        self.chains.next(node).store(CUT, Relaxed);
        self.chains.link(node).store(!hash, Release);
        fence(Release);
        nodes.write(self.chains.place(node) + KEY, key);
        fill();
        self.chains.next(node).store(self.chains.first(self.bucket), Relaxed);
        self.chains.link(node).store(hash, Release);
        self.first().store(node, Release);
    }

    /// Removes a node; `false` if it is not in this chain.
    pub fn remove(&self, node: Node) -> bool {
        let behind = self.chains.next(node).load(Relaxed);
        let mut at = self.chains.first(self.bucket);
        if at == node {
            self.first().store(behind, Release);
            return true;
        }
        while at & END == 0 {
            let next = self.chains.next(at);
            if next.load(Relaxed) == node {
                next.store(behind, Release);
                return true;
            }
            at = next.load(Relaxed);
        }
        false
    }

    fn first(&self) -> &AtomicU32 {
        self.chains.buckets.half(self.bucket as usize * 8)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.changes.fetch_add(1, Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    /// While a key's node is replaced, a reader may be after the new one and before the old one:
    /// not finding the key counts only if the bucket was not changed meanwhile.
    #[test]
    fn nobody_misses_a_key_in_the_middle_of_a_change() {
        let stride = Chains::head_bytes(4);
        let nodes = Arc::new(Slab::new(4 * stride).unwrap());
        let chains = Chains::new(4, 4, nodes, stride).unwrap();
        let (hash, key, looks) = (7, [1, 2, 3, 4], AtomicBool::new(false));
        let found = thread::scope(|scope| {
            let locked = chains.lock(hash);
            let reader = scope.spawn(|| {
                looks.store(true, Release);
                chains.find(hash, &key)
            });
            while !looks.load(Acquire) {
                thread::yield_now();
            }
            (0..1000).for_each(|_| thread::yield_now());
            locked.insert(1, hash, &key, || ());
            drop(locked);
            reader.join().unwrap()
        });
        assert_eq!(found, Some(1));
        assert_eq!(chains.find(hash, &[0; 4]), None);
    }
}
