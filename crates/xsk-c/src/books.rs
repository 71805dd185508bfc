//! Which frames of a memory C holds.
//!
//! Rule: a frame that goes out is kept here under its chunk's number, and C gets a token: that
//! number and the chunk's generation. To come back it is taken out by one atomic step that fails
//! for a token that was used before. So a frame that C sends or frees twice is an error, not two
//! owners of one chunk. Nothing allocates; one chunk is one slot.
//!
//! Frames that C forgets are freed with the books, when the last handle of the memory closes.

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use xsk::{Frame, Umem};

use crate::error::{Code, Error, Result};

/// The frames of one memory.
pub struct Books {
    /// Tells memories apart; a mistake that it misses is found by the generation.
    id: u32,
    slots: Box<[Slot]>,
}

struct Slot {
    /// Odd while a frame is there; changes whenever one comes or goes.
    generation: AtomicU32,
    frame: UnsafeCell<Option<Frame>>,
}

/// What C holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub memory: u32,
    pub chunk: u32,
    pub generation: u32,
}

// SAFETY: a slot's cell is touched by whoever changed its generation alone, see `put` and `take`.
unsafe impl Sync for Books {}

impl Books {
    pub fn new(umem: &Umem) -> Arc<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let slot = || Slot { generation: AtomicU32::new(0), frame: UnsafeCell::new(None) };
        let slots = (0..umem.frames()).map(|_| slot()).collect();
        Arc::new(Self { id: NEXT.fetch_add(1, Ordering::Relaxed), slots })
    }

    /// The frame is C's from now on.
    #[inline]
    pub fn put(&self, frame: Frame) -> Token {
        let chunk = frame.number();
        let slot = &self.slots[chunk as usize];
        let generation = slot.generation.load(Ordering::Relaxed).wrapping_add(1);
        assert!(generation & 1 == 1, "chunk {chunk} has one frame, and C does not have it");
        self.store(slot, frame, generation);
        Token { memory: self.id, chunk, generation }
    }

    /// As [`Books::put`] for a frame that was just taken: its token stays good.
    #[inline]
    pub fn put_back(&self, frame: Frame, token: Token) {
        assert!(frame.number() == token.chunk, "it is the frame that was taken");
        self.store(&self.slots[token.chunk as usize], frame, token.generation);
    }

    /// The frame is ours again.
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
        // SAFETY: the odd generation said that a frame is there, and this thread alone made it
        // even. No `put` comes meanwhile, for it needs the chunk's only frame, which is in here.
        let frame = unsafe { &mut *slot.frame.get() }.take();
        Ok(frame.expect("an odd generation has a frame"))
    }

    #[inline]
    fn store(&self, slot: &Slot, frame: Frame, generation: u32) {
        // SAFETY: the generation is even, so no `take` succeeds; and no other `put` comes, since
        // this frame is the only one of its chunk.
        unsafe { *slot.frame.get() = Some(frame) };
        slot.generation.store(generation, Ordering::Release);
    }

    #[cold]
    fn refusal(&self, token: Token) -> Error {
        let text = match token {
            Token { memory: 0, .. } => "the frame is empty: it was sent or released",
            Token { memory, .. } if memory != self.id => "the frame is of other memory",
            _ => "the frame was sent or released before",
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
    fn forgotten_frames_come_home_with_the_books() {
        let (umem, books) = memory();
        books.put(umem.alloc().unwrap());
        assert!(!umem.audit().is_all_free());
        drop(books);
        assert!(umem.audit().is_all_free());
    }
}
