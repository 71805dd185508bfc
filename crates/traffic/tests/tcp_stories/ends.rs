//! Connections that are refused or reset, and segments that must be ignored.

use super::story::{FULL, Plan, Story};
use crate::tcp_sim::connection::{Manner, Refusal};
use crate::tcp_sim::link::Link;
use crate::tcp_sim::options::Options;
use crate::tcp_sim::segment::{ACK, FIN, RST, SYN, Segment};
use crate::tcp_sim::{MS, Time};

const BYTES: u64 = 100 * FULL;

/// A path of 20 ms from end to end. There are no timestamps: a forged one would be newer, and the
/// following genuine ones outdated.
fn story(manner: Manner) -> Story {
    let peer = Manner { time: false, ..manner };
    let mut story = Story::new(Plan::bytes(BYTES)).with_peer(peer);
    story.there(Link::new(10 * MS)).back(Link::new(10 * MS));
    story
}

#[test]
fn nobody_listens() {
    let mut story = story(Manner { refusal: Refusal::AtOnce, ..Manner::default() });
    story.run().expect_no_complaint();
    assert_eq!(story.ends(), [("refused", 1)]);
    assert_eq!(story.flow().count.segments, 1, "the SYN and nothing more");
}

#[test]
fn the_peer_resets_in_the_middle() {
    let mut story = story(Manner { refusal: Refusal::After(50_000), ..Manner::default() });
    let sim = story.run();
    let last = sim.flow().log.0.last().unwrap().at;
    assert_eq!(sim.complaints(), [""; 0]);
    assert!(sim.now < 200 * MS && last < 200 * MS, "it ends at once");
    assert_eq!(story.ends(), [("reset", 1)]);
}

/// Segments of an attacker that knows the addresses and ports, while the flow is sending.
#[test]
fn forged_segments_change_nothing() {
    type Forge = fn(Segment) -> Segment;
    let table: [(&str, Forge); 9] = [
        ("RST outside of the window", |s| Segment { flags: RST, seq: s.seq ^ 0x8000_0000, ..s }),
        ("RST inside, but not exact", |s| Segment { flags: RST, seq: s.seq.wrapping_add(7), ..s }),
        ("SYN", |s| Segment { flags: SYN, seq: 77, ..s }),
        ("SYN in the window", |s| Segment { flags: SYN, seq: s.seq.wrapping_add(9), ..s }),
        ("acknowledges what was not sent", |s| Segment { ack: s.ack.wrapping_add(1 << 29), ..s }),
        ("acknowledges long ago", |s| Segment { ack: s.ack.wrapping_sub(1 << 30), ..s }),
        ("no ACK", |s| Segment { flags: 0, ..s }),
        ("FIN ahead", |s| Segment { flags: FIN | ACK, seq: s.seq.wrapping_add(5), ..s }),
        ("a block of what was not sent", |s| {
            let block = (s.ack.wrapping_add(1 << 28), s.ack.wrapping_add(1 << 29));
            Segment { options: Options { sack: vec![block], ..s.options.clone() }, ..s }
        }),
    ];
    for (name, forge) in table {
        let mut story = story(Manner::default());
        story.start();
        let at = run_to(&mut story, 30_000);
        let sim = story.sim();
        let connection = sim.peer.connections.values_mut().next().unwrap();
        let honest = connection.tell(at);
        sim.forge(at, forge(honest));
        story.run().expect(BYTES);
        assert_eq!(story.flow().count.again, 0, "{name}\n{}", story.tell());
        assert_eq!(story.ends(), [("closed", 1)], "{name}");
    }
}

/// Runs until the peer has received this number of bytes.
fn run_to(story: &mut Story, bytes: u64) -> Time {
    let sim = story.sim();
    sim.run_while(Time::MAX, |sim| {
        sim.peer.connections.values().all(|connection| connection.bytes() < bytes)
    });
    sim.now
}

#[test]
fn frames_of_others_are_left_to_the_stack() {
    let mut story = story(Manner::default());
    story.start();
    let at = run_to(&mut story, 10_000);
    let sim = story.sim();
    let honest = sim.peer.connections.values_mut().next().unwrap().tell(at);
    let mut others = Vec::new();
    for change in [
        |s: &mut Segment| s.from.port ^= 1,
        |s: &mut Segment| s.to.port = 60_000,
        |s: &mut Segment| s.from.ip = [10, 0, 0, 99].into(),
        |s: &mut Segment| s.to.ip = [10, 0, 0, 98].into(),
    ] {
        let mut segment = honest.clone();
        change(&mut segment);
        others.push(segment.frame());
    }
    let mut udp = honest.frame();
    udp[23] = 17;
    others.push(udp);
    others.push(honest.frame()[..40].to_vec());
    for frame in others {
        assert!(sim.sender.is_passed(&frame), "{frame:02x?}");
    }
    assert!(!sim.sender.is_passed(&honest.frame()));
    story.run().expect(BYTES);
}

#[test]
fn a_segment_with_a_wrong_length_is_ignored() {
    let mut story = story(Manner::default());
    story.start();
    let at = run_to(&mut story, 10_000);
    let sim = story.sim();
    let honest = sim.peer.connections.values_mut().next().unwrap().tell(at).frame();
    // Every length that the segment could be truncated to, and every data offset and total length.
    for length in 14..honest.len() {
        sim.sender.take(&honest[..length]);
    }
    for value in 0..=255 {
        for at in [14, 17, 34 + 12] {
            let mut frame = honest.clone();
            frame[at] = value;
            sim.sender.take(&frame);
        }
    }
    story.run();
    assert_eq!(story.flow().count.resets, 0);
    assert_eq!(story.ends(), [("closed", 1)]);
}
