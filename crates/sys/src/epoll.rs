//! One descriptor for several others: `epoll(7)`.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::{Error, Result};

/// A descriptor that is readable while any of the watched ones is ready.
///
/// It keeps none of them open: one that is closed is no longer watched.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
}

impl Epoll {
    /// Creates an instance without descriptors.
    pub fn new() -> Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(Error::last("epoll_create1", ""));
        }
        // SAFETY: `fd` was just returned and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd })
    }

    /// Watches `fd` for something to read.
    pub fn watch_readable(&self, fd: BorrowedFd<'_>) -> Result<()> {
        self.add(fd, libc::EPOLLIN)
    }

    /// Watches `fd` for room to write.
    pub fn watch_writable(&self, fd: BorrowedFd<'_>) -> Result<()> {
        self.add(fd, libc::EPOLLOUT)
    }

    fn add(&self, fd: BorrowedFd<'_>, events: i32) -> Result<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: 0 };
        let (set, fd, event) = (self.fd.as_raw_fd(), fd.as_raw_fd(), &raw mut event);
        // SAFETY: the event outlives the call, which only reads it.
        let answer = unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, event) };
        if answer < 0 { Err(Error::last("epoll_ctl(ADD)", "")) } else { Ok(()) }
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write, pipe};
    use std::time::Duration;

    use super::*;
    use crate::poll::readable;

    #[test]
    fn it_tells_for_all_and_keeps_none_open() {
        let epoll = Epoll::new().unwrap();
        let ((mut one, mut first), (two, second)) = (pipe().unwrap(), pipe().unwrap());
        epoll.watch_readable(one.as_fd()).unwrap();
        epoll.watch_readable(two.as_fd()).unwrap();
        assert!(!readable(epoll.as_fd(), Duration::ZERO).unwrap());
        first.write_all(b"x").unwrap();
        assert!(readable(epoll.as_fd(), Duration::from_secs(10)).unwrap());
        one.read_exact(&mut [0]).unwrap();
        assert!(!readable(epoll.as_fd(), Duration::ZERO).unwrap());
        epoll.watch_writable(second.as_fd()).unwrap();
        assert!(readable(epoll.as_fd(), Duration::ZERO).unwrap());
        drop((two, second));
        assert!(!readable(epoll.as_fd(), Duration::ZERO).unwrap());
    }
}
