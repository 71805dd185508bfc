//! Opening a socket: the kernel's steps, in the one order that works.

use std::os::fd::{AsFd, OwnedFd};
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
use crate::umem::{Cache, Handle, Umem};
use crate::wait::{self, BusyPoll, Interrupt, Wait};
use crate::{Error, Result};

/// Whether the driver works on the memory itself, or the kernel copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Zero copy where the driver has it: see [`Socket::is_zero_copy`].
    #[default]
    Auto,
    Copy,
    /// Zero copy, or an error.
    ZeroCopy,
}

/// One socket to be; see [`Interface::socket`].
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

    /// The memory that frames are of; may be that of other sockets. Without it the socket has
    /// memory of its own.
    pub fn umem(mut self, umem: &Umem) -> Self {
        self.umem = Some(umem.clone());
        self
    }

    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Slots of the rx, tx and completion rings: a power of two.
    pub fn rings(mut self, slots: u32) -> Self {
        self.rings = slots;
        self
    }

    /// Slots of the fill ring, a power of two: so many frames wait for packets.
    pub fn fill(mut self, slots: u32) -> Self {
        self.fill = slots;
        self
    }

    /// Packets that wait for each other before they are sent; 1 unless set. See [`Tx`].
    pub fn batch(mut self, packets: u32) -> Self {
        self.batch = packets;
        self
    }

    /// Lets the kernel sleep and say when it wants to be called (Linux 5.4), as it does unless set
    /// otherwise.
    pub fn need_wakeup(mut self, on: bool) -> Self {
        self.wakeup = on;
        self
    }

    /// Packets may be longer than a frame (Linux 6.6).
    pub fn multi_buffer(mut self, on: bool) -> Self {
        self.multi_buffer = on;
        self
    }

    /// Packets that one call of the kernel transmits in copy mode (Linux 6.17); unless set, as many
    /// as the tx ring holds where the kernel has the option.
    pub fn transmit_budget(mut self, packets: u32) -> Self {
        self.transmit_budget = Some(packets);
        self
    }

    /// How long to wait for a queue that is still in use, since the kernel takes its time to close
    /// sockets.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How both halves wait; [`Wait::Adaptive`] unless set, or [`Wait::BusyPoll`] with
    /// [`busy_poll`](Self::busy_poll).
    pub fn wait(mut self, wait: Wait) -> Self {
        self.waits.wait = Some(wait);
        self
    }

    /// Lets calls of this socket run the driver. Only by this word is it ever so.
    pub fn busy_poll(mut self, options: BusyPoll) -> Self {
        self.waits.busy_poll = Some(options);
        self
    }

    /// Ends the waits of both halves once it is raised.
    pub fn interrupt(mut self, interrupt: &Interrupt) -> Self {
        self.waits.interrupt = Some(interrupt.clone());
        self
    }

    /// See [`Tx::set_longest_delay`].
    pub fn longest_delay(mut self, delay: Duration) -> Self {
        self.waits.longest_delay = Some(delay);
        self
    }

    /// Others may be opened [`beside`](Self::beside) it. It then takes a lock once a batch.
    pub fn shareable(mut self, on: bool) -> Self {
        self.shareable = on;
        self
    }

    /// Opens a socket on the queue, and with the memory and mode, of one that is there: they
    /// share fill and completion ring, and have rx and tx rings of their own. A steering sends
    /// packets to one socket of a queue, so each needs its own rules.
    pub fn beside(mut self, queue: SharedQueue) -> Self {
        self.beside = Some(queue);
        self
    }

    /// Uses an `AF_XDP` socket that somebody with the right to open one (`CAP_NET_RAW`) has handed
    /// over, new and in no use. Whoever handed it over closes it: while another process has it,
    /// the kernel may still write into frames after this one has dropped it.
    pub fn descriptor(mut self, socket: OwnedFd) -> Self {
        self.descriptor = Some(socket);
        self
    }

    /// # Errors
    /// When options do not fit together or to the interface, the queue is taken, or a right or
    /// locked memory lacks; each says what to change.
    pub fn open(mut self) -> Result<Socket> {
        self.check()?;
        if self.beside.is_none() {
            self.umem = Some(self.memory()?);
        }
        let device = self.interface.look()?;
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
        for (what, slots) in [("rings", self.rings), ("a fill ring", self.fill)] {
            if !slots.is_power_of_two() || slots > MOST_RING {
                let near = slots.clamp(1, MOST_RING).next_power_of_two();
                return Err(Error::Config(format!(
                    "{what} of {slots} slots: have a power of two up to {MOST_RING}, such as {near}"
                )));
            }
        }
        if self.batch == 0 || self.batch > self.rings {
            return Err(Error::Config(format!(
                "a batch of {} packets: have 1 to the {} slots of the tx ring",
                self.batch, self.rings
            )));
        }
        self.waits.check()
    }

    fn memory(&self) -> Result<Umem> {
        match &self.umem {
            Some(umem) => Ok(umem.clone()),
            None => self.own_memory(),
        }
    }

    /// Near the device, where the process may have memory there.
    fn own_memory(&self) -> Result<Umem> {
        let builder = Umem::builder().frames((self.fill + 2 * self.rings).max(4096));
        match self.interface.device().node {
            Some(node) => builder.clone().numa_node(node).build().or_else(|_| builder.build()),
            None => builder.build(),
        }
    }

    /// What is to be said if the kernel copies.
    fn why_copied(&self, device: &Device, wanted: &Wanted) -> String {
        match self.mode {
            Mode::Copy => "copying was asked for".to_owned(),
            Mode::Auto | Mode::ZeroCopy => device.why_copy(wanted).unwrap_or_else(|| {
                format!(
                    "driver {} would not have this queue or memory with zero copy; ask for it to \
                     see the error",
                    device.driver
                )
            }),
        }
    }

    /// What is attempted, for checks and for the words of a refusal.
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
        // Times are kept only where they can be asked for.
        let timestamps = if umem.handle().geometry().metadata > 0 { self.rings } else { 0 };
        let pool = Pool::new(umem.handle().clone());
        let fill = self.share(Fill::new(fill, pool.number(), self.reads_metadata()));
        let done = self.share(Completion::new(done, pool.number(), timestamps));
        let opening = self.opening(shared.as_ref().map(|shared| &shared.opening))?;
        let bound = Bound::new(Link::Kernel(socket), pool, opening);
        let (rx, tx) = self.halves(umem.handle(), &bound, fill, done)?;
        self.bind_patiently(&bound, shared.as_deref())?;
        bound.note_mode()?;
        self.check_mode(&bound)?;
        umem.handle().region().remember(&bound);
        Ok((bound, rx, tx))
    }

    /// A socket that has its fill and completion ring from another.
    fn bind_beside(&self, socket: XskSocket, queue: &SharedQueue) -> Result<(Arc<Bound>, Rx, Tx)> {
        let (first, place) = (&queue.bound, &queue.bound.opening);
        if (place.ifindex, place.queue) != (self.interface.ifindex(), self.queue) {
            return Err(Error::Config(format!(
                "beside queue {} of {}: a socket of another queue has rings of its own; give it \
                 the same memory instead",
                place.queue, place.interface
            )));
        }
        let handle = first.shared_pool().handle();
        if self.umem.as_ref().is_some_and(|umem| !umem.handle().is_same(handle.pointer())) {
            return Err(Error::Config(format!(
                "beside queue {} of {}: sockets of one queue have one memory; give none or that",
                place.queue, place.interface
            )));
        }
        self.create_rings(&socket)?;
        let opening = self.opening(Some(place))?;
        let bound = Bound::new(Link::Kernel(socket), Arc::clone(first.shared_pool()), opening);
        let fill = Share::Common(Arc::clone(&queue.fill));
        let done = Share::Common(Arc::clone(&queue.completion));
        let (rx, tx) = self.halves(handle, &bound, fill, done)?;
        self.bind_patiently(&bound, Some(first))?;
        self.check_mode(&bound)?;
        handle.region().remember(&bound);
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
        bound.set_gauges(Gauges { fill: fill.look(Fill::gauge), tx: tx.gauge() });
        let cache = || Cache::new(handle.clone());
        let waiter = self.waits.waiter();
        let rx = Rx::new(rx, fill, cache(), Arc::clone(bound), waiter.clone());
        let mut tx = Tx::new(tx, done, Arc::clone(bound), cache(), self.batch, waiter);
        tx.set_longest_delay(self.waits.longest_delay);
        Ok((rx, tx))
    }

    /// Sockets that share memory have what the first one of them was bound with.
    fn opening(&self, first: Option<&Opening>) -> Result<Opening> {
        if self.multi_buffer && first.is_some_and(|first| !first.is_multi_buffer) {
            return Err(Error::Config(
                "multi-buffer, with the memory of a socket without: open that one with it, \
                 too, or have another memory"
                    .to_owned(),
            ));
        }
        Ok(Opening {
            interface: self.interface.name().to_owned(),
            ifindex: self.interface.ifindex(),
            queue: self.queue,
            is_wakeup_told: first.map_or(self.wakeup, |first| first.is_wakeup_told),
            is_multi_buffer: first.map_or(self.multi_buffer, |first| first.is_multi_buffer),
        })
    }

    fn acceptance(&self, bound: &Bound) -> Acceptance {
        let region = bound.shared_pool().handle().region();
        let binding = Binding {
            is_multi_buffer: bound.opening.is_multi_buffer,
            is_zero_copy: bound.is_zero_copy(),
            metadata: region.geometry.metadata,
            is_software_checksum: region.registration_flags & UMEM_SOFTWARE_CHECKSUM != 0,
        };
        Acceptance::new(self.interface.device(), binding)
    }

    /// Whether the redirect program may write something in front of packets. Of a map that was
    /// handed over nobody knows.
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
        Err(Error::Interface {
            interface: bound.opening.interface.clone(),
            why: "another socket of this memory is in the other copy mode: have the same for all, \
                  or another memory"
                .to_owned(),
        })
    }

    /// The kernel closes sockets in the background, so a queue may be taken for a moment.
    fn bind_patiently(&self, bound: &Bound, shared: Option<&Bound>) -> Result<()> {
        let flags = match shared {
            Some(_) => BIND_SHARED,
            None => self.flags(),
        };
        let to = XskBinding { ifindex: bound.opening.ifindex, queue: self.queue, flags };
        let deadline = Instant::now() + self.patience;
        loop {
            match bound.socket().bind(to, shared.map(|shared| shared.socket().as_fd())) {
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

    /// Every call of the kernel transmits as much as it may; where it cannot be told, it takes 32.
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

/// Between two tries to bind.
const AGAIN: Duration = Duration::from_millis(1);
