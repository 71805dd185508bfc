//! `struct xdp_md` as programs read it: 32-bit fields, three of which yield packet pointers.
//!
//! The kernel rewrites such loads when it verifies; here they miss every region of memory and
//! come to [`Processor::load_context`]. The context is read-only, every field is four bytes.

use super::Processor;
use crate::memory::Refused;

/// What surrounds a packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    pub ingress_ifindex: u32,
    pub rx_queue: u32,
    /// Set where a program of a devmap runs.
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
