//! What can be wrong with the link and the IP header of a frame.

use super::OWN_SOURCE;
use super::frame::{Fault, Frame, tag};
use super::transport;
use crate::random::Random;

/// Makes up to two faults; their names.
pub(super) fn apply(random: &mut Random, frame: &mut Frame) -> Vec<&'static str> {
    let all: Vec<Fault> = match (frame.is_ip(), frame.is_ipv6) {
        (false, _) => LINK.to_vec(),
        (true, false) => [LINK, IP, V4, transport::FAULTS].concat(),
        (true, true) => [LINK, IP, V6, V6, transport::FAULTS].concat(),
    };
    let mut faults = Vec::new();
    for _ in 0..random.below(3) {
        let (name, change) = *random.one(&all);
        if !faults.contains(&name) {
            change(random, frame);
            faults.push(name);
        }
    }
    faults
}

/// Makes one fault that our programs and nft read differently on purpose; its name.
pub(super) fn apply_unlike_nft(random: &mut Random, frame: &mut Frame) -> Vec<&'static str> {
    let all = if frame.is_ipv6 { [UNLIKE_NFT, UNLIKE_NFT6].concat() } else { UNLIKE_NFT.to_vec() };
    let (name, change) = *random.one(&all);
    change(random, frame);
    vec![name]
}

const UNLIKE_NFT: &[Fault] = &[
    ("two tags", |_, frame| frame.tags = vec![[0x81, 0, 0, 5], [0x81, 0, 0, 6]]),
    ("a service tag", |_, frame| frame.tags = vec![[0x88, 0xa8, 0, 5]]),
    ("a tag in a frame of 122 bytes", |_, frame| {
        frame.tags = vec![[0x81, 0, 0, 5]];
        frame.bytes.resize(frame.bytes.len().max(118), 0);
    }),
    ("ports after the packet", |_, frame| {
        let rest = (frame.bytes.len() - frame.transport) as u16;
        frame.lengthen(rest.wrapping_neg());
    }),
];

const UNLIKE_NFT6: &[Fault] = &[
    ("an authentication header", |_, frame| frame.extend(51, [vec![0, 2], vec![0; 14]].concat())),
    ("an extension header that is longer than the packet", |_, frame| {
        frame.extend(60, vec![0, 200, 4, 0, 0, 0, 0, 0]);
    }),
];

const LINK: &[Fault] = &[
    ("to another host's MAC", |random, frame| {
        let mac = random.text(frame.place.other_macs);
        frame.mac(false, mac);
    }),
    ("to a group's MAC", |random, frame| {
        let groups = ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01"];
        frame.mac(false, random.text(&groups));
    }),
    ("from the receiver's MAC", |_, frame| frame.mac(true, frame.place.macs[1])),
    ("from a group's MAC", |_, frame| frame.bytes[6] |= 1),
    ("tags", |random, frame| {
        let count = *random.one(&[1, 1, 1, 2, 2, 3, 4, 5, 6]);
        frame.tags = (0..count).map(|_| tag(random)).collect();
    }),
    ("cut short", |random, frame| {
        let whole = frame.bytes.len() + frame.tags.len() * 4;
        frame.length = Some(14 + random.below(whole - 13));
    }),
    ("bytes after the packet", |random, frame| {
        let more = 1 + random.below(64);
        frame.bytes.extend(vec![0xee; more]);
    }),
];

const IP: &[Fault] = &[
    ("another transport protocol", |random, frame| {
        let read = [0, 1, 4, 6, 17, 41, 43, 44, 47, 50, 51, 58, 59, 60, 97, 132, 135, 137, 143];
        let other = random.below(256) as u8;
        *frame.protocol() = if random.below(2) == 0 { *random.one(&read) } else { other };
    }),
    ("another version", |random, frame| {
        frame.bytes[14] = frame.bytes[14] & 15 | (random.below(16) as u8) << 4;
    }),
    ("a longer length", |random, frame| frame.lengthen(1 + random.below(100) as u16)),
    ("a shorter length", |random, frame| {
        frame.lengthen((1 + random.below(100) as u16).wrapping_neg());
    }),
    ("another EtherType", |random, frame| {
        let kinds = [0x0800_u16, 0x86dd, 0x0806, 0x8847, 0x8863, 0x8864, 0x88cc, 0x9100, 46];
        frame.bytes[12..14].copy_from_slice(&random.one(&kinds).to_be_bytes());
    }),
];

const V4: &[Fault] = &[
    ("a wrong IP checksum", |_, frame| frame.is_checksum_wrong = true),
    ("no time to live", |random, frame| frame.bytes[22] = random.below(2) as u8),
    ("another header length", |random, frame| {
        frame.bytes[14] = frame.bytes[14] & 0xf0 | random.below(16) as u8;
    }),
    ("options", |random, frame| {
        let count = 1 + random.below(3);
        for _ in 0..count {
            frame.insert(random.one::<[u8; 4]>(&[
                [1, 1, 1, 0],
                [131, 4, 4, 0],
                [137, 3, 4, 1],
                [7, 200, 4, 0],
                [148, 4, 0, 0],
                [0, 131, 1, 1],
                [68, 9, 1, 1],
            ]));
            frame.bytes[14] += 1;
        }
    }),
    ("a fragment", |random, frame| {
        let flags =
            random.one(&[0x2000_u16, 0x2001, 0x0001, 0x1fff, 0x3fff, 0x8000, 0xc000, 0x6000]);
        frame.bytes[20..22].copy_from_slice(&flags.to_be_bytes());
    }),
    ("a martian source", |random, frame| {
        let sources =
            ["127.0.0.1", "0.0.0.0", "0.1.2.3", "224.0.0.1", "240.0.0.1", "255.255.255.255"];
        frame.address(true, random.text(&sources));
    }),
    (OWN_SOURCE, |random, frame| frame.address(true, random.text(frame.place.own4))),
    ("a source elsewhere", |random, frame| {
        frame.address(true, random.text(frame.place.elsewhere4));
    }),
    ("another destination", |random, frame| {
        let odd = ["127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "240.0.0.1"];
        let all = [frame.place.own4, &odd].concat();
        frame.address(false, random.text(&all));
    }),
];

const V6: &[Fault] = &[
    ("no hop limit", |random, frame| frame.bytes[21] = random.below(2) as u8),
    ("extension headers", |random, frame| {
        for _ in 0..*random.one(&[1, 1, 2, 3, 8, 9, 10]) {
            let (kind, header) = extension(random);
            frame.extend(kind, header);
        }
    }),
    ("a length of zero before hop-by-hop options", |random, frame| {
        if random.below(2) == 0 {
            let (kind, header) = extension(random);
            frame.extend(kind, header);
        }
        let jumbo = vec![0, 0, 0xc2, 4, 0, 1, 0, 0];
        let padding = vec![0, 0, 1, 4, 0, 0, 0, 0];
        frame.extend(0, if random.below(4) == 0 { jumbo } else { padding });
        frame.bytes[18..20].fill(0);
    }),
    ("a martian source", |random, frame| {
        let sources = ["::1", "::", "ff02::1", "fe80::2", "::ffff:10.0.1.2", "::10.0.1.2"];
        frame.address(true, random.text(&sources));
    }),
    (OWN_SOURCE, |random, frame| frame.address(true, random.text(frame.place.own6))),
    ("a source elsewhere", |random, frame| {
        frame.address(true, random.text(frame.place.elsewhere6));
    }),
    ("another destination", |random, frame| {
        let odd = ["::1", "::", "ff02::1", "ff0e::1", "fe80::1", "::ffff:10.0.2.2"];
        let all = [frame.place.own6, &odd].concat();
        frame.address(false, random.text(&all));
    }),
];

/// Kind and bytes of an extension header; what follows it is not written yet.
fn extension(random: &mut Random) -> (u8, Vec<u8>) {
    const PADDING: [u8; 6] = [1, 4, 0, 0, 0, 0];
    let kind = *random.one(&[0_u8, 43, 44, 51, 60, 60]);
    let mut header = vec![0; 2];
    match kind {
        0 | 60 if random.below(4) > 0 => header.extend(PADDING),
        43 => {
            header.extend([*random.one(&[0_u8, 2, 3, 4, 253]), random.below(3) as u8, 0, 0, 0, 0])
        }
        44 => {
            let offset = *random.one(&[0_u16, 0, 1, 8, 9, 0xfff8, 6]);
            header.extend(offset.to_be_bytes());
            header.extend([0, 0, 0, random.below(256) as u8]);
        }
        51 => {
            header[1] = *random.one(&[0_u8, 1, 2, 4]);
            header.resize(8 + usize::from(header[1]) * 4, 0);
        }
        _ => header.extend((0..6).map(|_| random.below(256) as u8)),
    }
    if random.below(6) == 0 {
        header[1] = random.below(256) as u8;
    }
    (kind, header)
}
