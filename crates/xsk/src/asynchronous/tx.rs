//! `AsyncTx`: a sending half whose free frames and slots are awaited.
//!
//! The kernel has no event for completed frames, so a timer is awaited, as the waits of [`Tx`]
//! sleep. In copy mode most frames are completed when a call returns.

use sys::timer::Timer;
use tokio::io::unix::AsyncFd;
use tokio::task::coop::consume_budget;

use super::{failed, register};
use crate::limits::NAPS;
use crate::socket::{Drained, Rejected, SendError};
use crate::wait::Deadline;
use crate::{Frame, Result, Tx};

/// A [`Tx`] whose free frames and slots are awaited on a tokio runtime.
#[derive(Debug)]
pub struct AsyncTx {
    timer: AsyncFd<Timer>,
    tx: Tx,
}

impl AsyncTx {
    /// Registers the half with the present runtime.
    ///
    /// # Errors
    /// As [`AsyncRx::new`](super::AsyncRx::new).
    pub fn new(tx: Tx) -> Result<Self> {
        Ok(Self { timer: register(Timer::new()?)?, tx })
    }

    /// As [`Tx::send`], but waits while no frame or slot is free. A future that is dropped while it
    /// waits has sent nothing.
    ///
    /// # Errors
    /// As [`Tx::send`], except [`SendError::Full`].
    pub async fn send(&mut self, packet: &[u8]) -> Result<(), SendError> {
        consume_budget().await;
        loop {
            match self.tx.send(packet) {
                Err(SendError::Full) => self.ready().await.map_err(Tx::failed)?,
                done => return done,
            }
        }
    }

    /// As [`Tx::push`], but waits while the ring is full. A future that is dropped while it waits
    /// frees the frame; to keep it, await [`has_room`](Self::has_room) first.
    ///
    /// # Errors
    /// As [`Tx::push`], except [`SendError::Full`].
    pub async fn push(&mut self, mut frame: Frame) -> Result<(), Rejected> {
        consume_budget().await;
        loop {
            frame = match self.tx.push(frame) {
                Err(Rejected { frame, why: SendError::Full }) => frame,
                done => return done,
            };
            if let Err(error) = self.has_room(&frame).await {
                return Err(Rejected { frame, why: Tx::failed(error) });
            }
        }
    }

    /// Waits until a packet can be sent: a frame is free and the ring is not full. Sends the queued
    /// packets.
    ///
    /// # Errors
    /// When the interface is down or was removed.
    pub async fn ready(&mut self) -> Result<()> {
        self.until(Deadline::NEVER, Tx::can_send).await?;
        Ok(())
    }

    /// Waits until the ring has slots for a frame.
    ///
    /// # Errors
    /// When the interface is down or was removed.
    pub async fn has_room(&mut self, frame: &Frame) -> Result<()> {
        let parts = frame.count();
        self.until(Deadline::NEVER, |tx| tx.has_room(parts)).await?;
        Ok(())
    }

    /// As [`Tx::drain`].
    pub async fn drain(&mut self, deadline: impl Into<Deadline>) -> Drained {
        let before = self.tx.begin_drain();
        let failed = self.until(deadline.into(), |tx| tx.in_flight() == 0).await.err();
        self.tx.drained(before, failed)
    }

    /// The half, for methods that do not wait.
    pub fn tx(&mut self) -> &mut Tx {
        &mut self.tx
    }

    /// Returns the half.
    pub fn into_inner(self) -> Tx {
        self.tx
    }

    /// Waits until the condition holds; `false` at the deadline.
    async fn until(
        &mut self,
        deadline: Deadline,
        mut is_done: impl FnMut(&mut Tx) -> bool,
    ) -> Result<bool> {
        let mut nap = NAPS.0;
        loop {
            self.tx.flush()?;
            if is_done(&mut self.tx) {
                return Ok(true);
            }
            if deadline.is_over() {
                return Ok(false);
            }
            self.tx.check()?;
            self.timer.get_ref().set(nap)?;
            // An event of an earlier wait that was dropped at most shortens this one.
            self.timer.readable().await.map_err(failed)?.clear_ready();
            nap = (2 * nap).min(NAPS.1);
        }
    }
}
