//! Each protocol as a file or flags describe it, rendered and dissected by another program.

use std::path::Path;

use traffic::stream::{File, Quick, QuickProtocol, Value};
use traffic::{Kind, Stamp, Template};

use crate::judge::judge;

/// Frames of a template: `count` of them, with numbers all over their draws.
pub fn frames(template: &Template, count: u64) -> Vec<Vec<u8>> {
    template.check().expect("a template that can be compiled");
    let number = |draw: usize, frame: u64| {
        let spread = frame.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(draw as u32 * 7);
        match (frame, template.draws[draw].last) {
            (0, last) => last,
            (_, u64::MAX) => spread,
            (_, last) => spread % (last + 1),
        }
    };
    let frame = |frame: u64| {
        let numbers: Vec<_> = (0..template.draws.len()).map(|draw| number(draw, frame)).collect();
        let size = template.size_draw.map_or(0, |draw| numbers[draw] as usize);
        let stamp = template.stamp.map(|expect| Stamp {
            stream: template.id,
            source: 1,
            number: frame as u32,
            time_ns: 0x5a5a_0001u32.wrapping_mul(frame as u32),
            kind: Kind::Data(expect),
        });
        let bytes = template.render(&numbers, size, stamp);
        // Headers at the end of a frame without a stamp look like one now and then.
        if stamp.is_some() || !begins_like_a_stamp(&bytes) {
            assert_eq!(Stamp::read(&bytes), stamp.map(Ok));
        }
        bytes
    };
    (0..count).map(frame).collect()
}

fn begins_like_a_stamp(frame: &[u8]) -> bool {
    let last: Option<&[u8; Stamp::LEN]> = frame.last_chunk();
    last.is_some_and(|last| last.starts_with(&Stamp::MAGIC.to_be_bytes()))
}

/// Every fenced example of the documentation.
pub fn examples() -> Vec<File> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/streams.md");
    let page = std::fs::read_to_string(path).expect("docs/streams.md");
    let fences = page.split("\n```").skip(1).step_by(2);
    let texts = fences.map(|fence| fence.split_once('\n').expect("a fenced block").1);
    texts.map(|text| File::parse(text).unwrap_or_else(|why| panic!("{why}:\n{text}"))).collect()
}

/// More than the documentation shows.
pub fn zoo() -> File {
    File::parse(include_str!("zoo.toml")).expect("zoo.toml")
}

#[test]
fn every_example_of_the_documentation_is_right() {
    let files = examples();
    assert!(files.len() > 12, "{} examples", files.len());
    for file in files {
        for template in file.templates(1600).expect("streams") {
            for frame in frames(&template, 100) {
                let verdict = judge(&frame);
                match &template.name[..] {
                    "bad header" => assert!(verdict.is_err()),
                    "raw" => assert_eq!(frame[12..14], [0x88, 0xb5]),
                    name => {
                        verdict.unwrap_or_else(|why| panic!("{name}: {why}: {frame:02x?}"));
                    }
                }
            }
        }
    }
}

#[test]
fn every_stream_of_the_zoo_has_the_layers_of_its_name() {
    for template in zoo().templates(1600).expect("streams") {
        for frame in frames(&template, 300) {
            let name = &template.name;
            match (judge(&frame), name.strip_prefix("wrong ")) {
                (Ok(seen), None) => {
                    let layers = name.split_once(" / ").map_or(&name[..], |parts| parts.0);
                    assert_eq!(seen.join(" "), layers, "{name}");
                }
                (Err(why), Some(what)) => assert!(why.contains(what), "{name}: {why}"),
                (verdict, _) => panic!("{name}: {verdict:?}: {frame:02x?}"),
            }
        }
    }
}

#[test]
fn quick_streams_are_right() {
    let value = |text: &str| Some(text.parse::<Value>().expect(text));
    let protocols = [
        (QuickProtocol::Udp, ["udp", "udp"]),
        (QuickProtocol::TcpSyn, ["tcp", "tcp"]),
        (QuickProtocol::Icmp, ["icmp", "icmpv6"]),
        (QuickProtocol::Arp, ["arp", "icmpv6"]),
    ];
    let addresses = [("random:10.0.0.0/8", "10.1.0.1"), ("random:fd00::/64", "fd00:1::1")];
    let shapes: [(&[&str], Option<&str>, bool); 3] =
        [(&[], None, false), (&["7"], Some("128"), false), (&["1..9", "8"], Some("imix"), true)];
    for (protocol, names) in protocols {
        for ((src, dst), name) in addresses.iter().zip(names) {
            for (vlans, size, stamp) in shapes {
                let quick = Quick {
                    src_mac: value("02:00:00:00:00:01"),
                    dst_mac: value("02:00:00:00:00:02"),
                    src: value(src),
                    dst: value(dst),
                    dport: value("1000..1999"),
                    vlans: vlans.iter().map(|id| id.parse().expect("an id")).collect(),
                    size: size.map(|size| size.parse().expect("a size")),
                    stamp,
                    ..Quick::new(protocol.clone())
                };
                let template = quick.stream().template(3, 1500).expect("a stream");
                for frame in frames(&template, 200) {
                    let seen = judge(&frame).unwrap_or_else(|why| panic!("{why}: {frame:02x?}"));
                    assert_eq!(seen.last().expect("a layer"), name);
                    let tags = seen.iter().filter(|layer| layer.starts_with("vlan")).count();
                    assert_eq!(tags, vlans.len());
                }
            }
        }
    }
}

#[test]
fn a_quick_raw_frame_is_what_its_digits_say() {
    let hex = "020000000002020000000001 88b5 0102";
    let stream = Quick::new(QuickProtocol::Raw(hex.into())).stream();
    let frames = frames(&stream.template(0, 1500).expect("a stream"), 1);
    assert_eq!(frames[0][..16], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5, 1, 2]);
    assert_eq!(frames[0].len(), 60);
}

#[test]
fn files_are_written_as_they_are_read() {
    let mut files = examples();
    files.push(zoo());
    for file in files {
        let toml = toml::to_string(&file).expect("as TOML");
        assert_eq!(File::parse(&toml).expect(&toml), file, "{toml}");
        let json = serde_json::to_string(&file).expect("as JSON");
        assert_eq!(File::parse(&json).expect(&json), file, "{json}");
    }
}
