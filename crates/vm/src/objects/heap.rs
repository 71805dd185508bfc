//! Objects that programs allocate: shared by all processors, reference counted, at the same
//! addresses for each.
//!
//! Slots have four sizes; an object is at the end of its slot. Length and reference count of a slot
//! are stored apart, where no program can write.

use std::sync::{Arc, Mutex, MutexGuard};

use super::{HEAP, PER_CPU, slot_of};
use crate::memory::{Layout, Memory, RegionId, Slab, offset};

/// All allocated objects of a machine.
#[derive(Debug)]
pub(crate) struct Heap {
    classes: [Class; 4],
    /// Copies of each per-CPU object, by the number in its handle.
    per_cpu: Mutex<Vec<Option<Box<[u64]>>>>,
}

/// Size of an object in bytes, and the BTF type that it was allocated as (0: none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub bytes: u32,
    pub type_id: u32,
}

/// Slots of one size.
#[derive(Debug)]
struct Class {
    slab: Arc<Slab>,
    layout: Layout,
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    held: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    size: Size,
    /// Number of references; 0 means that the slot is free.
    references: u32,
}

impl Heap {
    pub fn new() -> Self {
        Self { classes: SIZES.map(Class::new), per_cpu: Mutex::default() }
    }

    pub fn install(&self, memory: &mut Memory) {
        for (class, place) in self.classes.iter().zip(0..) {
            memory.install(RegionId(HEAP.0 + place), Arc::clone(&class.slab), class.layout);
        }
    }

    /// Allocates a zeroed object with one reference; `None` if it is too long or no slot is free.
    pub fn allocate(&self, size: Size) -> Option<u64> {
        let number = SIZES.iter().position(|(bytes, _)| u64::from(size.bytes) <= *bytes)?;
        let class = &self.classes[number];
        let slot = class.take(size)?;
        let len = u64::from(size.bytes);
        class.slab.zero((slot * class.layout.stride) as usize, class.layout.stride as usize);
        let start = class.layout.offset_of(slot) + class.layout.size - len;
        Some(RegionId(HEAP.0 + number as u32).at(start))
    }

    /// Start and size of the live object that holds the byte at `address`.
    pub fn object(&self, address: u64) -> Option<(u64, Size)> {
        let (class, slot) = self.place(address)?;
        let held = *class.lock().held.get(slot as usize).filter(|slot| slot.references > 0)?;
        let start = class.layout.offset_of(slot) + class.layout.size - u64::from(held.size.bytes);
        (offset(address) >= start).then(|| (RegionId::of(address).at(start), held.size))
    }

    /// Adds a reference; `false` if the object does not exist.
    pub fn retain(&self, address: u64) -> bool {
        self.place(address).is_some_and(|(class, slot)| {
            let mut slots = class.lock();
            let held = slots.held.get_mut(slot as usize).filter(|slot| slot.references > 0);
            held.map(|held| held.references += 1).is_some()
        })
    }

    /// Number of references to an object; 0 if it does not exist.
    pub fn references(&self, address: u64) -> u32 {
        if RegionId::of(address) == PER_CPU {
            return u32::from(self.is_per_cpu(address));
        }
        let Some((class, slot)) = self.place(address) else { return 0 };
        class.lock().held.get(slot as usize).map_or(0, |slot| slot.references)
    }

    /// Removes a reference; `true` if it was the last and the object no longer exists.
    pub fn release(&self, address: u64) -> bool {
        if RegionId::of(address) == PER_CPU {
            return self.release_per_cpu(address);
        }
        let Some((class, slot)) = self.place(address) else { return false };
        let mut slots = class.lock();
        let held = slots.held.get_mut(slot as usize).filter(|slot| slot.references > 0);
        let Some(held) = held else { return false };
        held.references -= 1;
        let gone = held.references == 0;
        if gone {
            slots.free.push(slot as u32);
        }
        gone
    }

    /// Allocates one object for each processor and returns their handle.
    pub fn allocate_per_cpu(&self, size: Size, cpus: u32) -> Option<u64> {
        let mut copies = Vec::with_capacity(cpus as usize);
        for _ in 0..cpus {
            let Some(copy) = self.allocate(size) else {
                copies.into_iter().for_each(|copy| _ = self.release(copy));
                return None;
            };
            copies.push(copy);
        }
        let mut table = self.per_cpu.lock().expect("no thread panics while it holds it");
        let number = table.iter().position(Option::is_none).unwrap_or(table.len());
        if number == table.len() {
            table.push(None);
        }
        table[number] = Some(copies.into_boxed_slice());
        Some(PER_CPU.at((number as u64 + 1) << HANDLE_SHIFT))
    }

    /// Address of one processor's copy; `None` for an unknown handle or processor.
    pub fn copy_of(&self, handle: u64, cpu: u32) -> Option<u64> {
        let number = handle_number(handle)?;
        let table = self.per_cpu.lock().expect("no thread panics while it holds it");
        table.get(number)?.as_ref()?.get(cpu as usize).copied()
    }

    /// Whether `handle` is the handle of a live per-CPU object.
    pub fn is_per_cpu(&self, handle: u64) -> bool {
        self.copy_of(handle, 0).is_some()
    }

    fn release_per_cpu(&self, handle: u64) -> bool {
        let Some(number) = handle_number(handle) else { return false };
        let mut table = self.per_cpu.lock().expect("no thread panics while it holds it");
        let copies = table.get_mut(number).and_then(Option::take);
        drop(table);
        let gone = copies.is_some();
        copies.into_iter().flatten().for_each(|copy| _ = self.release(copy));
        gone
    }

    fn place(&self, address: u64) -> Option<(&Class, u64)> {
        let number = RegionId::of(address).0.checked_sub(HEAP.0)?;
        let class = self.classes.get(number as usize)?;
        Some((class, slot_of(address, class.layout.shift)))
    }
}

impl Class {
    fn new((bytes, slots): (u64, u64)) -> Self {
        let slab = Slab::new(bytes * slots).expect("far below the limit");
        let layout = Layout::elements(slots, bytes, bytes);
        Self { slab: Arc::new(slab), layout, slots: Mutex::default() }
    }

    fn take(&self, size: Size) -> Option<u64> {
        let mut slots = self.lock();
        let taken = Slot { size, references: 1 };
        if let Some(slot) = slots.free.pop() {
            slots.held[slot as usize] = taken;
            return Some(slot.into());
        }
        let slot = slots.held.len() as u64;
        if slot == self.layout.elements {
            return None;
        }
        slots.held.push(taken);
        Some(slot)
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().expect("no thread panics while it holds it")
    }
}

fn handle_number(handle: u64) -> Option<usize> {
    let aligned = offset(handle).is_multiple_of(1 << HANDLE_SHIFT);
    if RegionId::of(handle) != PER_CPU || !aligned {
        return None;
    }
    usize::try_from(offset(handle) >> HANDLE_SHIFT).ok()?.checked_sub(1)
}

/// Bytes of a slot, and the number of slots of that size. Pages take memory only when they are
/// used.
const SIZES: [(u64, u64); 4] = [(64, 1 << 18), (256, 1 << 16), (1024, 1 << 14), (4096, 1 << 12)];
/// Distance between handles: a handle plus the offset of a field is not another handle.
const HANDLE_SHIFT: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> (Memory, Heap) {
        let heap = Heap::new();
        let mut memory = Memory::new();
        heap.install(&mut memory);
        (memory, heap)
    }

    const SIZE: Size = Size { bytes: 40, type_id: 3 };

    #[test]
    fn an_object_ends_at_its_end_and_starts_zeroed() {
        let (mut memory, heap) = fresh();
        let at = heap.allocate(SIZE).unwrap();
        assert!(memory.store64(at + 32, 5).is_ok());
        assert!(memory.load8(at + 40).is_err());
        assert!(heap.release(at));
        assert_eq!(heap.allocate(SIZE), Some(at), "the slot is used again");
        assert_eq!(memory.load64(at + 32), Ok(0));
    }

    #[test]
    fn an_object_is_found_from_inside_and_lives_until_its_last_reference() {
        let (_, heap) = fresh();
        let at = heap.allocate(SIZE).unwrap();
        assert_eq!(heap.object(at + 16), Some((at, SIZE)));
        assert_eq!(heap.object(at - 1), None);
        assert!(heap.retain(at));
        assert!(!heap.release(at));
        assert!(heap.release(at));
        assert!(!heap.release(at), "gone already");
        assert!(!heap.retain(at));
        assert_eq!(heap.object(at), None);
    }

    #[test]
    fn a_per_cpu_object_has_a_copy_for_each_processor() {
        let (_, heap) = fresh();
        let handle = heap.allocate_per_cpu(SIZE, 3).unwrap();
        let copies: Vec<_> = (0..4).map(|cpu| heap.copy_of(handle, cpu)).collect();
        assert!(copies[0] != copies[1] && copies[1] != copies[2]);
        assert_eq!(copies[3], None);
        assert!(heap.release(handle));
        assert!(!heap.release(handle));
        assert_eq!(heap.object(copies[0].unwrap()), None);
    }

    #[test]
    fn more_than_a_page_is_refused() {
        let (_, heap) = fresh();
        assert!(heap.allocate(Size { bytes: 4096, type_id: 0 }).is_some());
        assert!(heap.allocate(Size { bytes: 4097, type_id: 0 }).is_none());
    }
}
