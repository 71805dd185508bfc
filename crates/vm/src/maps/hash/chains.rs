//! Buckets, each a chain of nodes: read without a lock, changed under the bucket's own.
//!
//! ```text
//! bucket  ┌ first node u32 ┬ changes u32 ┐
//! node    ┌ next u32 ┬ hash u32 ┬ key, padded to 8 ┬ whatever else the map keeps ┐
//! ```
//! Rule: a node that leaves its chain may enter another one at once, with readers still on it.
//! So the end of a chain names its bucket: a reader that arrives at another bucket's end starts
//! again. A replaced node's successor enters at the front, which a reader may have left behind: so
//! who finds nothing looks again if the bucket was changed meanwhile, and a node that stays is
//! never missed. The bucket's changes are counted by its lock: odd while somebody holds it.
//! Before a node's key changes, its chain is cut by an end that is no bucket's, then its hash
//! broken: a reader reads the hash again after it compared the key, and the chain after the hash.
//! While a node is free its hash is a link of the [`Pool`](super::pool::Pool).
//! Buckets that were never used are zero: nothing is written when the map is created.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, fence};

use crate::errno::Errno;
use crate::maps::fields::relax;
use crate::memory::Slab;

/// The number of a node, from 1; 0 is none.
pub(super) type Node = u32;

/// Marks the end of a chain; the other bits are the bucket.
const END: u32 = 1 << 31;
/// An end that is no bucket's.
const CUT: u32 = u32::MAX;
/// In a bucket's changes: somebody has its lock.
const HELD: u32 = 1;
const HASH: usize = 4;
/// Where the key starts in a node.
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
        // Twice as many as the kernel has: most chains have one node at most.
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

    /// One way through a bucket's chain; a node that is replaced meanwhile may be missed.
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
                // Whoever sees something of the change sees that it is being made.
                fence(Release);
                return Locked { chains: self, bucket, changes };
            }
            relax(round);
            round = round.wrapping_add(1);
        }
    }

    /// The first node at or behind `bucket`, and the bucket that it is in.
    pub fn first_behind(&self, bucket: u32) -> Option<(u32, Node)> {
        for bucket in bucket..=self.mask {
            let node = self.first(bucket);
            if node & END == 0 {
                return Some((bucket, node));
            }
        }
        None
    }

    /// The node behind this one in its chain. A node that left the chain may lead elsewhere.
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

    /// Copies the node's key out.
    pub fn key(&self, node: Node, into: &mut [u8]) {
        self.nodes.read(self.place(node) + KEY, into);
    }

    /// Where a node's hash is, or the link to the next free one.
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

/// A bucket that only the holder of this changes.
#[derive(Debug)]
pub(super) struct Locked<'a> {
    chains: &'a Chains,
    bucket: u32,
    changes: &'a AtomicU32,
}

impl Locked<'_> {
    /// The node of that key, whose bucket this is.
    pub fn find(&self, hash: u32, key: &[u8]) -> Option<Node> {
        self.chains.search(self.bucket, hash, key)
    }

    /// Puts a node at the front. `fill` writes what the node holds beside its key, before readers
    /// can come to it.
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

    /// Takes a node out; `false` when it is not in this chain.
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

    /// Where a key's node is replaced, a reader may be behind the new one and before the old one:
    /// what it does not find counts when nobody changed the bucket meanwhile.
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
