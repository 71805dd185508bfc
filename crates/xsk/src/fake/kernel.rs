//! The kernel's side of the rings of one queue, as a value.
//!
//! Rule: when it receives or transmits, it does what Linux does: it checks each address and
//! descriptor in the same way, and keeps the frame of one that it refuses. Its other actions are
//! faults that a test causes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sys::net::xsk::{DESCRIPTOR_CONTINUES, Kick, UNALIGNED_OFFSET_SHIFT};

use crate::ring::{Consumer, Descriptor, Producer, Watch};
use crate::umem::Heap;

/// The result of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Transmits at most this number of packets; "later" if some remain.
    Transmit(u32),
    /// Returns "later" without doing anything.
    Later,
    Fail(i32),
}

/// The layout of the registered memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registered {
    pub frame_size: u32,
    pub frames: u32,
    pub headroom: u32,
    pub metadata: u32,
    pub unaligned: bool,
}

/// The kernel; see [`Kernel::state`].
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    state: Arc<Mutex<State>>,
}

/// A socket's connection to the kernel; closes the kernel's socket when it is dropped.
#[derive(Debug)]
pub(crate) struct Line {
    kernel: Kernel,
    /// All rings that the socket has mapped.
    mapped: Vec<Watch>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub fill: Consumer<u64>,
    pub rx: Producer<Descriptor>,
    pub tx: Consumer<Descriptor>,
    pub completion: Producer<u64>,
    pub heap: Arc<Heap>,
    pub registered: Registered,
    pub answer: Answer,
    /// Number of system calls.
    pub calls: u32,
    /// Transmitted packets, if they are to be kept.
    pub wire: Option<Vec<Vec<u8>>>,
    pub transmitted: u64,
    /// Addresses and descriptors that Linux would refuse, and whose frames it would keep.
    pub refused: u64,
    pub is_closed: bool,
    /// The socket was closed before all its rings were unmapped.
    pub was_mapped: bool,
}

impl Kernel {
    pub fn new(state: State) -> Self {
        Self { state: Arc::new(Mutex::new(state)) }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn line(&self, mapped: Vec<Watch>) -> Line {
        Line { kernel: self.clone(), mapped }
    }
}

impl Line {
    pub fn kick_transmit(&self) -> sys::Result<Kick> {
        let mut state = self.kernel.state();
        state.calls += 1;
        match state.answer {
            Answer::Transmit(most) => {
                state.transmit(most);
                Ok(if state.tx.available(1) == 0 { Kick::Done } else { Kick::Later })
            }
            Answer::Later => Ok(Kick::Later),
            Answer::Fail(errno) => Err(sys::Error::new("sendto(fake)", "", errno)),
        }
    }

    pub fn kick_receive(&self) -> sys::Result<bool> {
        let mut state = self.kernel.state();
        state.calls += 1;
        match state.answer {
            Answer::Fail(errno) => Err(sys::Error::new("recvfrom(fake)", "", errno)),
            _ => Ok(true),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut state = self.kernel.state();
        state.is_closed = true;
        state.was_mapped |= self.mapped.iter().any(Watch::is_mapped);
    }
}

impl State {
    /// A packet with these parts arrives. `false` if there are not enough frames, or the rx ring is
    /// full.
    pub fn receive(&mut self, parts: &[&[u8]]) -> bool {
        let count = parts.len() as u32;
        if self.rx.free(count) < count || self.fill.available(count) < count {
            return false;
        }
        for (at, bytes) in parts.iter().enumerate() {
            let goes_on = at + 1 < parts.len();
            let address = self.fill.take().expect("the ring has this number of frames");
            let options = if goes_on { DESCRIPTOR_CONTINUES } else { 0 };
            let offset = self.registered.headroom + KERNEL_HEADROOM;
            if address >= self.registered.len() {
                self.refused += 1;
                continue;
            }
            self.heap.write(address + u64::from(offset), bytes);
            let address = match self.registered.unaligned {
                true => address | u64::from(offset) << UNALIGNED_OFFSET_SHIFT,
                false => address + u64::from(offset),
            };
            self.rx.put(Descriptor { address, len: bytes.len() as u32, options });
        }
        self.fill.release();
        self.rx.publish();
        true
    }

    /// As [`State::receive`], for parts whose bytes are not written.
    pub fn receive_nothing(&mut self, parts: u32) -> bool {
        if self.rx.free(parts) < parts || self.fill.available(parts) < parts {
            return false;
        }
        for at in 1..=parts {
            let Some(address) = self.fill.take() else { break };
            let options = if at < parts { DESCRIPTOR_CONTINUES } else { 0 };
            self.rx.put(Descriptor { address: address.wrapping_add(256), len: 1, options });
        }
        self.fill.release();
        self.rx.publish();
        true
    }

    /// Takes at most `most` packets from the tx ring; returns their number.
    pub fn transmit(&mut self, most: u32) -> u32 {
        let (mut packets, mut is_first) = (0, true);
        while packets < most && self.tx.available(1) > 0 && self.completion.free(1) > 0 {
            let descriptor = self.tx.take().expect("one is there");
            let ends = descriptor.options & DESCRIPTOR_CONTINUES == 0;
            packets += u32::from(ends);
            if !self.registered.takes(descriptor) {
                self.refused += 1;
                continue;
            }
            self.transmitted += u64::from(ends);
            self.keep(descriptor, is_first);
            self.completion.put(descriptor.address);
            is_first = ends;
        }
        self.tx.release();
        self.completion.publish();
        packets
    }

    /// A free frame that the kernel holds for packets.
    #[cfg(test)]
    pub fn empty_frame(&mut self) -> Option<u64> {
        self.fill.available(1);
        let address = self.fill.take();
        self.fill.release();
        address
    }

    fn keep(&mut self, descriptor: Descriptor, is_first: bool) {
        let mut bytes = [0; 4096];
        let bytes = &mut bytes[..descriptor.len as usize];
        // The bytes are read in any case, so that a memory checker sees the access.
        self.heap.read(descriptor.address, bytes);
        let Some(wire) = &mut self.wire else { return };
        match wire.last_mut() {
            Some(last) if !is_first => last.extend_from_slice(bytes),
            _ => wire.push(bytes.to_vec()),
        }
    }
}

impl Registered {
    fn len(&self) -> u64 {
        u64::from(self.frame_size) * u64::from(self.frames)
    }

    /// As `xp_aligned_validate_desc` and `xp_unaligned_validate_desc` of net/xdp/xsk_queue.h.
    fn takes(&self, descriptor: Descriptor) -> bool {
        let (metadata, size) = (u64::from(self.metadata), u64::from(self.frame_size));
        let Some(start) = descriptor.address.checked_sub(metadata) else { return false };
        let len = u64::from(descriptor.len) + metadata;
        let is_in_chunk = match self.unaligned {
            true => len <= size,
            false => start % size + len <= size,
        };
        descriptor.len > 0 && is_in_chunk && start + len <= self.len()
    }
}

/// `XDP_PACKET_HEADROOM`.
const KERNEL_HEADROOM: u32 = 256;
