//! Waiting for packets.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Instant;

use sys::poll::Woken;

use super::Rx;
use crate::Result;
use crate::limits::NAPS;
use crate::wait::{Deadline, Readiness, Turn, Wait, Waiter};

impl Rx {
    /// Waits for a packet and copies it into `buffer`; returns its length. If it exceeds that of
    /// the buffer, the rest is lost. `None` when [`wait`](Rx::wait) would return `false`.
    ///
    /// ```
    /// # fn f(rx: &mut xsk::Rx) -> xsk::Result<()> {
    /// use std::time::Duration;
    ///
    /// let mut buffer = [0; 2048];
    /// while let Some(length) = rx.recv(&mut buffer, Duration::from_secs(1))? {
    ///     println!("{:02x?}", &buffer[..length.min(2048)]);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn recv(
        &mut self,
        buffer: &mut [u8],
        deadline: impl Into<Deadline>,
    ) -> Result<Option<usize>> {
        if let Some(len) = self.try_recv(buffer) {
            return Ok(Some(len));
        }
        let deadline = deadline.into();
        while self.wait(deadline)? {
            let len = self.try_recv(buffer);
            // The ring may have had only invalid descriptors.
            if len.is_some() || deadline.is_over() {
                return Ok(len);
            }
        }
        Ok(None)
    }

    /// Waits for a packet; returns whether one was received. `false` at the deadline, or earlier
    /// when the [`Interrupt`](crate::wait::Interrupt) of the socket is raised, or a signal handler
    /// ran while the thread slept. A signal just before the wait does not end it, so a handler
    /// should raise an `Interrupt`.
    ///
    /// It does not send packets that are queued in a `Tx`: see [`Tx::flush`](crate::Tx::flush).
    ///
    /// # Errors
    /// When the interface is down or was removed.
    #[inline]
    pub fn wait(&mut self, deadline: impl Into<Deadline>) -> Result<bool> {
        if self.is_ready() {
            return Ok(true);
        }
        self.wait_long(deadline.into())
    }

    /// Changes how this half waits. [`Wait::BusyPoll`] needs the options of
    /// [`Builder::busy_poll`](crate::socket::Builder::busy_poll); without them it behaves as
    /// [`Wait::Spin`].
    pub fn set_wait(&mut self, wait: Wait) {
        self.waiter.set_policy(wait);
    }

    /// Checks that the socket still works.
    ///
    /// # Errors
    /// When the interface is down or was removed.
    pub fn check(&self) -> Result<()> {
        self.bound.check()
    }

    /// Returns a descriptor for event loops that is readable while packets are in the ring. #
    /// Errors When no descriptor is available.
    pub fn readiness(&self) -> Result<Readiness> {
        Readiness::of_readable(self.socket_fd())
    }

    pub(crate) fn socket_fd(&self) -> BorrowedFd<'_> {
        self.bound.socket().as_fd()
    }

    #[inline]
    pub(crate) fn is_ready(&mut self) -> bool {
        self.ring.available(1) > 0
    }

    /// Number of descriptors in the ring.
    pub(super) fn ready(&mut self) -> u32 {
        self.ring.available(u32::MAX)
    }

    /// Refills, and returns whether the kernel has no frame at all. Then no packet can be received,
    /// and no event reports when another half returns frames.
    pub(crate) fn is_starved(&mut self) -> bool {
        self.feed();
        self.fill.inspect(super::Fill::is_empty)
    }

    fn wait_long(&mut self, deadline: Deadline) -> Result<bool> {
        let start = Instant::now();
        let mut turns = self.waiter.begin(deadline, start);
        loop {
            let is_starved = self.is_starved();
            if self.waiter.is_interrupted() {
                return Ok(self.is_ready());
            }
            match turns.next(Instant::now()) {
                Turn::Over => return self.check().map(|()| self.is_ready()),
                Turn::Look | Turn::Drive => self.check()?,
                Turn::Spin => _ = Waiter::spin(|| self.is_ready()),
                Turn::Sleep(limit) => {
                    let limit = if is_starved { limit.min(NAPS.1) } else { limit };
                    let watch = self.bound.link().readable();
                    if self.waiter.sleep(watch, limit)? == Woken::Signal {
                        return Ok(self.is_ready());
                    }
                }
            }
            if self.is_ready() {
                let came = self.ready();
                self.waiter.learn(start.elapsed(), came);
                return Ok(true);
            }
        }
    }
}

/// The descriptor of the socket, for system calls that this library does not have. It must not be
/// duplicated: see [`Readiness`].
impl AsRawFd for Rx {
    fn as_raw_fd(&self) -> RawFd {
        self.socket_fd().as_raw_fd()
    }
}
