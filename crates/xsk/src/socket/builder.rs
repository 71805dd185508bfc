//! Opening a socket: the kernel's steps, in the one order that works.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sys::net::xsk::{
    BIND_COPY, BIND_MULTI_BUFFER, BIND_NEED_WAKEUP, BIND_SHARED, BIND_ZERO_COPY, RingKind,
    UmemMemory, XskBinding, XskSocket,
};

use super::bound::{Bound, Opening};
use super::{Rx, Socket, Tx};
use crate::interface::Interface;
use crate::limits::{BUSY, MOST_RING};
use crate::ring::{Consumer, Memory, Producer};
use crate::umem::{Cache, Umem};
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
#[derive(Clone, Debug)]
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

    /// # Errors
    /// When options do not fit together or to the interface, the queue is taken, or a right or
    /// locked memory lacks; each says what to change.
    pub fn open(self) -> Result<Socket> {
        self.check()?;
        let umem = match &self.umem {
            Some(umem) => umem.clone(),
            None => Umem::builder().frames((self.fill + 2 * self.rings).max(4096)).build()?,
        };
        let (bound, mut rx, tx) = self.bind(&umem)?;
        self.set_budget(&bound)?;
        if let Some(steering) = self.interface.steering() {
            let entry = steering.insert(self.queue, rx.as_fd())?;
            rx.set_entry(entry);
        }
        Ok(Socket { tx, rx })
    }
}

impl Builder<'_> {
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
        Ok(())
    }

    /// A bound socket with its fill ring full.
    fn bind(&self, umem: &Umem) -> Result<(Arc<Bound>, Rx, Tx)> {
        let shared = umem.handle().region().bound();
        let socket = XskSocket::open()?;
        if shared.is_none() {
            register(&socket, umem)?;
        }
        let rings = [
            (RingKind::Fill, self.fill),
            (RingKind::Completion, self.rings),
            (RingKind::Rx, self.rings),
            (RingKind::Tx, self.rings),
        ];
        for (kind, slots) in rings {
            socket.create_ring(kind, slots)?;
        }
        let bound = Bound::new(socket, umem.handle().clone(), self.opening());
        let (tx, rx) = self.halves(umem, &bound)?;
        self.bind_patiently(&bound, shared.as_deref())?;
        bound.note_mode()?;
        if self.mode == Mode::ZeroCopy && !bound.is_zero_copy() {
            return Err(Error::Interface {
                interface: bound.interface.clone(),
                why: "the memory is in copy mode with another socket: zero copy needs memory of \
                      its own"
                    .to_owned(),
            });
        }
        umem.handle().region().remember(&bound);
        Ok((bound, rx, tx))
    }

    fn opening(&self) -> Opening {
        Opening {
            interface: self.interface.name().to_owned(),
            ifindex: self.interface.ifindex(),
            queue: self.queue,
            is_wakeup_told: self.wakeup,
            is_multi_buffer: self.multi_buffer,
        }
    }

    fn halves(&self, umem: &Umem, bound: &Arc<Bound>) -> Result<(Tx, Rx)> {
        let socket = bound.socket();
        let ring = |kind, slots| socket.map_ring(kind, slots);
        let rx = Consumer::new(Memory::mapped(ring(RingKind::Rx, self.rings)?));
        let fill = Producer::new(Memory::mapped(ring(RingKind::Fill, self.fill)?));
        let tx = Producer::new(Memory::mapped(ring(RingKind::Tx, self.rings)?));
        let done = Consumer::new(Memory::mapped(ring(RingKind::Completion, self.rings)?));
        let cache = || Cache::new(umem.handle().clone());
        let rx = Rx::new(rx, fill, cache(), Arc::clone(bound));
        Ok((Tx::new(tx, done, Arc::clone(bound), cache(), self.batch), rx))
    }

    /// The kernel closes sockets in the background, so a queue may be taken for a moment.
    fn bind_patiently(&self, bound: &Bound, shared: Option<&Bound>) -> Result<()> {
        let flags = match shared {
            Some(_) => BIND_SHARED,
            None => self.flags(),
        };
        let to = XskBinding { ifindex: bound.ifindex, queue: self.queue, flags };
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

fn register(socket: &XskSocket, umem: &Umem) -> Result<()> {
    let region = umem.handle().region();
    let geometry = region.geometry;
    let memory = UmemMemory {
        start: region.memory.as_ptr(),
        len: geometry.bytes(),
        chunk_size: geometry.size,
        headroom: geometry.headroom,
        flags: region.registration_flags,
        tx_metadata_len: geometry.metadata,
    };
    Ok(socket.register(&memory)?)
}

const EBUSY: i32 = 16;
/// Between two tries to bind.
const AGAIN: Duration = Duration::from_millis(1);
