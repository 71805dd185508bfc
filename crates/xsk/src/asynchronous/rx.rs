//! Packets to be awaited.

use std::os::fd::{AsFd, AsRawFd, RawFd};

use sys::timer::Timer;
use tokio::io::unix::AsyncFd;
use tokio::task::coop::consume_budget;

use super::{failed, register};
use crate::limits::{LOOK, NAPS};
use crate::socket::RxBatch;
use crate::wait::Readiness;
use crate::{Result, Rx};

/// An [`Rx`] whose packets are awaited.
#[derive(Debug)]
pub struct AsyncRx {
    events: AsyncFd<Events>,
    /// The timer runs, for [`LOOK`].
    is_looking: bool,
    rx: Rx,
}

/// Packets, or the time to look for what the kernel does not tell.
#[derive(Debug)]
struct Events {
    readiness: Readiness,
    timer: Timer,
}

impl AsyncRx {
    /// # Errors
    /// Outside of a runtime, or when descriptors are used up.
    ///
    /// # Panics
    /// When the runtime was built without `enable_io`.
    pub fn new(rx: Rx) -> Result<Self> {
        let events = Events { readiness: rx.readiness()?, timer: Timer::new()? };
        events.readiness.add(events.timer.as_fd())?;
        Ok(Self { events: register(events)?, is_looking: false, rx })
    }

    /// Copies the next packet into `buffer` and tells its length, which may be more than the
    /// buffer's: then the rest is lost.
    ///
    /// # Errors
    /// When the interface is down or gone.
    pub async fn recv(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            self.ready().await?;
            if let Some(len) = self.rx.try_recv(buffer) {
                return Ok(len);
            }
        }
    }

    /// At least one packet and up to `most`, as [`Rx::batch`].
    pub async fn batch(&mut self, most: usize) -> Result<RxBatch<'_>> {
        self.ready().await?;
        Ok(self.rx.batch(most))
    }

    /// Until a packet is there; takes none.
    pub async fn ready(&mut self) -> Result<()> {
        consume_budget().await;
        while !self.rx.is_ready() {
            self.set_timer()?;
            let mut guard = self.events.readable().await.map_err(failed)?;
            if self.events.get_ref().timer.clear() {
                self.is_looking = false;
                self.rx.check()?;
            }
            // What comes after this look makes the runtime ignore `clear_ready`.
            if !self.rx.is_ready() {
                guard.clear_ready();
            }
        }
        Ok(())
    }

    /// For everything that does not wait.
    pub fn rx(&mut self) -> &mut Rx {
        &mut self.rx
    }

    pub fn into_inner(self) -> Rx {
        self.rx
    }

    /// Without any frame in the kernel no packet comes, and nothing tells when one is free.
    fn set_timer(&mut self) -> Result<()> {
        let timer = &self.events.get_ref().timer;
        if self.rx.is_starved() {
            timer.set(NAPS.1)?;
            self.is_looking = false;
        } else if !self.is_looking {
            timer.set(LOOK)?;
            self.is_looking = true;
        }
        Ok(())
    }
}

impl AsRawFd for Events {
    fn as_raw_fd(&self) -> RawFd {
        self.readiness.as_raw_fd()
    }
}
