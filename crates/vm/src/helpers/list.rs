//! Linked lists of allocated objects: heads in map values or objects, nodes in objects.
//!
//! ```text
//! bpf_list_head: 0 next, 8 prev              bpf_list_node: 0 next, 8 prev, 16 owner
//! ```
//!
//! A head that is all zero is an empty list. The owner of a node is its head, 0 while it is in
//! no list. The program holds the lock that protects the list, so plain loads and stores do.

use super::{KfuncRow, int, kfunc_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::maps::FieldKind;
use crate::worker::Worker;

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_list_push_front_impl", |worker, args| {
        push("bpf_list_push_front_impl", worker, args, End::Front)
    }),
    kfunc_row("bpf_list_push_back_impl", |worker, args| {
        push("bpf_list_push_back_impl", worker, args, End::Back)
    }),
    kfunc_row("bpf_list_pop_front", |worker, args| {
        pop("bpf_list_pop_front", worker, args[0], End::Front)
    }),
    kfunc_row("bpf_list_pop_back", |worker, args| {
        pop("bpf_list_pop_back", worker, args[0], End::Back)
    }),
    kfunc_row("bpf_list_front", |worker, args| peek("bpf_list_front", worker, args[0], End::Front)),
    kfunc_row("bpf_list_back", |worker, args| peek("bpf_list_back", worker, args[0], End::Back)),
];

/// Which end of a list; the value is the offset of the link that leads there from the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Front = 0,
    Back = 8,
}

impl End {
    const fn opposite(self) -> Self {
        match self {
            Self::Front => Self::Back,
            Self::Back => Self::Front,
        }
    }
}

fn push(name: &str, worker: &mut Worker, args: &[u64; 5], end: End) -> Result<u64, Box<Fault>> {
    let [head, node, ..] = *args;
    worker.check_field(name, 2, node, |kind| kind == FieldKind::ListNode)?;
    let object = worker.object_at(name, 2, node)?;
    worker.disown(object)?;
    first_use(name, worker, head)?;
    if worker.load_u64(name, 2, node.wrapping_add(OWNER))? != 0 {
        worker.drop_object(object);
        return Ok(int(Errno::EINVAL));
    }
    let (to_end, from_end) = (end as u64, end.opposite() as u64);
    let neighbour = worker.load_u64(name, 1, head.wrapping_add(to_end))?;
    worker.store_u64(name, 2, node.wrapping_add(to_end), neighbour)?;
    worker.store_u64(name, 2, node.wrapping_add(from_end), head)?;
    worker.store_u64(name, 2, node.wrapping_add(OWNER), head)?;
    worker.store_u64(name, 1, neighbour.wrapping_add(from_end), node)?;
    worker.store_u64(name, 1, head.wrapping_add(to_end), node)?;
    Ok(0)
}

fn pop(name: &str, worker: &mut Worker, head: u64, end: End) -> Result<u64, Box<Fault>> {
    let node = peek(name, worker, head, end)?;
    if node == 0 {
        return Ok(0);
    }
    let (to_end, from_end) = (end as u64, end.opposite() as u64);
    let next = worker.load_u64(name, 1, node.wrapping_add(to_end))?;
    worker.store_u64(name, 1, head.wrapping_add(to_end), next)?;
    worker.store_u64(name, 1, next.wrapping_add(from_end), head)?;
    for offset in [0, 8, OWNER] {
        worker.store_u64(name, 1, node.wrapping_add(offset), 0)?;
    }
    let object = worker.object_at(name, 1, node)?;
    worker.own(object);
    Ok(node)
}

fn peek(name: &str, worker: &mut Worker, head: u64, end: End) -> Result<u64, Box<Fault>> {
    first_use(name, worker, head)?;
    let node = worker.load_u64(name, 1, head.wrapping_add(end as u64))?;
    Ok(if node == head { 0 } else { node })
}

/// A head that was never used points to itself from now on.
fn first_use(name: &str, worker: &mut Worker, head: u64) -> Result<(), Box<Fault>> {
    worker.check_field(name, 1, head, |kind| kind == FieldKind::ListHead)?;
    if worker.load_u64(name, 1, head)? == 0 {
        worker.store_u64(name, 1, head, head)?;
        worker.store_u64(name, 1, head.wrapping_add(8), head)?;
    }
    Ok(())
}

pub(super) const OWNER: u64 = 16;
