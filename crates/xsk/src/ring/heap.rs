//! A ring on the heap with both of its sides, instead of a mapping: for tests in which memory
//! checkers and loom see every access. Only with `cfg(test)` and when fuzzing.

use std::ptr::NonNull;
use std::sync::{Arc, Weak};

use super::Memory;
use super::slot::Slot;
use crate::sync::AtomicU32;

#[derive(Debug)]
struct Heap<T> {
    producer: AtomicU32,
    consumer: AtomicU32,
    flags: AtomicU32,
    slots: Box<[Slot<T>]>,
}

/// Both sides of one ring.
pub(crate) struct Pair<T> {
    pub ours: Memory<T>,
    pub kernels: Memory<T>,
    pub watch: Watch,
}

/// Observes whether our side still exists.
#[derive(Clone, Debug)]
pub(crate) struct Watch(Weak<dyn Send + Sync>);

impl<T: Copy + Default + Send + 'static> Pair<T> {
    /// An empty ring of `entries` slots, whose indices are at `start`.
    pub fn new(entries: u32, start: u32) -> Self {
        let heap = Arc::new(Heap {
            producer: AtomicU32::new(start),
            consumer: AtomicU32::new(start),
            flags: AtomicU32::new(0),
            slots: (0..entries).map(|_| Slot::new(T::default())).collect(),
        });
        let weak: Weak<Heap<T>> = Arc::downgrade(&heap);
        Self { ours: side(&heap), kernels: side(&heap), watch: Watch(weak) }
    }
}

impl Watch {
    /// Whether our side still has the ring, in addition to the kernel's.
    pub fn is_mapped(&self) -> bool {
        self.0.strong_count() > 1
    }
}

fn side<T: Copy + Send + 'static>(heap: &Arc<Heap<T>>) -> Memory<T> {
    Memory {
        producer: NonNull::from(&heap.producer),
        consumer: NonNull::from(&heap.consumer),
        flags: NonNull::from(&heap.flags),
        slots: NonNull::from(&*heap.slots).cast(),
        entries: heap.slots.len() as u32,
        _keep: Arc::clone(heap) as Arc<dyn Send + Sync>,
        _slots: std::marker::PhantomData,
    }
}

/// Changes of the words by a misbehaving kernel.
impl<T: Copy> Memory<T> {
    pub fn set_flags(&self, flags: u32) {
        // SAFETY: valid because of `_keep`, and an atomic word.
        let word = unsafe { self.flags.as_ref() };
        word.store(flags, crate::sync::Ordering::Relaxed);
    }
}
