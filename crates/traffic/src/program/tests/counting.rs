//! Counters, limit, hold and end.

use spec::Verdict;

use super::engine::{Engine, job};
use crate::program::abi::{control, state};
use crate::program::fixture::plain;
use crate::program::{Clock, Gaps, Job};
use crate::stamp::{Expect, Kind, Stamp};
use crate::template::{Draw, Order, Size, Template};

/// Three streams with weights 3, 2 and 1: constant, of two sizes, stamped.
fn streams() -> Vec<Template> {
    let size = |len| Size { len, words: vec![], sums: vec![] };
    let sizes = Template {
        weight: 2,
        sizes: vec![size(100), size(200)],
        size_draw: Some(0),
        draws: vec![Draw { last: 1, order: Order::Sequence }],
        ..plain(200)
    };
    let stamped = Template { id: 9, stamp: Some(Expect::Pass), ..plain(64) };
    vec![Template { weight: 3, ..plain(60) }, sizes, stamped]
}

#[test]
fn frames_and_bytes_are_counted_by_stream() {
    let streams = streams();
    let mut engine = Engine::new(&job(&streams));
    let bytes: usize = (0..600).map(|_| engine.send().len()).sum();
    assert_eq!(engine.sent(), 600);
    assert_eq!(engine.state(state::BYTES), bytes as u64);
    let counts = [0, 1, 2].map(|stream| engine.state(state::STREAMS + 8 * stream));
    assert_eq!(counts, [300, 200, 100]);
    assert_eq!(bytes, 300 * 60 + 100 * (100 + 200) + 100 * 64);
}

#[test]
fn the_limit_is_kept_to_the_frame_and_can_be_raised() {
    for pace in [None, Some(Gaps::Even)] {
        let streams = streams();
        let mut engine = Engine::new(&Job { pace, ..job(&streams) });
        for limit in [0, 1, 7, 300] {
            engine.set(control::LIMIT, limit);
            let verdicts: Vec<_> = (0..1000).map(|_| engine.run().verdict).collect();
            let sent = verdicts.iter().filter(|verdict| **verdict == Verdict::Redirect).count();
            assert!(sent as u64 <= limit && engine.sent() == limit, "{pace:?} {limit}");
            let dropped = verdicts.iter().filter(|verdict| **verdict == Verdict::Drop).count();
            assert_eq!(sent + dropped, 1000);
        }
        let [first, last] = [state::FIRST, state::LAST].map(|at| engine.state(at));
        assert!(0 < first && first < last, "{first} {last}");
    }
}

#[test]
fn what_is_held_is_not_sent() {
    let streams = streams();
    let mut engine = Engine::new(&job(&streams));
    engine.set(control::GO, 0);
    assert!((0..100).all(|_| engine.run().verdict == Verdict::Drop));
    assert_eq!((engine.sent(), engine.state(state::FIRST), engine.state(state::LAST)), (0, 0, 0));
    engine.set(control::GO, 1);
    (0..10).for_each(|_| drop(engine.send()));
    engine.set(control::GO, 0);
    assert!((0..100).all(|_| engine.run().verdict == Verdict::Drop));
    assert_eq!(engine.sent(), 10);
    assert!(engine.state(state::LAST) > engine.state(state::FIRST));
}

#[test]
fn who_has_nothing_to_send_waits_once_in_a_batch() {
    let streams = [Template { stamp: Some(Expect::Pass), ..plain(60) }];
    for pace in [None, Some(Gaps::Even)] {
        for clock in [Clock::Frame, Clock::Group] {
            let mut engine = Engine::new(&Job { pace, clock, group: 8, ..job(&streams) });
            engine.set(control::GO, 0);
            // Only readings advance the clock: 20 µs for each wait, and few readings without one.
            let before = engine.now();
            (0..80).for_each(|_| assert_eq!(engine.run().verdict, Verdict::Drop));
            let waited = engine.now() - before;
            assert!((200_000..300_000).contains(&waited), "{pace:?} {clock:?}: {waited} ns");
        }
    }
}

#[test]
fn the_end_is_announced_in_stamps_that_are_not_counted() {
    for (pace, clock) in [(None, Clock::Frame), (Some(Gaps::Even), Clock::Group)] {
        let streams = streams();
        let mut engine = Engine::new(&Job { pace, clock, ..job(&streams) });
        engine.set(control::LIMIT, 600);
        (0..600).for_each(|_| drop(engine.send()));
        let before = [state::SENT, state::BYTES, state::STREAMS + 16].map(|at| engine.state(at));
        engine.set(control::END, 1);
        let mut ends = 0;
        for _ in 0..60 {
            let outcome = engine.run();
            if outcome.verdict == Verdict::Drop {
                continue;
            }
            let stamp = Stamp::read(&outcome.packet).unwrap().unwrap();
            assert_eq!((stamp.kind, stamp.stream, stamp.number), (Kind::End, 9, 100));
            ends += 1;
        }
        assert_eq!(ends, 20, "one of three frames has a stamp, whatever the weights");
        let after = [state::SENT, state::BYTES, state::STREAMS + 16].map(|at| engine.state(at));
        assert_eq!(before, after);
    }
}
