//! Signals as something to read: SIGINT and SIGTERM wait in a descriptor instead of ending the
//! process.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use crate::{Error, Result, poll};

/// The signal that asks a service to read its configuration again, SIGHUP.
pub const RELOAD: i32 = libc::SIGHUP;

/// Holds back SIGINT, SIGTERM and SIGHUP in the calling thread and in every thread that it starts
/// from now on; dropped, the old mask returns. Make it in `main`, before any thread.
#[derive(Debug)]
pub struct Stop {
    fd: OwnedFd,
    old: Mask,
}

struct Mask(libc::sigset_t);

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

impl Stop {
    /// Blocks SIGINT, SIGTERM and SIGHUP in the calling thread and opens a descriptor for them.
    pub fn new() -> Result<Self> {
        let wanted = set(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
        let mut old = set(&[]);
        // SAFETY: both sets are initialised, the second exclusive.
        let answer =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const wanted, &raw mut old) };
        if answer != 0 {
            return Err(Error::new("pthread_sigmask", "", answer));
        }
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the set is only read; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &raw const wanted, flags) };
        if fd < 0 {
            let error = Error::last("signalfd", "");
            restore(&old);
            return Err(error);
        }
        // SAFETY: the kernel has just created this descriptor, which has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd, old: Mask(old) })
    }

    /// Lets a command hear the signals that are held back here: it starts with the old mask.
    pub fn release(&self, command: &mut Command) {
        let old = self.old.0;
        let restored = move || {
            restore(&old);
            Ok(())
        };
        // SAFETY: between fork and exec it only sets the mask, which is async-signal-safe.
        unsafe { command.pre_exec(restored) };
    }

    /// The number of a signal that has come since the last call.
    pub fn pending(&self) -> Option<i32> {
        let mut word = [0u8; size_of::<libc::signalfd_siginfo>()];
        // SAFETY: the buffer is exclusive and has the stated length.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), word.as_mut_ptr().cast(), word.len()) };
        let whole = usize::try_from(got).is_ok_and(|got| got == word.len());
        // The first field is the signal's number.
        whole.then(|| i32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
    }

    /// Waits at most `timeout` for one.
    pub fn wait(&self, timeout: Duration) -> Result<Option<i32>> {
        poll::readable(self.fd.as_fd(), timeout)?;
        Ok(self.pending())
    }
}

/// Whether SIGINT, SIGTERM or SIGHUP waits to be taken by a [`Stop`].
pub fn is_pending() -> bool {
    let mut waiting = set(&[]);
    // SAFETY: `waiting` is initialised and exclusive.
    unsafe { libc::sigpending(&raw mut waiting) };
    // SAFETY: `waiting` is initialised; the numbers are real signals.
    let waits = |signal| unsafe { libc::sigismember(&raw const waiting, signal) } == 1;
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].into_iter().any(waits)
}

/// For waiting on it together with other descriptors.
impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        restore(&self.old.0);
    }
}

fn set(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: a bit set; `sigemptyset` below gives it its meaning.
    let mut set = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is exclusive.
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in signals {
        // SAFETY: `set` is initialised and exclusive; the numbers are real signals.
        unsafe { libc::sigaddset(&raw mut set, *signal) };
    }
    set
}

fn restore(old: &libc::sigset_t) {
    // SAFETY: `old` came from the same call. A failure would leave signals held back, harmlessly.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, old, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_waits_to_be_read() {
        let stop = Stop::new().unwrap();
        assert_eq!(stop.pending(), None);
        // SAFETY: held back in this thread, which sends it to itself.
        unsafe { libc::raise(libc::SIGTERM) };
        assert!(is_pending());
        assert_eq!(stop.wait(Duration::from_secs(5)).unwrap(), Some(libc::SIGTERM));
        assert_eq!(stop.pending(), None);
    }

    #[test]
    fn a_released_command_hears_them() {
        let stop = Stop::new().unwrap();
        let mut command = Command::new("sh");
        stop.release(command.args(["-c", "kill -TERM $$; exit 3"]));
        let status = command.status().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGTERM));
    }
}
