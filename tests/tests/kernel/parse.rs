//! The packet parser that all programs share, on the kernel and on the engine: packet in,
//! innermost header out.

use spec::{Spec, Verdict};
use xway_tests::bpf::packet::*;
use xway_tests::bpf::{Arm, Judge};
use xway_tests::random::Random;
use xway_tests::stories;

const OBJECT: &[u8] = include_bytes!("../../../bpf/prebuilt/test/parse.o");

stories! {
    arp_of_ipv4_over_ethernet
    udp_lengths
    tcp_offsets
    icmp_and_others
    any_bytes_are_judged
}

fn parsed<R: Arm>(cases: &[(&str, Vec<u8>, &str)]) {
    let mut judge = Judge::<R>::load(&Spec::parse("parse", OBJECT).unwrap(), "parse");
    for (name, packet, header) in cases {
        let judgement = judge.judge(packet, 0);
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Pass, *header), "{name}");
    }
}

/// For IPv4 over Ethernet, but for the byte at `at`.
fn arp(at: usize, byte: u8) -> Vec<u8> {
    let mut message = vec![0, 1, 8, 0, 6, 4, 0, 1];
    message.resize(28, 0);
    message[at] = byte;
    message
}

/// UDP whose length field is `length`, with `payload` bytes after the header.
fn datagram(length: u16, payload: usize) -> Vec<u8> {
    let [high, low] = length.to_be_bytes();
    [vec![0, 1, 0, 2, high, low, 0, 0], vec![9; payload]].concat()
}

/// TCP whose data offset is `words`, with `rest` bytes after the first 20.
fn segment(words: u8, rest: usize) -> Vec<u8> {
    let mut header = vec![0; 12];
    header.extend([words << 4, 2, 0, 0, 0, 0, 0, 0]);
    [header, vec![1; rest]].concat()
}

fn in4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    eth(&[], IPV4, &V4::new("10.0.0.1", protocol).wrap(payload))
}

fn in6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    eth(&[VLAN], IPV6, &v6("fd00::1", protocol, payload))
}

fn arp_of_ipv4_over_ethernet<R: Arm>() {
    parsed::<R>(&[
        ("request", eth(&[], ARP, &arp(7, 1)), "arp-request"),
        ("reply", eth(&[QINQ, VLAN], ARP, &arp(7, 2)), "arp-other"),
        ("operation 257", eth(&[], ARP, &arp(6, 1)), "arp-other"),
        ("token ring", eth(&[], ARP, &arp(1, 4)), "bad-header"),
        ("of IPv6", eth(&[], ARP, &arp(3, 0xdd)), "bad-header"),
        ("MAC of 8 bytes", eth(&[], ARP, &arp(4, 8)), "bad-header"),
        ("address of 16 bytes", eth(&[], ARP, &arp(5, 16)), "bad-header"),
        ("one byte short", unpadded(&[], ARP, &arp(7, 1)[..27]), "truncated"),
        ("exactly", unpadded(&[], ARP, &arp(7, 1)), "arp-request"),
    ]);
}

fn udp_lengths<R: Arm>() {
    for wrap in [in4, in6] {
        parsed::<R>(&[
            ("empty", wrap(UDP, &datagram(8, 0)), "udp-empty"),
            ("payload", wrap(UDP, &datagram(9, 1)), "udp-payload"),
            ("less than the packet holds", wrap(UDP, &datagram(9, 4)), "udp-payload"),
            ("more than the packet holds", wrap(UDP, &datagram(10, 1)), "truncated"),
            ("less than its header", wrap(UDP, &datagram(7, 4)), "bad-header"),
            ("zero", wrap(UDP, &datagram(0, 4)), "bad-header"),
            ("seven bytes", wrap(UDP, &datagram(8, 0)[..7]), "truncated"),
        ]);
    }
    let first = V4 { fragment: 0x2000, ..V4::new("10.0.0.1", UDP) };
    let later = V4 { fragment: 1, ..first.clone() };
    parsed::<R>(&[
        ("first", eth(&[], IPV4, &first.wrap(&datagram(4000, 8))), "udp-payload"),
        ("later", eth(&[], IPV4, &later.wrap(&datagram(4000, 8))), "payload-of-fragment"),
        ("first, IPv6", in6(FRAGMENT, &fragment6(UDP, 1, &datagram(4000, 8))), "udp-payload"),
        ("later, IPv6", in6(FRAGMENT, &fragment6(UDP, 8, &[])), "payload-of-fragment"),
    ]);
}

fn tcp_offsets<R: Arm>() {
    for wrap in [in4, in6] {
        parsed::<R>(&[
            ("no options", wrap(TCP, &segment(5, 0)), "tcp-empty"),
            ("payload", wrap(TCP, &segment(5, 1)), "tcp-payload"),
            ("options", wrap(TCP, &segment(15, 40)), "tcp-empty"),
            ("options and payload", wrap(TCP, &segment(6, 5)), "tcp-payload"),
            ("options cut short", wrap(TCP, &segment(6, 3)), "truncated"),
            ("offset in the header", wrap(TCP, &segment(4, 0)), "bad-header"),
            ("nineteen bytes", wrap(TCP, &segment(5, 0)[..19]), "truncated"),
        ]);
    }
}

fn icmp_and_others<R: Arm>() {
    parsed::<R>(&[
        ("echo", in4(ICMP, &[8, 0, 0, 0, 0, 1, 0, 1]), "icmp-echo"),
        ("echo, IPv6", in6(ICMPV6, &[128, 0, 0, 0, 0, 1, 0, 1]), "icmp-echo"),
        ("IPv6's type over IPv4", in4(ICMP, &[128; 8]), "icmp-other"),
        ("seven bytes", in4(ICMP, &[8; 7]), "truncated"),
        ("GRE", in4(47, &[0; 8]), "protocol"),
        ("no next header", in6(NOTHING, &[]), "protocol"),
        ("unknown type", eth(&[], 0x88cc, &[]), "other"),
    ]);
}

/// Whatever the bytes, one reason is counted and nothing changes; the verifier saw to the rest.
fn any_bytes_are_judged<R: Arm>() {
    const SEED: u64 = 0x5eed_0003;
    let mut judge = Judge::<R>::load(&Spec::parse("parse", OBJECT).unwrap(), "parse");
    let mut random = Random::new(SEED);
    let types: [&[u8]; 5] =
        [&[8, 0, 0x45], &[8, 6, 0], &[0x86, 0xdd, 0x60], &[0x81, 0], &[0x88, 0xa8]];
    for round in 0..2_000 {
        let length = 14 + random.below(120);
        let mut packet: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        for (at, byte) in types[random.below(5)].iter().enumerate().take(length - 12) {
            packet[12 + at] = *byte;
        }
        let judgement = judge.judge(&packet, 0);
        assert_eq!(judgement.packet, packet, "seed {SEED:#x}, round {round}");
    }
}
