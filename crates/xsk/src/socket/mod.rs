//! Sockets on a queue of an interface, in two halves that may be in different threads.
//!
//! Rule: each half owns its rings and its cache of free frames, so neither half ever waits for the
//! other. The descriptor is closed when both halves are dropped; then the frames that the kernel
//! had return to the memory.

mod acceptance;
mod bound;
mod builder;
mod completion;
mod fill;
#[cfg(any(test, fuzzing))]
pub(crate) mod halves;
mod link;
mod queues;
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

/// A bound AF_XDP socket. Most programs [`split`](Socket::split) it into its halves.
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

    /// The sending half.
    pub fn tx(&mut self) -> &mut Tx {
        &mut self.tx
    }

    /// The receiving half.
    pub fn rx(&mut self) -> &mut Rx {
        &mut self.rx
    }

    /// Both halves, to reply to packets within one loop.
    pub fn halves(&mut self) -> (&mut Tx, &mut Rx) {
        (&mut self.tx, &mut self.rx)
    }

    /// Whether the driver accesses the memory directly; otherwise packets are copied.
    pub fn is_zero_copy(&self) -> bool {
        self.tx.bound().is_zero_copy()
    }

    /// The reason why packets are copied; `None` with zero copy.
    pub fn why_copied(&self) -> Option<&str> {
        self.why_copied.as_deref()
    }

    /// The memory of its frames.
    pub fn umem(&self) -> Umem {
        Umem::of(self.tx.bound().shared_pool().handle())
    }

    /// Number of the queue, from 0.
    pub fn queue(&self) -> u32 {
        self.tx.bound().opening.queue
    }

    /// The handle for opening further sockets on the same queue; `None` unless this socket is
    /// [`shareable`](Builder::shareable).
    pub fn shared_queue(&self) -> Option<SharedQueue> {
        Some(SharedQueue {
            fill: Arc::clone(self.rx.common_fill()?),
            completion: Arc::clone(self.tx.common_completion()?),
            bound: Arc::clone(self.tx.bound()),
        })
    }
}
