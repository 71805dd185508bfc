//! A packet in several fragments: tiny, overlapping, doubled, out of order, without an end, and with
//! extension headers that push the ports into a later one.

use super::Place;
use super::frame::Frame;
use crate::random::Random;

/// The frames of one packet, all with the same number; `number` is not 0.
pub fn fragments(random: &mut Random, place: &'static Place, number: u16) -> Vec<Vec<u8>> {
    let is_ipv6 = random.below(2) == 0;
    let frame = place.usual(random, is_ipv6);
    let (headers, rest) = frame.split_at(if is_ipv6 { 54 } else { 34 });
    let (mut protocol, mut payload) = (frame[if is_ipv6 { 20 } else { 23 }], rest.to_vec());
    payload.resize(payload.len().next_multiple_of(8).max(32), 7);
    if is_ipv6 {
        for _ in 0..*random.one(&[0, 0, 1, 2]) {
            payload.splice(0..0, [protocol, 0, 1, 4, 0, 0, 0, 0]);
            protocol = 60;
        }
    }
    let packet = Packet { place, headers, protocol, number };
    let mut pieces = pieces(random, payload.len());
    disturb(random, &mut pieces, payload.len());
    let frames = pieces.iter().map(|&(from, to)| {
        let is_last = to == payload.len();
        packet.fragment(from, &payload[from..to], is_last)
    });
    frames.collect()
}

/// What all fragments of a packet have.
struct Packet<'a> {
    place: &'static Place,
    headers: &'a [u8],
    protocol: u8,
    number: u16,
}

impl Packet<'_> {
    fn fragment(&self, offset: usize, payload: &[u8], is_last: bool) -> Vec<u8> {
        let mut frame = Frame::new(self.place, self.headers.to_vec());
        frame.number(self.number);
        *frame.protocol() = self.protocol;
        if frame.is_ipv6 {
            frame.bytes[18..20].fill(0);
            let offset = offset as u16 | u16::from(!is_last);
            let ([a, b], [c, d]) = (offset.to_be_bytes(), self.number.to_be_bytes());
            frame.extend(44, vec![0, 0, a, b, 0, 0, c, d]);
        } else {
            frame.bytes[16..18].copy_from_slice(&[0, 20]);
            let offset = (offset / 8) as u16 | u16::from(!is_last) << 13;
            frame.bytes[20..22].copy_from_slice(&offset.to_be_bytes());
        }
        frame.bytes.extend(payload);
        frame.lengthen(payload.len() as u16);
        frame.finish()
    }
}

/// Two or three parts that make the whole; the first one may be of eight bytes.
fn pieces(random: &mut Random, length: usize) -> Vec<(usize, usize)> {
    let most = length / 8;
    let first = if random.below(2) == 0 { 1 } else { 1 + random.below(most - 1) };
    let second = first + 1 + random.below(most - first);
    let mut pieces = vec![(0, first * 8), (first * 8, second * 8)];
    if second < most {
        pieces.push((second * 8, length));
    }
    pieces
}

fn disturb(random: &mut Random, pieces: &mut Vec<(usize, usize)>, length: usize) {
    match random.below(8) {
        0 => pieces.reverse(),
        1 => pieces.push(pieces[0]),
        2 => pieces.insert(1, (0, length)),
        3 => pieces[1].0 -= 8,
        4 => pieces.truncate(1),
        5 => pieces.insert(0, (8, 16)),
        _ => {}
    }
}
