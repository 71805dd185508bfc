//! Captures.

use pcap::{Framing, LinkType, Options, Packet, Reader, Writer};
use traffic::replay::{self, Cut, Recording};

/// Read to the end or to an error; what was read can be framed, written and read again.
pub fn read(bytes: &[u8]) {
    let Ok(mut reader) = Reader::new(bytes) else { return };
    let mut packet = Packet::default();
    let mut packets = Vec::new();
    while matches!(reader.next_into(&mut packet), Ok(true)) {
        assert!(packet.interface < reader.interfaces().len());
        assert!(reader.bytes_read() <= bytes.len() as u64);
        frame(reader.interfaces()[packet.interface].link_type, &packet.data);
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
}

/// A frame is a header and a part of the packet that reaches to its end, and a header is added only
/// to types of which `gets_header` is true.
fn frame(link: LinkType, packet: &[u8]) {
    let mut frame = vec![7];
    match Framing::default().frame(link, packet, &mut frame) {
        Ok(added) => {
            assert_eq!(added, link.gets_header());
            let payload = &frame[1 + if added { 14 } else { 0 }..];
            assert!(packet.ends_with(payload) && (!added || !payload.is_empty()));
        }
        Err(_) => assert_eq!(frame, [7], "nothing is left of what failed"),
    }
}

/// A recording for the generator, with each way to treat packets that were cut.
pub fn replay(bytes: &[u8]) {
    for cut in [Cut::AsCaptured, Cut::Pad, Cut::LeaveOut] {
        let options = replay::Options { cut, ..replay::Options::default() };
        let _ = Recording::read(bytes, &options);
    }
}
