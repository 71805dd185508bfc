//! What can be wrong with the header after IP, as it is found at the place where it was written.

use packet::IpProtocol;

use super::frame::{Fault, Frame};
use crate::random::Random;

const TCP: u8 = IpProtocol::TCP.0;
const UDP: u8 = IpProtocol::UDP.0;

pub(super) const FAULTS: &[Fault] = &[
    ("another transport checksum", |_, frame| {
        let at = frame.transport + 7;
        if let Some(byte) = frame.bytes.get_mut(at) {
            *byte ^= 0x55;
        }
    }),
    ("another TCP header", |random, frame| {
        if *frame.protocol() == TCP {
            tcp(random, frame);
        }
    }),
    ("another UDP length", |random, frame| {
        if *frame.protocol() == UDP && frame.bytes.len() >= frame.transport + 8 {
            let at = frame.transport + 4;
            let length = u16::from_be_bytes([frame.bytes[at], frame.bytes[at + 1]]);
            let all = [0, 7, 8, 9, 0xffff, length.wrapping_add(1), length.wrapping_sub(1)];
            frame.bytes[at..at + 2].copy_from_slice(&random.one(&all).to_be_bytes());
        }
    }),
    ("another ICMP message", |random, frame| {
        if matches!(*frame.protocol(), 1 | 58) && frame.bytes.len() >= frame.transport + 4 {
            let kinds = [0, 3, 4, 5, 8, 13, 17, 128, 129, 133, 134, 135, 136, 137];
            let (at, kind) = (frame.transport, *random.one(&kinds));
            frame.bytes[at] = if random.below(3) == 0 { random.below(256) as u8 } else { kind };
            frame.bytes[at + 1] = random.below(6) as u8;
        }
    }),
    ("ports that are cut off", |random, frame| {
        let keep = frame.transport + random.below(9);
        if keep < frame.bytes.len() {
            let less = (frame.bytes.len() - keep) as u16;
            frame.lengthen(less.wrapping_neg());
            // Else they are there as padding.
            if random.below(2) == 0 {
                frame.bytes.truncate(keep);
            }
        }
    }),
];

/// Flags, offset and options, some of which do not fit together.
fn tcp(random: &mut Random, frame: &mut Frame) {
    let at = frame.transport;
    if frame.bytes.len() < at + 20 {
        return;
    }
    frame.bytes[at + 13] = *random.one(&[0, 1, 2, 3, 0x12, 0x29, 0x3f, 0x42, 0xc2, 0xff]);
    match random.below(3) {
        0 => frame.bytes[at + 12] = (random.below(16) as u8) << 4 | random.below(16) as u8,
        1 => {
            let options =
                [[1, 1, 1, 0], [2, 4, 0, 0], [3, 0, 1, 1], [2, 40, 5, 180], [254, 9, 0, 0]];
            frame.bytes.splice(at + 20..at + 20, *random.one(&options));
            frame.bytes[at + 12] = 0x60;
            frame.lengthen(4);
        }
        _ => {}
    }
}
