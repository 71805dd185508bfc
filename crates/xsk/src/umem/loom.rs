//! Models of the depot and of the count that keeps the memory: every order in which threads can
//! act. Run by `make loom`.

use std::sync::Weak;

use ::loom::cell::UnsafeCell;
use ::loom::model::Builder;
use ::loom::sync::Arc;
use ::loom::thread;

use super::chunk::Chunk;
use super::depot::Depot;
use super::heap::Heap;
use super::{Frame, Umem};
use crate::limits::MAGAZINE;

/// A depot, and data that only the owner of a chunk may access.
struct Shared {
    depot: Depot,
    records: Vec<Chunk>,
    bytes: Vec<UnsafeCell<u32>>,
}

impl Shared {
    /// An empty depot.
    fn of(chunks: u32) -> Arc<Self> {
        let records = (0..chunks).map(|_| Chunk::default()).collect();
        let bytes = (0..chunks).map(|_| UnsafeCell::new(0)).collect();
        Arc::new(Self { depot: Depot::default(), records, bytes })
    }

    /// A depot with magazines of one chunk each.
    fn full(chunks: u32) -> Arc<Self> {
        let shared = Self::of(chunks);
        (0..chunks).for_each(|chunk| shared.put(&[chunk]));
        shared
    }

    fn put(&self, chunks: &[u32]) {
        chunks.iter().for_each(|chunk| self.touch(*chunk));
        self.depot.put(&self.records, chunks);
    }

    fn take(&self) -> Vec<u32> {
        let mut room = [0; MAGAZINE];
        let count = self.depot.take(&self.records, &mut room);
        let chunks = room[..count].to_vec();
        chunks.iter().for_each(|chunk| self.touch(*chunk));
        chunks
    }

    /// The checker fails if two threads call this concurrently, or without an ordering between
    /// them.
    fn touch(&self, chunk: u32) {
        // SAFETY: the checker detects concurrent accesses.
        self.bytes[chunk as usize].with_mut(|bytes| unsafe { *bytes += 1 });
    }
}

/// One thread takes a chunk that the other one takes, changes and returns: a top with the same
/// value as before must not be regarded as unchanged (ABA).
#[test]
fn a_chunk_is_had_by_one_thread() {
    check(|| {
        let shared = Shared::full(2);
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (first, second) = (shared.take(), shared.take());
                if !first.is_empty() {
                    shared.put(&first);
                }
                second
            })
        };
        let mut held = shared.take();
        held.extend(shared.take());
        held.extend(other.join().expect("no panic"));
        while let [chunk] = shared.take()[..] {
            held.push(chunk);
        }
        held.sort_unstable();
        assert_eq!(held, [0, 1]);
    });
}

#[test]
fn a_magazine_is_whole_for_whoever_takes_it() {
    check(|| {
        let shared = Shared::of(3);
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.put(&[2, 0, 1]))
        };
        let taken = shared.take();
        assert!(taken.is_empty() || taken == [2, 0, 1], "{taken:?}");
        other.join().expect("no panic");
        if taken.is_empty() {
            assert_eq!(shared.take(), [2, 0, 1]);
        }
    });
}

/// Handles and frames are dropped in any order: the umem is freed once, with the last of them.
#[test]
fn the_last_handle_or_frame_frees_the_memory() {
    check(|| {
        let (umem, memory) = memory();
        let frame = umem.alloc().expect("one is free");
        let other = umem.clone();
        let threads = [thread::spawn(move || drop(frame)), thread::spawn(move || drop(other))];
        drop(umem);
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(memory.upgrade().is_none(), "nobody is left");
    });
}

/// The next owner of a frame sees what the previous one wrote.
#[test]
fn bytes_follow_their_frame() {
    check(|| {
        let (umem, memory) = memory();
        let mut frame = umem.alloc().expect("one is free");
        let kept = umem.alloc();
        let other = umem.clone();
        let thread = thread::spawn(move || {
            frame.write(&[7; 4]);
            drop(frame);
        });
        let write = |mut frame: Frame| frame.write(&[8; 4]);
        other.alloc().map(write);
        drop((umem, kept));
        thread.join().expect("no panic");
        assert!(memory.upgrade().is_some(), "a handle is left");
        assert!(other.audit().is_all_free());
        drop(other);
        assert!(memory.upgrade().is_none(), "nobody is left");
    });
}

fn memory() -> (Umem, Weak<Heap>) {
    let (umem, heap) = Umem::builder().frames(2).build_on_heap().expect("sizes that fit");
    (umem, std::sync::Arc::downgrade(&heap))
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(model);
}

/// The known defects need two.
const PREEMPTIONS: usize = 3;
