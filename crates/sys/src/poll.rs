//! Waiting for a descriptor.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::{Error, Result};

/// Whether `fd` became readable within `timeout`; a signal counts as "not yet".
pub fn readable(fd: BorrowedFd<'_>, timeout: Duration) -> Result<bool> {
    let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // Round up: a timeout below a millisecond must not become a busy loop.
    let wait = timeout.as_nanos().div_ceil(1_000_000);
    let wait = i32::try_from(wait).unwrap_or(i32::MAX);
    // SAFETY: one entry, exclusive.
    let answer = unsafe { libc::poll(&raw mut entry, 1, wait) };
    if answer < 0 {
        let error = Error::last("poll", "");
        return if error.is(libc::EINTR) { Ok(false) } else { Err(error) };
    }
    Ok(answer > 0)
}
