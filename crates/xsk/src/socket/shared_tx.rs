//! A sending half for several threads.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Tx, TxBatch};
use crate::Result;

/// A [`Tx`] that several threads use, one burst at a time, under a lock. A clone is another handle
/// to the same half.
///
/// A queue for each thread is faster; this is for threads that send few packets. Prepare packets
/// before the burst, since other threads wait until it ends.
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
    /// Shares this half.
    pub fn new(tx: Tx) -> Self {
        Self { tx: Arc::new(Mutex::new(tx)) }
    }

    /// Locks the half, calls `fill`, and sends the packets that it queued.
    ///
    /// # Errors
    /// As [`Tx::flush`].
    pub fn burst<T>(&self, fill: impl FnOnce(&mut TxBatch<'_>) -> T) -> Result<T> {
        // A panic in a burst leaves whole packets: they are counted when they are queued.
        let mut tx = self.tx.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = tx.batch(u32::MAX);
        let result = fill(&mut batch);
        batch.finish()?;
        Ok(result)
    }

    /// Returns the half, or the handle when there are others.
    pub fn into_inner(self) -> Result<Tx, Self> {
        match Arc::try_unwrap(self.tx) {
            Ok(tx) => Ok(tx.into_inner().unwrap_or_else(PoisonError::into_inner)),
            Err(tx) => Err(Self { tx }),
        }
    }
}
