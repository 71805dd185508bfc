//! Objects that programs allocate, count, share through maps, and drop.

use std::sync::atomic::Ordering::AcqRel;

use spec::asm::Helper;

use super::{HelperRow, KfuncRow, bad_argument, helper_row, kfunc_row};
use crate::fault::Fault;
use crate::maps::FieldKind;
use crate::memory::RegionId;
use crate::objects::Size;
use crate::worker::Worker;

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

fn allocate(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let size = worker.size_of("bpf_obj_new_impl", args[0])?;
    let object = worker.shared.services.heap.allocate(size);
    Ok(worker.owned(object))
}

fn allocate_per_cpu(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let size = worker.size_of("bpf_percpu_obj_new_impl", args[0])?;
    let object = worker.shared.services.heap.allocate_per_cpu(size, worker.shared.cpus);
    Ok(worker.owned(object))
}

fn release(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    worker.disown(args[0])?;
    worker.drop_object(args[0]);
    Ok(0)
}

fn retain(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let object = worker.object_at("bpf_refcount_acquire_impl", 1, args[0])?;
    let retained = object == args[0] && worker.shared.services.heap.retain(object);
    Ok(worker.owned(retained.then_some(object)))
}

/// Swaps the pointer in a map's value or an object: what was there belongs to the program now.
fn exchange(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_kptr_xchg";
    let [place, new, ..] = *args;
    let fits = |kind| matches!(kind, FieldKind::Kptr { referenced: true } | FieldKind::PercpuKptr);
    worker.check_field(NAME, 1, place, fits)?;
    if new != 0 {
        let heap = &worker.shared.services.heap;
        let whole = heap.object(new).is_some_and(|(start, _)| start == new);
        if !whole && !heap.is_per_cpu(new) {
            return Err(bad_argument(NAME, 2, "only allocated objects can be kept in maps here"));
        }
        worker.disown(new)?;
    }
    worker.check_argument(NAME, 1, (place, 8, true))?;
    let Ok(word) = worker.memory.atomic64(place) else {
        return Err(bad_argument(NAME, 1, "not an aligned pointer"));
    };
    let old = word.swap(new, AcqRel);
    Ok(worker.owned((old != 0).then_some(old)))
}

fn copy_of(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    per_cpu("bpf_per_cpu_ptr", worker, args[0], args[1] as u32)
}

fn own_copy(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let cpu = worker.cpu;
    per_cpu("bpf_this_cpu_ptr", worker, args[0], cpu)
}

fn per_cpu(name: &str, worker: &Worker, handle: u64, cpu: u32) -> Result<u64, Box<Fault>> {
    let heap = &worker.shared.services.heap;
    if !heap.is_per_cpu(handle) {
        return Err(bad_argument(name, 1, "not an object with a copy for each processor"));
    }
    Ok(heap.copy_of(handle, cpu).unwrap_or(0))
}

impl Worker {
    /// Remembers a reference that the program got; r0.
    pub(super) fn owned(&mut self, object: Option<u64>) -> u64 {
        if let Some(address) = object {
            self.own(address);
        }
        object.unwrap_or(0)
    }

    fn size_of(&self, function: &str, type_id: u64) -> Result<Size, Box<Fault>> {
        let type_id = type_id as u32;
        let types = self.shared.services.types.as_ref();
        let bytes = types.and_then(|types| types.size_of(type_id)).filter(|bytes| *bytes != 0);
        let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
        match bytes {
            Some(bytes) => Ok(Size { bytes, type_id }),
            None => Err(bad_argument(function, 1, "the object has no such type")),
        }
    }

    /// Start of the allocated object that `address` points into.
    pub(super) fn object_at(
        &self,
        function: &str,
        argument: u8,
        address: u64,
    ) -> Result<u64, Box<Fault>> {
        let object = self.shared.services.heap.object(address);
        let object = object.filter(|_| RegionId::of(address).is_object());
        object
            .map(|(start, _)| start)
            .ok_or_else(|| bad_argument(function, argument, "not in an allocated object"))
    }
}
