//! Which frames are intact, and what a reflected frame looks like.

use super::frames::{Carrier, FROM4, TO4, stamp};
use crate::sink::reflect::reflect;
use crate::sink::verify::{Finding, check};
use crate::stamp::{Expect, Kind, Stamp};

fn is_wrong(frame: &[u8]) -> bool {
    check(frame) == Finding::Wrong
}

#[test]
fn whole_frames_are_right_and_turned_bits_show() {
    for carrier in Carrier::ALL.into_iter().filter(|carrier| *carrier != Carrier::Raw) {
        for length in [0, 1, 2, 3, 7, 30, 31, 64, 100, 511, 1400] {
            let frame = carrier.frame(length, &stamp(1, 0, 5));
            assert!(!is_wrong(&frame), "{carrier:?} {length}");
            let payload = frame.len() - Stamp::LEN - length;
            for at in (payload..frame.len()).step_by(length / 16 + 1) {
                let mut frame = frame.clone();
                frame[at] ^= 1 << (at % 8);
                assert!(is_wrong(&frame), "{carrier:?} {length}: byte {at}");
            }
        }
    }
}

#[test]
fn errors_that_quote_a_frame_are_not_taken_for_it() {
    for (carrier, at, errors) in [
        (Carrier::Icmp4, 34, &[3, 4, 5, 11, 12][..]),
        (Carrier::Icmp6, 54, &[1, 2, 3, 4, 100, 127]),
    ] {
        for kind in 0..=u8::MAX {
            let mut frame = carrier.frame(5, &stamp(1, 0, 5));
            let was = frame[at];
            frame[at] = kind;
            let found = match kind {
                kind if errors.contains(&kind) => Finding::Quote,
                kind if carrier == Carrier::Icmp6 && kind < 128 => Finding::Quote,
                kind if kind == was => Finding::Right,
                _ => Finding::Wrong,
            };
            assert_eq!(check(&frame), found, "{carrier:?}, type {kind}");
        }
    }
}

/// Offset of the IP header, in a frame of UDP over IPv4.
const IP: usize = 14;
const UDP: usize = IP + 20;

#[test]
fn what_is_not_verified_is_right() {
    let plain = Carrier::Udp4.frame(20, &stamp(1, 0, 5));
    let with = |change: fn(&mut Vec<u8>)| {
        let mut frame = plain.clone();
        change(&mut frame);
        frame
    };
    type Row = (&'static str, fn(&mut Vec<u8>), bool);
    let table: &[Row] = &[
        ("untouched", |_| {}, false),
        ("a MAC address", |frame| frame[3] ^= 1, false),
        ("no checksum", |frame| frame[UDP + 6..UDP + 8].fill(0), false),
        ("a wrong checksum", |frame| frame[UDP + 7] ^= 1, true),
        ("a turned address", |frame| frame[IP + 12] ^= 1, true),
        ("a turned TTL", |frame| frame[IP + 8] ^= 1, true),
        ("another protocol", |frame| put(frame, IP + 8, [64, 47]), false),
        ("ICMPv6 over IPv4", |frame| put(frame, IP + 8, [64, 58]), false),
        ("a first fragment", |frame| put(frame, IP + 6, [0x20, 0]), false),
        ("a later fragment", |frame| put(frame, IP + 6, [0, 5]), false),
        ("a fragment without its sum", |frame| frame[IP + 6] = 0x20, true),
        ("longer than the frame", |frame| frame.truncate(60), true),
        ("padding", |frame| frame.extend([9; 7]), false),
        ("UDP longer than the packet", |frame| frame[UDP + 5] += 1, true),
        ("UDP shorter than its header", |frame| frame[UDP + 5] = 7, true),
        ("version 5", |frame| frame[IP] = 0x55, true),
        ("no IP at all", |frame| frame[12..14].fill(0x99), false),
    ];
    for (name, change, wrong) in table {
        assert_eq!(is_wrong(&with(*change)), *wrong, "{name}");
    }
    for length in 0..Carrier::DoublyTaggedTcp6.frame(0, &stamp(1, 0, 5)).len() {
        let cut = &Carrier::DoublyTaggedTcp6.frame(0, &stamp(1, 0, 5))[..length];
        assert!(is_wrong(cut), "cut at {length}");
    }
}

/// Changes a word of the IP header, and corrects its checksum.
fn put(frame: &mut [u8], at: usize, word: [u8; 2]) {
    let half = |frame: &[u8], at: usize| u32::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    let sum = (half(frame, IP + 10) ^ 0xffff) + (half(frame, at) ^ 0xffff);
    frame[at..at + 2].copy_from_slice(&word);
    let sum = sum + half(frame, at);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    frame[IP + 10..IP + 12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

#[test]
fn tags_and_extension_headers_are_walked_so_far() {
    let plain = Carrier::Udp6.frame(0, &stamp(1, 0, 5));
    for tags in 0..7 {
        let mut frame = plain[..12].to_vec();
        (0..tags).for_each(|_| frame.extend([0x81, 0, 0, 5]));
        frame.extend(&plain[12..]);
        assert!(!is_wrong(&frame), "{tags} tags");
        *frame.last_mut().unwrap() ^= 1;
        assert_eq!(is_wrong(&frame), tags <= 4, "{tags} tags");
    }
    for extensions in 0..11_u8 {
        let mut frame = plain[..54].to_vec();
        for number in 0..extensions {
            frame.extend([if number + 1 == extensions { 17 } else { 60 }, 0, 1, 4, 0, 0, 0, 0]);
        }
        frame.extend(&plain[54..]);
        if extensions > 0 {
            frame[20] = 60;
            frame[19] += 8 * extensions;
        }
        assert!(!is_wrong(&frame), "{extensions} extensions");
        *frame.last_mut().unwrap() ^= 1;
        assert_eq!(is_wrong(&frame), extensions <= 8, "{extensions} extensions");
    }
}

#[test]
fn a_reflected_frame_is_whole_and_goes_the_other_way() {
    for carrier in Carrier::ALL {
        let kind = Kind::Data(Expect::Drop);
        let before = carrier.frame(33, &Stamp { kind, ..stamp(1, 0, 5) });
        let mut frame = before.clone();
        assert!(reflect(&mut frame, None));
        assert!(!is_wrong(&frame), "{carrier:?}");
        let kind = Kind::Reflected(Expect::Drop);
        assert_eq!(Stamp::read(&frame), Some(Ok(Stamp { kind, ..stamp(1, 0, 5) })));
        assert_eq!((&frame[..6], &frame[6..12]), (&before[6..12], &before[..6]));
        if carrier == Carrier::Udp4 {
            assert_eq!((&frame[26..30], &frame[30..34]), (&TO4[..], &FROM4[..]));
            assert_eq!((&frame[34..36], &frame[36..38]), (&before[36..38], &before[34..36]));
        }
        assert!(reflect(&mut frame, None));
        assert_eq!(Stamp::read(&frame), Some(Ok(Stamp { kind, ..stamp(1, 0, 5) })), "once");
    }
}

/// The IP header claims a length of 52 bytes, so that the ports would be inside the stamp.
#[test]
fn a_stamp_stays_whole_where_a_header_reaches_into_it() {
    let kind = Kind::Data(Expect::Pass);
    let mut frame = Carrier::Udp4.frame(20, &Stamp { kind, ..stamp(1, 0, 5) });
    frame[14] = 0x4d;
    assert!(reflect(&mut frame, None));
    let kind = Kind::Reflected(Expect::Pass);
    assert_eq!(Stamp::read(&frame), Some(Ok(Stamp { kind, ..stamp(1, 0, 5) })));
}
