//! Places to hide a packet in, one by one: where a reader of one frame, or of its first
//! buffer, could take a tunnel for something else.

use spec::{Runtime, Verdict};

use super::{BAD, GOOD, Start, WAYS, Way};

/// A frame around a packet from a source, and why it is dropped; `None`: because of its source.
struct Place {
    name: &'static str,
    frame: fn(u8) -> Vec<u8>,
    reason: Option<&'static str>,
}

const PLACES: [Place; 10] = [
    Place {
        name: "a first fragment ends behind UDP's header",
        frame: |source| eth(0x0800, &ip4(1, 17, 0x2000, &vxlan(8, source)[..8])),
        reason: Some("truncated"),
    },
    Place {
        name: "the same in IPv6",
        frame: |source| {
            let first = [&[17, 0, 0, 1, 0, 0, 0, 7], &vxlan(8, source)[..8]].concat();
            eth(0x86dd, &ip6(1, 44, &first))
        },
        reason: Some("truncated"),
    },
    Place {
        name: "a first fragment ends behind the extension headers",
        frame: |_| eth(0x86dd, &ip6(1, 44, &[60, 0, 0, 1, 0, 0, 0, 7, 17, 0, 1, 4, 0, 0, 0, 0])),
        reason: Some("truncated"),
    },
    Place {
        name: "a whole packet in a first fragment that ends behind UDP's header",
        frame: |source| {
            let inner = ip4(3, 17, 0, &vxlan(8, source));
            eth(0x0800, &ip4(1, 4, 0x2000, &inner[..28]))
        },
        reason: Some("truncated"),
    },
    Place {
        name: "after a length of zero before hop-by-hop options",
        frame: |source| {
            let options = [&[4, 0, 1, 4, 0, 0, 0, 0], &ip4(source, 89, 0, &[0; 8])[..]].concat();
            let mut packet = ip6(1, 0, &options);
            packet[4..6].fill(0);
            eth(0x86dd, &packet)
        },
        reason: None,
    },
    Place {
        name: "VXLAN with a next protocol",
        frame: |source| eth(0x0800, &ip4(1, 17, 0, &vxlan(0x0c, source))),
        reason: Some("tunnel"),
    },
    Place {
        name: "WCCP in GRE",
        frame: |source| {
            let gre = [&[0, 0, 0x88, 0x3e], &ip4(source, 89, 0, &[0; 8])[..]].concat();
            eth(0x0800, &ip4(1, 47, 0, &gre))
        },
        reason: Some("tunnel"),
    },
    Place {
        name: "multicast MPLS over PPP",
        frame: |source| {
            pppoe(&[&[2, 0x83, 0, 1, 1, 64], &ip4(source, 89, 0, &[0; 8])[..]].concat())
        },
        reason: None,
    },
    Place {
        name: "TCP/IP before it is compressed over PPP",
        frame: |source| pppoe(&[&[0, 0x2f], &ip4(source, 7, 0, &[0; 20])[..]].concat()),
        reason: Some("tunnel"),
    },
    Place {
        name: "frames of bridges over PPP",
        frame: |source| {
            let bridged = eth(0x0800, &ip4(source, 89, 0, &[0; 8]));
            pppoe(&[&[0, 0x31, 0, 1], &bridged[..]].concat())
        },
        reason: Some("tunnel"),
    },
];

/// Beyond the first buffer of a long frame.
const BEYOND: [Place; 2] = [
    Place {
        name: "UDP behind the first buffer",
        frame: |source| {
            let second = options(17, 255, &vxlan(8, source));
            eth(0x86dd, &ip6(1, 60, &options(60, 255, &second)))
        },
        reason: Some("truncated"),
    },
    Place {
        name: "VXLAN's header is in the first buffer but for its end",
        frame: |source| {
            let second = options(17, 175, &vxlan(8, source));
            eth(0x86dd, &ip6(1, 60, &options(60, 255, &second)))
        },
        reason: Some("truncated"),
    },
];

pub fn places<R: Runtime>(start: Start<R>, program: &'static str) {
    judge(start, program, &PLACES);
}

/// For the entry that takes frames of several buffers.
pub fn beyond<R: Runtime>(start: Start<R>, program: &'static str) {
    judge(start, program, &BEYOND);
}

fn judge<R: Runtime>(start: Start<R>, program: &'static str, places: &[Place]) {
    for way in WAYS.into_iter().chain([Way::Alone]) {
        let mut arm = way.arm(start, program, &way.rules());
        let by_source = if way == Way::Ban { "banned" } else { "rule" };
        for Place { name, frame, reason } in places {
            let bad = arm.judge(&frame(BAD));
            let wanted = (Verdict::Drop, reason.unwrap_or(by_source));
            assert_eq!((bad.verdict, &*bad.reason), wanted, "{way:?}: {name}");
            let good = arm.judge(&frame(GOOD));
            let wanted = reason.map_or((Verdict::Pass, "default"), |odd| (Verdict::Drop, odd));
            assert_eq!((good.verdict, &*good.reason), wanted, "{way:?}: {name}");
        }
    }
}

fn eth(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &kind.to_be_bytes()[..], payload].concat()
}

fn ip4(source: u8, protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 7]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, source, 10, 0, 1, 1]);
    [&packet, payload].concat()
}

fn ip6(source: u8, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    for last in [source, 1] {
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    [&packet, payload].concat()
}

/// Destination options of 8 and `units` times 8 bytes.
fn options(next: u8, units: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![next, units];
    header.resize(8 + usize::from(units) * 8, 0);
    [&header, payload].concat()
}

/// In UDP, around a packet from a source.
fn vxlan(flags: u8, source: u8) -> Vec<u8> {
    let inner = eth(0x0800, &ip4(source, 89, 0, &[0; 8]));
    let length = (16 + inner.len()) as u16;
    let [high, low] = length.to_be_bytes();
    // A next protocol is IPv4.
    let header = [0x30, 0x39, 0x12, 0xb5, high, low, 0, 0, flags, 0, 0, 1, 0, 0, 1, 0];
    [&header, &inner[..]].concat()
}

fn pppoe(packet: &[u8]) -> Vec<u8> {
    let length = packet.len() as u16;
    eth(0x8864, &[&[0x11, 0, 0, 9], &length.to_be_bytes()[..], packet].concat())
}
