//! The system calls of a socket while packets flow.

use std::os::fd::AsFd;

use sys::net::xsk::{Kick, XskSocket};
use sys::poll::Watch;

/// A socket of the kernel or, in tests, of a simulated kernel.
#[derive(Debug)]
pub(crate) enum Link {
    Kernel(XskSocket),
    #[cfg(any(test, fuzzing))]
    Fake(crate::fake::Line),
}

impl Link {
    /// The socket, for options and queries.
    #[inline]
    pub fn socket(&self) -> &XskSocket {
        match self {
            Self::Kernel(socket) => socket,
            #[cfg(any(test, fuzzing))]
            Self::Fake(_) => unreachable!("a simulated kernel has no options"),
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

    /// For sleeping until a packet can be received; `None` where no event is available.
    pub fn readable(&self) -> Option<Watch<'_>> {
        match self {
            Self::Kernel(socket) => Some(Watch::readable(socket.as_fd())),
            #[cfg(any(test, fuzzing))]
            Self::Fake(_) => None,
        }
    }

    /// For sleeping until the tx ring is half empty, as [`Link::readable`].
    pub fn writable(&self) -> Option<Watch<'_>> {
        match self {
            Self::Kernel(socket) => Some(Watch::writable(socket.as_fd())),
            #[cfg(any(test, fuzzing))]
            Self::Fake(_) => None,
        }
    }
}
