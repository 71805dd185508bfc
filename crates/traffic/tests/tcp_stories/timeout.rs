//! Timeouts: the peer's answers are lost or absent.

use super::story::{FULL, Plan, Story};
use crate::tcp_sim::connection::{Manner, Refusal};
use crate::tcp_sim::fate::{self, Fate};
use crate::tcp_sim::link::Link;
use crate::tcp_sim::log::Sent;
use crate::tcp_sim::segment::{FIN, SYN};
use crate::tcp_sim::{MS, SECOND, Time};

/// A path of 20 ms from end to end.
fn story(bytes: u64, there: fate::Fault, back: fate::Fault) -> Story {
    let mut story = Story::new(Plan::bytes(bytes));
    story.there(Link::new(10 * MS).with_fault(there)).back(Link::new(10 * MS).with_fault(back));
    story
}

/// The time from each segment to the next.
fn gaps(sent: &[Sent]) -> Vec<Time> {
    sent.iter().zip(&sent[1..]).map(|(one, next)| next.at - one.at).collect()
}

/// Whether two times are about equal: an idle sender is polled after a 64th of its idle time.
fn is_about(gap: Time, wanted: Time) -> bool {
    (wanted - wanted / 32..=wanted + wanted / 16 + 2 * MS).contains(&gap)
}

fn of(story: &Story, start: u64) -> Vec<Sent> {
    story.flow().log.sent().filter(|sent| sent.start == start).collect()
}

#[test]
fn a_lost_syn_is_sent_again_after_a_second_then_two() {
    let mut story = story(1000, fate::flagged(SYN, 2, Fate::Lose), fate::none());
    story.run().expect(1000);
    let gaps = gaps(&of(&story, 0));
    assert!(
        gaps.len() == 2 && is_about(gaps[0], SECOND) && is_about(gaps[1], 2 * SECOND),
        "{gaps:?}"
    );
}

#[test]
fn a_lost_answer_to_the_syn_causes_another_syn() {
    let mut story = story(1000, fate::none(), fate::flagged(SYN, 1, Fate::Lose));
    story.run().expect(1000);
    assert_eq!(of(&story, 0).len(), 2);
}

/// RFC 5681, 3.1: the loss of a SYN results in a window of one segment.
#[test]
fn after_a_lost_syn_the_first_window_is_one_segment() {
    let mut story = story(20 * FULL, fate::flagged(SYN, 1, Fate::Lose), fate::none());
    story.run().expect(20 * FULL);
    let first = story.flow().log.flights()[1].1;
    assert_eq!(story.flow().log.peaks(SECOND + 10 * MS, 21 * MS)[0], first, "{}", story.tell());
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    for lost in 1..=3 {
        let tail = 100 - lost..100;
        let there = fate::bytes(tail.clone().map(|segment| segment * FULL), 1, Fate::Lose);
        let mut story = story(100 * FULL, there, fate::none());
        story.run().expect(100 * FULL);
        let again = story.flow().log.again();
        let sent = of(&story, 1 + tail.start * FULL);
        assert_eq!(sent.len(), 2, "{}", story.tell());
        assert!(sent[1].at - sent[0].at >= 200 * MS, "{sent:?}");
        assert!(again.len() as u64 <= lost + 1, "the tail and FIN: {again:?}");
    }
}

#[test]
fn the_timer_doubles_until_something_comes() {
    // The fifth copy arrives.
    let there = fate::bytes([99 * FULL], 5, Fate::Lose);
    let mut story = story(100 * FULL, there, fate::none());
    story.run().expect(100 * FULL);
    let gaps = gaps(&of(&story, 1 + 99 * FULL));
    assert_eq!(gaps.len(), 5, "{}", story.tell());
    assert!(gaps[0] >= 200 * MS && gaps[0] < 400 * MS, "{gaps:?}");
    for (number, gap) in gaps.iter().enumerate().skip(1) {
        assert!(is_about(*gap, (200 * MS) << number), "{gaps:?}");
    }
}

/// Karn's algorithm: retransmitted segments are not measured. Timestamps permit that; without them
/// the timer must not use an acknowledgement of a copy.
#[test]
fn round_trips_of_retransmissions_are_ignored() {
    let there = fate::bytes([50 * FULL], 3, Fate::Lose);
    let mut story = story(100 * FULL, there, fate::none());
    story.peer.time = false;
    story.run().expect(100 * FULL);
    let flow = story.sim().sender.flow(0);
    let rtts = [flow.rtt, flow.rtt_last.into(), flow.rtt_least.into()];
    assert!(rtts.iter().all(|rtt| (20 * MS..70 * MS).contains(rtt)), "{rtts:?}");
}

#[test]
fn after_a_timeout_the_window_is_one_segment() {
    // The whole window, which no segment follows.
    let there = fate::bytes((60..110).map(|segment| segment * FULL), 1, Fate::Lose);
    let mut story = story(110 * FULL, there, fate::none());
    story.run().expect(110 * FULL);
    let again = story.flow().log.again();
    let first = again[0].at;
    let soon: Vec<_> = again.iter().filter(|sent| sent.at < first + 19 * MS).collect();
    assert_eq!(soon.len(), 1, "{}", story.tell());
    let data = again.iter().filter(|sent| sent.start <= 110 * FULL).count();
    assert_eq!(data, 50, "each once\n{}", story.tell());
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut story = story(1000, fate::flagged(FIN, 2, Fate::Lose), fate::none());
    story.run().expect(1000);
    let sent = story.flow().log.sent().filter(|sent| sent.start + sent.length == 1002);
    let gaps = gaps(&sent.collect::<Vec<_>>());
    // An acknowledgement of the data may have restarted the timer in the first gap.
    assert!(gaps.len() == 2 && (200 * MS..300 * MS).contains(&gaps[0]), "{gaps:?}");
    assert!(is_about(gaps[1], 400 * MS), "{gaps:?}");
}

/// The peer retransmits its FIN, which must be answered.
#[test]
fn the_last_acknowledgement_may_be_lost() {
    let mut story = story(1000, fate::none(), fate::none());
    let frames = story.run().there.frames;
    let mut story = self::story(1000, fate::frames([frames], Fate::Lose), fate::none());
    story.run_on(5 * SECOND).expect(1000);
}

#[test]
fn a_peer_that_falls_silent_is_given_up() {
    let manner = Manner { refusal: Refusal::Silence(60 * MS), ..Manner::default() };
    let mut story = story(1000 * FULL, fate::none(), fate::none()).with_peer(manner);
    let sim = story.run();
    sim.expect_no_complaint();
    assert_eq!(story.ends(), [("timed_out", 1)]);
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let manner = Manner { refusal: Refusal::Silence(0), ..Manner::default() };
    let mut story = story(1000, fate::none(), fate::none()).with_peer(manner);
    let sim = story.run();
    sim.expect_no_complaint();
    assert_eq!(story.ends(), [("unanswered", 1)]);
    let gaps = gaps(&of(&story, 0));
    for (number, gap) in gaps.iter().enumerate() {
        assert!(is_about(*gap, (SECOND << number).min(60 * SECOND)), "{gaps:?}");
    }
}
