//! What both halves of a socket share: the descriptor, and the duty to bring frames home.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use sys::net::Ifindex;
use sys::net::xsk::XskSocket;

use super::link::Link;
use crate::device::Device;
use crate::diagnose::{Attempt, explain};
use crate::ring::Gauge;
use crate::umem::Handle;
use crate::{Error, Result};

/// A socket, bound or to be bound. Its rings are mapped by the halves, which hold it.
#[derive(Debug)]
pub(crate) struct Bound {
    // In this order: the last ring is unmapped, the descriptor closed, and then the pool ends.
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
    /// The kernel tells when it wants to be called; else it is called for every batch.
    pub is_wakeup_told: bool,
    pub is_multi_buffer: bool,
}

/// How full the rings are that the kernel takes from.
#[derive(Clone, Debug)]
pub(crate) struct Gauges {
    pub fill: Gauge,
    pub tx: Gauge,
}

/// The frames that the kernel has from the sockets of one queue.
#[derive(Debug)]
pub(crate) struct Pool {
    handle: Handle,
    /// Whose the frames are.
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

    /// The rings are there; once.
    pub fn set_gauges(&self, gauges: Gauges) {
        let is_first = self.gauges.set(gauges).is_ok();
        assert!(is_first, "a socket's rings are mapped once");
    }

    pub fn gauges(&self) -> Option<&Gauges> {
        self.gauges.get()
    }

    #[inline]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// What the kernel refused, in words for whoever uses the socket.
    #[cold]
    pub fn explain(&self, error: sys::Error) -> Error {
        let device = Device { name: self.opening.interface.clone(), ..Device::default() };
        explain(error, Attempt { device: Some(&device), ..Attempt::default() })
    }

    /// Asks the kernel whether the socket still works; it also lets a driver go on that waits to be
    /// called.
    pub fn check(&self) -> Result<()> {
        match self.link.kick_receive() {
            Ok(_) => Ok(()),
            Err(error) => Err(self.explain(error)),
        }
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

    /// Asks the kernel, after the bind, which mode it chose.
    pub fn note_mode(&self) -> Result<()> {
        let mode = self.socket().is_zero_copy();
        // Unknown: then frames are treated with the care that zero copy needs.
        self.pool.is_zero_copy.store(*mode.as_ref().unwrap_or(&true), Ordering::Relaxed);
        mode?;
        Ok(())
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

    /// Whose the frames are that the kernel has from its sockets.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The rings are unmapped and the descriptors closed, so the kernel has let go of the
        // sockets. In copy mode it touches the memory no more when `close` returns: `xsk_release`
        // waits for all readers.
        if self.is_zero_copy.load(Ordering::Relaxed) {
            // A driver lets go of its frames some milliseconds later.
            self.handle.retire(self.number);
        } else {
            self.handle.reclaim(self.number);
        }
    }
}
