//! Congestion avoidance against a model in floating point.

use super::story::{FULL, Plan, Story};
use crate::tcp_sim::auditor::Auditor;
use crate::tcp_sim::connection::Manner;
use crate::tcp_sim::fate::{self, Fate};
use crate::tcp_sim::link::Link;
use crate::tcp_sim::log::Event;
use crate::tcp_sim::model::{Algorithm, Model};
use crate::tcp_sim::{MS, SECOND, Time};

/// A run with a round-trip time of `rtt` ms that only the window limits; these segments are lost
/// once.
fn run(algorithm: Algorithm, rtt: u64, segments: u64, lost: &[u64]) -> Story {
    let manner = Manner { ack_delay: None, buffer: 64 << 20, scale: Some(12), ..Manner::default() };
    let mut story =
        Story::new(Plan { algorithm, ..Plan::bytes(segments * FULL) }).with_peer(manner);
    let fault = fate::bytes(lost.iter().map(|segment| segment * FULL), 1, Fate::Lose);
    story.there(Link::new(rtt * MS / 2).with_fault(fault)).back(Link::new(rtt * MS / 2));
    story.run().expect(segments * FULL);
    story
}

/// The largest flight of each round, and the model's window, in segments.
fn rounds(flow: &Auditor, algorithm: Algorithm, rtt: Time) -> Vec<(f64, f64)> {
    let mut model = Model::new(algorithm, 10.0);
    let (mut una, mut next, mut recover) = (1, 1, 0);
    let mut rounds: Vec<(f64, f64)> = Vec::new();
    let full = FULL as f64;
    let seconds = |time: Time| time as f64 / SECOND as f64;
    for line in &flow.log.0 {
        match line.event {
            Event::Sent { again: true, .. } if una >= recover => {
                recover = next;
                model.lose((next - una) as f64 / full);
            }
            Event::Sent { start, length, .. } => next = next.max(start + length),
            Event::Told { ack, .. } if ack > una => {
                let segments = (ack - una) as f64 / full;
                una = ack;
                if ack > recover {
                    model.acked(seconds(line.at), seconds(rtt), segments);
                }
            }
            Event::Told { .. } => {}
        }
        let round = (line.at.saturating_sub(rtt) / rtt) as usize;
        rounds.resize(rounds.len().max(round + 1), (0.0, 0.0));
        let flight = (next - una) as f64 / full;
        rounds[round] = (rounds[round].0.max(flight), model.window);
    }
    rounds
}

#[test]
fn new_reno_adds_one_segment_a_round() {
    let story = run(Algorithm::NewReno, 100, 700, &[60]);
    let log = &story.flow().log;
    let at = log.again()[0].at;
    // From the second round after the recovery, without the last one.
    let peaks = log.peaks(at + 250 * MS, 100 * MS);
    let grown: Vec<_> = peaks.iter().zip(&peaks[1..]).map(|(one, next)| next - one).collect();
    let whole = &grown[..grown.len() - 2];
    assert!(whole.len() > 8, "{peaks:?}");
    assert!(whole.iter().all(|bytes| (FULL - 200..=FULL + 200).contains(bytes)), "{whole:?}");
}

#[test]
fn windows_follow_the_model() {
    let table: [(Algorithm, u64, u64, &[u64]); 4] = [
        (Algorithm::NewReno, 20, 800, &[100, 400]),
        (Algorithm::Cubic, 100, 2000, &[100]),
        (Algorithm::Cubic, 20, 1000, &[100]),
        // The second loss occurs below the plateau: fast convergence applies.
        (Algorithm::Cubic, 200, 2000, &[100, 300]),
    ];
    for (algorithm, rtt, segments, lost) in table {
        let story = run(algorithm, rtt, segments, lost);
        let rounds = rounds(story.flow(), algorithm, rtt * MS);
        let text: Vec<_> =
            rounds.iter().map(|(seen, model)| format!("{seen:.1}/{model:.1}")).collect();
        let case = format!("{algorithm:?} {rtt} ms, lost {lost:?}: {}", text.join(" "));
        let last = rounds.len().saturating_sub(4);
        assert_eq!(story.flow().count.again as usize, lost.len(), "{case}");
        // The model does not cover rounds with a loss, nor the rounds after them.
        let repairs: Vec<usize> = story
            .flow()
            .log
            .again()
            .iter()
            .map(|sent| (sent.at / (rtt * MS)) as usize - 1)
            .collect();
        for (round, (seen, model)) in rounds[..last].iter().enumerate() {
            let is_near = |repair: &usize| (*repair..*repair + 3).contains(&round);
            let room = 2.0 + model / 50.0;
            let fits = (seen - model).abs() <= room;
            assert!(fits || repairs.iter().any(is_near), "round {round}: {case}");
        }
    }
}
