//! Other processes: telling one from a later one with the same number, and ending it.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{Error, Result};

/// A process that cannot be mistaken for another of the same boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// Clock ticks from boot to its start.
    pub started: u64,
}

impl Process {
    /// `ESRCH` when there is none with this number.
    pub fn of(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let gone = || Error::new("open", path.as_str(), libc::ESRCH);
        let text = fs::read_to_string(&path).map_err(|_| gone())?;
        let started = start_of(&text).ok_or_else(gone)?;
        Ok(Self { pid, started })
    }

    /// Kills it, unless it is gone or its number belongs to somebody else now: then `false`.
    pub fn kill(self) -> Result<bool> {
        let object = || format!("process {}", self.pid);
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, self.pid, 0) };
        if fd < 0 {
            let error = Error::last("pidfd_open", object());
            return if error.is(libc::ESRCH) { Ok(false) } else { Err(error) };
        }
        // SAFETY: `fd` was just returned by the kernel and has no other owner.
        let pidfd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        // The descriptor holds whoever has the number now, so what is checked next is what dies.
        if Self::of(self.pid) != Ok(self) {
            return Ok(false);
        }
        let no_info = std::ptr::null::<libc::siginfo_t>();
        let (call, fd) = (libc::SYS_pidfd_send_signal, pidfd.as_raw_fd());
        // SAFETY: a null `siginfo_t` asks for the one that `kill` sends.
        let status = unsafe { libc::syscall(call, fd, libc::SIGKILL, no_info, 0) };
        if status == 0 {
            return Ok(true);
        }
        let error = Error::last("pidfd_send_signal", object());
        if error.is(libc::ESRCH) { Ok(false) } else { Err(error) }
    }
}

/// Field 22; the name in field 2 may hold blanks and brackets.
fn start_of(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_brackets_do_not_shift_fields() {
        let fields: Vec<String> = (3..30).map(|field| field.to_string()).collect();
        let stat = format!("17 (a) b (c) {}", fields.join(" "));
        assert_eq!(start_of(&stat), Some(22));
        assert_eq!(start_of("17 (cut"), None);
        assert_eq!(start_of("17 (cut) S 1"), None);
    }

    #[test]
    fn only_the_same_process_is_killed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let real = Process::of(child.id()).unwrap();
        let other = Process { started: real.started + 1, ..real };
        assert_eq!(other.kill(), Ok(false));
        assert!(child.try_wait().unwrap().is_none(), "it must still run");
        assert_eq!(real.kill(), Ok(true));
        assert!(!child.wait().unwrap().success());
        assert_eq!(real.kill(), Ok(false));
    }
}
