//! A path without loss: every byte arrives once, in order, as fast as the windows allow.

use super::story::{FULL, Plan, Story, payload};
use crate::tcp_sim::MS;
use crate::tcp_sim::connection::{Manner, State};
use crate::tcp_sim::fate::{self, Fate};
use crate::tcp_sim::link::Link;
use crate::tcp_sim::log::Event;
use crate::tcp_sim::model::Algorithm;
use crate::tcp_sim::segment::{ACK, FIN, SYN};

#[test]
fn every_byte_arrives_once() {
    for is_ipv6 in [false, true] {
        for algorithm in [Algorithm::NewReno, Algorithm::Cubic] {
            let mut story = Story::new(Plan { is_ipv6, algorithm, ..Plan::bytes(1_000_000) });
            let sim = story.run();
            sim.expect(1_000_000);
            let count = sim.flow().count;
            assert_eq!(
                (count.bytes, count.again, count.probes),
                (1_000_000, 0, 0),
                "{algorithm:?}"
            );
            let full = if is_ipv6 { FULL - 20 } else { FULL };
            assert_eq!(count.data, 1_000_000_u64.div_ceil(full), "full segments, {algorithm:?}");
            let connection = sim.peer.connections.values().next().unwrap();
            assert_eq!((connection.state, connection.repeated), (State::Closed, 0));
        }
    }
}

#[test]
fn any_number_of_bytes_is_sent() {
    for bytes in [0, 1, 2, FULL - 1, FULL, FULL + 1, 10 * FULL, 10 * FULL + 7] {
        let mut story = Story::new(Plan::bytes(bytes));
        let sim = story.run();
        sim.expect(bytes);
        let count = sim.flow().count;
        assert_eq!((count.data, count.again), (bytes.div_ceil(FULL), 0), "{bytes} bytes");
    }
}

#[test]
fn whatever_the_peer_offers_is_kept_to() {
    for scale in [None, Some(0), Some(3), Some(14)] {
        for (sack, time) in [(true, true), (false, true), (true, false), (false, false)] {
            for mss in [536, 1200, 1460, 9000] {
                let manner = Manner { scale, sack, time, mss, ..Manner::default() };
                let mut story = Story::new(Plan::bytes(100_000)).with_peer(manner);
                let sim = story.run();
                sim.expect(100_000);
                let full = payload(mss.min(1460), time);
                let wanted = 100_000_u64.div_ceil(full);
                let case = format!("{scale:?} sack {sack} time {time} mss {mss}");
                assert_eq!((sim.flow().count.again, sim.flow().count.data), (0, wanted), "{case}");
            }
        }
    }
}

#[test]
fn a_connection_opens_and_closes_by_the_book() {
    let mut story = Story::new(Plan::bytes(10));
    let sim = story.run();
    let lines = sim.flow().log.0.iter().map(|line| match &line.event {
        Event::Sent { start, length, flags, .. } => {
            ('>', *start, *length, *flags & (SYN | FIN | ACK))
        }
        Event::Told { ack, flags, .. } => ('<', *ack, 0, *flags & (SYN | FIN | ACK)),
    });
    let lines: Vec<_> = lines.collect();
    // The data may carry the acknowledgement of the SYN, and the FIN may go with it.
    assert_eq!(lines[..2], [('>', 0, 1, SYN), ('<', 1, 0, SYN | ACK)]);
    assert_eq!(lines.last(), Some(&('>', 12, 0, ACK)), "{lines:?}");
    assert!(lines.contains(&('<', 12, 0, FIN | ACK)), "{lines:?}");
    assert_eq!(sim.flow().log.sent().map(|sent| sent.length).sum::<u64>(), 12);
}

#[test]
fn slow_start_begins_with_ten_segments_and_doubles_each_round() {
    for algorithm in [Algorithm::NewReno, Algorithm::Cubic] {
        let manner = Manner { ack_delay: None, ..Manner::default() };
        let mut story = Story::new(Plan { algorithm, ..Plan::bytes(300 * FULL) }).with_peer(manner);
        story.there(Link::new(50 * MS)).back(Link::new(50 * MS));
        let sim = story.run();
        sim.expect(300 * FULL);
        // Data starts when the answer to the SYN arrives, after 100 ms.
        let peaks = sim.flow().log.peaks(100 * MS, 100 * MS);
        let segments: Vec<_> = peaks.iter().map(|bytes| bytes / FULL).collect();
        // The last round has the rest of the 300.
        assert_eq!(segments[..4], [10, 20, 40, 80], "{algorithm:?}");
    }
}

#[test]
fn delayed_acknowledgements_slow_it_down_at_most_by_half() {
    let mut story = Story::new(Plan::bytes(500 * FULL));
    story.there(Link::new(50 * MS)).back(Link::new(50 * MS));
    let sim = story.run();
    let peaks = sim.flow().log.peaks(100 * MS, 100 * MS);
    for (before, after) in peaks.iter().zip(&peaks[1..4]) {
        assert!((before * 3 / 2 - FULL..=before * 2).contains(after), "{peaks:?}");
    }
}

#[test]
fn sequence_numbers_wrap() {
    for before in [1, 1000, 100_000] {
        let plan = Plan { seed: 0u32.wrapping_sub(before), ..Plan::bytes(200_000) };
        let mut story = Story::new(plan);
        let sim = story.run();
        sim.expect(200_000);
        assert_eq!(sim.flow().count.again, 0);
        let connection = sim.peer.connections.values().next().unwrap();
        assert_eq!(connection.irs.wrapping_neg(), before, "where it begins");
    }
}

#[test]
fn sequence_numbers_wrap_amid_losses() {
    let plan = Plan { seed: 0u32.wrapping_sub(50 * FULL as u32), ..Plan::bytes(200 * FULL) };
    let mut story = Story::new(plan);
    let lost = fate::bytes((40..60).step_by(3).map(|segment| segment * FULL), 1, Fate::Lose);
    story.there(Link::new(10 * MS).with_fault(lost));
    let sim = story.run();
    sim.expect(200 * FULL);
    assert_eq!((sim.flow().count.again, sim.flow().count.needless), (7, 0));
}
