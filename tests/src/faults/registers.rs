//! The registers of a thread that is stopped at a system call.
//!
//! Rule: the only file that knows the processor. Elsewhere than on x86-64 the campaign ends with
//! an error, because numbers and registers are others.

use nix::Result;
use nix::unistd::Pid;

use super::call::Entry;

/// The call that the thread is about to make.
#[cfg(target_arch = "x86_64")]
pub fn entry(thread: Pid) -> Result<Entry> {
    let regs = nix::sys::ptrace::getregs(thread)?;
    let args = [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9];
    Ok(Entry { number: regs.orig_rax, args })
}

/// Makes the kernel skip the call at whose entry the thread is stopped.
#[cfg(target_arch = "x86_64")]
pub fn skip(thread: Pid) -> Result<()> {
    let mut regs = nix::sys::ptrace::getregs(thread)?;
    regs.orig_rax = u64::MAX;
    nix::sys::ptrace::setregs(thread, regs)
}

/// What the call returned, at its exit.
#[cfg(target_arch = "x86_64")]
pub fn result(thread: Pid) -> Result<i64> {
    Ok(nix::sys::ptrace::getregs(thread)?.rax as i64)
}

/// Replaces what the call returns.
#[cfg(target_arch = "x86_64")]
pub fn set_result(thread: Pid, value: i64) -> Result<()> {
    let mut regs = nix::sys::ptrace::getregs(thread)?;
    regs.rax = value as u64;
    nix::sys::ptrace::setregs(thread, regs)
}

#[cfg(not(target_arch = "x86_64"))]
mod other {
    use super::*;

    pub fn entry(_: Pid) -> Result<Entry> {
        Err(nix::errno::Errno::ENOSYS)
    }

    pub fn skip(_: Pid) -> Result<()> {
        Err(nix::errno::Errno::ENOSYS)
    }

    pub fn result(_: Pid) -> Result<i64> {
        Err(nix::errno::Errno::ENOSYS)
    }

    pub fn set_result(_: Pid, _: i64) -> Result<()> {
        Err(nix::errno::Errno::ENOSYS)
    }
}
#[cfg(not(target_arch = "x86_64"))]
pub use other::*;
