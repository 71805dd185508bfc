//! A clock that can be waited for as a descriptor: `timerfd_create(2)`.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::{Error, Result};

/// Readable once its time has come, until it is [`set`](Self::set) or [`clear`](Self::clear)ed.
#[derive(Debug)]
pub struct Timer {
    fd: OwnedFd,
}

impl Timer {
    /// Not running.
    pub fn new() -> Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        if fd < 0 {
            return Err(Error::last("timerfd_create", ""));
        }
        // SAFETY: `fd` was just returned and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd })
    }

    /// Comes once, `after` from now; at least a nanosecond. What came before is forgotten.
    pub fn set(&self, after: Duration) -> Result<()> {
        let after = after.max(Duration::from_nanos(1));
        let value = libc::timespec {
            tv_sec: libc::time_t::try_from(after.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: after.subsec_nanos().into(),
        };
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let times = libc::itimerspec { it_interval: never, it_value: value };
        let fd = self.fd.as_raw_fd();
        // SAFETY: the times outlive the call; nothing is written.
        let answer =
            unsafe { libc::timerfd_settime(fd, 0, &raw const times, std::ptr::null_mut()) };
        if answer < 0 { Err(Error::last("timerfd_settime", "")) } else { Ok(()) }
    }

    /// Whether its time had come since it was set or cleared.
    pub fn clear(&self) -> bool {
        let mut times = 0u64;
        // SAFETY: eight bytes, exclusive.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut times).cast(), 8) };
        got == 8 && times > 0
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::readable;

    #[test]
    fn it_comes_once() {
        let timer = Timer::new().unwrap();
        assert!(!timer.clear());
        timer.set(Duration::from_secs(3600)).unwrap();
        assert!(!readable(timer.as_fd(), Duration::ZERO).unwrap());
        timer.set(Duration::from_millis(1)).unwrap();
        assert!(readable(timer.as_fd(), Duration::from_secs(10)).unwrap());
        assert!(timer.clear() && !timer.clear());
        timer.set(Duration::ZERO).unwrap();
        assert!(readable(timer.as_fd(), Duration::from_secs(10)).unwrap());
        timer.set(Duration::from_secs(3600)).unwrap();
        assert!(!readable(timer.as_fd(), Duration::ZERO).unwrap());
    }
}
