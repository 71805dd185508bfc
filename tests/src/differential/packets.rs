//! Random packets: any bytes, and bytes that look like headers.

use spec::Input;

use super::rng::Rng;

/// 14 to 1500 bytes, or 9000 where frames may have fragments; now and then with metadata in
/// front.
pub fn random(rng: &mut Rng, frags: bool) -> Input {
    let len = match rng.below(4) {
        0 => 14 + rng.below(8),
        1 => 60,
        2 if frags => 3000 + rng.below(6000),
        2 => 14 + rng.below(200),
        _ => 14 + rng.below(1487),
    };
    let mut packet: Vec<u8> = (0..len).map(|_| byte(rng)).collect();
    if rng.one_in(2) {
        packet[12..14].copy_from_slice(&[0x08, 0x00]);
    }
    if len >= 34 && rng.one_in(2) {
        packet[14..34].copy_from_slice(&IPV4);
    }
    let metadata = rng.pick(&[0, 0, 0, 4, 8, 32]);
    let metadata = (0..metadata).map(|_| byte(rng)).collect();
    Input { packet, metadata, ingress_ifindex: 0, rx_queue: 0 }
}

/// Small numbers are likelier, so that comparisons and keys agree now and then.
fn byte(rng: &mut Rng) -> u8 {
    match rng.below(3) {
        0 => rng.below(4) as u8,
        1 => rng.pick(&[0, 0x7f, 0x80, 0xff]),
        _ => rng.word() as u8,
    }
}

/// 10.0.0.1 to 10.0.0.2, UDP.
const IPV4: [u8; 20] =
    [0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0x26, 0xbd, 10, 0, 0, 1, 10, 0, 0, 2];
