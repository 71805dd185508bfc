//! A copy of a frame with its bytes, to send one packet to several targets.

use super::{BUFFER, Frame};
use crate::memory::Memory;

/// A saved frame; its buffer is reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Saved {
    frame: Frame,
    bytes: Vec<u8>,
}

impl Frame {
    pub fn save(&self, memory: &Memory, into: &mut Saved) {
        into.frame.clone_from(self);
        into.bytes.clear();
        into.bytes.extend_from_slice(&memory.packet_buffer()[..self.used()]);
    }

    /// Restores the frame and its bytes.
    pub fn restore(&mut self, memory: &mut Memory, saved: &Saved) {
        self.clone_from(&saved.frame);
        memory.packet_buffer_mut()[..saved.bytes.len()].copy_from_slice(&saved.bytes);
        self.moved(memory);
    }

    /// Bytes of the buffer up to the last page in use.
    fn used(&self) -> usize {
        let last = self.fragments.iter().map(|fragment| fragment.start() + fragment.len()).max();
        (last.unwrap_or(0)).max(BUFFER) as usize
    }
}
