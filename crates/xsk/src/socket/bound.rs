//! `Bound`: the descriptor that both halves of a socket share, and `Pool`, which returns its
//! frames.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use sys::net::Ifindex;
use sys::net::xsk::XskSocket;

use super::link::Link;
use crate::device::Device;
use crate::diagnose::{Attempt, explain};
use crate::ring::Gauge;
use crate::umem::{BindOptions, BoundSocket, Filled, Handle};
use crate::{Error, Result};

/// A socket during or after binding. The halves hold it and map its rings.
#[derive(Debug)]
pub(crate) struct Bound {
    // The order of the fields matters: the last ring is unmapped, the descriptor closed, then the
    // pool dropped.
    gauges: OnceLock<Gauges>,
    link: Link,
    pool: Arc<Pool>,
    pub opening: Opening,
}

/// Where and how a socket is bound.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub interface: String,
    pub ifindex: Ifindex,
    pub queue: u32,
    pub options: BindOptions,
}

/// Gauges of the rings that the kernel consumes.
#[derive(Clone, Debug)]
pub(crate) struct Gauges {
    pub fill: Gauge,
    pub tx: Gauge,
}

/// The frames of the sockets of one queue that are with the kernel.
#[derive(Debug)]
pub(crate) struct Pool {
    handle: Handle,
    /// Number that marks these frames as owned.
    number: u32,
    is_zero_copy: AtomicBool,
}

impl Bound {
    pub fn new(link: Link, pool: Arc<Pool>, opening: Opening) -> Arc<Self> {
        Arc::new(Self { gauges: OnceLock::new(), link, pool, opening })
    }

    #[inline]
    pub fn socket(&self) -> &XskSocket {
        self.link.socket()
    }

    /// Sets the gauges, once, after the rings were mapped.
    pub fn set_gauges(&self, gauges: Gauges) {
        let is_first = self.gauges.set(gauges).is_ok();
        assert!(is_first, "a socket's rings are mapped once");
    }

    #[inline]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Explains a failed call to the user of the socket.
    #[cold]
    pub fn explain(&self, error: sys::Error) -> Error {
        let device = Device { name: self.opening.interface.clone(), ..Device::default() };
        explain(error, Attempt { device: Some(&device), ..Attempt::default() })
    }

    /// Checks that the socket still works; also wakes a driver that waits to be called.
    pub fn check(&self) -> Result<()> {
        match self.link.kick_receive() {
            Ok(_) => Ok(()),
            Err(error) => Err(self.explain(error)),
        }
    }

    /// Registers it with its memory, whose registration it can lend and whose audit counts its
    /// rings.
    pub fn register(self: &Arc<Self>) {
        let socket: Weak<Self> = Arc::downgrade(self);
        self.pool.handle.region().remember(socket);
    }

    pub fn shared_pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub fn is_zero_copy(&self) -> bool {
        self.pool.is_zero_copy.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub fn assume_zero_copy(&self) {
        self.pool.is_zero_copy.store(true, Ordering::Relaxed);
    }

    /// Reads from the kernel, after binding, which mode it selected.
    pub fn note_mode(&self) -> Result<()> {
        let mode = self.socket().is_zero_copy();
        // If unknown, frames are treated as with zero copy.
        self.pool.is_zero_copy.store(*mode.as_ref().unwrap_or(&true), Ordering::Relaxed);
        mode?;
        Ok(())
    }
}

impl BoundSocket for Bound {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }

    fn options(&self) -> BindOptions {
        self.opening.options
    }

    fn pool(&self) -> u32 {
        self.pool.number
    }

    fn filled(&self) -> Option<Filled> {
        let gauges = self.gauges.get()?;
        Some(Filled { fill: gauges.fill.filled(), tx: gauges.tx.filled() })
    }
}

impl Pool {
    pub fn new(handle: Handle) -> Arc<Self> {
        let number = handle.region().new_pool();
        Arc::new(Self { handle, number, is_zero_copy: AtomicBool::new(false) })
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Number that marks frames of its sockets that are with the kernel.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The rings are unmapped and the descriptors closed. In copy mode the kernel no longer
        // accesses the memory when `close` returns: `xsk_release` waits for all readers.
        if self.is_zero_copy.load(Ordering::Relaxed) {
            // A driver releases its frames some milliseconds later.
            self.handle.retire(self.number);
        } else {
            self.handle.reclaim(self.number);
        }
    }
}
