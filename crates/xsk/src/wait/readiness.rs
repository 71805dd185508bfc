//! What a program's own event loop waits for.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use sys::epoll::Epoll;

use crate::Result;

/// A descriptor for `poll`, `epoll` and all that is built on them; always waited for as something
/// *readable*. See [`Rx::readiness`](crate::Rx::readiness) and
/// [`Tx::readiness`](crate::Tx::readiness).
///
/// It is not the socket's own descriptor: a copy of that one would keep the socket open when its
/// halves are gone, and the kernel would go on to write into frames that are somebody else's by
/// then. This one can be copied and kept as one likes.
///
/// With edge-triggered loops, look into the ring until it is empty before the next wait. An
/// interface that is removed wakes nobody: have a timeout, and call
/// [`Rx::check`](crate::Rx::check) then.
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
    /// Of something to read from `fd`.
    pub(crate) fn of_readable(fd: BorrowedFd<'_>) -> Result<Self> {
        let epoll = Epoll::new()?;
        epoll.watch_readable(fd)?;
        Ok(Self { epoll })
    }

    /// As well of something to read from `fd`.
    #[cfg(feature = "tokio")]
    pub(crate) fn add(&self, fd: BorrowedFd<'_>) -> Result<()> {
        Ok(self.epoll.watch_readable(fd)?)
    }

    /// Of room to write to `fd`.
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
