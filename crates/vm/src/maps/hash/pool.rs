//! Nodes that are in no chain: a stack of freed nodes, and a count of unused ones.
//!
//! Rule: a node is in one place only: on the stack, in a spare slot, in a chain, or held by one
//! updater. No thread waits for a lock; the head carries a tag that each change increments, so that
//! an equal head means an unchanged stack. The last node freed is the first reused, as in the
//! kernel's `pcpu_freelist`.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::chains::{Chains, Node};
use crate::maps::fields::relax;

#[derive(Debug)]
pub(super) struct Pool {
    /// Tag in the high half, node in the low half.
    head: AtomicU64,
    /// Nodes from `fresh + 1` to `last` were never used.
    fresh: AtomicU32,
    last: Node,
}

impl Pool {
    /// The nodes after `before` up to `last`.
    pub fn new(before: Node, last: Node) -> Self {
        Self { head: AtomicU64::new(0), fresh: AtomicU32::new(before), last }
    }

    pub fn pop(&self, chains: &Chains) -> Option<Node> {
        let mut head = self.head.load(Acquire);
        while head as Node != 0 {
            let next = chains.link(head as Node).load(Relaxed);
            match self.head.compare_exchange_weak(head, tagged(head, next), AcqRel, Acquire) {
                Ok(_) => return Some(head as Node),
                Err(now) => head = now,
            }
        }
        let more = |fresh| (fresh < self.last).then_some(fresh + 1);
        self.fresh.fetch_update(Relaxed, Relaxed, more).ok().map(|fresh| fresh + 1)
    }

    pub fn push(&self, chains: &Chains, node: Node) {
        let mut head = self.head.load(Relaxed);
        loop {
            chains.link(node).store(head as Node, Relaxed);
            match self.head.compare_exchange_weak(head, tagged(head, node), Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
}

fn tagged(before: u64, node: Node) -> u64 {
    ((before >> 32) + 1) << 32 | u64::from(node)
}

/// One spare node for each processor and one for user space: it replaces an element of the map, so
/// that replacing also works in a full map.
#[derive(Debug)]
pub(super) struct Spares(Box<[AtomicU32]>);

impl Spares {
    /// The first node is that of the first holder.
    pub fn of(nodes: impl Iterator<Item = Node>) -> Self {
        Self(nodes.map(AtomicU32::new).collect())
    }

    /// Exchanges the holder's spare node: `with` gets it and returns the node that is the spare
    /// from then on.
    pub fn swap(&self, holder: u32, with: impl FnOnce(Node) -> Node) {
        let slot = &self.0[holder as usize];
        let mut round = 0;
        let node = loop {
            match slot.swap(0, Acquire) {
                // Another thread of user space is between its two steps.
                0 => relax(round),
                node => break node,
            }
            round = round.wrapping_add(1);
        };
        slot.store(with(node), Release);
    }
}
