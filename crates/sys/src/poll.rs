//! Waiting for descriptors.

use std::fmt;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::{Error, Result};

/// A descriptor to wait for, and what for; after [`wait`], what came.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Watch<'a> {
    entry: libc::pollfd,
    _fd: PhantomData<BorrowedFd<'a>>,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// This number of descriptors is ready.
    Ready(usize),
    /// The time is over.
    Late,
    /// A signal handler ran in this thread.
    Signal,
}

impl<'a> Watch<'a> {
    /// Waits until the descriptor can be read.
    pub fn readable(fd: BorrowedFd<'a>) -> Self {
        Self::new(fd, libc::POLLIN)
    }

    /// Waits until the descriptor can be written.
    pub fn writable(fd: BorrowedFd<'a>) -> Self {
        Self::new(fd, libc::POLLOUT)
    }

    /// The descriptor is ready, failed, or its other end was closed.
    pub fn is_ready(&self) -> bool {
        self.entry.revents != 0
    }

    /// The descriptor failed, or its other end was closed.
    pub fn is_closed(&self) -> bool {
        self.entry.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }

    fn new(fd: BorrowedFd<'a>, events: i16) -> Self {
        let entry = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
        Self { entry, _fd: PhantomData }
    }
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("fd", &self.entry.fd)
            .field("events", &self.entry.events)
            .field("came", &self.entry.revents)
            .finish()
    }
}

/// Sleeps until one of `watches` is ready, or `timeout` is over; without a timeout, indefinitely.
/// Without descriptors it only sleeps.
pub fn wait(watches: &mut [Watch<'_>], timeout: Option<Duration>) -> Result<Woken> {
    let limit = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), |limit| &raw const *limit);
    let (entries, count) = (watches.as_mut_ptr().cast(), watches.len() as libc::nfds_t);
    // SAFETY: a `Watch` is a `pollfd`, `count` of them are exclusive; the limit outlives the call.
    let answer = unsafe { libc::ppoll(entries, count, limit, std::ptr::null()) };
    match answer {
        0 => Ok(Woken::Late),
        1.. => Ok(Woken::Ready(answer as usize)),
        _ => match Error::last("ppoll", "") {
            error if error.is(libc::EINTR) => Ok(Woken::Signal),
            error => Err(error),
        },
    }
}

/// Whether `fd` became readable within `timeout`; a signal counts as "not yet".
pub fn readable(fd: BorrowedFd<'_>, timeout: Duration) -> Result<bool> {
    let woken = wait(&mut [Watch::readable(fd)], Some(timeout))?;
    Ok(matches!(woken, Woken::Ready(_)))
}

/// Whether all readers closed the pipe of which `fd` is the end for writing.
pub fn is_reader_gone(fd: BorrowedFd<'_>) -> Result<bool> {
    let mut watches = [Watch::new(fd, 0)];
    wait(&mut watches, Some(Duration::ZERO))?;
    Ok(watches[0].entry.revents & libc::POLLERR != 0)
}

#[cfg(test)]
mod tests {
    use std::io::{Write, pipe};
    use std::os::fd::AsFd;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_reader_that_is_gone_is_noticed() {
        let (reader, writer) = pipe().unwrap();
        assert!(!is_reader_gone(writer.as_fd()).unwrap());
        drop(reader);
        assert!(is_reader_gone(writer.as_fd()).unwrap());
    }

    #[test]
    fn the_one_that_is_ready_is_named() {
        let ((quiet, _held), (loud, mut writer)) = (pipe().unwrap(), pipe().unwrap());
        let mut watches = [quiet.as_fd(), loud.as_fd()].map(Watch::readable);
        let long = Some(Duration::from_secs(10));
        assert_eq!(wait(&mut watches, Some(Duration::ZERO)).unwrap(), Woken::Late);
        assert!(watches.iter().all(|watch| !watch.is_ready()));
        writer.write_all(b"x").unwrap();
        assert_eq!(wait(&mut watches, long).unwrap(), Woken::Ready(1));
        assert_eq!(watches.map(|watch| watch.is_ready()), [false, true]);
        let mut writable = [Watch::writable(writer.as_fd())];
        assert_eq!(wait(&mut writable, long).unwrap(), Woken::Ready(1));
        drop(writer);
        assert!(readable(loud.as_fd(), Duration::from_secs(10)).unwrap());
    }

    #[test]
    fn a_signal_is_told_from_the_end_of_the_time() {
        let (tell, told) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            tell.send(crate::thread::Interruptible::current().unwrap()).unwrap();
            wait(&mut [], Some(Duration::from_secs(10))).unwrap()
        });
        let thread = told.recv().unwrap();
        while !sleeper.is_finished() && thread.interrupt().is_ok() {
            std::thread::yield_now();
        }
        assert_eq!(sleeper.join().unwrap(), Woken::Signal);
    }

    #[test]
    fn without_descriptors_it_sleeps() {
        let start = Instant::now();
        assert_eq!(wait(&mut [], Some(Duration::from_millis(2))).unwrap(), Woken::Late);
        assert!(start.elapsed() >= Duration::from_millis(2));
    }
}
