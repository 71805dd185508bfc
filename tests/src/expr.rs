//! Frames of every shape that an expression may meet, and tcpdump's word on them.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use lab::frame::{Flow, Side, TcpFlags};
use pcap::{LinkType, Packet, Reader, Resolution, Writer};

use crate::random::Random;

/// Right frames, odd ones, cut ones and damaged ones; each of 14 bytes at least, as the kernel
/// wants them.
pub fn corpus(seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    let whole = whole();
    let mut frames = whole.clone();
    frames.extend(whole.iter().filter_map(|frame| with_options(frame, &mut random)));
    frames.extend(whole.iter().filter_map(|frame| fragment(frame, &mut random)));
    frames.extend(whole.iter().filter_map(|frame| with_extension(frame, &mut random)));
    for _ in 0..200 {
        let frame = random.one(&frames);
        let length = 14 + random.below(frame.len().min(90) - 13);
        let cut = frame[..length].to_vec();
        frames.push(cut);
    }
    for _ in 0..200 {
        let mut frame = random.one(&frames).clone();
        for _ in 0..=random.below(4) {
            let at = random.below(frame.len().min(64));
            frame[at] = random.below(256) as u8;
        }
        frames.push(frame);
    }
    frames.extend((0..20).map(|_| (0..60).map(|_| random.below(256) as u8).collect()));
    frames
}

/// Each kind, over both families, below up to two tags, and frames other than IP.
fn whole() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for ipv6 in [false, true] {
        for ids in [&[][..], &[7], &[7, 8], &[100]] {
            let tagged = |flow: Flow| ids.iter().fold(flow, |flow, id| flow.vlan(*id));
            for (source, dest) in [(1234, 53), (53, 4000), (5000, 80), (40000, 443)] {
                let flow = tagged(flow(ipv6, source, dest));
                frames.push(flow.udp(&[0, 9, 0, 1, 1, 2, 3, 4]).unwrap());
                frames.push(flow.reversed().ttl(1).udp(&[0; 40]).unwrap());
                let at = frames.len();
                for bits in [0, 1, 2, 3, 4, 8, 12] {
                    let [syn, ack, fin, rst] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
                    let flags = TcpFlags { syn, ack, fin, rst };
                    frames.push(flow.tcp(flags, at as u32, b"GET / HTTP/1.1").unwrap());
                }
            }
            frames.push(tagged(flow(ipv6, 1, 2)).ping(1, 2, b"payload").unwrap());
            frames.push(tagged(flow(ipv6, 1, 2)).udp_of_length(1400).unwrap());
        }
    }
    let mut many = flow(false, 5353, 5353);
    many.destination.ip = "239.1.2.3".parse().unwrap();
    frames.push(many.udp(b"to many").unwrap());
    frames.extend([0x0806, 0x8035, 0x88cc, 0x8847, 0x8863, 0x8864, 0x9100, 100].map(other));
    frames
}

fn flow(ipv6: bool, source: u16, dest: u16) -> Flow {
    let side = |mac, v4, v6, port| Side::new(mac, if ipv6 { v6 } else { v4 }, port).unwrap();
    let from = side("02:99:00:00:00:01", "192.0.2.1", "2001:db8::1", source);
    Flow::new(from, side("02:99:00:00:00:02", "198.51.100.2", "2001:db8::2", dest))
}

/// A broadcast of another EtherType; as ARP, from 192.0.2.1 for 198.51.100.2.
fn other(ether_type: u16) -> Vec<u8> {
    let mut frame = [&[0xff; 6][..], &[2, 0x99, 0, 0, 0, 1], &ether_type.to_be_bytes()].concat();
    frame.extend([0, 1, 8, 0, 6, 4, 0, 1, 2, 0x99, 0, 0, 0, 1, 192, 0, 2, 1]);
    frame.extend([0, 0, 0, 0, 0, 0, 198, 51, 100, 2]);
    frame.resize(60, 0);
    frame
}

/// Where the network header of an untagged frame of a family is.
fn network(frame: &[u8], ether_type: [u8; 2]) -> Option<usize> {
    (frame.get(12..14)? == ether_type).then_some(14)
}

fn with_options(frame: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let at = network(frame, [0x08, 0x00])?;
    let words = 1 + random.below(10);
    let mut frame = frame.to_vec();
    frame[at] = 0x45 + words as u8;
    frame.splice(at + 20..at + 20, std::iter::repeat_n(1, words * 4));
    let length = (frame.len() - at) as u16;
    frame[at + 2..at + 4].copy_from_slice(&length.to_be_bytes());
    Some(frame)
}

fn fragment(frame: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let at = network(frame, [0x08, 0x00])?;
    let mut frame = frame.to_vec();
    let bits: u16 = *random.one(&[0x2000, 0x2001, 0x0001, 0x00b9, 0x4000, 0x8000]);
    frame[at + 6..at + 8].copy_from_slice(&bits.to_be_bytes());
    Some(frame)
}

fn with_extension(frame: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let at = network(frame, [0x86, 0xdd])?;
    let mut frame = frame.to_vec();
    let next = frame[at + 6];
    frame[at + 6] = *random.one(&[0, 43, 44, 51, 60]);
    frame.splice(at + 40..at + 40, [next, 0, 0, random.below(4) as u8, 0, 0, 0, 0]);
    let length = (frame.len() - at - 40) as u16;
    frame[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
    Some(frame)
}

/// The numbers of the frames that tcpdump finds an expression to match.
pub fn tcpdump(frames: &[Vec<u8>], expression: &str) -> BTreeSet<usize> {
    let capture = capture(frames);
    let mut child = Command::new("tcpdump")
        .args(["-Z", "root", "-n", "-r", "-", "-w", "-", "--", expression])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tcpdump is installed (Makefile: PACKAGES)");
    let mut input = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(&capture));
        child.wait_with_output().unwrap()
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{expression}: {said}");
    let packets = Reader::new(&output.stdout[..]).unwrap();
    packets.map(|packet| (packet.unwrap().timestamp_ns / STEP_NS) as usize).collect()
}

/// Each frame at the time of its number.
fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::pcap(Vec::new(), LinkType::ETHERNET, Resolution::Micro).unwrap();
    for (number, frame) in frames.iter().enumerate() {
        let packet = Packet {
            timestamp_ns: number as u64 * STEP_NS,
            original_len: frame.len() as u32,
            data: frame.clone(),
            ..Packet::default()
        };
        writer.write(&packet).unwrap();
    }
    writer.finish().unwrap()
}

const STEP_NS: u64 = 1000;
