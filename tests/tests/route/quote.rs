//! ICMP errors as frames: made, recognized, and compared.

use lab::frame::Flow;
use packet::{IpProtocol, checksum};

/// An ICMP error that quotes a packet from its IP header on.
pub fn message(flow: &Flow, kind: u8, code: u8, rest: u32, quote: &[u8]) -> Vec<u8> {
    let mut frame = flow.ping(0, 0, quote).unwrap();
    let at = icmp_at(&frame);
    frame[at..at + 4].copy_from_slice(&[kind, code, 0, 0]);
    frame[at + 4..at + 8].copy_from_slice(&rest.to_be_bytes());
    let pseudo = if at == 54 {
        checksum::pseudo_header(&frame[22..54], IpProtocol::ICMPV6, frame.len() - at)
    } else {
        0
    };
    let check = !checksum::fold(pseudo + checksum::sum(&frame[at..]));
    frame[at + 2..at + 4].copy_from_slice(&check.to_be_bytes());
    frame
}

/// Where the ICMP header is.
fn icmp_at(frame: &[u8]) -> usize {
    if frame[12] == 8 { 34 } else { 54 }
}

/// Makes the checksum of an IPv4 header right.
pub fn repair(packet: &mut [u8]) {
    if packet[12] != 8 {
        return;
    }
    packet[24..26].fill(0);
    let check = !checksum::fold(checksum::sum(&packet[14..34]));
    packet[24..26].copy_from_slice(&check.to_be_bytes());
}

pub fn is_error(frame: &[u8]) -> bool {
    match frame[12..14] {
        [8, 0] => frame[23] == 1 && matches!(frame[34], 3 | 4 | 11 | 12),
        [0x86, 0xdd] => frame[20] == 58 && frame[54] < 128,
        _ => false,
    }
}

/// Without what two routers choose for themselves: identification and flow label.
pub fn comparable(mut frame: Vec<u8>) -> Vec<u8> {
    if frame[12] == 8 {
        frame[18..20].fill(0);
        frame[24..26].fill(0);
    } else {
        frame[15] &= 0xf0;
        frame[16..18].fill(0);
    }
    frame
}
