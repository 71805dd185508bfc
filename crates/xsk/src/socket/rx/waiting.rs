//! Waiting for packets.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Instant;

use sys::poll::Woken;

use super::Rx;
use crate::Result;
use crate::limits::NAPS;
use crate::wait::{Deadline, Readiness, Turn, Wait, Waiter};

impl Rx {
    /// Waits for a packet and copies it into `buffer`; tells its length, which may be more than
    /// the buffer's: then the rest is lost. `None` as [`wait`](Rx::wait) says.
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
            // What came may have been no packet.
            if len.is_some() || deadline.is_over() {
                return Ok(len);
            }
        }
        Ok(None)
    }

    /// Waits until a packet is there; tells whether one is. `false` at the deadline, and earlier
    /// when the socket's [`Interrupt`](crate::wait::Interrupt) is raised, or a signal handler ran
    /// while the thread slept. A signal that comes just before the wait does not end it: a handler
    /// does better to raise an `Interrupt`.
    ///
    /// Packets that wait for their batch in this thread's `Tx` are not sent by this: see
    /// [`Tx::flush`](crate::Tx::flush).
    ///
    /// # Errors
    /// When the interface is down or gone.
    #[inline]
    pub fn wait(&mut self, deadline: impl Into<Deadline>) -> Result<bool> {
        if self.is_ready() {
            return Ok(true);
        }
        self.wait_long(deadline.into())
    }

    /// Waits differently from now on. [`Wait::BusyPoll`] needs the options of
    /// [`Builder::busy_poll`](crate::socket::Builder::busy_poll); without them it is as
    /// [`Wait::Spin`].
    pub fn set_wait(&mut self, wait: Wait) {
        self.waiter.set_policy(wait);
    }

    /// Asks the kernel whether the socket still works.
    ///
    /// # Errors
    /// When the interface is down or gone.
    pub fn check(&self) -> Result<()> {
        self.bound.check()
    }

    /// For event loops: readable while packets are there.
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

    /// Descriptors that are there.
    pub(crate) fn ready(&mut self) -> u32 {
        self.ring.available(u32::MAX)
    }

    pub(crate) fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    pub(crate) fn waiter_mut(&mut self) -> &mut Waiter {
        &mut self.waiter
    }

    /// Gives the kernel what there is, and tells whether it still has no frame at all: then no
    /// packet can come, and nothing tells when another half has given frames back.
    pub(crate) fn is_starved(&mut self) -> bool {
        self.feed();
        self.fill.look(super::Fill::is_empty)
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
                Turn::Spin => _ = Waiter::look(|| self.is_ready()),
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

/// The socket's own number, for system calls that this library has not. Do not copy the
/// descriptor: see [`Readiness`].
impl AsRawFd for Rx {
    fn as_raw_fd(&self) -> RawFd {
        self.socket_fd().as_raw_fd()
    }
}
