//! A frame on its way back: source and destination exchanged, its stamp marked.
//!
//! Rule: the same bytes as from `bpf/sink/reflect.h`. Words change places and the stamp keeps its
//! sum, so every checksum stays what it was.

use super::headers::{Parsed, WITH_PORTS, parse};
use crate::stamp::{Kind, Stamp};

/// What cannot be parsed goes back with its MAC addresses exchanged alone.
pub(super) fn reflect(frame: &mut [u8]) {
    let parsed = parse(frame);
    exchange(frame, 0, 6);
    if let Parsed::Packet(packet) = parsed {
        let (addresses, long) = packet.addresses();
        exchange(frame, addresses, long);
        let ports = WITH_PORTS.contains(&packet.protocol) && packet.left >= 4;
        if ports && !packet.is_later_fragment {
            exchange(frame, packet.transport, 2);
        }
    }
    mark(frame);
}

/// Two things of `size` bytes that follow each other.
fn exchange(frame: &mut [u8], at: usize, size: usize) {
    if let Some(both) = frame.get_mut(at..at + 2 * size) {
        both.rotate_left(size);
    }
}

fn mark(frame: &mut [u8]) {
    let Some(Ok(stamp)) = Stamp::read(frame) else { return };
    let kind = match stamp.kind {
        Kind::Data(expect) => Kind::Reflected(expect),
        Kind::End => Kind::ReflectedEnd,
        reflected => reflected,
    };
    if let Some(place) = frame.last_chunk_mut() {
        *place = Stamp { kind, ..stamp }.bytes();
    }
}
