//! `AsyncRx`: a receiving half whose packets are awaited.

use std::os::fd::{AsFd, AsRawFd, RawFd};

use sys::timer::Timer;
use tokio::io::unix::AsyncFd;
use tokio::task::coop::consume_budget;

use super::{failed, register};
use crate::limits::{LOOK, NAPS};
use crate::socket::RxBatch;
use crate::wait::Readiness;
use crate::{Result, Rx};

/// An [`Rx`] whose packets are awaited on a tokio runtime.
#[derive(Debug)]
pub struct AsyncRx {
    events: AsyncFd<Events>,
    /// The timer is set to [`LOOK`].
    is_looking: bool,
    rx: Rx,
}

/// Packets, or the timer for conditions that the kernel does not report.
#[derive(Debug)]
struct Events {
    readiness: Readiness,
    timer: Timer,
}

impl AsyncRx {
    /// Registers the half with the present runtime.
    ///
    /// # Errors
    /// [`ConfigError::NoRuntime`](crate::ConfigError::NoRuntime) outside of a runtime; others when
    /// no descriptors are available.
    ///
    /// # Panics
    /// When the runtime was built without `enable_io`.
    pub fn new(rx: Rx) -> Result<Self> {
        let events = Events { readiness: rx.readiness()?, timer: Timer::new()? };
        events.readiness.add(events.timer.as_fd())?;
        Ok(Self { events: register(events)?, is_looking: false, rx })
    }

    /// Waits for the next packet, copies it into `buffer` and returns its length. If it exceeds
    /// that of the buffer, the rest is lost.
    ///
    /// # Errors
    /// When the interface is down or was removed.
    pub async fn recv(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            self.ready().await?;
            if let Some(len) = self.rx.try_recv(buffer) {
                return Ok(len);
            }
        }
    }

    /// Waits for at least one packet, and returns up to `most`, as [`Rx::batch`].
    ///
    /// # Errors
    /// When the interface is down or was removed.
    pub async fn batch(&mut self, most: usize) -> Result<RxBatch<'_>> {
        self.ready().await?;
        Ok(self.rx.batch(most))
    }

    /// Waits until a packet was received, without taking it.
    ///
    /// # Errors
    /// When the interface is down or was removed.
    pub async fn ready(&mut self) -> Result<()> {
        consume_budget().await;
        while !self.rx.is_ready() {
            self.set_timer()?;
            let mut guard = self.events.readable().await.map_err(failed)?;
            if self.events.get_ref().timer.clear() {
                self.is_looking = false;
                self.rx.check()?;
            }
            // If a packet arrives after this check, the runtime ignores `clear_ready`.
            if !self.rx.is_ready() {
                guard.clear_ready();
            }
        }
        Ok(())
    }

    /// The half, for methods that do not wait.
    pub fn rx(&mut self) -> &mut Rx {
        &mut self.rx
    }

    /// Returns the half.
    pub fn into_inner(self) -> Rx {
        self.rx
    }

    /// Without a frame in the kernel no packet can be received, and no event reports free frames.
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
