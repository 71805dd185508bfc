//! Where hostile frames are sent: the addresses of the sender, the receiver and others.

use lab::frame::{Flow, Side, TcpFlags};

use crate::bpf::router::{A, B0, B1, C};
use crate::random::Random;

/// Addresses by which frames of a topology are made. Pairs of addresses are source, destination.
#[derive(Debug)]
pub struct Place {
    pub macs: [&'static str; 2],
    pub other_macs: &'static [&'static str],
    pub ipv4: [&'static str; 2],
    pub ipv6: [&'static str; 2],
    /// Addresses of the receiver and of its networks.
    pub own4: &'static [&'static str],
    pub own6: &'static [&'static str],
    /// Sources that are reached by another path, or by none.
    pub elsewhere4: &'static [&'static str],
    pub elsewhere6: &'static [&'static str],
    /// Destination ports that three of four frames have.
    pub ports: &'static [u16],
}

/// The first interface of the middle host of the `router` topology; frames are for the host beyond
/// it.
pub const ROUTER: Place = Place {
    macs: [A, B0],
    other_macs: &[A, B1, C, "02:00:00:00:00:77"],
    ipv4: ["10.0.1.2", "10.0.2.2"],
    ipv6: ["fd00:0:0:1::2", "fd00:0:0:2::2"],
    own4: &["10.0.1.1", "10.0.2.1", "10.0.1.255", "10.0.2.255"],
    own6: &["fd00:0:0:1::1", "fd00:0:0:2::1", "fd00:0:0:1::"],
    elsewhere4: &["10.0.2.2", "10.0.2.9", "192.0.2.1", "169.254.1.1"],
    elsewhere6: &["fd00:0:0:2::2", "fd00:0:0:2::9", "2001:db8::1"],
    ports: &[7, 53, 80, 4789],
};

/// Host `b` of the `two-hosts` topology, which frames are for.
pub const HOST: Place = Place {
    macs: ["02:78:77:00:00:01", "02:78:77:00:00:02"],
    other_macs: &["02:78:77:00:00:01", "02:78:77:00:00:77", "06:78:77:00:00:02"],
    ipv4: ["10.0.0.1", "10.0.0.2"],
    ipv6: ["fd00::1", "fd00::2"],
    own4: &["10.0.0.2", "10.0.0.255", "10.0.0.0"],
    own6: &["fd00::2", "fd00::"],
    elsewhere4: &["10.0.0.9", "192.0.2.1", "169.254.1.1"],
    elsewhere6: &["fd00::9", "2001:db8::1", "fe80::9"],
    ports: &[7, 53, 80, 1234, 4789],
};

impl Place {
    /// A frame without faults.
    pub fn usual(&self, random: &mut Random, is_ipv6: bool) -> Vec<u8> {
        const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
        const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };
        let listed = *random.one(self.ports);
        let port = if random.below(4) > 0 { listed } else { 1 + random.below(60_000) as u16 };
        let [from, to] = if is_ipv6 { self.ipv6 } else { self.ipv4 };
        let side = |mac, ip, port| Side::new(mac, ip, port).expect("an address");
        let flow = Flow::new(side(self.macs[0], from, 4000), side(self.macs[1], to, port));
        let payload = vec![7; random.below(60)];
        let frame = match random.below(6) {
            0 | 1 => flow.udp(&payload),
            2 => flow.tcp(SYN, 7, &payload),
            3 | 4 => flow.tcp(ACK, 7, &payload),
            _ => flow.ping(1, 2, &payload),
        };
        frame.expect("a usual frame")
    }
}
