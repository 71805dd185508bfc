//! Sockets: a queue of an interface, in two halves that may live in different threads.
//!
//! Rule: each half owns its rings, its cache of free frames and nothing else, so neither ever waits
//! for the other. The descriptor closes when both are gone; then what the kernel still had comes
//! back to the memory.

mod acceptance;
mod bound;
mod builder;
mod completion;
mod fill;
#[cfg(any(test, fuzzing))]
pub(crate) mod halves;
mod link;
mod refusal;
mod register;
mod rx;
mod share;
mod shared_tx;
mod stats;
mod tx;

use std::sync::Arc;

pub use builder::{Builder, Mode};
pub use refusal::{Rejected, SendError};
pub use rx::{Batch as RxBatch, Rx};
pub use share::SharedQueue;
pub use shared_tx::SharedTx;
pub use stats::{RxCounters, Stats, TxCounters};
pub use tx::{Batch as TxBatch, Drained, Tx};

pub(crate) use bound::Bound;
#[cfg(any(test, fuzzing))]
pub(crate) use link::Link;

use crate::umem::Umem;

/// A bound socket. Most programs [`split`](Socket::split) it.
#[derive(Debug)]
pub struct Socket {
    tx: Tx,
    rx: Rx,
    why_copied: Option<String>,
}

impl Socket {
    /// The two halves, each for one thread at a time.
    pub fn split(self) -> (Tx, Rx) {
        (self.tx, self.rx)
    }

    pub fn tx(&mut self) -> &mut Tx {
        &mut self.tx
    }

    pub fn rx(&mut self) -> &mut Rx {
        &mut self.rx
    }

    /// Both at once, to answer packets from within one loop.
    pub fn halves(&mut self) -> (&mut Tx, &mut Rx) {
        (&mut self.tx, &mut self.rx)
    }

    /// Whether the driver works on the memory itself; else packets are copied.
    pub fn is_zero_copy(&self) -> bool {
        self.tx.bound().is_zero_copy()
    }

    /// Why packets are copied; `None` with zero copy.
    pub fn why_copied(&self) -> Option<&str> {
        self.why_copied.as_deref()
    }

    /// The memory that its frames are of.
    pub fn umem(&self) -> Umem {
        Umem::of(self.tx.bound().shared_pool().handle())
    }

    pub fn queue(&self) -> u32 {
        self.tx.bound().opening.queue
    }

    /// What another socket on the same queue needs to be opened; `None` unless this one was opened
    /// as [`shareable`](Builder::shareable).
    pub fn shared_queue(&self) -> Option<SharedQueue> {
        Some(SharedQueue {
            fill: Arc::clone(self.rx.common_fill()?),
            completion: Arc::clone(self.tx.common_completion()?),
            bound: Arc::clone(self.tx.bound()),
        })
    }
}
