//! Captures in memory, and the recordings that they become.

use packet::Mac;
use pcap::{Resolution, Writer};
use proptest::prelude::*;

use super::super::{Edits, Framing, Vlan};
use super::*;

const ETHERNET: [u8; 60] = [7; 60];
const START: u64 = 1_700_000_000_000_000_000;

/// A packet that was captured `after_ns` after the first.
fn packet(after_ns: u64, data: &[u8]) -> Packet {
    let original_len = data.len() as u32;
    Packet {
        timestamp_ns: START + after_ns,
        data: data.to_vec(),
        original_len,
        ..Packet::default()
    }
}

fn capture(link: LinkType, packets: &[Packet]) -> Vec<u8> {
    let mut writer = Writer::pcap(Vec::new(), link, Resolution::Nano).unwrap();
    packets.iter().for_each(|packet| writer.write(packet).unwrap());
    writer.finish().unwrap()
}

fn read(packets: &[Packet], options: &Options) -> Result<(Recording, Notes)> {
    Recording::read(&capture(LinkType::ETHERNET, packets)[..], options)
}

fn dues(recording: &Recording) -> Vec<u128> {
    recording.frames.iter().map(|frame| frame.due.as_nanos()).collect()
}

#[test]
fn frames_are_as_captured_with_their_times() {
    let long: Vec<u8> = (0..255).cycle().take(1514).collect();
    let packets = [packet(0, &ETHERNET), packet(1, &long), packet(3_000_000_001, &[9; 14])];
    let (recording, notes) = read(&packets, &Options::default()).unwrap();
    let frames: Vec<_> = recording.frames.iter().map(|f| recording.bytes_of(f)).collect();
    assert_eq!(frames, [&ETHERNET[..], &long, &[9; 14]]);
    assert_eq!(dues(&recording), [0, 1, 3_000_000_001]);
    assert_eq!(recording.length.as_nanos(), 4_500_000_002, "and the mean gap");
    assert_eq!((recording.rounds, recording.total(), recording.longest()), (1, Some(3), 1514));
    assert_eq!(notes, Notes { packets: 3, ..Notes::default() });
    assert!(notes.lines().is_empty());
}

#[test]
fn timing_is_as_requested() {
    let packets = [0, 1_000, 5_000].map(|at| packet(at, &ETHERNET));
    for (timing, wanted, length) in [
        (Timing::Captured, [0, 1_000, 5_000], 7_500),
        (Timing::Scaled(2.0), [0, 500, 2_500], 3_750),
        (Timing::Scaled(0.1), [0, 10_000, 50_000], 75_000),
        (Timing::PacketsPerSecond(1e6), [0, 1_000, 2_000], 3_000),
        (Timing::Max, [0, 0, 0], 0),
    ] {
        let options = Options { timing, rounds: 0, ..Options::default() };
        let (recording, _) = read(&packets, &options).unwrap();
        assert_eq!(dues(&recording), wanted, "{timing:?}");
        assert_eq!(recording.length.as_nanos(), length, "{timing:?}");
        assert_eq!((recording.is_paced(), recording.total()), (length > 0, None), "{timing:?}");
    }
    let longest_gap = Some(Duration::from_nanos(1_500));
    let (recording, notes) =
        read(&packets, &Options { longest_gap, ..Options::default() }).unwrap();
    assert_eq!((dues(&recording), notes.shortened), (vec![0, 1_000, 2_500], 1));
}

#[test]
fn times_that_go_backwards_keep_the_order() {
    let packets = [10, 30, 20, 25, 40].map(|at| packet(at, &ETHERNET));
    let (recording, notes) = read(&packets, &Options::default()).unwrap();
    assert_eq!(dues(&recording), [0, 20, 20, 20, 30]);
    assert_eq!(notes.backwards, 2, "{:?}", notes.lines());
    let untimed = Packet { timestamp_ns: 0, ..packet(0, &ETHERNET) };
    let packets = [untimed.clone(), packet(0, &ETHERNET), untimed, packet(9, &ETHERNET)];
    let (recording, notes) = read(&packets, &Options::default()).unwrap();
    assert_eq!((dues(&recording), notes.untimed), (vec![0, 0, 0, 9], 2));
}

#[test]
fn what_cannot_be_sent_is_left_out_and_counted() {
    let limit = Options { mtu: 100, ..Options::default() };
    let packets = [13, 14, 118, 119].map(|len| packet(0, &vec![1; len]));
    let (recording, notes) = read(&packets, &limit).unwrap();
    assert_eq!(recording.frames.iter().map(|frame| frame.len).collect::<Vec<_>>(), [14, 118]);
    assert_eq!(notes.left_out, [(Reason::Short, 1), (Reason::Long, 1)].into());
    assert_eq!((notes.missing(), notes.lines().len()), (2, 2));

    let jumbo = Options { mtu: 9000, ..Options::default() };
    let packets = [FRAME_MAX, FRAME_MAX + 1].map(|len| packet(0, &vec![1; len]));
    let (recording, notes) = read(&packets, &jumbo).unwrap();
    assert_eq!((recording.longest(), notes.left_out), (FRAME_MAX, [(Reason::Long, 1)].into()));

    let wireless = capture(LinkType(105), &[packet(0, &ETHERNET)]);
    let error = Recording::read(&wireless[..], &Options::default()).unwrap_err();
    assert!(error.to_string().contains("nothing to send: 1 left out: 802.11 (105)"), "{error}");
}

#[test]
fn edits_count_before_lengths_are_looked_at() {
    let push = Edits { vlan: Some(Vlan::Push(5)), ..Edits::default() };
    let options = Options { mtu: 100, edits: push, ..Options::default() };
    let (recording, notes) =
        read(&[114, 115].map(|len| packet(0, &vec![1; len])), &options).unwrap();
    assert_eq!((recording.longest(), notes.edited, notes.missing()), (118, 1, 1));
}

#[test]
fn cut_frames_are_sent_padded_or_left_out() {
    let cut = Packet { original_len: 100, ..packet(0, &ETHERNET) };
    let packets = [cut, packet(0, &ETHERNET)];
    for (cut, lengths, counts) in [
        (Cut::AsCaptured, &[60, 60][..], (1, 0, 0)),
        (Cut::Pad, &[100, 60], (0, 1, 0)),
        (Cut::LeaveOut, &[60], (0, 0, 1)),
    ] {
        let (recording, notes) = read(&packets, &Options { cut, ..Options::default() }).unwrap();
        let found: Vec<_> = recording.frames.iter().map(|frame| frame.len).collect();
        assert_eq!((&found[..], (notes.cut, notes.padded, notes.missing())), (lengths, counts));
        assert!(recording.bytes.starts_with(&ETHERNET));
        assert!(cut != Cut::Pad || recording.bytes[60..100] == [0; 40]);
    }
    let lie = Packet { original_len: u32::MAX, ..packet(0, &ETHERNET) };
    let pad = Options { cut: Cut::Pad, ..Options::default() };
    let (_, notes) = read(&[packet(0, &ETHERNET), lie], &pad).unwrap();
    assert_eq!(notes.left_out, [(Reason::Long, 1)].into());
}

#[test]
fn packets_without_ethernet_get_a_header() {
    let framing = Framing { source: Mac([2; 6]), destination: Mac([4; 6]) };
    let ip = capture(LinkType::RAW, &[packet(0, &[0x45; 20])]);
    let options = Options { framing, ..Options::default() };
    let (recording, notes) = Recording::read(&ip[..], &options).unwrap();
    assert_eq!(recording.bytes[..14], [4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 8, 0]);
    assert_eq!((recording.longest(), notes.framed), (34, [(LinkType::RAW, 1)].into()));
}

#[test]
fn each_interface_of_a_capture_has_its_link_type() {
    let mut writer = Writer::pcapng(Vec::new(), &pcap::Options::default()).unwrap();
    for link in [LinkType::ETHERNET, LinkType::IPV4, LinkType(105)] {
        let interface = writer.interface("any", link).unwrap();
        writer.write(&Packet { interface, ..packet(0, &ETHERNET) }).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let (recording, notes) = Recording::read(&bytes[..], &Options::default()).unwrap();
    let lengths: Vec<_> = recording.frames.iter().map(|frame| frame.len).collect();
    assert_eq!((lengths, notes.missing()), (vec![60, 74], 1));
}

#[test]
fn a_strict_reader_takes_ethernet_alone() {
    let strict = Options { link: LinkPolicy::Strict, ..Options::default() };
    assert!(read(&[packet(0, &ETHERNET)], &strict).is_ok());
    for (link, name) in [(LinkType::RAW, "raw IP (101)"), (LinkType(9), "PPP (9)")] {
        let bytes = capture(link, &[packet(0, &[0x45; 40])]);
        let error = Recording::read(&bytes[..], &strict).unwrap_err().to_string();
        assert!(error.contains(&format!("packet 1 is {name}")), "{error}");
    }
}

#[test]
fn a_damaged_capture_is_sent_as_far_as_it_is_whole() {
    let whole = capture(LinkType::ETHERNET, &[0, 1, 2].map(|at| packet(at, &ETHERNET)));
    let record = 16 + 60;
    for (len, frames, damage) in
        [(24 + 3 * record, 3, false), (24 + 3 * record - 1, 2, true), (24 + record + 5, 1, true)]
    {
        let (recording, notes) = Recording::read(&whole[..len], &Options::default()).unwrap();
        assert_eq!((recording.frames.len(), notes.damage.is_some()), (frames, damage), "{len}");
    }
    for (label, bytes, part) in [
        ("no packets", &whole[..24], "it is empty"),
        ("cut in the first", &whole[..30], "truncated"),
        ("cut in the header", &whole[..10], "truncated"),
        ("no capture", &b"GET / HTTP/1.1\r\n"[..], "not a pcap"),
        ("nothing", &[], "not a pcap"),
    ] {
        let error = Recording::read(bytes, &Options::default()).unwrap_err();
        assert!(error.to_string().contains(part), "{label}: {error}");
    }
    let first = Options { first: Some(2), ..Options::default() };
    let (recording, notes) = Recording::read(&whole[..24 + 2 * record + 3], &first).unwrap();
    assert_eq!(
        (recording.frames.len(), notes.damage),
        (2, None),
        "the rest of the capture is not read"
    );
}

#[test]
fn byte_swapped_captures_are_the_same() {
    let mut swapped = capture(LinkType::ETHERNET, &[packet(5, &ETHERNET)]);
    let words = [0, 8, 12, 16, 20, 24, 28, 32, 36];
    words.iter().for_each(|at| swapped[*at..at + 4].reverse());
    [4, 6].iter().for_each(|at| swapped[*at..at + 2].reverse());
    let plain = read(&[packet(5, &ETHERNET)], &Options::default()).unwrap();
    assert_eq!(Recording::read(&swapped[..], &Options::default()).unwrap(), plain);
}

#[test]
fn memory_is_bounded() {
    let options = Options::default();
    let mut receiver = Receiver::new(&options);
    let jumbo = packet(0, &[1; 1514]);
    let error = (0..RECORDING).find_map(|_| receiver.take(LinkType::ETHERNET, &jumbo).err());
    let text = error.unwrap().to_string();
    assert!(text.contains("send only its first 173"), "{text}");
    assert!(receiver.recording.bytes.len() < RECORDING);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for wrong in [
        Options { timing: Timing::Scaled(0.0), ..Options::default() },
        Options { timing: Timing::Scaled(f64::NAN), ..Options::default() },
        Options { timing: Timing::Scaled(-1.0), ..Options::default() },
        Options { timing: Timing::PacketsPerSecond(0.0), ..Options::default() },
        Options { timing: Timing::PacketsPerSecond(1e12), ..Options::default() },
        Options { first: Some(0), ..Options::default() },
    ] {
        let error = read(&[packet(0, &ETHERNET)], &wrong).unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{wrong:?}: {error}");
    }
}

proptest! {
    #[test]
    fn any_bytes_after_a_header_result_in_frames_or_an_error(
        link in prop::sample::select(vec![0_u16, 1, 9, 12, 50, 51, 101, 104, 108, 113, 228, 276]),
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..8),
        cut in 0..4000_usize,
    ) {
        let packets: Vec<_> = packets.iter().map(|data| packet(0, data)).collect();
        let (v4, v6) = ("0.0.0.0/0=10.0.0.0/8", "::/0=fd00::/8");
        let edits = Edits {
            macs: vec!["*=02:00:00:00:00:09".parse().unwrap()],
            addresses: vec![v4.parse().unwrap(), v6.parse().unwrap()],
            ports: vec!["*=9".parse().unwrap()],
            vlan: Some(Vlan::Strip),
        };
        let mut bytes = capture(LinkType(link), &packets);
        bytes.truncate(cut.max(24));
        let options = Options { edits, ..Options::default() };
        if let Ok((recording, notes)) = Recording::read(&bytes[..], &options) {
            prop_assert_eq!(notes.packets, notes.missing() + recording.frames.len() as u64);
            prop_assert!(recording.frames.iter().all(|frame| frame.len >= FRAME_MIN));
        }
    }
}
