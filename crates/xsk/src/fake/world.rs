//! A umem, a socket that uses it, and the kernel on the other side of its rings.

use std::sync::Arc;

use super::{Answer, Kernel, Registered, State};
use crate::Umem;
use crate::ring::{Consumer, Pair, Producer};
use crate::socket::halves::{self, Options, Rings};
use crate::socket::{Link, SharedQueue, Socket};
use crate::umem::{Builder, Heap};

/// The settings of a world. Sizes are in slots.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub memory: Builder,
    pub rings: u32,
    pub fill: u32,
    /// The first value of all indices of the rings.
    pub start: u32,
    pub options: Options,
    pub answer: Answer,
}

impl Default for World {
    fn default() -> Self {
        Self {
            memory: Umem::builder().frames(64),
            rings: 16,
            fill: 16,
            // They wrap soon.
            start: u32::MAX - 20,
            options: Options { batch: 1, is_multi_buffer: true, is_shareable: false },
            answer: Answer::Transmit(32),
        }
    }
}

impl World {
    pub fn open(&self) -> (Umem, Socket, Kernel) {
        let (umem, heap) = self.memory.clone().build_on_heap().expect("sizes that fit");
        let (socket, kernel) = self.open_on(&umem, &heap);
        (umem, socket, kernel)
    }

    /// Opens a socket with an existing umem.
    pub fn open_on(&self, umem: &Umem, heap: &Arc<Heap>) -> (Socket, Kernel) {
        let fill = Pair::new(self.fill, self.start);
        let completion = Pair::new(self.rings, self.start);
        let (rx, tx) = (Pair::new(self.rings, self.start), Pair::new(self.rings, self.start));
        let state = State {
            fill: Consumer::new(fill.kernels),
            rx: Producer::new(rx.kernels),
            tx: Consumer::new(tx.kernels),
            completion: Producer::new(completion.kernels),
            heap: Arc::clone(heap),
            registered: registered(umem),
            answer: self.answer,
            calls: 0,
            wire: None,
            transmitted: 0,
            refused: 0,
            is_closed: false,
            was_mapped: false,
        };
        let kernel = Kernel::new(state);
        let mapped = match self.options.is_shareable {
            false => vec![rx.watch, tx.watch, fill.watch, completion.watch],
            // The next socket of the queue may have mapped the other rings.
            true => vec![rx.watch, tx.watch],
        };
        let link = Link::Fake(kernel.line(mapped));
        let rings = Rings { rx: rx.ours, tx: tx.ours };
        let socket = halves::alone(umem, rings, fill.ours, completion.ours, link, self.options);
        (socket, kernel)
    }

    /// Opens a second socket on the queue of `first`; returns the kernel's sides of its rx and tx
    /// ring.
    pub fn open_beside(&self, queue: &SharedQueue, first: &Kernel) -> (Socket, SecondRings) {
        let (rx, tx) = (Pair::new(self.rings, self.start), Pair::new(self.rings, self.start));
        let link = Link::Fake(first.line(vec![rx.watch, tx.watch]));
        let rings = Rings { rx: rx.ours, tx: tx.ours };
        let socket = halves::beside(queue, rings, link, self.options);
        (socket, (Producer::new(rx.kernels), Consumer::new(tx.kernels)))
    }
}

/// The kernel's side of the rings of a second socket: rx and tx.
pub(crate) type SecondRings =
    (Producer<crate::ring::Descriptor>, Consumer<crate::ring::Descriptor>);

fn registered(umem: &Umem) -> Registered {
    let geometry = umem.handle().geometry();
    Registered {
        frame_size: geometry.size,
        frames: geometry.frames,
        headroom: geometry.headroom,
        metadata: geometry.metadata,
        unaligned: geometry.unaligned,
    }
}
