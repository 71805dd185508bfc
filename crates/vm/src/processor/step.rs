//! The position of a run as a hook sees it: registers, memory, and the meaning of addresses.

use std::sync::Arc;

use crate::code::{Program, function_at};
use crate::frame::Frame;
use crate::limits;
use crate::memory::{Memory, POISON, RegionId, offset};

/// Position of a run: in [`Hook::step`](super::Hook::step) before the instruction, in the other
/// events after it.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// The program that is running.
    pub program: &'a Arc<Program>,
    /// Slot of the instruction.
    pub slot: usize,
    /// Number of active functions: 1 in the entry function.
    pub depth: usize,
    /// r0 to r10.
    pub registers: &'a [u64; 11],
    pub(crate) memory: &'a Memory,
    pub(crate) frame: &'a Frame,
}

impl std::fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` instruction {}, depth {}", self.program.name(), self.slot, self.depth)
    }
}

/// What an address refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointee {
    /// A plain number, or an address near null.
    Number(u64),
    /// A byte of `struct xdp_md`.
    Context { offset: u64 },
    /// A byte of the input of [`Worker::run_raw`](crate::Worker::run_raw).
    Input { offset: u64 },
    /// A byte of a function's stack: `frame` 0 is the entry function's, offsets are from r10.
    Stack { frame: u64, offset: i64 },
    /// A map, by its number.
    Map { map: u32 },
    /// A function of a program, by the program's number and the function's slot.
    Function { program: usize, slot: usize },
    /// A byte of [`Step::packet`]; may be before its start or after its end.
    Packet { offset: i64 },
    /// A pointer to the packet from before its ends moved.
    StalePacket,
    /// A byte of a value; `element` counts all processors' values of the map.
    Value { map: u32, element: u64, byte: u64 },
    /// A kernel object, a record that is being written, or no memory.
    Other,
}

impl Step<'_> {
    /// Describes an address, such as `packet, byte 12`; other values as a number.
    pub fn describe(&self, value: u64) -> String {
        self.memory.describe(value)
    }

    /// Whether a value is that of a register that is not set, or was unset by a call.
    pub fn is_unset(value: u64) -> bool {
        value == POISON
    }

    /// What an address refers to.
    pub fn pointee(&self, address: u64) -> Pointee {
        let id = RegionId::of(address);
        let offset = offset(address);
        match id {
            RegionId::NULL => Pointee::Number(address),
            RegionId::CONTEXT => Pointee::Context { offset },
            RegionId::INPUT => Pointee::Input { offset },
            RegionId::STACK => {
                let (frame, inner) = self.element(id, offset);
                Pointee::Stack { frame, offset: inner as i64 - limits::STACK_BYTES as i64 }
            }
            RegionId::MAPS => Pointee::Map { map: offset as u32 },
            RegionId::FUNCTIONS => match function_at(address) {
                Some((program, slot)) => Pointee::Function { program, slot },
                None => Pointee::Other,
            },
            id if id == self.memory.packet() => {
                let low = self.memory.layout(id).map_or(0, |layout| layout.low);
                Pointee::Packet { offset: offset as i64 - low as i64 }
            }
            id if id.is_packet() => Pointee::StalePacket,
            id if id.0 >= RegionId::VALUES.0 && self.memory.has(id) => {
                let (element, byte) = self.element(id, offset);
                Pointee::Value { map: id.0 - RegionId::VALUES.0, element, byte }
            }
            id if id.0 >= RegionId::VALUES.0 && !Self::is_unset(address) => {
                Pointee::Number(address)
            }
            _ => Pointee::Other,
        }
    }

    /// Metadata and packet, up to the end of the first buffer.
    pub fn packet(&self) -> &[u8] {
        let Some(layout) = self.memory.layout(self.memory.packet()) else { return &[] };
        let from = (layout.start + layout.low) as usize;
        &self.memory.packet_buffer()[from..from + layout.size as usize]
    }

    /// The whole packet without metadata, with all of its buffers.
    pub fn whole_packet(&self) -> Vec<u8> {
        let mut packet = Vec::with_capacity(self.frame.len() as usize);
        self.frame.append_packet(self.memory, &mut packet);
        packet
    }

    /// Position of the packet's first byte in its buffer, from which helpers move it.
    pub fn headroom(&self) -> u64 {
        self.frame.data()
    }

    /// The metadata before the packet.
    pub fn metadata(&self) -> &[u8] {
        self.frame.metadata(self.memory)
    }

    /// The bytes at an address; `None` if a program could not read them either.
    pub fn read(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        self.memory.check(address, len, false).ok()?;
        let mut bytes = vec![0; len];
        self.memory.read(address, &mut bytes).ok()?;
        Some(bytes)
    }

    fn element(&self, id: RegionId, offset: u64) -> (u64, u64) {
        let shift = self.memory.layout(id).map_or(0, |layout| layout.shift);
        (offset >> shift, offset & ((1 << shift) - 1))
    }
}
