//! What `ethtool` shows and changes: features, channels, driver and its statistics; and what it
//! only shows here: flow control, rings, speed.
//!
//! Rule: an [`Ethtool`] belongs to the namespace in which it was opened; interfaces go by name.
//! It uses the ioctl, which every kernel since 5.15 and before has for all of this.

mod channels;
mod driver;
mod features;
mod pause;
mod rings;
mod speed;
mod strings;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub use channels::Channels;
pub use driver::Driver;
pub use features::Feature;
pub use pause::Pause;
pub use rings::Rings;

use super::link::check_name;
use crate::error::{Error, Result};

/// A socket for ethtool requests.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
}

impl Ethtool {
    /// Opens a socket in this thread's network namespace.
    pub fn open() -> Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(Error::last("socket(AF_INET)", ""));
        }
        // SAFETY: `fd` was just returned by `socket` and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { socket })
    }

    /// One request. `data` starts with the command and is as long as that command's answer.
    fn ioctl(&self, call: &'static str, name: &str, data: &mut [u8]) -> Result<u32> {
        check_name(call, name)?;
        assert!(data.len() >= 4, "an ethtool request starts with its command");
        let mut request =
            Request { name: [0; libc::IFNAMSIZ], data: data.as_mut_ptr(), pad: [0; 16] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        // SAFETY: `request` has the layout of `struct ifreq` for SIOCETHTOOL, whose data points at
        // `data`; callers size it for the command, so the kernel writes only within it.
        let answer =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
        u32::try_from(answer).map_err(|_| Error::last(call, name))
    }
}

/// `struct ifreq` with its pointer member: 40 bytes on 64-bit machines.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut u8,
    pad: [u8; 16],
}

fn word(data: &[u8], index: usize) -> u32 {
    data.get(index * 4..index * 4 + 4)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u32::from_ne_bytes)
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A text field: up to the first zero.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}
