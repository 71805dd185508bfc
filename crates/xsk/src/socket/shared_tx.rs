//! One sending half for many threads.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Tx, TxBatch};
use crate::Result;

/// A [`Tx`] that threads use in turns: one burst each, under a lock that is taken once a burst.
/// Cloning gives another handle to the same half.
///
/// A queue for each thread is faster; this is for threads that send little. Prepare packets before
/// the burst: what a thread does in it, the others wait for.
///
/// ```
/// # fn f(tx: xsk::Tx) -> Result<(), Box<dyn std::error::Error>> {
/// let tx = xsk::SharedTx::new(tx);
/// let other = tx.clone();
/// std::thread::spawn(move || other.burst(|tx| tx.send(&[0; 60])));
/// tx.burst(|tx| tx.send(&[0; 60]))??;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SharedTx {
    tx: Arc<Mutex<Tx>>,
}

impl SharedTx {
    pub fn new(tx: Tx) -> Self {
        Self { tx: Arc::new(Mutex::new(tx)) }
    }

    /// Waits for its turn, and sends what `fill` left waiting for its batch.
    ///
    /// # Errors
    /// As [`Tx::flush`].
    pub fn burst<T>(&self, fill: impl FnOnce(&mut TxBatch<'_>) -> T) -> Result<T> {
        // Whoever panicked in a burst has left whole packets: they are counted when they are put.
        let mut tx = self.tx.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = tx.batch(u32::MAX);
        let answer = fill(&mut batch);
        batch.finish()?;
        Ok(answer)
    }

    /// The half again; the handle, when there are others.
    pub fn into_inner(self) -> Result<Tx, Self> {
        match Arc::try_unwrap(self.tx) {
            Ok(tx) => Ok(tx.into_inner().unwrap_or_else(PoisonError::into_inner)),
            Err(tx) => Err(Self { tx }),
        }
    }
}
