//! Other processes: distinguishing one from a later one with the same number, killing it, and
//! inspecting what it holds.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{Error, Result};

/// A process that cannot be mistaken for another of the same boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Process id.
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

    /// Kills it, unless it is gone or its number belongs to another process: then `false`.
    pub fn kill(self) -> Result<bool> {
        let object = || format!("process {}", self.pid);
        let pidfd = match pidfd_open(self.pid) {
            Ok(pidfd) => pidfd,
            Err(error) if error.is(libc::ESRCH) => return Ok(false),
            Err(error) => return Err(error),
        };
        // The descriptor holds the process that has the number now, so the one checked next is
        // killed.
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

/// A copy of another process's descriptor (Linux 5.6). The file is open as long as the
/// copy, so hold it briefly. `EPERM` where this process might not debug the other.
pub fn descriptor_of(pid: u32, descriptor: i32) -> Result<OwnedFd> {
    let pidfd = pidfd_open(pid)?;
    let (call, no_flags) = (libc::SYS_pidfd_getfd, 0);
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::syscall(call, pidfd.as_raw_fd(), descriptor, no_flags) };
    if fd < 0 {
        return Err(Error::last("pidfd_getfd", format!("{descriptor} of process {pid}")));
    }
    // SAFETY: `fd` was just returned by the kernel and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn pidfd_open(pid: u32) -> Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(Error::last("pidfd_open", format!("process {pid}")));
    }
    // SAFETY: `fd` was just returned by the kernel and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
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
    fn a_descriptor_of_another_process_is_copied() {
        use std::io::{Read as _, Write as _};
        use std::process::{Command, Stdio};
        let mut command = Command::new("cat");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = descriptor_of(child.id(), 1).unwrap();
        fs::File::from(output).write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert!(descriptor_of(child.id(), 999).unwrap_err().is(libc::EBADF));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(descriptor_of(child.id(), 0).unwrap_err().is(libc::ESRCH));
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
