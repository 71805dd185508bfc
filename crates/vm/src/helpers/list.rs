//! Linked lists of allocated objects: heads in map values or objects, nodes in objects.
//!
//! ```text
//! bpf_list_head: 0 next, 8 prev              bpf_list_node: 0 next, 8 prev, 16 owner
//! ```
//!
//! A head that is all zero is an empty list. The owner of a node is its head, 0 while it is in no
//! list. The program holds the lock that protects the list, so plain loads and stores suffice.

use super::{KfuncRow, field, int, kfunc_row, object, release};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::maps::FieldKind;
use crate::objects::LIST_OWNER;
use crate::processor::Processor;

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_list_push_front_impl", |processor, args| {
        push("bpf_list_push_front_impl", processor, args, End::Front)
    }),
    kfunc_row("bpf_list_push_back_impl", |processor, args| {
        push("bpf_list_push_back_impl", processor, args, End::Back)
    }),
    kfunc_row("bpf_list_pop_front", |processor, args| {
        pop("bpf_list_pop_front", processor, args[0], End::Front)
    }),
    kfunc_row("bpf_list_pop_back", |processor, args| {
        pop("bpf_list_pop_back", processor, args[0], End::Back)
    }),
    kfunc_row("bpf_list_front", |processor, args| {
        peek("bpf_list_front", processor, args[0], End::Front)
    }),
    kfunc_row("bpf_list_back", |processor, args| {
        peek("bpf_list_back", processor, args[0], End::Back)
    }),
];

/// End of a list; the value is the offset of the link to it in the head.
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

fn push(
    name: &str,
    processor: &mut Processor,
    args: &[u64; 5],
    end: End,
) -> Result<u64, Box<Fault>> {
    let [head, node, ..] = *args;
    field::check_field(processor, name, 2, node, |kind| kind == FieldKind::ListNode)?;
    let object = object::object_at(processor, name, 2, node)?;
    processor.disown(object)?;
    first_use(name, processor, head)?;
    if processor.load_u64(name, 2, node.wrapping_add(LIST_OWNER))? != 0 {
        release::drop_object(processor, object);
        return Ok(int(Errno::EINVAL));
    }
    let (to_end, from_end) = (end as u64, end.opposite() as u64);
    let neighbour = processor.load_u64(name, 1, head.wrapping_add(to_end))?;
    processor.store_u64(name, 2, node.wrapping_add(to_end), neighbour)?;
    processor.store_u64(name, 2, node.wrapping_add(from_end), head)?;
    processor.store_u64(name, 2, node.wrapping_add(LIST_OWNER), head)?;
    processor.store_u64(name, 1, neighbour.wrapping_add(from_end), node)?;
    processor.store_u64(name, 1, head.wrapping_add(to_end), node)?;
    Ok(0)
}

fn pop(name: &str, processor: &mut Processor, head: u64, end: End) -> Result<u64, Box<Fault>> {
    let node = peek(name, processor, head, end)?;
    if node == 0 {
        return Ok(0);
    }
    let (to_end, from_end) = (end as u64, end.opposite() as u64);
    let next = processor.load_u64(name, 1, node.wrapping_add(to_end))?;
    processor.store_u64(name, 1, head.wrapping_add(to_end), next)?;
    processor.store_u64(name, 1, next.wrapping_add(from_end), head)?;
    for offset in [0, 8, LIST_OWNER] {
        processor.store_u64(name, 1, node.wrapping_add(offset), 0)?;
    }
    let object = object::object_at(processor, name, 1, node)?;
    processor.objects.own(object);
    Ok(node)
}

fn peek(name: &str, processor: &mut Processor, head: u64, end: End) -> Result<u64, Box<Fault>> {
    first_use(name, processor, head)?;
    let node = processor.load_u64(name, 1, head.wrapping_add(end as u64))?;
    Ok(if node == head { 0 } else { node })
}

/// Makes a head that was never used point to itself.
fn first_use(name: &str, processor: &mut Processor, head: u64) -> Result<(), Box<Fault>> {
    field::check_field(processor, name, 1, head, |kind| kind == FieldKind::ListHead)?;
    if processor.load_u64(name, 1, head)? == 0 {
        processor.store_u64(name, 1, head, head)?;
        processor.store_u64(name, 1, head.wrapping_add(8), head)?;
    }
    Ok(())
}
