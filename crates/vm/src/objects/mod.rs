//! What the kernel would hand to a program by pointer: sockets, connections, allocated objects.
//!
//! Two kinds of place. *Lent* memory belongs to one worker and ends with the run: helpers that
//! stand for the kernel fill it (`Processor::lend`). *Heap* memory
//! (`bpf_obj_new`) is shared by all workers and lives on in maps, lists and trees ([`Heap`]).
//! Rule: an object ends exactly where its slot ends, so that reading behind it is refused; what a
//! program still owns when its run ends is released, and a fault as it is for the verifier.

mod heap;
mod lent;

pub(crate) use heap::{Heap, Size};
pub(crate) use lent::{Kind, Objects};

use crate::memory::{Memory, RegionId, offset};

/// Lent, read-only.
const LENT: RegionId = RegionId::OBJECTS;
/// Lent, writable.
const LENT_WRITABLE: RegionId = RegionId(RegionId::OBJECTS.0 + 1);
/// First of the heap's regions, one for each size of slot.
const HEAP: RegionId = RegionId(RegionId::OBJECTS.0 + 2);
/// Handles of per-CPU objects: nothing to read there.
const PER_CPU: RegionId = RegionId(HEAP.0 + 4);

/// Puts both kinds of place into a new worker's memory.
pub(crate) fn install(memory: &mut Memory, heap: &Heap) -> Objects {
    heap.install(memory);
    Objects::install(memory)
}

/// Offset of a list node's owner, the address of its list head: `struct bpf_list_node`.
pub(crate) const LIST_OWNER: u64 = 16;
/// Offsets of the left and right child in a tree node: `struct bpf_rb_node`.
pub(crate) const TREE_CHILDREN: [u64; 2] = [16, 8];
/// Offset of a tree node's owner, the address of its tree's root.
pub(crate) const TREE_OWNER: u64 = 24;

/// Slot and offset of an address in one of the regions here, each `1 << shift` apart.
const fn slot_of(address: u64, shift: u32) -> u64 {
    offset(address) >> shift
}
