//! `struct xdp_md` as programs read it: 32-bit fields, three of which are packet pointers.
//!
//! The kernel rewrites such loads during verification; here they miss all memory and are handled by
//! [`Processor::load_context`]. The context is read-only; every field has four bytes.

use super::Processor;
use crate::memory::Refused;

/// Origin of a packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    pub ingress_ifindex: u32,
    pub rx_queue: u32,
    /// Egress interface; set only for programs of a devmap.
    pub egress_ifindex: u32,
}

impl Processor {
    /// The field at `offset`; only whole fields can be read.
    pub(crate) fn load_context(&self, offset: u64, len: usize) -> Result<u64, Refused> {
        if len != 4 {
            return Err(Refused);
        }
        let packet = self.memory.packet();
        match offset {
            0 => Ok(packet.at(self.frame.data())),
            4 => Ok(packet.at(self.frame.data_end())),
            8 => Ok(packet.at(self.frame.data_meta())),
            12 => Ok(self.context.ingress_ifindex.into()),
            16 => Ok(self.context.rx_queue.into()),
            20 => Ok(self.context.egress_ifindex.into()),
            _ => Err(Refused),
        }
    }
}
