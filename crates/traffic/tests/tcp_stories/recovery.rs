//! Segments and acknowledgements are lost, late or duplicated.

use super::story::{FULL, Plan, Story};
use crate::tcp_sim::connection::Manner;
use crate::tcp_sim::fate::{self, Fate};
use crate::tcp_sim::link::Link;
use crate::tcp_sim::log::{Event, Log};
use crate::tcp_sim::model::Algorithm;
use crate::tcp_sim::{MS, Time};

const BYTES: u64 = 200 * FULL;

/// Position of the nth segment, from 0.
fn nth(segment: u64) -> u64 {
    1 + segment * FULL
}

/// A path of 20 ms from end to end, with 0.12 ms between segments; every segment is acknowledged.
fn story(plan: Plan, fault: fate::Fault) -> Story {
    let manner = Manner { ack_delay: None, ..Manner::default() };
    let mut story = Story::new(plan).with_peer(manner);
    story.there(Link::new(10 * MS).with_rate(100_000_000, 1 << 20).with_fault(fault));
    story.back(Link::new(10 * MS));
    story
}

/// Loses the segments with these numbers (from 0) this number of times each.
fn lost(segments: &[u64], times: u32) -> fate::Fault {
    fate::bytes(segments.iter().map(|segment| segment * FULL), times, Fate::Lose)
}

/// Duplicate acknowledgements of `ack` before `until`, which have no news except blocks.
fn duplicates(log: &Log, ack: u64, until: Time) -> usize {
    let is_one = |event: &Event| matches!(event, Event::Told { ack: a, .. } if *a == ack);
    let all = log.0.iter().filter(|line| line.at <= until && is_one(&line.event)).count();
    all.saturating_sub(1)
}

fn both() -> [Plan; 2] {
    [Algorithm::NewReno, Algorithm::Cubic].map(|algorithm| Plan { algorithm, ..Plan::bytes(BYTES) })
}

#[test]
fn one_loss_is_repaired_after_three_duplicates_and_not_before() {
    for plan in both() {
        for sack in [true, false] {
            let mut story = story(plan.clone(), lost(&[30], 1));
            story.peer.sack = sack;
            let sim = story.run();
            sim.expect(BYTES);
            let log = &sim.flow().log;
            let again = log.again();
            let what: Vec<_> = again.iter().map(|sent| (sent.start, sent.length)).collect();
            assert_eq!(what, [(nth(30), FULL)], "sack {sack}, {:?}", plan.algorithm);
            assert_eq!(duplicates(log, nth(30), again[0].at), 3, "sack {sack}");
        }
    }
}

#[test]
fn only_holes_are_sent_again() {
    let table: [&[u64]; 6] =
        [&[30, 31], &[30, 32], &[30, 35, 40, 45], &[40, 41, 42, 50, 51, 60], &[10, 11], &[31, 69]];
    for holes in table {
        for plan in both() {
            let mut story = story(plan, lost(holes, 1));
            let sim = story.run();
            sim.expect(BYTES);
            let what: Vec<_> = sim.flow().log.again().iter().map(|sent| sent.start).collect();
            let wanted: Vec<_> = holes.iter().map(|hole| nth(*hole)).collect();
            assert_eq!(what, wanted, "{holes:?}\n{}", sim.tell());
            assert_eq!(sim.flow().count.needless, 0);
            assert!(!sim.had_timeout(), "{holes:?} without a timeout");
        }
    }
}

/// RFC 6582: a partial acknowledgement reveals the next hole.
#[test]
fn without_sack_holes_are_found_one_a_round() {
    for plan in both() {
        let mut story = story(plan, lost(&[40, 44, 48], 1));
        story.peer.sack = false;
        let sim = story.run();
        sim.expect(BYTES);
        let again = sim.flow().log.again();
        let what: Vec<_> = again.iter().map(|sent| sent.start).collect();
        assert_eq!(what, [nth(40), nth(44), nth(48)], "{}", sim.tell());
        for (one, next) in again.iter().zip(&again[1..]) {
            assert!((20 * MS..25 * MS).contains(&(next.at - one.at)), "{again:?}");
        }
    }
}

#[test]
fn a_window_with_a_third_lost_is_recovered_without_timeout() {
    for plan in both() {
        let holes: Vec<u64> = (40..70).step_by(3).collect();
        let mut story = story(plan, lost(&holes, 1));
        let sim = story.run();
        sim.expect(BYTES);
        assert_eq!(sim.flow().log.again().len(), holes.len(), "{}", sim.tell());
        assert!(!sim.had_timeout());
    }
}

#[test]
fn segments_that_overtake_two_others_cause_nothing() {
    for plan in both() {
        // At 10 Mbit/s segments are 1.2 ms apart.
        let late = fate::each(10, Fate::Late(2 * MS));
        let mut story = story(plan, fate::none());
        story.there(Link::new(10 * MS).with_rate(10_000_000, 1 << 20).with_fault(late));
        let sim = story.run();
        sim.expect(BYTES);
        assert_eq!(sim.flow().count.again, 0, "{}", sim.tell());
    }
}

#[test]
fn duplicates_of_segments_cause_nothing() {
    for tells_twice in [true, false] {
        for plan in both() {
            let mut story = story(plan, fate::each(3, Fate::Twice));
            story.peer.tells_twice = tells_twice;
            let sim = story.run();
            sim.expect(BYTES);
            assert_eq!(sim.flow().count.again, 0, "{}", sim.tell());
        }
    }
}

#[test]
fn acknowledgements_may_be_lost_late_or_twice() {
    let faults: [fn() -> fate::Fault; 4] = [
        || fate::each(2, Fate::Lose),
        || fate::share(3, 0.5, Fate::Lose),
        || fate::each(3, Fate::Twice),
        || fate::each(4, Fate::Late(5 * MS)),
    ];
    for (number, fault) in faults.iter().enumerate() {
        for plan in both() {
            let mut story = story(plan, fate::none());
            // The first belongs to the SYN, and no acknowledgement follows the last one.
            story.back(Link::new(10 * MS).with_fault(fate::between(2, 190, fault())));
            let sim = story.run();
            sim.expect(BYTES);
            assert_eq!(sim.flow().count.again, 0, "fault {number}\n{}", sim.tell());
        }
    }
}

/// Duplicates alone do not reveal a lost retransmission: there is one timeout.
#[test]
fn a_retransmission_that_is_lost_too_is_sent_again() {
    for plan in both() {
        let mut story = story(plan, lost(&[30], 2));
        let sim = story.run();
        sim.expect(BYTES);
        let again = sim.flow().log.again();
        let of_it = again.iter().filter(|sent| sent.start == nth(30)).count();
        assert_eq!(of_it, 2, "{}", sim.tell());
    }
}

/// RFC 5681, 3.1 and 3.2; RFC 9438, 4.6: the reduction of the window.
#[test]
fn a_loss_shrinks_the_window_by_the_book() {
    for (algorithm, share) in [(Algorithm::NewReno, 0.5), (Algorithm::Cubic, 0.7)] {
        let plan = Plan { algorithm, ..Plan::bytes(1000 * FULL) };
        let mut story = story(plan, lost(&[200], 1));
        let sim = story.run();
        sim.expect(1000 * FULL);
        let log = &sim.flow().log;
        let at = log.again()[0].at;
        let flights = log.flights();
        let before = flights.iter().filter(|(when, _)| *when < at).map(|(_, bytes)| *bytes);
        let before = before.max().unwrap() as f64;
        // Everything that was in flight then has arrived: the current flight is the window.
        let sent = log.sent().filter(|sent| sent.at < at).map(|sent| sent.start + sent.length);
        let over = log.acked_at(sent.max().unwrap()).unwrap();
        let after = flights.iter().find(|(when, _)| *when > over).unwrap().1 as f64;
        assert!(
            (before * share - after).abs() <= 4.0 * FULL as f64,
            "{algorithm:?}: {before} to {after}"
        );
    }
}
