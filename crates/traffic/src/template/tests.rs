//! Rendered frames, checked with a sum over all of their bytes; inconsistent templates.

use super::*;
use crate::stamp::{Kind, Stamp};

const IP: usize = 14;
const UDP: usize = IP + 20;
const PAYLOAD: usize = UDP + 8;
/// Offset of the checksum inside the payload: it covers all bytes from an odd offset.
const INNER: usize = PAYLOAD + 5;

/// UDP over IPv4 with 60 and 75 bytes, both with a stamp. Source address, source port, fields in
/// the payload and a checksum in it vary, some of them at an odd offset.
fn template() -> Template {
    let mut bytes = vec![0; 75];
    bytes[..IP].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    bytes[IP] = 0x45;
    (bytes[IP + 8], bytes[IP + 9]) = (64, 17);
    bytes[IP + 16..UDP].copy_from_slice(&[10, 0, 0, 2]);
    bytes[UDP + 2..UDP + 4].copy_from_slice(&[0x13, 0x88]);
    bytes[PAYLOAD + 16..].fill(0x5a);
    let field = |name: &str, bit_at, bits, draw, values| Field {
        name: name.into(),
        bit_at,
        bits,
        draw,
        values,
    };
    let count = |first, step| Values::Range { first, step };
    let fields = vec![
        field("source", (IP + 12) * 8, 32, 0, count(0x0a00_0001, 1)),
        field("port", UDP * 8, 16, 1, count(0xfff0, 7)),
        field("nibble", PAYLOAD * 8 + 4, 12, 1, count(3, 5)),
        field("odd", (PAYLOAD + 2) * 8 + 3, 21, 2, Values::List(vec![1, 0x3f_ffff, 0xa_aaaa])),
    ];
    let sum = |at, from, to, also: &[usize]| Checksum {
        at,
        from,
        to,
        also: also.to_vec(),
        never_zero: at == UDP + 6,
    };
    let checksums = vec![
        sum(IP + 10, IP, Some(UDP), &[]),
        sum(INNER, INNER, None, &[2]),
        sum(UDP + 6, UDP, None, &[0]),
    ];
    let draw = |last, order| Draw { last, order };
    let mut template = Template {
        name: "a".into(),
        id: 7,
        weight: 1,
        bytes,
        headers: PAYLOAD,
        draws: vec![
            draw(u64::from(u32::MAX), Order::Random),
            draw(0xffff, Order::Sequence),
            draw(2, Order::Zipf { exponent: 1.0 }),
        ],
        fields,
        checksums,
        words: vec![IP + 2, UDP + 4],
        sizes: Vec::new(),
        size_draw: None,
        stamp: Some(Expect::Pass),
    };
    template.sizes = [70, 75].map(|len| size(&template, len)).into();
    template
}

fn size(template: &Template, len: usize) -> Size {
    let words = vec![(len - IP) as u16, (len - UDP) as u16];
    let mut frame = template.bytes[..len].to_vec();
    for (at, word) in template.words.iter().zip(&words) {
        frame[*at..at + 2].copy_from_slice(&word.to_be_bytes());
    }
    frame[len - Stamp::LEN..].fill(0);
    let sums = vec![plain(&frame[IP..UDP]), plain(&frame[INNER..]), udp(&frame)];
    Size { len, words, sums }
}

/// The folded sum of all bytes, computed directly.
fn plain(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|it| [it[0], *it.get(1).unwrap_or(&0)]);
    let sum: u64 = words.map(|word| u64::from(u16::from_be_bytes(word))).sum();
    (sum % 0xffff) as u16
}

fn udp(frame: &[u8]) -> u16 {
    let len = ((frame.len() - UDP) as u16).to_be_bytes();
    plain(&[&frame[IP + 12..IP + 20], &[0, 17], &len, &frame[UDP..]].concat())
}

fn stamp(number: u32) -> Stamp {
    let kind = Kind::Data(Expect::Pass);
    Stamp { stream: 7, source: 0, number, time_ns: number.wrapping_mul(77), kind }
}

#[test]
fn every_checksum_agrees_with_the_finished_frame() {
    let template = template();
    template.check().expect("a good template");
    for number in 0..2000u64 {
        let numbers = [number.wrapping_mul(0x9e37_79b9), number, number % 3];
        let frame = template.render(&numbers, (number % 2) as usize, Some(stamp(number as u32)));
        assert_eq!(plain(&frame[IP..UDP]), 0, "{number}: header");
        assert_eq!(udp(&frame), 0, "{number}: datagram");
        // The field in `also` is outside of the bytes that the inner checksum covers, at an odd
        // offset.
        let nibble = template.fields[2].value(number) as u16;
        let whole = [&nibble.swap_bytes().to_be_bytes()[..], &frame[INNER..]].concat();
        assert_eq!(plain(&whole), 0, "{number}: inner");
        assert_eq!(Stamp::read(&frame), Some(Ok(stamp(number as u32))));
        assert_eq!(usize::from(frame[UDP + 5]), frame.len() - UDP);
    }
}

#[test]
fn fields_wrap_at_their_width_and_leave_their_neighbours() {
    let template = template();
    let frame = template.render(&[u64::from(u32::MAX), 3, 1], 0, None);
    assert_eq!(frame[IP + 12..IP + 16], [10, 0, 0, 0]);
    assert_eq!(frame[UDP..UDP + 2], [0x00, 0x05]);
    assert_eq!(frame[PAYLOAD..PAYLOAD + 5], [0, 18, 0x1f, 0xff, 0xff]);
    assert_eq!(template.render(&[0, 0, 2], 0, None)[PAYLOAD + 2..PAYLOAD + 5], [0xa, 0xaa, 0xaa]);
    assert_eq!(frame[54..], [0; 16], "without a stamp the bytes are zero");
}

#[test]
fn a_checksum_of_zero_is_all_ones_only_where_zero_means_none() {
    let sum = Checksum { at: 0, from: 0, to: None, also: vec![], never_zero: true };
    assert_eq!(sum.value(0x1_fffe), 0xffff);
    assert_eq!(sum.value(0x1_0000), 0xfffe);
    assert_eq!(Checksum { never_zero: false, ..sum }.value(0xffff), 0);
}

#[test]
fn inconsistent_templates_are_rejected() {
    type Spoil = fn(&mut Template);
    let odd = || "odd".to_owned();
    let cases: [(TemplateDefect, Spoil); 22] = [
        (TemplateDefect::FrameLength { len: 13 }, |it| it.bytes.truncate(13)),
        (TemplateDefect::FrameLength { len: 4000 }, |it| it.bytes.resize(4000, 0)),
        (TemplateDefect::ZeroWeight, |it| it.weight = 0),
        (TemplateDefect::HeadersTooLong, |it| it.headers = 76),
        (TemplateDefect::SizeCount { count: 0 }, |it| it.sizes.clear()),
        (TemplateDefect::SizeMismatch { len: 76 }, |it| it.sizes[0].len = 76),
        (TemplateDefect::SizeMismatch { len: 70 }, |it| it.sizes[0].words.truncate(1)),
        (TemplateDefect::SizeMismatch { len: 75 }, |it| it.sizes[1].sums.push(0)),
        (TemplateDefect::NoRoomForStamp { len: 29 }, |it| it.sizes[0].len = 29),
        (TemplateDefect::DrawRange { index: 0 }, |it| it.draws[0].last = 1 << 32),
        (TemplateDefect::DrawRange { index: 2 }, |it| it.draws[2].last = 1 << 20),
        (TemplateDefect::DrawRange { index: 2 }, |it| {
            it.draws[2].order = Order::Zipf { exponent: f64::NAN };
        }),
        (TemplateDefect::NoSizeDraw, |it| it.size_draw = Some(3)),
        (TemplateDefect::SizeDrawRange, |it| it.size_draw = Some(2)),
        (TemplateDefect::FieldWidth { name: "port".into() }, |it| it.fields[1].bits = 0),
        (TemplateDefect::FieldOutside { name: odd() }, |it| it.fields[3].bit_at = 54 * 8 - 20),
        (TemplateDefect::NoFieldDraw { name: odd() }, |it| it.fields[3].draw = 3),
        (TemplateDefect::FieldDrawRange { name: odd() }, |it| it.draws[2].last = 1),
        (TemplateDefect::ChecksumOrder { at: 40, later: 47 }, |it| it.checksums.swap(1, 2)),
        (TemplateDefect::ChecksumOutside { at: 47 }, |it| it.checksums[1].from = 46),
        (TemplateDefect::AddedTwice { at: 40 }, |it| it.checksums[2].also.push(1)),
        (
            TemplateDefect::Overlap {
                first: "field \"nibble\"".into(),
                second: "field \"odd\"".into(),
            },
            |it| it.fields[2].bit_at += 8,
        ),
    ];
    for (defect, spoil) in cases {
        let mut template = template();
        spoil(&mut template);
        assert_eq!(template.check(), Err(InvalidTemplate { name: "a".into(), defect }));
    }
}
