//! `LinkEvents`: notices that interfaces of a namespace appear, change or vanish.
//!
//! Rule: an event only states that something changed; what is there is then read by
//! [`Netlink`](super::Netlink). Hence lost events do no harm: an overrun is an event, too.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_sys::Socket;

use crate::error::{Error, Result};

/// A socket that receives all changes of interfaces.
#[derive(Debug)]
pub struct LinkEvents(Socket);

impl LinkEvents {
    /// Opens a socket in this thread's network namespace.
    pub fn open() -> Result<Self> {
        let fail = |error: std::io::Error| Error::from_io("socket(NETLINK_ROUTE)", "", &error);
        let mut socket = Socket::new(netlink_sys::protocols::NETLINK_ROUTE).map_err(fail)?;
        socket.bind_auto().map_err(fail)?;
        socket.add_membership(LINKS).map_err(fail)?;
        socket.set_non_blocking(true).map_err(fail)?;
        Ok(Self(socket))
    }

    /// Takes all events that have come; whether there were any.
    pub fn take(&self) -> Result<bool> {
        let mut any = false;
        loop {
            let mut part = Vec::with_capacity(PART);
            match self.0.recv(&mut part, 0) {
                Ok(_) => any = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(any),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => any = true,
                Err(error) => return Err(Error::from_io("recv(NETLINK_ROUTE)", "", &error)),
            }
        }
    }

    /// Readable while there are events.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket owns its descriptor, which is open as long as the borrow lasts.
        unsafe { BorrowedFd::borrow_raw(self.0.as_raw_fd()) }
    }
}

/// `RTNLGRP_LINK`.
const LINKS: u32 = 1;
/// Bytes of one event that are read.
const PART: usize = 16 << 10;
