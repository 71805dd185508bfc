//! What both halves of a socket share: the descriptor, and the duty to bring frames home.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sys::net::Ifindex;
use sys::net::xsk::XskSocket;

use crate::Result;
use crate::umem::Handle;

/// A socket, bound or to be bound. Its rings are mapped by the halves, which hold it.
#[derive(Debug)]
pub(crate) struct Bound {
    /// `None` only while it closes.
    socket: Option<XskSocket>,
    handle: Handle,
    /// Whose the frames are that the kernel has from this socket.
    pub pool: u32,
    pub interface: String,
    pub ifindex: Ifindex,
    pub queue: u32,
    /// The kernel tells when it wants to be called; else it is called for every batch.
    pub is_wakeup_told: bool,
    pub is_multi_buffer: bool,
    is_zero_copy: AtomicBool,
}

/// Where and how a socket is bound.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub interface: String,
    pub ifindex: Ifindex,
    pub queue: u32,
    pub is_wakeup_told: bool,
    pub is_multi_buffer: bool,
}

impl Bound {
    pub fn new(socket: XskSocket, handle: Handle, opening: Opening) -> Arc<Self> {
        let pool = handle.region().new_pool();
        Arc::new(Self {
            socket: Some(socket),
            handle,
            pool,
            interface: opening.interface,
            ifindex: opening.ifindex,
            queue: opening.queue,
            is_wakeup_told: opening.is_wakeup_told,
            is_multi_buffer: opening.is_multi_buffer,
            is_zero_copy: AtomicBool::new(false),
        })
    }

    #[inline]
    pub fn socket(&self) -> &XskSocket {
        self.socket.as_ref().expect("open until it is dropped")
    }

    pub fn is_zero_copy(&self) -> bool {
        self.is_zero_copy.load(Ordering::Relaxed)
    }

    /// Asks the kernel, after the bind, which mode it chose.
    pub fn note_mode(&self) -> Result<()> {
        self.is_zero_copy.store(self.socket().is_zero_copy()?, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // The rings are unmapped, so this closes the kernel's socket. In copy mode the kernel
        // touches the memory no more when `close` returns: `xsk_release` waits for all readers.
        drop(self.socket.take());
        if self.is_zero_copy() {
            // A driver lets go of its frames some milliseconds later.
            self.handle.region().retire(self.pool);
        } else {
            self.handle.reclaim(self.pool);
        }
    }
}
