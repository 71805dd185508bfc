//! Code for tests of bytes of the packet under a mask.
//!
//! Rule: a load is within the first buffer of the frame, or the test fails, even if it is negated.
//! The verifier limits offsets to 65535 in total.

use spec::asm::Reg::{R0, R2, R3, R4};
use spec::asm::{Cond, Label, Size};

use super::Code;
use super::value::{CONTEXT, PACKET};
use crate::abi::Known;
use crate::{Base, Payload};

/// Offset of `network` in `struct filter_packet`.
pub const NETWORK: i16 = 64;
/// Offset of `transport` in `struct filter_packet`.
pub const TRANSPORT: i16 = 66;
/// The highest offset into a packet that the verifier follows.
const FURTHEST: i32 = 0xffff;

/// The highest offset of a header, which is a mask that does not change an offset.
const HEADERS: i32 = 0x3fff;

/// The number of branches of this test that skip the rule.
pub fn branches(payload: &Payload) -> usize {
    3 + payload.value.len().div_ceil(4)
}

/// Whether the bytes are within the offsets that can be loaded.
pub fn is_within(payload: &Payload) -> bool {
    room(payload) >= 0
}

/// The highest base from which the bytes can be loaded.
fn room(payload: &Payload) -> i32 {
    FURTHEST - i32::from(payload.offset) - payload.value.len() as i32
}

impl Code<'_> {
    /// Jumps to `fail` unless the test holds.
    pub(super) fn payload(&mut self, payload: &Payload, fail: Label) {
        let a = &mut self.asm;
        a.load64(R3, CONTEXT).packet(R2, R3, R3);
        let known = match payload.from {
            Base::Frame => None,
            Base::Network => Some((NETWORK, 0)),
            Base::Transport => Some((TRANSPORT, Known::Transport as i32)),
        };
        if let Some((offset, known)) = known {
            if known != 0 {
                a.load32(R4, PACKET.at(Known::OFFSET));
                a.and32(R4, known).jump32_if(R4, Cond::Eq, 0, fail);
            }
            a.load16(R4, PACKET.at(offset));
            if known == 0 {
                a.jump32_if(R4, Cond::Eq, 0, fail);
            }
            if room(payload) >= HEADERS {
                a.and32(R4, HEADERS);
            } else {
                a.jump32_if(R4, Cond::Gt, room(payload), fail);
            }
            a.add(R2, R4);
        }
        if payload.offset > 0 {
            a.add(R2, payload.offset);
        }
        a.need(R2, R3, payload.value.len() as i32, R4, fail);
        if payload.negated {
            let differs = self.asm.label();
            self.bytes(payload, differs);
            self.asm.jump(fail).bind(differs);
        } else {
            self.bytes(payload, fail);
        }
    }

    /// Jumps to `differs` unless the packet has the bytes of the rule.
    fn bytes(&mut self, payload: &Payload, differs: Label) {
        let mut at = 0;
        while at < payload.value.len() {
            let size = match payload.value.len() - at {
                1 => 1,
                2 | 3 => 2,
                _ => 4,
            };
            let word = |bytes: &[u8]| {
                let mut word = [0; 4];
                word[..size].copy_from_slice(&bytes[at..at + size]);
                i32::from_le_bytes(word)
            };
            let [mask, value] = [word(&payload.mask), word(&payload.value)];
            let (width, whole) = match size {
                1 => (Size::Byte, 0xff),
                2 => (Size::Half, 0xffff),
                _ => (Size::Word, -1),
            };
            if mask != 0 {
                self.asm.load(width, R0, R2.at(at as i16));
                if mask != whole {
                    self.asm.and32(R0, mask);
                }
                self.asm.jump32_if(R0, Cond::Ne, value & mask, differs);
            }
            at += size;
        }
    }
}
