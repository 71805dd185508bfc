//! `Steered`: a socket that counts the packets steered to it and reads none.
//!
//! Its fill ring is always empty, so the kernel counts each packet as dropped for lack of a frame:
//! all that a test of steering needs, without rings in memory.

use std::os::fd::AsFd;
use std::time::Duration;

use sys::errno::EBUSY;
use sys::memory::{Anonymous, Pages};
use sys::net::xsk::{RingKind, UmemMemory, XskBinding, XskSocket};
use sys::net::{Ifindex, Netlink};
use xsk::steer::{Entry, Mode, Options, Steer, Steering};

/// Dropped in this order: first the entry, then the socket, then its memory.
#[derive(Debug)]
pub struct Steered {
    pub entry: Option<Entry>,
    pub steering: Steering,
    pub socket: Counting,
}

/// The socket alone, bound to a queue.
#[derive(Debug)]
pub struct Counting {
    socket: XskSocket,
    _memory: Anonymous,
}

impl Steered {
    /// In the calling thread's namespace.
    pub fn open(
        interface: &str,
        queue: u32,
        steer: &Steer,
        (mode, options): (Mode, Options),
    ) -> xsk::Result<Self> {
        let ifindex = Netlink::open()?.link(interface)?.ifindex;
        let steering = Steering::attach(ifindex, mode, steer, options)?;
        let socket = Counting::open(ifindex, queue)?;
        let entry = Some(steering.insert(queue, socket.socket.as_fd())?);
        Ok(Self { entry, steering, socket })
    }

    /// Packets that it was given.
    pub fn count(&self) -> u64 {
        self.socket.count()
    }
}

impl Counting {
    pub fn open(ifindex: Ifindex, queue: u32) -> sys::Result<Self> {
        let memory = Anonymous::new(16 * 4096, Pages::Plain)?;
        let socket = XskSocket::open()?;
        let (start, len) = (memory.as_ptr(), memory.len());
        let chunk_size = 4096;
        let area = UmemMemory { start, len, chunk_size, headroom: 0, flags: 0, tx_metadata_len: 0 };
        socket.register(&area)?;
        for kind in [RingKind::Fill, RingKind::Completion, RingKind::Rx] {
            socket.create_ring(kind, 16)?;
        }
        let to = XskBinding { ifindex, queue, flags: 0 };
        let mut last = None;
        // The previous socket of the queue is still being closed.
        let bound = lab::until("a free queue", PATIENCE, || {
            last = socket.bind(to, None).err();
            match &last {
                Some(error) if error.is(EBUSY) => Ok(None),
                _ => Ok(Some(())),
            }
        });
        match (bound, last) {
            (Ok(()), None) => Ok(Self { socket, _memory: memory }),
            (_, Some(error)) => Err(error),
            (Err(error), None) => panic!("{error}"),
        }
    }

    pub fn count(&self) -> u64 {
        self.socket.statistics().unwrap().rx_dropped
    }
}

impl AsFd for Counting {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
