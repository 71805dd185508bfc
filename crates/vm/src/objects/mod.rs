//! Objects that the kernel gives to a program by pointer: sockets, connections, allocated objects.
//!
//! There are two kinds of memory. *Lent* memory belongs to one processor and ends with the run:
//! helpers fill it in place of the kernel (`Processor::lend`). *Heap* memory (`bpf_obj_new`) is
//! shared by all processors and persists in maps, lists and trees ([`Heap`]).
//! Rule: an object ends exactly where its slot ends, so that reading past it is refused. Objects
//! that a program still owns when its run ends are released, and are a fault, as for the verifier.

mod heap;
mod lent;

pub(crate) use heap::{Heap, Size};
pub(crate) use lent::{Kind, LENT_BYTES, Objects};

use crate::memory::{Memory, RegionId, offset};

/// Region of lent, read-only objects.
const LENT: RegionId = RegionId::OBJECTS;
/// Region of lent, writable objects.
const LENT_WRITABLE: RegionId = RegionId(RegionId::OBJECTS.0 + 1);
/// First region of the heap; there is one for each size of slot.
const HEAP: RegionId = RegionId(RegionId::OBJECTS.0 + 2);
/// Handles of per-CPU objects; not readable.
const PER_CPU: RegionId = RegionId(HEAP.0 + 4);

/// Installs both kinds of memory for a new processor.
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

/// Slot of an address in one of these regions, whose slots are `1 << shift` bytes apart.
const fn slot_of(address: u64, shift: u32) -> u64 {
    offset(address) >> shift
}
