//! Sockets over rings that a test created. Only with `cfg(test)` and when fuzzing.

use std::sync::{Arc, Mutex};

use sys::net::Ifindex;

use super::acceptance::{Acceptance, Binding};
use super::bound::{Bound, Gauges, Opening, Pool};
use super::completion::Completion;
use super::fill::Fill;
use super::link::Link;
use super::share::{Share, SharedQueue};
use super::{Rx, Socket, Tx};
use crate::device::Device;
use crate::ring::{Consumer, Descriptor, Memory, Producer};
use crate::umem::{BindOptions, Cache, Umem};
use crate::wait::{Wait, Waiter};

/// This side of the rings that each socket has alone.
pub(crate) struct Rings {
    pub rx: Memory<Descriptor>,
    pub tx: Memory<Descriptor>,
}

/// Options of the socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub batch: u32,
    pub is_multi_buffer: bool,
    pub is_shareable: bool,
}

/// A socket with a fill and a completion ring.
pub(crate) fn alone(
    umem: &Umem,
    rings: Rings,
    fill: Memory<u64>,
    completion: Memory<u64>,
    link: Link,
    options: Options,
) -> Socket {
    let (fill, completion) = (Producer::new(fill), Consumer::new(completion));
    let pool = Pool::new(umem.handle().clone());
    let fill = share(Fill::new(fill, pool.number(), false), options.is_shareable);
    let completion = Completion::new(completion, pool.number(), 0);
    let completion = share(completion, options.is_shareable);
    let bound = Bound::new(link, pool, opening(options));
    socket(bound, rings, fill, completion, options.batch)
}

/// A socket that shares the fill and completion rings with others.
pub(crate) fn beside(queue: &SharedQueue, rings: Rings, link: Link, options: Options) -> Socket {
    let pool = Arc::clone(queue.bound.shared_pool());
    let fill = Share::Common(Arc::clone(&queue.fill));
    let completion = Share::Common(Arc::clone(&queue.completion));
    let bound = Bound::new(link, pool, opening(options));
    socket(bound, rings, fill, completion, options.batch)
}

fn socket(
    bound: Arc<Bound>,
    rings: Rings,
    fill: Share<Fill>,
    completion: Share<Completion>,
    batch: u32,
) -> Socket {
    let (rx, tx) = (Consumer::new(rings.rx), Producer::new(rings.tx));
    bound.register();
    bound.set_gauges(Gauges { fill: fill.inspect(Fill::gauge), tx: tx.gauge() });
    let waiter = || Waiter::new(Wait::Poll, None);
    let cache = || Cache::new(bound.shared_pool().handle().clone());
    let rx = Rx::new(rx, fill, cache(), Arc::clone(&bound), waiter());
    let mut tx = Tx::new(tx, completion, Arc::clone(&bound), cache(), batch, waiter());
    tx.set_acceptance(acceptance(&bound));
    Socket { rx, tx, why_copied: None }
}

fn acceptance(bound: &Bound) -> Acceptance {
    let device = Device { mtu: 65_535, ..Device::default() };
    let binding = Binding {
        is_multi_buffer: bound.opening.options.is_multi_buffer,
        is_zero_copy: false,
        metadata: bound.shared_pool().handle().geometry().metadata,
        is_software_checksum: false,
    };
    Acceptance::new(&device, binding)
}

fn share<T>(thing: T, is_shareable: bool) -> Share<T> {
    match is_shareable {
        true => Share::Common(Arc::new(Mutex::new(thing))),
        false => Share::Own(thing),
    }
}

fn opening(options: Options) -> Opening {
    Opening {
        interface: "fake".to_owned(),
        ifindex: Ifindex(1),
        queue: 0,
        options: BindOptions { needs_wakeup: false, is_multi_buffer: options.is_multi_buffer },
    }
}

#[cfg(test)]
impl Socket {
    /// Behaves as if the driver accessed the memory directly.
    pub fn assume_zero_copy(&self) {
        self.tx.bound().assume_zero_copy();
    }
}
