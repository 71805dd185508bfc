//! Any bytes as a capture: read to the end or to an error without a panic, and what was read can
//! be written and read again.
//!
//! `cargo +nightly fuzz run pcap_read`
#![no_main]

use libfuzzer_sys::fuzz_target;
use pcap::{Options, Packet, Reader, Writer};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = Reader::new(bytes) else { return };
    let mut packet = Packet::default();
    let mut packets = Vec::new();
    while matches!(reader.next_into(&mut packet), Ok(true)) {
        assert!(packet.interface < reader.interfaces().len());
        assert!(reader.bytes_read() <= bytes.len() as u64);
        packets.push(packet.clone());
    }
    // A comment joined from many, or made longer by replacements, may be too long to write.
    packets.retain(|packet| packet.comment.as_ref().is_none_or(|text| text.len() <= 0xffff));
    let mut writer = Writer::pcapng(Vec::new(), &Options::default()).expect("no texts");
    for interface in reader.interfaces() {
        writer.interface("", interface.link_type).expect("as many as were read");
    }
    for packet in &packets {
        writer.write(packet).expect("what was read");
    }
    let copy = writer.finish().expect("a vector takes all");
    let again: Result<Vec<Packet>, _> = Reader::new(&copy[..]).expect("own header").collect();
    assert_eq!(again.expect("own packets"), packets);
});
