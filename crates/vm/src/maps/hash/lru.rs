//! Hashes that evict an element that was not used recently when they are full.
//!
//! Rule: a lookup by a program marks an element as used, one by user space does not. When no node
//! is free, a hand moves around the nodes: it clears the mark of used ones and evicts the first
//! without a mark, so new and recently used elements outlive the others. The kernel's lists choose
//! similarly, but not identically. With `BPF_F_NO_COMMON_LRU` each processor has nodes and a hand
//! of its own.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::chains::Locked;
use super::chains::Node;
use super::elements::{Elements, Put, element};
use super::hasher::hash;
use super::pool::{Pool, Spares};
use super::{check_flags, flag};
use crate::errno::Errno;
use crate::maps::{Cursor, Entry, MapAttributes, Storage};
use crate::memory::{Layout, Slab};

#[derive(Debug)]
pub(crate) struct Lru {
    elements: Elements,
    /// One word for each node: [`IN`], [`USED`].
    marks: Slab,
    shares: Box<[Share]>,
    spares: Spares,
    /// Number of nodes of a share, including its spare ones.
    block: u32,
}

/// The nodes that one processor, or all of them, use for new elements.
#[derive(Debug)]
struct Share {
    free: Pool,
    /// Number of steps of the hand.
    hand: AtomicU32,
    /// Number of the node before the first of the share.
    before: Node,
}

/// The node is in a chain.
const IN: u32 = 1;
const USED: u32 = 2;

impl Lru {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        let shares = shares(attributes);
        let own = attributes.max_entries / shares;
        let block = own + attributes.cpus / shares;
        let count = u64::from(block) * u64::from(shares);
        let before = |share: u32| share * block;
        let spare = |cpu: u32| before(cpu % shares) + own + cpu / shares + 1;
        Ok(Self {
            elements: Elements::create(attributes, count)?,
            marks: Slab::new(count * 4)?,
            shares: (0..shares).map(|share| Share::new(before(share), own)).collect(),
            spares: Spares::of((0..attributes.cpus).map(spare)),
            block,
        })
    }

    fn put(&self, attributes: &MapAttributes, at: &Put<'_>) -> Result<(), Errno> {
        check_flags(attributes, at.entry.flags)?;
        let chains = &self.elements.chains;
        let share = self.share(at);
        let chain = chains.lock(at.hash);
        let old = chain.find(at.hash, at.entry.key);
        at.allows(old)?;
        if let Some(old) = old {
            return self.replace(attributes, &chain, old, at);
        }
        if let Some(new) = share.free.pop(chains) {
            self.insert(attributes, &chain, new, at);
            return Ok(());
        }
        // Eviction of an element requires the lock of its own bucket.
        drop(chain);
        let new = self.evict(attributes, share).ok_or(Errno::ENOMEM)?;
        let chain = chains.lock(at.hash);
        let old = chain.find(at.hash, at.entry.key);
        let allowed = at.allows(old);
        if allowed.is_ok() && old.is_none() {
            self.insert(attributes, &chain, new, at);
            return Ok(());
        }
        // Another thread was faster.
        self.home(new).push(chains, new);
        allowed?;
        old.map_or(Ok(()), |old| self.replace(attributes, &chain, old, at))
    }

    fn insert(&self, attributes: &MapAttributes, chain: &Locked<'_>, node: Node, at: &Put<'_>) {
        self.elements.insert(attributes, chain, node, at);
        self.mark(node).store(IN, Relaxed);
    }

    fn replace(
        &self,
        attributes: &MapAttributes,
        chain: &Locked<'_>,
        old: Node,
        at: &Put<'_>,
    ) -> Result<(), Errno> {
        if attributes.kind.is_per_cpu() {
            self.mark(old).store(IN | USED, Relaxed);
            return self.elements.overwrite(attributes, old, at);
        }
        let exchange = |new| {
            self.elements.insert(attributes, chain, new, at);
            self.mark(new).store(IN | USED, Relaxed);
            self.take_out(attributes, chain, old);
            old
        };
        let chains = &self.elements.chains;
        match self.share(at).free.pop(chains) {
            Some(new) => self.home(old).push(chains, exchange(new)),
            None => self.spares.swap(at.cpu.unwrap_or(0), exchange),
        }
        Ok(())
    }

    /// Removes a node from its chain; `false` if it is in another one.
    fn take_out(&self, attributes: &MapAttributes, chain: &Locked<'_>, node: Node) -> bool {
        let out = chain.remove(node);
        if out {
            self.mark(node).store(0, Relaxed);
            self.elements.values.free_fields(attributes, element(node), None);
        }
        out
    }

    fn remove<T>(
        &self,
        attributes: &MapAttributes,
        key: &[u8],
        look: impl Fn(u64) -> T,
    ) -> Result<T, Errno> {
        let chains = &self.elements.chains;
        let hash = hash(key);
        let chain = chains.lock(hash);
        let node = chain.find(hash, key).ok_or(Errno::ENOENT)?;
        let seen = look(element(node));
        self.take_out(attributes, &chain, node);
        drop(chain);
        self.home(node).push(chains, node);
        Ok(seen)
    }

    /// Frees a node. `None` if other threads took every one of them for a whole round.
    fn evict(&self, attributes: &MapAttributes, share: &Share) -> Option<Node> {
        let chains = &self.elements.chains;
        for _ in 0..self.block.saturating_mul(ROUNDS) {
            if let Some(node) = share.free.pop(chains) {
                return Some(node);
            }
            let node = share.before + 1 + share.hand.fetch_add(1, Relaxed) % self.block;
            let mark = self.mark(node);
            match mark.load(Relaxed) {
                IN => {
                    let chain = chains.lock(chains.hash_of(node));
                    if self.take_out(attributes, &chain, node) {
                        return Some(node);
                    }
                }
                _ => _ = mark.fetch_and(!USED, Relaxed),
            }
        }
        None
    }

    /// The share of an update; user space uses that of the first processor.
    fn share(&self, at: &Put<'_>) -> &Share {
        &self.shares[at.cpu.unwrap_or(0) as usize % self.shares.len()]
    }

    /// The pool of a node while it is free.
    fn home(&self, node: Node) -> &Pool {
        &self.shares[(node as usize - 1) / self.block as usize].free
    }

    fn mark(&self, node: Node) -> &AtomicU32 {
        self.marks.half((node as usize - 1) * 4)
    }
}

impl Share {
    fn new(before: Node, own: u32) -> Self {
        Self { free: Pool::new(before, before + own), hand: AtomicU32::new(0), before }
    }
}

impl Storage for Lru {
    #[inline]
    fn lookup(&self, attributes: &MapAttributes, cpu: u32, key: &[u8]) -> u64 {
        let Some(node) = self.elements.find(key) else { return 0 };
        let mark = self.mark(node);
        if mark.load(Relaxed) & USED == 0 {
            mark.fetch_or(USED, Relaxed);
        }
        self.elements.address(attributes, cpu, node)
    }

    fn update(&self, attributes: &MapAttributes, cpu: u32, at: Entry<'_>) -> Result<(), Errno> {
        self.put(attributes, &Put::new(at, Some(cpu)))
    }

    fn delete(&self, attributes: &MapAttributes, key: &[u8]) -> Result<(), Errno> {
        self.remove(attributes, key, |_| ())
    }

    fn read(&self, attributes: &MapAttributes, key: &[u8]) -> Result<Vec<u8>, Errno> {
        self.elements.read(attributes, key, flag::ANY)
    }

    fn write(&self, attributes: &MapAttributes, at: Entry<'_>) -> Result<(), Errno> {
        self.put(attributes, &Put::new(at, None))
    }

    fn take(&self, attributes: &MapAttributes, key: &[u8], flags: u64) -> Result<Vec<u8>, Errno> {
        self.remove(attributes, key, |element| {
            self.elements.values.read(attributes, element, flags)
        })?
    }

    fn next_key(&self, attributes: &MapAttributes, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        self.elements.next_key(attributes, key)
    }

    fn walk(
        &self,
        attributes: &MapAttributes,
        cpu: u32,
        step: (&mut Cursor, &mut [u8]),
    ) -> Option<u64> {
        let node = self.elements.walk(step.0, step.1)?;
        Some(self.elements.address(attributes, cpu, node))
    }

    fn key_at(&self, _: &MapAttributes, address: u64, key: &mut [u8]) -> bool {
        self.elements.key_at(address, key)
    }

    fn values(&self) -> Option<(&Arc<Slab>, Layout)> {
        Some(self.elements.values.region())
    }
}

/// Number of shares: processors, or groups of them, with nodes of their own.
fn shares(attributes: &MapAttributes) -> u32 {
    if attributes.flags & flag::NO_COMMON_LRU == 0 { 1 } else { attributes.cpus }
}

/// Number of elements of a new map: the same number for each share.
pub(crate) fn rounded_entries(attributes: &MapAttributes) -> u32 {
    let shares = shares(attributes);
    let down = attributes.max_entries / shares * shares;
    attributes.max_entries.checked_next_multiple_of(shares).unwrap_or(down)
}

/// Maximum number of rounds of the hand while other threads use all elements repeatedly.
const ROUNDS: u32 = 4;
