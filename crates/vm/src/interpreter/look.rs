//! What a hook may look at beside registers: memory, and what an address means.

use super::hook::Step;
use crate::code::function_at;
use crate::limits;
use crate::memory::{RegionId, offset};

/// What a register's value means as an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointee {
    /// A plain number, or a small one near null.
    Number(u64),
    /// A byte of `struct xdp_md`.
    Context { offset: u64 },
    /// A byte of the memory of a program that is no packet program.
    Input { offset: u64 },
    /// A byte of a function's stack: `frame` 0 is the entry's, offsets are those from r10.
    Stack { frame: u64, offset: i64 },
    /// A map, by its number.
    Map { map: u32 },
    /// A function of a program, by the program's number and the function's slot.
    Function { program: usize, slot: usize },
    /// A byte of [`Step::packet`]; may lie in front of it or behind its end.
    Packet { offset: i64 },
    /// The packet as it was before its ends moved.
    StalePacket,
    /// A byte of a value; `element` counts all processors' values of the map.
    Value { map: u32, element: u64, byte: u64 },
    /// An object of the kernel's, a record that is being written, or nothing at all.
    Other,
}

impl Step<'_> {
    /// What an address means.
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

    /// Metadata and packet as they are now, as far as the first buffer holds them.
    pub fn packet(&self) -> &[u8] {
        let Some(layout) = self.memory.layout(self.memory.packet()) else { return &[] };
        let from = (layout.start + layout.low) as usize;
        &self.memory.packet_buffer()[from..from + layout.size as usize]
    }

    /// The bytes at an address; `None` where a program could not read them either.
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
