//! Reflects a frame: exchanges source and destination, and marks its stamp.
//!
//! Rule: the same bytes as from `bpf/sink/reflect.h`. Words are exchanged and the sum of the stamp
//! does not change, so all checksums remain correct.

use packet::{Invalid, IpPacket, Limits, Mac};

use crate::stamp::{Kind, Stamp};

/// Turns a frame into its reply; `false`, and the frame is unchanged, if a network stack would not
/// answer it.
///
/// A stack does not answer a frame that is sent to a MAC address other than `own` (if known), whose
/// source or destination is a group or cannot be a host, or whose IP header is malformed. In frames
/// of other protocols only the MAC addresses are exchanged.
pub fn reflect(frame: &mut [u8], own: Option<Mac>) -> bool {
    let found = IpPacket::find(frame, Limits::default());
    // A header with a wrong length can place the ports in the stamp, which is therefore rewritten.
    let stamp = Stamp::read(frame);
    let is_group = |at: usize| frame.get(at).is_none_or(|byte| byte & 1 == 1);
    let is_own = own.is_none_or(|own| frame.starts_with(&own.0));
    if is_group(0) || is_group(6) || !is_own {
        return false;
    }
    match found {
        Ok(packet) if !is_between_hosts(frame, &packet) => return false,
        Ok(packet) => turn(frame, &packet),
        Err(Invalid::NotIp) => {}
        Err(_) => return false,
    }
    exchange(frame, 0, 6);
    if let Some(Ok(stamp)) = stamp {
        mark(frame, stamp);
    }
    true
}

fn turn(frame: &mut [u8], packet: &IpPacket) {
    let addresses = packet.addresses();
    exchange(frame, addresses.start, addresses.len() / 2);
    let has_ports = packet.protocol.has_ports() && packet.end - packet.transport >= 4;
    if has_ports && !packet.fragment.is_later() {
        exchange(frame, packet.transport, 2);
    }
}

fn is_between_hosts(frame: &[u8], packet: &IpPacket) -> bool {
    let addresses = &frame[packet.addresses()];
    let (from, to) = addresses.split_at(addresses.len() / 2);
    from != to && is_host(from) && is_host(to)
}

/// Whether the address can be that of a host: not unspecified, loopback, multicast or reserved, nor
/// IPv4 embedded in IPv6.
fn is_host(address: &[u8]) -> bool {
    match *address {
        [first, _, _, _] => first != 0 && first != 127 && first < 224,
        [first, ..] => {
            let embeds = |marks: [u8; 4]| address[..8] == [0; 8] && address[8..12] == marks;
            first != 0xff && !embeds([0; 4]) && !embeds([0, 0, 0xff, 0xff])
        }
        [] => false,
    }
}

/// Exchanges two adjacent fields of `size` bytes.
fn exchange(frame: &mut [u8], at: usize, size: usize) {
    if let Some(both) = frame.get_mut(at..at + 2 * size) {
        both.rotate_left(size);
    }
}

fn mark(frame: &mut [u8], stamp: Stamp) {
    let kind = match stamp.kind {
        Kind::Data(expect) => Kind::Reflected(expect),
        Kind::End => Kind::ReflectedEnd,
        reflected => reflected,
    };
    if let Some(place) = frame.last_chunk_mut() {
        *place = Stamp { kind, ..stamp }.bytes();
    }
}
