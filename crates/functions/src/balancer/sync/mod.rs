//! Balancers that share clients send each other what their files do not state: which flows are
//! remembered, and which backends slots had before.
//!
//! [`wire`] is the format, [`Key`] seals and opens datagrams, [`Session`] refuses those that are
//! not fresh, [`merge`] decides about a flow of a peer, [`News`] finds what to send, and
//! [`history`] is about former backends. Nothing here does I/O: `control::balance::sync` has the
//! socket and the clock. `docs/balance-sync.md` describes the protocol.

pub mod history;
mod inherit;
mod merge;
mod news;
mod seal;
mod session;
#[cfg(test)]
mod tests;
mod window;
pub mod wire;

pub use inherit::{inherit, needs};
pub use merge::{CellMemory, Merged, copies, merge, now_units};
pub use news::News;
pub use seal::{Key, WeakKey};
pub use session::{Accepted, Session};
pub use wire::{Refused, open};

/// What a cell has, apart from its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Upper 32 bits of the hash; mixed with the sequence number in a note.
    pub tag: u32,
    pub backend: u16,
    pub kind: u8,
    /// Units since it was used: 2^31 nanoseconds, of a note 2^23.
    pub age: u16,
}

impl Flow {
    /// The content of a cell; `None` for one that is not in use. `now` is of [`now_units`].
    #[must_use]
    pub const fn of(cell: u64, now: u64) -> Option<Self> {
        if cell == 0 {
            return None;
        }
        let kind = (cell >> 14 & 3) as u8;
        Some(Self {
            tag: (cell >> 32) as u32,
            backend: (cell >> 16) as u16,
            kind,
            age: (time(kind, now).wrapping_sub(cell) & TIME) as u16,
        })
    }

    #[must_use]
    pub const fn cell(self, now: u64) -> u64 {
        let time = time(self.kind, now).wrapping_sub(self.age as u64) & TIME;
        (self.tag as u64) << 32 | (self.backend as u64) << 16 | (self.kind as u64) << 14 | time
    }

    /// The slot of its hash; meaningless for a note.
    #[must_use]
    pub const fn slot(self) -> u16 {
        (self.tag >> 16) as u16
    }

    /// Whether the program would not use it any more.
    #[must_use]
    pub const fn is_old(self) -> bool {
        self.age as u32 > LIFE[self.kind as usize & 3]
    }

    const fn is_connection(self) -> bool {
        self.kind & FLOW == FLOW
    }
}

/// `balancer_time`: the clock of notes is finer.
const fn time(kind: u8, now: u64) -> u64 {
    if kind == NOTE { now } else { now >> NOTE_BITS }
}

/// `BALANCER_TIME_MASK`.
const TIME: u64 = 0x3fff;
/// `BALANCER_NOTE_BITS`.
const NOTE_BITS: u32 = 8;
const NOTE: u8 = 0;
const FLOW: u8 = 1;
const YOUNG: u8 = 3;
/// `balancer_life`.
const LIFE: [u32; 4] = [30 << NOTE_BITS, 1676, 28, 30];
/// `BALANCER_WAYS`.
const WAYS: usize = 8;
