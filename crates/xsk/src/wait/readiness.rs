//! `Readiness`: a descriptor for event loops.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use sys::epoll::Epoll;

use crate::Result;

/// A descriptor for `poll`, `epoll` and event loops based on them, which must wait until it is
/// *readable*. See [`Rx::readiness`](crate::Rx::readiness) and
/// [`Tx::readiness`](crate::Tx::readiness).
///
/// It is not the descriptor of the socket: a duplicate of that one would keep the socket open after
/// its halves are dropped, and the kernel would continue to write into frames that have another
/// owner by then. This descriptor may be duplicated and kept.
///
/// With edge-triggered events, read until the ring is empty before the next wait. The removal of an
/// interface causes no event: use a timeout, and call [`Rx::check`](crate::Rx::check) after it.
///
/// ```
/// # fn f(rx: &mut xsk::Rx) -> Result<(), Box<dyn std::error::Error>> {
/// use std::os::fd::AsFd;
///
/// let readiness = rx.readiness()?;
/// let mut buffer = [0; 2048];
/// loop {
///     // `event_loop::wait` stands for mio's `Poll`, the crate polling, or `poll(2)` itself.
///     # mod event_loop { pub fn wait(_: impl std::os::fd::AsFd) {} }
///     event_loop::wait(readiness.as_fd());
///     while let Some(length) = rx.try_recv(&mut buffer) {
///         println!("{length} bytes");
///     }
///     # break Ok(());
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Readiness {
    epoll: Epoll,
}

impl Readiness {
    /// Readable when `fd` is readable.
    pub(crate) fn of_readable(fd: BorrowedFd<'_>) -> Result<Self> {
        let epoll = Epoll::new()?;
        epoll.watch_readable(fd)?;
        Ok(Self { epoll })
    }

    /// Adds a condition: also readable when `fd` is readable.
    #[cfg(feature = "tokio")]
    pub(crate) fn add(&self, fd: BorrowedFd<'_>) -> Result<()> {
        Ok(self.epoll.watch_readable(fd)?)
    }

    /// Readable when `fd` is writable.
    pub(crate) fn of_writable(fd: BorrowedFd<'_>) -> Result<Self> {
        let epoll = Epoll::new()?;
        epoll.watch_writable(fd)?;
        Ok(Self { epoll })
    }
}

impl AsFd for Readiness {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl AsRawFd for Readiness {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
