//! `Books`: the frames of a umem that the C program owns.
//!
//! Rule: a frame that is passed to C is kept here under its chunk's number, and C gets a token:
//! that number and the chunk's generation. An atomic operation takes the frame out again, and fails
//! for a token that was used before. A frame that C sends or frees twice is therefore an error, and
//! a chunk never has two owners. Nothing allocates; each chunk has one slot.
//!
//! Frames that C never releases are freed with the books, when the last handle of the umem is
//! closed.

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use xsk::{Frame, Umem};

use crate::error::{Code, Error, Result};

/// The frames of one umem that C owns.
pub struct Books {
    /// Identifies the umem. Wraps around; the generation detects the mistakes that it misses.
    id: u32,
    slots: Box<[Slot]>,
}

struct Slot {
    /// An odd number while the slot holds a frame; incremented whenever a frame is stored or taken.
    generation: AtomicU32,
    frame: UnsafeCell<Option<Frame>>,
}

/// The token that C holds for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub memory: u32,
    pub chunk: u32,
    pub generation: u32,
}

// SAFETY: only the thread that changed a slot's generation accesses its cell, see `put` and `take`.
unsafe impl Sync for Books {}

impl Books {
    pub fn new(umem: &Umem) -> Arc<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let slot = || Slot { generation: AtomicU32::new(0), frame: UnsafeCell::new(None) };
        let slots = (0..umem.frames()).map(|_| slot()).collect();
        Arc::new(Self { id: NEXT.fetch_add(1, Ordering::Relaxed), slots })
    }

    /// Stores a frame that C owns from now on.
    #[inline]
    pub fn put(&self, frame: Frame) -> Token {
        let chunk = frame.number();
        let slot = &self.slots[chunk as usize];
        let generation = slot.generation.load(Ordering::Relaxed).wrapping_add(1);
        assert!(generation & 1 == 1, "chunk {chunk} has one frame, and C does not own it");
        self.store(slot, frame, generation);
        Token { memory: self.id, chunk, generation }
    }

    /// Stores a frame that was just taken, as [`Books::put`] does; its token remains valid.
    #[inline]
    pub fn put_back(&self, frame: Frame, token: Token) {
        assert!(frame.number() == token.chunk, "the token belongs to the frame that was taken");
        self.store(&self.slots[token.chunk as usize], frame, token.generation);
    }

    /// Takes a frame from C; its token becomes invalid.
    #[inline]
    pub fn take(&self, token: Token) -> Result<Frame> {
        if token.memory != self.id {
            return Err(self.refusal(token));
        }
        let slot = self.slots.get(token.chunk as usize).ok_or_else(|| self.refusal(token))?;
        if token.generation & 1 == 0 {
            return Err(self.refusal(token));
        }
        let gone = token.generation.wrapping_add(1);
        let step = (Ordering::Acquire, Ordering::Relaxed);
        slot.generation
            .compare_exchange(token.generation, gone, step.0, step.1)
            .map_err(|_| self.refusal(token))?;
        // SAFETY: the slot held a frame, since its generation was an odd number, which only this
        // thread changed to an even one. No `put` can run meanwhile, because it needs the chunk's
        // only frame, which is still in the slot.
        let frame = unsafe { &mut *slot.frame.get() }.take();
        Ok(frame.expect("the slot holds a frame"))
    }

    #[inline]
    fn store(&self, slot: &Slot, frame: Frame, generation: u32) {
        // SAFETY: the generation is even, so no `take` succeeds; no other `put` runs, since this
        // frame is the only one of its chunk.
        unsafe { *slot.frame.get() = Some(frame) };
        slot.generation.store(generation, Ordering::Release);
    }

    #[cold]
    fn refusal(&self, token: Token) -> Error {
        let text = match token {
            Token { memory: 0, .. } => "the frame is empty: it was sent or released",
            Token { memory, .. } if memory != self.id => "the frame belongs to another umem",
            _ => "the frame was already sent or released",
        };
        Error::new(Code::Handle, text)
    }
}

impl fmt::Debug for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Books").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn memory() -> (Umem, Arc<Books>) {
        let umem = Umem::builder().frames(64).build().unwrap();
        let books = Books::new(&umem);
        (umem, books)
    }

    #[test]
    fn a_token_is_good_once() {
        let (umem, books) = memory();
        let frame = umem.alloc().unwrap();
        let token = books.put(frame);
        let frame = books.take(token).unwrap();
        let empty = Token { generation: token.generation + 1, ..token };
        assert!(books.take(token).is_err() && books.take(empty).is_err());
        let next = books.put(frame);
        assert_ne!(token, next);
        assert!(books.take(token).is_err());
        books.put_back(books.take(next).unwrap(), next);
        drop(books.take(next).unwrap());
        assert!(umem.audit().is_all_free());
    }

    #[test]
    fn tokens_that_were_never_given_out() {
        let (umem, books) = memory();
        let token = books.put(umem.alloc().unwrap());
        for wrong in [
            Token { memory: 0, ..token },
            Token { memory: token.memory + 1000, ..token },
            Token { chunk: 64, ..token },
            Token { chunk: u32::MAX, ..token },
            Token { chunk: token.chunk ^ 1, ..token },
            Token { generation: 0, ..token },
            Token { generation: token.generation + 1, ..token },
            Token { generation: token.generation + 2, ..token },
        ] {
            assert!(books.take(wrong).is_err(), "{wrong:?}");
        }
        assert!(books.take(token).is_ok());
    }

    #[test]
    fn of_many_takers_one_gets_the_frame() {
        let (umem, books) = memory();
        for _ in 0..200 {
            let token = books.put(umem.alloc().unwrap());
            let taken: usize = std::thread::scope(|scope| {
                let takers: Vec<_> = (0..3)
                    .map(|_| scope.spawn(|| usize::from(books.take(token).is_ok())))
                    .collect();
                takers.into_iter().map(|taker| taker.join().unwrap()).sum()
            });
            assert_eq!(taken, 1);
        }
        assert!(umem.audit().is_all_free());
    }

    #[test]
    fn forgotten_frames_are_freed_with_the_books() {
        let (umem, books) = memory();
        books.put(umem.alloc().unwrap());
        assert!(!umem.audit().is_all_free());
        drop(books);
        assert!(umem.audit().is_all_free());
    }
}
