//! The calls that a socket makes while packets flow.

use std::os::fd::AsFd;

use sys::net::xsk::{Kick, XskSocket};
use sys::poll::Watch;

/// A socket of the kernel, or, in tests, of a kernel that is a value.
#[derive(Debug)]
pub(crate) enum Link {
    Kernel(XskSocket),
    #[cfg(any(test, fuzzing))]
    Fake(crate::fake::Line),
}

impl Link {
    /// The socket, for everything that is set and asked besides packets.
    #[inline]
    pub fn socket(&self) -> &XskSocket {
        match self {
            Self::Kernel(socket) => socket,
            #[cfg(any(test, fuzzing))]
            Self::Fake(_) => unreachable!("a fake kernel knows packets alone"),
        }
    }

    /// As [`XskSocket::kick_transmit`].
    #[inline]
    pub fn kick_transmit(&self) -> sys::Result<Kick> {
        match self {
            Self::Kernel(socket) => socket.kick_transmit(),
            #[cfg(any(test, fuzzing))]
            Self::Fake(line) => line.kick_transmit(),
        }
    }

    /// As [`XskSocket::kick_receive`].
    #[inline]
    pub fn kick_receive(&self) -> sys::Result<bool> {
        match self {
            Self::Kernel(socket) => socket.kick_receive(),
            #[cfg(any(test, fuzzing))]
            Self::Fake(line) => line.kick_receive(),
        }
    }

    /// To sleep until there is something to receive; `None` where nothing tells.
    pub fn readable(&self) -> Option<Watch<'_>> {
        match self {
            Self::Kernel(socket) => Some(Watch::readable(socket.as_fd())),
            #[cfg(any(test, fuzzing))]
            Self::Fake(_) => None,
        }
    }

    /// To sleep until the tx ring is half empty, as [`Link::readable`].
    pub fn writable(&self) -> Option<Watch<'_>> {
        match self {
            Self::Kernel(socket) => Some(Watch::writable(socket.as_fd())),
            #[cfg(any(test, fuzzing))]
            Self::Fake(_) => None,
        }
    }
}
