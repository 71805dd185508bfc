//! Receivers that read slowly, or temporarily not at all.

use super::story::{FULL, Plan, Story};
use crate::tcp_sim::connection::{Manner, Reader};
use crate::tcp_sim::fate::{self, Fate};
use crate::tcp_sim::link::Link;
use crate::tcp_sim::log::Event;
use crate::tcp_sim::{MS, SECOND};

fn story(bytes: u64, manner: Manner) -> Story {
    let mut story = Story::new(Plan::bytes(bytes)).with_peer(manner);
    story.there(Link::new(5 * MS)).back(Link::new(5 * MS));
    story
}

#[test]
fn a_slow_reader_sets_the_pace() {
    for buffer in [3_000, 20_000, 100_000] {
        let reader = Reader::Rate(200_000);
        let mut story = story(200_000, Manner { buffer, reader, ..Manner::default() });
        let sim = story.run();
        sim.expect(200_000);
        assert_eq!(sim.flow().count.again, 0, "buffer {buffer}\n{}", sim.tell());
        let seconds = sim.now as f64 / SECOND as f64;
        assert!((0.4..2.5).contains(&seconds), "buffer {buffer}: {seconds} s");
    }
}

#[test]
fn a_closed_window_is_probed_ever_more_rarely() {
    let manner = Manner {
        buffer: 10_000,
        scale: None,
        reader: Reader::Pause(5_000, 20 * SECOND),
        ..Manner::default()
    };
    let mut story = story(50_000, manner);
    let sim = story.run();
    sim.expect(50_000);
    let count = sim.flow().count;
    assert!((3..=10).contains(&count.probes), "{} probes\n{}", count.probes, sim.tell());
}

/// The update that opens the window is lost: probes detect that it is open.
#[test]
fn a_lost_window_update_is_found_out() {
    let manner = Manner {
        buffer: 10_000,
        scale: None,
        reader: Reader::Pause(5_000, 2 * SECOND),
        ..Manner::default()
    };
    let mut story = story(50_000, manner);
    let mut told = 0;
    story.back(Link::new(5 * MS).with_fault(Box::new(move |_, segment| {
        let opens = segment.window >= 5_000 && (1..5_000).contains(&told);
        told = segment.window;
        if opens { Fate::Lose } else { Fate::Pass }
    })));
    let sim = story.run();
    sim.expect(50_000);
    assert!(sim.back.lost > 0 && sim.flow().count.probes > 0, "{}", sim.tell());
}

/// Small windows do not cause small segments (RFC 9293, 3.8.6.2.1).
#[test]
fn no_silly_segments_are_sent() {
    let reader = Reader::Rate(100_000);
    let manner = Manner { buffer: 6_000, scale: None, reader, ..Manner::default() };
    let mut story = story(150_000, manner);
    let sim = story.run();
    sim.expect(150_000);
    let small = sim.flow().log.sent().filter(|sent| sent.length < FULL / 2).count();
    assert!(small <= 3, "{small} small segments\n{}", sim.tell());
}

#[test]
fn the_window_holds_through_losses() {
    for seed in 1..=5 {
        let reader = Reader::Rate(2_000_000);
        let manner = Manner { buffer: 30_000, reader, ..Manner::default() };
        let mut story = story(300_000, manner);
        story.there(Link::new(5 * MS).with_fault(fate::share(seed, 0.02, Fate::Lose)));
        story.back(Link::new(5 * MS).with_fault(fate::share(seed + 9, 0.02, Fate::Lose)));
        story.run().expect(300_000);
    }
}

/// The window in an old acknowledgement is old, too.
#[test]
fn late_acknowledgements_do_not_close_the_window() {
    let mut story = story(300_000, Manner { buffer: 40_000, ..Manner::default() });
    story.back(Link::new(5 * MS).with_fault(fate::each(3, Fate::Late(7 * MS))));
    let sim = story.run();
    sim.expect(300_000);
    let log = &sim.flow().log;
    assert!(log.0.iter().any(|line| matches!(line.event, Event::Told { .. })));
    assert_eq!((sim.flow().count.probes, sim.flow().count.again), (0, 0), "{}", sim.tell());
}
