//! Unit-testing an XDP object with `cargo test`, without root and without a kernel: load it, fill
//! its maps, feed packets built in code or read from a capture, check verdict, bytes and maps.
//!
//! `cargo test -p xway-examples --test 01-unit-test`
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

use etherparse::PacketBuilder;
use pcap::{Packet, Reader, Writer};
use spec::{Input, Map, Runtime, Spec, Verdict};
use vm::VmRuntime;

/// An object that swaps the addresses of UDP packets, sends them back and counts by protocol.
const OBJECT: &[u8] = include_bytes!("../../bpf/prebuilt/test/paper_count.o");

#[test]
fn udp_is_sent_back_and_counted() {
    let mut vm = VmRuntime::default();
    vm.load(&Spec::parse("paper_count.o", OBJECT).unwrap()).unwrap();
    let packet = udp(53);
    let outcome = vm.run("count_and_reflect", &Input { packet, ..Input::default() }).unwrap();
    assert_eq!(outcome.verdict, Verdict::Tx);
    assert_eq!(outcome.packet[..6], [2; 6], "to where it came from");
    let count = vm.map("rxcnt").unwrap().lookup(&17_u32.to_ne_bytes()).unwrap().unwrap();
    assert_eq!(count, 1_u64.to_ne_bytes());
}

#[test]
fn a_capture_plays_too() {
    let mut vm = VmRuntime::default();
    vm.load(&Spec::parse("paper_count.o", OBJECT).unwrap()).unwrap();
    for packet in Reader::new(&capture()[..]).unwrap() {
        let input = Input { packet: packet.unwrap().data, ..Input::default() };
        assert_eq!(vm.run("count_and_reflect", &input).unwrap().verdict, Verdict::Tx);
    }
    let count = vm.map("rxcnt").unwrap().lookup(&17_u32.to_ne_bytes()).unwrap().unwrap();
    assert_eq!(count, 3_u64.to_ne_bytes());
}

fn udp(port: u16) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let builder = builder.ipv4([10, 0, 0, 1], [10, 1, 0, 2], 64).udp(4000, port);
    let mut frame = Vec::new();
    builder.write(&mut frame, b"payload").unwrap();
    frame
}

/// As a file would hold it.
fn capture() -> Vec<u8> {
    let mut writer = Writer::pcapng(Vec::new(), &pcap::Options::default()).unwrap();
    writer.interface("eth0", pcap::LinkType::ETHERNET).unwrap();
    for port in [53, 80, 123] {
        writer.write(&Packet { data: udp(port), ..Packet::default() }).unwrap();
    }
    writer.finish().unwrap()
}
