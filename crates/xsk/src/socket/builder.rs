//! Opens a socket: the steps in the order that the kernel requires.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sys::errno::EBUSY;
use sys::net::xsk::{
    BIND_COPY, BIND_MULTI_BUFFER, BIND_NEED_WAKEUP, BIND_SHARED, BIND_ZERO_COPY, RingKind,
    UMEM_SOFTWARE_CHECKSUM, XskBinding, XskSocket,
};

use super::acceptance::{Acceptance, Binding};
use super::bound::{Bound, Gauges, Opening, Pool};
use super::completion::Completion;
use super::fill::Fill;
use super::link::Link;
use super::register::register;
use super::share::{Share, SharedQueue};
use super::{Rx, Socket, Tx};
use crate::device::{Device, Wanted};
use crate::diagnose::Attempt;
use crate::interface::Interface;
use crate::limits::{BUSY, MOST_RING};
use crate::ring::{Consumer, Memory, Producer};
use crate::steer::Metadata;
use crate::umem::{BindOptions, BoundSocket, Cache, Handle, Umem};
use crate::wait::{self, BusyPoll, Interrupt, Wait};
use crate::{ConfigError, Error, InterfaceReason, Result};

/// Whether the driver accesses the memory directly, or the kernel copies packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Zero copy where the driver supports it: see [`Socket::is_zero_copy`].
    #[default]
    Auto,
    /// Always copies.
    Copy,
    /// Zero copy; opening fails where it is not supported.
    ZeroCopy,
}

/// Options of a socket; see [`Interface::socket`].
#[derive(Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct Builder<'a> {
    interface: &'a Interface,
    queue: u32,
    umem: Option<Umem>,
    mode: Mode,
    rings: u32,
    fill: u32,
    batch: u32,
    wakeup: bool,
    multi_buffer: bool,
    transmit_budget: Option<u32>,
    patience: Duration,
    waits: wait::Options,
    shareable: bool,
    beside: Option<SharedQueue>,
    descriptor: Option<OwnedFd>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(interface: &'a Interface, queue: u32) -> Self {
        Self {
            interface,
            queue,
            umem: None,
            mode: Mode::Auto,
            rings: 2048,
            fill: 2048,
            batch: 1,
            wakeup: true,
            multi_buffer: false,
            transmit_budget: None,
            patience: BUSY,
            waits: wait::Options::default(),
            shareable: false,
            beside: None,
            descriptor: None,
        }
    }

    /// The memory of its frames, which may be shared with other sockets. By default the socket has
    /// memory of its own.
    pub fn umem(mut self, umem: &Umem) -> Self {
        self.umem = Some(umem.clone());
        self
    }

    /// Whether packets may be copied; [`Mode::Auto`] unless set.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Number of slots of the rx, tx and completion rings: a power of two, 2048 unless set.
    pub fn rings(mut self, slots: u32) -> Self {
        self.rings = slots;
        self
    }

    /// Number of slots of the fill ring, a power of two, 2048 unless set: the frames that wait for
    /// packets.
    pub fn fill(mut self, slots: u32) -> Self {
        self.fill = slots;
        self
    }

    /// Number of packets that are sent together; 1 unless set. See [`Tx`].
    pub fn batch(mut self, packets: u32) -> Self {
        self.batch = packets;
        self
    }

    /// Whether the kernel reports when it must be called (Linux 5.4); on unless set otherwise.
    pub fn need_wakeup(mut self, on: bool) -> Self {
        self.wakeup = on;
        self
    }

    /// Permits packets that are longer than a frame (Linux 6.6).
    pub fn multi_buffer(mut self, on: bool) -> Self {
        self.multi_buffer = on;
        self
    }

    /// Number of packets that one system call transmits in copy mode (Linux 6.17); unless set, the
    /// slots of the tx ring where the kernel supports the option.
    pub fn transmit_budget(mut self, packets: u32) -> Self {
        self.transmit_budget = Some(packets);
        self
    }

    /// How long to wait for a queue that is in use, since the kernel closes sockets with a delay;
    /// 500 ms unless set.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How both halves wait: [`Wait::Adaptive`] unless set, or [`Wait::BusyPoll`] if
    /// [`busy_poll`](Self::busy_poll) is set.
    pub fn wait(mut self, wait: Wait) -> Self {
        self.waits.wait = Some(wait);
        self
    }

    /// Lets system calls on this socket run the driver; off unless set.
    pub fn busy_poll(mut self, options: BusyPoll) -> Self {
        self.waits.busy_poll = Some(options);
        self
    }

    /// An interrupt that ends the waits of both halves once it is raised.
    pub fn interrupt(mut self, interrupt: &Interrupt) -> Self {
        self.waits.interrupt = Some(interrupt.clone());
        self
    }

    /// How long a packet may wait for its batch; see [`Tx::set_longest_delay`].
    pub fn longest_delay(mut self, delay: Duration) -> Self {
        self.waits.longest_delay = Some(delay);
        self
    }

    /// Permits further sockets [`beside`](Self::beside) this one. Each batch then takes a lock.
    pub fn shareable(mut self, on: bool) -> Self {
        self.shareable = on;
        self
    }

    /// Opens the socket on the queue of an existing one, with its memory and mode. They share the
    /// fill and completion rings, and have rx and tx rings of their own. Since steering sends
    /// packets to one socket of a queue, each needs its own rules.
    pub fn beside(mut self, queue: SharedQueue) -> Self {
        self.beside = Some(queue);
        self
    }

    /// Uses a new, unused `AF_XDP` socket that was opened by a process with `CAP_NET_RAW`. That
    /// process must close its copy of the descriptor: as long as it is open, the kernel may write
    /// into frames after this process has dropped the socket.
    pub fn descriptor(mut self, socket: OwnedFd) -> Self {
        self.descriptor = Some(socket);
        self
    }

    /// Opens and binds the socket, and fills its fill ring.
    ///
    /// # Errors
    /// [`Error::Config`] for options that contradict each other, [`Error::Interface`] for options
    /// that the interface does not support, and [`Error::Refused`] when the queue is in use, or a
    /// capability or locked memory is missing. Each names what to change.
    pub fn open(mut self) -> Result<Socket> {
        self.check()?;
        if self.beside.is_none() {
            self.umem = Some(self.memory()?);
        }
        let device = self.interface.refreshed()?;
        let attempt = self.attempt(&device);
        device.check(&attempt.wanted)?;
        let why = self.why_copied(&device, &attempt.wanted);
        let mut socket = self.open_checked().map_err(|error| error.explained(attempt))?;
        socket.why_copied = (!socket.is_zero_copy()).then_some(why);
        Ok(socket)
    }
}

impl Builder<'_> {
    fn open_checked(mut self) -> Result<Socket> {
        let socket = match self.descriptor.take() {
            Some(descriptor) => XskSocket::from_descriptor(descriptor),
            None => XskSocket::open()?,
        };
        let (bound, mut rx, mut tx) = match &self.beside {
            Some(queue) => self.bind_beside(socket, queue)?,
            None => self.bind(socket, &self.memory()?)?,
        };
        self.set_budget(&bound)?;
        tx.set_acceptance(self.acceptance(&bound));
        if let Some(options) = self.waits.busy_poll {
            options.apply(bound.socket()).map_err(|error| bound.explain(error))?;
        }
        if self.reads_metadata() {
            rx.set_metadata();
        }
        if let Some(steering) = self.interface.steering() {
            let entry = steering.insert(self.queue, rx.socket_fd())?;
            rx.set_entry(entry);
        }
        Ok(Socket { tx, rx, why_copied: None })
    }

    fn check(&self) -> Result<()> {
        for (ring, slots) in [("rings", self.rings), ("a fill ring", self.fill)] {
            if !slots.is_power_of_two() || slots > MOST_RING {
                let near = slots.clamp(1, MOST_RING).next_power_of_two();
                return Err(ConfigError::RingSlots { ring, slots, near }.into());
            }
        }
        if self.batch == 0 || self.batch > self.rings {
            return Err(ConfigError::Batch { batch: self.batch, slots: self.rings }.into());
        }
        Ok(self.waits.check()?)
    }

    fn memory(&self) -> Result<Umem> {
        match &self.umem {
            Some(umem) => Ok(umem.clone()),
            None => self.own_memory(),
        }
    }

    /// Memory on the NUMA node of the device, if this process may use it.
    fn own_memory(&self) -> Result<Umem> {
        let builder = Umem::builder().frames((self.fill + 2 * self.rings).max(4096));
        match self.interface.device().node {
            Some(node) => builder.clone().numa_node(node).build().or_else(|_| builder.build()),
            None => builder.build(),
        }
    }

    /// The reason to report if the kernel copies.
    fn why_copied(&self, device: &Device, wanted: &Wanted) -> String {
        match self.mode {
            Mode::Copy => "copying was requested".to_owned(),
            Mode::Auto | Mode::ZeroCopy => device.why_copy(wanted).unwrap_or_else(|| {
                format!(
                    "driver {} rejected zero copy for this queue or memory; request zero copy for \
                     its error",
                    device.driver
                )
            }),
        }
    }

    /// The attempt, for checks and for the explanation of a failure.
    fn attempt<'d>(&self, device: &'d Device) -> Attempt<'d> {
        let beside = self.beside.as_ref().map(|queue| queue.bound.shared_pool().handle());
        let handle = beside.or_else(|| self.umem.as_ref().map(Umem::handle));
        let geometry = handle.map(|handle| handle.region().geometry);
        let wanted = Wanted {
            queue: self.queue,
            receive: self.interface.steering().is_some(),
            transmit: true,
            frame_size: geometry.map_or(0, |geometry| geometry.size),
            headroom: geometry.map_or(0, |geometry| geometry.headroom),
            multi_buffer: self.multi_buffer,
            zero_copy: self.mode == Mode::ZeroCopy,
            ..Wanted::default()
        };
        Attempt {
            device: Some(device),
            wanted,
            memory: geometry.map_or(0, |geometry| geometry.bytes() as u64),
            unaligned: geometry.is_some_and(|geometry| geometry.unaligned),
            tx_metadata: geometry.map_or(0, |geometry| geometry.metadata),
            entries: self.transmit_budget.unwrap_or(self.rings),
            tx_ring: self.rings,
        }
    }

    /// A bound socket with its fill ring full.
    fn bind(&self, socket: XskSocket, umem: &Umem) -> Result<(Arc<Bound>, Rx, Tx)> {
        let shared = umem.handle().region().bound();
        if shared.is_none() {
            register(&socket, umem)?;
        }
        self.create_rings(&socket)?;
        socket.create_ring(RingKind::Fill, self.fill)?;
        socket.create_ring(RingKind::Completion, self.rings)?;
        let fill = Producer::new(Memory::mapped(socket.map_ring(RingKind::Fill, self.fill)?));
        let done = socket.map_ring(RingKind::Completion, self.rings)?;
        let done = Consumer::new(Memory::mapped(done));
        // Times are kept only where they can be requested.
        let timestamps = if umem.handle().geometry().metadata > 0 { self.rings } else { 0 };
        let pool = Pool::new(umem.handle().clone());
        let fill = self.share(Fill::new(fill, pool.number(), self.reads_metadata()));
        let done = self.share(Completion::new(done, pool.number(), timestamps));
        let opening = self.opening(shared.as_ref().map(|shared| shared.options()))?;
        let bound = Bound::new(Link::Kernel(socket), pool, opening);
        let (rx, tx) = self.halves(umem.handle(), &bound, fill, done)?;
        self.bind_patiently(&bound, shared.as_ref().map(|shared| shared.descriptor()))?;
        bound.note_mode()?;
        self.check_mode(&bound)?;
        bound.register();
        Ok((bound, rx, tx))
    }

    /// A socket that shares the fill and completion rings of another one.
    fn bind_beside(&self, socket: XskSocket, queue: &SharedQueue) -> Result<(Arc<Bound>, Rx, Tx)> {
        let (first, place) = (&queue.bound, &queue.bound.opening);
        if (place.ifindex, place.queue) != (self.interface.ifindex(), self.queue) {
            let (queue, interface) = (place.queue, place.interface.clone());
            return Err(ConfigError::BesideOtherQueue { queue, interface }.into());
        }
        let handle = first.shared_pool().handle();
        if self.umem.as_ref().is_some_and(|umem| !umem.handle().is_same(handle.pointer())) {
            let (queue, interface) = (place.queue, place.interface.clone());
            return Err(ConfigError::BesideOtherMemory { queue, interface }.into());
        }
        self.create_rings(&socket)?;
        let opening = self.opening(Some(place.options))?;
        let bound = Bound::new(Link::Kernel(socket), Arc::clone(first.shared_pool()), opening);
        let fill = Share::Common(Arc::clone(&queue.fill));
        let done = Share::Common(Arc::clone(&queue.completion));
        let (rx, tx) = self.halves(handle, &bound, fill, done)?;
        self.bind_patiently(&bound, Some(first.descriptor()))?;
        self.check_mode(&bound)?;
        bound.register();
        Ok((bound, rx, tx))
    }

    fn create_rings(&self, socket: &XskSocket) -> Result<()> {
        socket.create_ring(RingKind::Rx, self.rings)?;
        Ok(socket.create_ring(RingKind::Tx, self.rings)?)
    }

    fn share<T>(&self, thing: T) -> Share<T> {
        match self.shareable {
            true => Share::Common(Arc::new(Mutex::new(thing))),
            false => Share::Own(thing),
        }
    }

    fn halves(
        &self,
        handle: &Handle,
        bound: &Arc<Bound>,
        fill: Share<Fill>,
        done: Share<Completion>,
    ) -> Result<(Rx, Tx)> {
        let ring = |kind| bound.socket().map_ring(kind, self.rings);
        let rx = Consumer::new(Memory::mapped(ring(RingKind::Rx)?));
        let tx = Producer::new(Memory::mapped(ring(RingKind::Tx)?));
        bound.set_gauges(Gauges { fill: fill.inspect(Fill::gauge), tx: tx.gauge() });
        let cache = || Cache::new(handle.clone());
        let waiter = self.waits.waiter();
        let rx = Rx::new(rx, fill, cache(), Arc::clone(bound), waiter.clone());
        let mut tx = Tx::new(tx, done, Arc::clone(bound), cache(), self.batch, waiter);
        tx.set_longest_delay(self.waits.longest_delay);
        Ok((rx, tx))
    }

    /// Sockets that share memory have the options of the first one.
    fn opening(&self, first: Option<BindOptions>) -> Result<Opening> {
        if self.multi_buffer && first.is_some_and(|first| !first.is_multi_buffer) {
            return Err(ConfigError::MultiBuffer.into());
        }
        Ok(Opening {
            interface: self.interface.name().to_owned(),
            ifindex: self.interface.ifindex(),
            queue: self.queue,
            options: first.unwrap_or(BindOptions {
                needs_wakeup: self.wakeup,
                is_multi_buffer: self.multi_buffer,
            }),
        })
    }

    fn acceptance(&self, bound: &Bound) -> Acceptance {
        let region = bound.shared_pool().handle().region();
        let binding = Binding {
            is_multi_buffer: bound.opening.options.is_multi_buffer,
            is_zero_copy: bound.is_zero_copy(),
            metadata: region.geometry.metadata,
            is_software_checksum: region.registration_flags & UMEM_SOFTWARE_CHECKSUM != 0,
        };
        Acceptance::new(self.interface.device(), binding)
    }

    /// Whether the program may write metadata before packets. It is unknown, and assumed, for a map
    /// of another process.
    fn reads_metadata(&self) -> bool {
        let steering = self.interface.steering();
        steering.is_some_and(|steering| steering.metadata() != Some(Metadata::None))
    }

    fn check_mode(&self, bound: &Bound) -> Result<()> {
        let wanted = match self.mode {
            Mode::Auto => return Ok(()),
            Mode::Copy => false,
            Mode::ZeroCopy => true,
        };
        if bound.is_zero_copy() == wanted {
            return Ok(());
        }
        Err(Error::interface(&bound.opening.interface, InterfaceReason::OtherMode))
    }

    /// The kernel closes sockets in the background, so a queue may remain in use for a short time.
    fn bind_patiently(&self, bound: &Bound, shared: Option<BorrowedFd<'_>>) -> Result<()> {
        let flags = match shared {
            Some(_) => BIND_SHARED,
            None => self.flags(),
        };
        let to = XskBinding { ifindex: bound.opening.ifindex, queue: self.queue, flags };
        let deadline = Instant::now() + self.patience;
        loop {
            match bound.socket().bind(to, shared) {
                Ok(()) => return Ok(()),
                Err(error) if error.is(EBUSY) && Instant::now() < deadline => {
                    thread::sleep(AGAIN);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn flags(&self) -> u16 {
        let mode = match self.mode {
            Mode::Auto => 0,
            Mode::Copy => BIND_COPY,
            Mode::ZeroCopy => BIND_ZERO_COPY,
        };
        let flag = |on: bool, flag: u16| if on { flag } else { 0 };
        mode | flag(self.wakeup, BIND_NEED_WAKEUP) | flag(self.multi_buffer, BIND_MULTI_BUFFER)
    }

    /// Lets each system call transmit the whole ring; kernels without the option transmit 32
    /// packets.
    fn set_budget(&self, bound: &Bound) -> Result<()> {
        match self.transmit_budget {
            Some(packets) => Ok(bound.socket().set_transmit_budget(packets)?),
            None => {
                let _ = bound.socket().set_transmit_budget(self.rings);
                Ok(())
            }
        }
    }
}

/// Time between two attempts to bind.
const AGAIN: Duration = Duration::from_millis(1);
