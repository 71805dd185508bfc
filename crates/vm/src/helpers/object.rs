//! Objects that programs allocate, count, share through maps, and drop.

use std::sync::atomic::Ordering::AcqRel;

use spec::asm::Helper;

use super::{HelperRow, KfuncRow, bad_argument, field, helper_row, kfunc_row, release};
use crate::fault::Fault;
use crate::maps::FieldKind;
use crate::memory::RegionId;
use crate::objects::Size;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::KPTR_XCHG, exchange),
    helper_row(Helper::PER_CPU_PTR, copy_of),
    helper_row(Helper::THIS_CPU_PTR, own_copy),
];

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_obj_new_impl", allocate),
    kfunc_row("bpf_obj_drop_impl", release),
    kfunc_row("bpf_percpu_obj_new_impl", allocate_per_cpu),
    kfunc_row("bpf_percpu_obj_drop_impl", release),
    kfunc_row("bpf_refcount_acquire_impl", retain),
    kfunc_row("bpf_rdonly_cast", |_, args| Ok(args[0])),
];

fn allocate(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let size = size_of(processor, "bpf_obj_new_impl", args[0])?;
    let object = processor.shared.services.heap.allocate(size);
    Ok(owned(processor, object))
}

fn allocate_per_cpu(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let size = size_of(processor, "bpf_percpu_obj_new_impl", args[0])?;
    let object = processor.shared.services.heap.allocate_per_cpu(size, processor.shared.cpus);
    Ok(owned(processor, object))
}

fn release(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    processor.disown(args[0])?;
    release::drop_object(processor, args[0]);
    Ok(0)
}

fn retain(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let object = object_at(processor, "bpf_refcount_acquire_impl", 1, args[0])?;
    let retained = object == args[0] && processor.shared.services.heap.retain(object);
    Ok(owned(processor, retained.then_some(object)))
}

/// Exchanges the pointer in a map's value or an object; the program owns the previous one.
fn exchange(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_kptr_xchg";
    let [place, new, ..] = *args;
    let fits = |kind| matches!(kind, FieldKind::Kptr { referenced: true } | FieldKind::PercpuKptr);
    field::check_field(processor, NAME, 1, place, fits)?;
    if new != 0 {
        let heap = &processor.shared.services.heap;
        let whole = heap.object(new).is_some_and(|(start, _)| start == new);
        if !whole && !heap.is_per_cpu(new) {
            return Err(bad_argument(NAME, 2, "only allocated objects can be stored in maps"));
        }
        processor.disown(new)?;
    }
    processor.check_argument(NAME, 1, (place, 8, true))?;
    let Ok(word) = processor.memory.atomic64(place) else {
        return Err(bad_argument(NAME, 1, "not an aligned pointer"));
    };
    let old = word.swap(new, AcqRel);
    Ok(owned(processor, (old != 0).then_some(old)))
}

fn copy_of(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    per_cpu("bpf_per_cpu_ptr", processor, args[0], args[1] as u32)
}

fn own_copy(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let cpu = processor.cpu;
    per_cpu("bpf_this_cpu_ptr", processor, args[0], cpu)
}

fn per_cpu(name: &str, processor: &Processor, handle: u64, cpu: u32) -> Result<u64, Box<Fault>> {
    let heap = &processor.shared.services.heap;
    if !heap.is_per_cpu(handle) {
        return Err(bad_argument(name, 1, "not a per-CPU object"));
    }
    Ok(heap.copy_of(handle, cpu).unwrap_or(0))
}

/// Records that the program owns an object; returns r0.
pub(super) fn owned(processor: &mut Processor, object: Option<u64>) -> u64 {
    if let Some(address) = object {
        processor.objects.own(address);
    }
    object.unwrap_or(0)
}

fn size_of(processor: &Processor, function: &str, type_id: u64) -> Result<Size, Box<Fault>> {
    let type_id = type_id as u32;
    let types = processor.shared.services.types.as_ref();
    let bytes = types.and_then(|types| types.size_of(type_id)).filter(|bytes| *bytes != 0);
    let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
    match bytes {
        Some(bytes) => Ok(Size { bytes, type_id }),
        None => Err(bad_argument(function, 1, "the object has no such type")),
    }
}

/// Start of the allocated object that contains `address`.
pub(super) fn object_at(
    processor: &Processor,
    function: &str,
    argument: u8,
    address: u64,
) -> Result<u64, Box<Fault>> {
    let object = processor.shared.services.heap.object(address);
    let object = object.filter(|_| RegionId::of(address).is_object());
    object
        .map(|(start, _)| start)
        .ok_or_else(|| bad_argument(function, argument, "not in an allocated object"))
}
