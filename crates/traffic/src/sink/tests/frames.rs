//! Stamped frames of all kinds that are verified.

use etherparse::{PacketBuilder, VlanId};

use crate::stamp::{Expect, Kind, Stamp};

/// The protocol that carries the stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    Udp4,
    Tcp4,
    Icmp4,
    Udp6,
    Tcp6,
    Icmp6,
    TaggedUdp4,
    DoublyTaggedTcp6,
    /// Neither IPv4 nor IPv6.
    Raw,
}

impl Carrier {
    pub const ALL: [Self; 9] = [
        Self::Udp4,
        Self::Tcp4,
        Self::Icmp4,
        Self::Udp6,
        Self::Tcp6,
        Self::Icmp6,
        Self::TaggedUdp4,
        Self::DoublyTaggedTcp6,
        Self::Raw,
    ];

    /// A complete frame: a payload of `length` bytes, followed by the stamp.
    pub fn frame(self, length: usize, stamp: &Stamp) -> Vec<u8> {
        let mut payload: Vec<u8> = (0..length).map(|n| n as u8).collect();
        payload.extend(stamp.bytes());
        let ethernet = PacketBuilder::ethernet2(FROM, TO);
        let one = VlanId::try_new(7).unwrap();
        let two = VlanId::try_new(9).unwrap();
        let mut frame = Vec::new();
        match self {
            Self::Udp4 => ethernet.ipv4(FROM4, TO4, 64).udp(PORT, 9).write(&mut frame, &payload),
            Self::Tcp4 => {
                ethernet.ipv4(FROM4, TO4, 64).tcp(PORT, 9, 1, 99).write(&mut frame, &payload)
            }
            Self::Icmp4 => {
                let step = ethernet.ipv4(FROM4, TO4, 64).icmpv4_echo_request(1, 2);
                step.write(&mut frame, &payload)
            }
            Self::Udp6 => ethernet.ipv6(FROM6, TO6, 64).udp(PORT, 9).write(&mut frame, &payload),
            Self::Tcp6 => {
                ethernet.ipv6(FROM6, TO6, 64).tcp(PORT, 9, 1, 99).write(&mut frame, &payload)
            }
            Self::Icmp6 => {
                let step = ethernet.ipv6(FROM6, TO6, 64).icmpv6_echo_request(1, 2);
                step.write(&mut frame, &payload)
            }
            Self::TaggedUdp4 => {
                let step = ethernet.single_vlan(one).ipv4(FROM4, TO4, 64).udp(PORT, 9);
                step.write(&mut frame, &payload)
            }
            Self::DoublyTaggedTcp6 => {
                let step = ethernet.double_vlan(one, two).ipv6(FROM6, TO6, 64);
                step.tcp(PORT, 9, 1, 99).write(&mut frame, &payload)
            }
            Self::Raw => {
                frame = [&TO[..], &FROM, &[0x88, 0xb5], &payload].concat();
                Ok(())
            }
        }
        .unwrap();
        frame
    }
}

/// A stamp of a stream and source with this number, sent at time 0.
pub fn stamp(stream: u16, source: u8, number: u32) -> Stamp {
    Stamp { stream, source, number, time_ns: 0, kind: Kind::Data(Expect::Pass) }
}

pub fn udp(stamp: &Stamp) -> Vec<u8> {
    Carrier::Udp4.frame(2, stamp)
}

/// A stamp that announces the number of frames that were sent.
pub fn end(stream: u16, source: u8, count: u32) -> Vec<u8> {
    udp(&Stamp { kind: Kind::End, ..stamp(stream, source, count) })
}

pub const FROM: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const TO: [u8; 6] = [2, 0, 0, 0, 0, 2];
pub const FROM4: [u8; 4] = [10, 0, 0, 1];
pub const TO4: [u8; 4] = [10, 0, 0, 2];
const FROM6: [u8; 16] = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const TO6: [u8; 16] = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
const PORT: u16 = 4242;
