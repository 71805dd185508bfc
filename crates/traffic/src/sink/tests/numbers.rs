//! What the tracker concludes from numbers: loss, duplicates, reordering, wraps, ends.

use std::collections::HashSet;

use proptest::prelude::*;

use super::frames::{Carrier, end, stamp, udp};
use crate::sink::{Reason, SinkConfig, SinkReport, StreamReport, Tracker, WINDOW};
use crate::stamp::{Expect, Kind, Stamp};

/// One received frame: its number, or an announcement of the end.
#[derive(Clone, Copy, Debug)]
enum Came {
    No(u32),
    End(u32),
}
use Came::{End, No};

fn report(frames: &[Came]) -> SinkReport {
    let mut tracker = Tracker::new(&SinkConfig::new("eth0"));
    for came in frames {
        let frame = match came {
            No(number) => udp(&stamp(1, 0, *number)),
            End(count) => end(1, 0, *count),
        };
        tracker.judge(&frame, 0, 0);
    }
    tracker.report()
}

fn stream(frames: &[Came]) -> StreamReport {
    let [stream] = &report(frames).streams[..] else { panic!("one stream") };
    stream.clone()
}

#[test]
fn numbers_determine_the_counters() {
    const W: u32 = WINDOW as u32;
    type Row = (&'static str, &'static [Came], [u64; 5], Option<u64>);
    // Received, lost, reordered, duplicated, late; and the number sent.
    let table: &[Row] = &[
        ("all came", &[No(0), No(1), No(2), End(3)], [3, 0, 0, 0, 0], Some(3)),
        ("a gap", &[No(0), No(2), End(3)], [2, 1, 0, 0, 0], Some(3)),
        ("the last ones", &[No(0), No(1), End(5)], [2, 3, 0, 0, 0], Some(5)),
        ("the first ones", &[No(3), No(4), End(5)], [2, 3, 0, 0, 0], Some(5)),
        ("all lost but the end", &[End(7)], [0, 7, 0, 0, 0], Some(7)),
        ("nothing sent", &[End(0)], [0, 0, 0, 0, 0], Some(0)),
        ("the end lost", &[No(0), No(1), No(5)], [3, 3, 0, 0, 0], None),
        ("the end first", &[End(3), No(0), No(1)], [2, 1, 0, 0, 0], Some(3)),
        ("the end twice", &[No(0), End(1), End(1)], [1, 0, 0, 0, 0], Some(1)),
        ("on behind the end", &[No(0), End(1), No(1)], [2, 0, 0, 0, 0], Some(2)),
        ("twice", &[No(0), No(0), No(1), No(0), End(2)], [2, 0, 0, 2, 0], Some(2)),
        ("out of order", &[No(1), No(0), No(3), No(2), End(4)], [4, 0, 2, 0, 0], Some(4)),
        ("twice, far apart", &[No(0), No(W - 40), No(0)], [2, 0xf_ffff, 0, 1, 0], None),
        ("late", &[No(5), No(W + 5), No(6)], [3, 0xf_ffff, 1, 0, 1], None),
        ("late, may be twice", &[No(5), No(W + 5), No(5)], [3, 0xf_ffff, 1, 0, 1], None),
        ("just in the window", &[No(40), No(W + 8), No(41)], [3, 0xf_ffff, 1, 0, 0], None),
        (
            "round 32 bits",
            &[No(u32::MAX - 1), No(u32::MAX), No(0), No(1), End(2)],
            [4, u32::MAX as u64 - 1, 0, 0, 0],
            Some((1 << 32) + 2),
        ),
        (
            "out of order round 32 bits",
            &[No(u32::MAX), No(2), No(0), No(u32::MAX), End(3)],
            [3, 1 << 32, 1, 1, 0],
            Some((1 << 32) + 3),
        ),
        ("no number is below zero", &[No(5), No(u32::MAX)], [2, 0xffff_fffe, 0, 0, 0], None),
    ];
    for (name, frames, counts, sent) in table {
        let found = stream(frames);
        let highest = frames.iter().filter_map(|came| match came {
            No(number) => Some(u64::from(*number)),
            End(_) => None,
        });
        // A value that stands for "all up to the highest, except those received".
        let lost =
            if counts[1] == 0xf_ffff { highest.max().unwrap() + 1 - counts[0] } else { counts[1] };
        let expected = [counts[0], lost, counts[2], counts[3], counts[4]];
        let all = [found.received, found.lost, found.reordered, found.duplicated, found.late];
        assert_eq!((all, found.sent), (expected, *sent), "{name}");
        if let Some(sent) = found.sent {
            assert_eq!(sent, found.received + found.lost, "{name}: the books");
        }
    }
}

#[test]
fn sources_of_a_stream_are_added_up() {
    let mut tracker = Tracker::new(&SinkConfig::new("eth0"));
    assert!(!tracker.all_ended(), "nobody was seen");
    for (source, numbers) in [(0, &[0, 1][..]), (9, &[0, 2])] {
        for number in numbers {
            tracker.judge(&udp(&stamp(3, source, *number)), 0, 0);
        }
    }
    tracker.judge(&end(3, 9, 3), 0, 0);
    let one_ended = tracker.report().streams[0].clone();
    assert_eq!((one_ended.sent, one_ended.lost, tracker.all_ended()), (None, 1, false));
    tracker.judge(&end(3, 0, 4), 0, 0);
    let both = tracker.report().streams[0].clone();
    assert_eq!((both.sources, both.sent, both.received, both.lost), (2, Some(7), 4, 3));
    assert!(tracker.all_ended());
}

#[test]
fn there_is_room_for_so_many() {
    let config = SinkConfig { streams: 2, sources: 4, ..SinkConfig::new("eth0") };
    let mut tracker = Tracker::new(&config);
    let mut judge = |stream, source| tracker.judge(&udp(&stamp(stream, source, 0)), 0, 0);
    for (stream, source, reason) in [
        (1, 0, Reason::Received),
        (1, 1, Reason::Received),
        (2, 0, Reason::Received),
        (3, 0, Reason::Beyond),
        (2, 7, Reason::Received),
        (2, 8, Reason::Beyond),
        (1, 1, Reason::Duplicated),
    ] {
        assert_eq!(judge(stream, source), reason, "{stream} {source}");
    }
    assert_eq!((tracker.report().beyond, tracker.report().received()), (2, 4));
}

#[test]
fn what_is_expected_decides_what_is_wrong() {
    let mut tracker = Tracker::new(&SinkConfig::new("eth0"));
    let unwanted = Stamp { kind: Kind::Data(Expect::Drop), ..stamp(4, 0, 0) };
    let mut broken = udp(&Stamp { number: 1, ..unwanted });
    broken[40] ^= 1;
    for frame in [udp(&unwanted), broken, udp(&stamp(5, 0, 2))] {
        tracker.judge(&frame, 0, 0);
    }
    let report = tracker.report();
    assert_eq!(
        report.stream(4).map(|stream| (stream.expect, stream.wrong)),
        Some((Expect::Drop, 2))
    );
    assert_eq!(
        report.stream(5).map(|stream| (stream.expect, stream.wrong)),
        Some((Expect::Pass, 2))
    );
    assert_eq!(report.wrong(), 4);
}

#[test]
fn corrupted_frames_did_not_arrive() {
    let mut tracker = Tracker::new(&SinkConfig::new("eth0"));
    let turned = |mut frame: Vec<u8>, at: usize| {
        frame[at] ^= 0x10;
        frame
    };
    let stamp_at = udp(&stamp(1, 0, 0)).len() - Stamp::LEN;
    for (frame, reason) in [
        (turned(udp(&stamp(1, 0, 0)), stamp_at + Stamp::NUMBER), Reason::Damaged),
        (udp(&stamp(1, 0, 0)), Reason::Received),
        (turned(udp(&stamp(1, 0, 1)), stamp_at + Stamp::NUMBER), Reason::Corrupted),
        (turned(udp(&stamp(1, 0, 1)), stamp_at + Stamp::STREAM), Reason::Damaged),
        (turned(udp(&stamp(1, 0, 2)), 43), Reason::Corrupted),
        (turned(udp(&stamp(1, 0, 3)), stamp_at), Reason::Foreign),
        (turned(end(1, 0, 4), 43), Reason::End),
        (udp(&stamp(1, 0, 2)), Reason::Received),
    ] {
        assert_eq!(tracker.judge(&frame, 0, 0), reason);
    }
    let report = tracker.report();
    let stream = &report.streams[0];
    assert_eq!((stream.corrupted, stream.received, stream.lost), (2, 2, 2));
    assert_eq!((report.damaged, report.foreign), (2, 1));
    assert_eq!(report.foreign_bytes, udp(&stamp(1, 0, 3)).len() as u64);
}

#[test]
fn times_are_those_between_stamp_and_arrival() {
    let mut tracker = Tracker::new(&SinkConfig::new("eth0"));
    let mut judge = |number, sent: u32, now: u64, cpu| {
        let sent = Stamp { time_ns: sent, ..stamp(1, 0, number) };
        tracker.judge(&Carrier::Tcp6.frame(0, &sent), now, cpu);
    };
    judge(0, u32::MAX - 9, (5 << 32) + 10, 0);
    judge(1, 100, 50 + 100, 0);
    judge(2, 200, 200 + 70, 1);
    judge(2, 200, 200 + 99, 0);
    judge(3, 300, 300 - 5, 0);
    judge(4, 400, 400 + 60, 1);
    let stream = tracker.report().streams[0].clone();
    let values = |histogram: &crate::Histogram| {
        histogram.buckets().map(|(range, count)| (*range.start(), count)).collect::<Vec<_>>()
    };
    assert_eq!(values(&stream.latency_ns), [(0, 1), (20, 1), (50, 1), (60, 1), (70, 1)]);
    assert_eq!(values(&stream.jitter_ns), [(10, 1), (30, 1), (55, 1)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The tracker agrees with a set of all numbers if none is older than the window.
    #[test]
    fn a_set_of_numbers_agrees(
        start in any::<u32>(),
        steps in prop::collection::vec(-40i32..60, 1..400),
    ) {
        let mut tracker = Tracker::new(&SinkConfig::new("eth0"));
        let (mut seen, mut highest, mut reordered, mut duplicated) = (HashSet::new(), 0, 0, 0);
        let mut at = u64::from(start) + 100_000;
        for step in steps {
            at = at.saturating_add_signed(step.into());
            tracker.judge(&udp(&stamp(1, 0, at as u32)), 0, 0);
            if !seen.insert(at) {
                duplicated += 1;
            } else if at < highest {
                reordered += 1;
            }
            highest = highest.max(at);
        }
        let stream = tracker.report().streams[0].clone();
        prop_assert_eq!(stream.received, seen.len() as u64);
        let counts = (stream.reordered, stream.duplicated, stream.late);
        prop_assert_eq!(counts, (reordered, duplicated, 0));
    }
}
