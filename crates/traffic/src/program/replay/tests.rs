//! Recordings on the engine: all frames, in order, when they are due.

use std::time::Duration;

use spec::Verdict;

use super::super::tests::engine::Engine;
use super::*;
use crate::program::abi::state;

/// Frames of these lengths, `gap_us` apart. All bytes of a frame hold its number.
fn recording(lens: &[usize], gap_us: u64) -> Recording {
    let mut recording = Recording { rounds: 0, ..Recording::default() };
    for (number, len) in lens.iter().enumerate() {
        let due = Duration::from_micros(gap_us * number as u64);
        recording.frames.push(Frame { at: recording.bytes.len(), len: *len, due });
        recording.bytes.extend((0..*len).map(|at| (at / 7 + number) as u8));
    }
    recording.length = Duration::from_micros(gap_us * lens.len() as u64);
    recording
}

fn job(recording: &Recording) -> ReplayJob<'_> {
    let group = if recording.is_paced() { 1 } else { 4 };
    let exit = Exit::Redirect(kernel::Ifindex(7));
    ReplayJob { recording, exit, thread: 0, threads: 1, group }
}

fn engine(job: &ReplayJob) -> Engine {
    Engine::of(replay(job).unwrap(), STEP_NS)
}

/// Runs the program until it sends a frame, within a bounded number of runs.
fn next(engine: &mut Engine) -> Vec<u8> {
    for _ in 0..100_000 {
        let outcome = engine.run();
        if outcome.verdict == Verdict::Redirect {
            return outcome.packet;
        }
    }
    panic!("no frame in 100000 runs");
}

#[test]
fn frames_come_byte_for_byte_and_in_order_round_after_round() {
    let recording = recording(&[60, 14, 1514, 61, FRAME_MAX, 60], 0);
    let mut engine = engine(&job(&recording));
    for round in 0..3 {
        for (number, frame) in recording.frames.iter().enumerate() {
            assert_eq!(engine.send(), recording.bytes_of(frame), "{number} of round {round}");
        }
    }
    assert_eq!(engine.sent(), 18);
    assert_eq!(engine.state(state::BYTES), 3 * recording.bytes.len() as u64);
    assert_eq!(engine.state(state::STREAMS), 18);
}

#[test]
fn a_recording_of_many_blocks_is_walked_through() {
    // Blocks with different amounts of unused space, and one frame after the last full block.
    let lens: Vec<usize> = (0..1000).map(|number| 1514 - number % 97).collect();
    let recording = recording(&lens, 0);
    let job = job(&recording);
    assert!(blocks(&job).len() > 4);
    let mut engine = engine(&job);
    for frame in recording.frames.iter().cycle().take(2 * lens.len() + 3) {
        assert!(engine.send() == recording.bytes_of(frame));
    }
}

#[test]
fn frames_leave_when_they_are_due() {
    for gap_us in [10, 300, 70_000] {
        let recording = recording(&[60, 61, 62, 63], gap_us);
        let mut engine = engine(&job(&recording));
        let mut first = 0;
        for number in 0..10 {
            assert_eq!(next(&mut engine).len(), 60 + number as usize % 4, "{gap_us} us");
            let left = engine.state(state::LAST);
            if number == 0 {
                first = left;
            }
            let late = (left - first).checked_sub(number * gap_us * 1000);
            assert!(late.is_some_and(|late| late <= 10 * STEP_NS), "{number}: {late:?}");
        }
        assert_eq!(engine.late().count(), 10);
        assert!(engine.late().max().unwrap() <= 10 * STEP_NS as u32);
        assert_eq!(engine.state(state::SLIPPED), 0);
    }
}

#[test]
fn frames_of_one_time_leave_together() {
    let mut recording = recording(&[60; 5], 1000);
    recording.frames[1..4].iter_mut().for_each(|frame| frame.due = Duration::from_micros(1000));
    let mut engine = engine(&job(&recording));
    let mut lefts = Vec::new();
    for _ in 0..5 {
        next(&mut engine);
        lefts.push(engine.state(state::LAST));
    }
    assert!(lefts[3] - lefts[1] < 100 * STEP_NS, "{lefts:?}");
    assert!(lefts[1] - lefts[0] >= 1_000_000 && lefts[4] - lefts[3] >= 2_900_000, "{lefts:?}");
}

#[test]
fn what_is_too_late_moves_the_schedule() {
    let recording = recording(&[60; 100], 1000);
    // Each reading of the clock takes 4 ms, so that no frame is in time.
    let mut engine = Engine::of(replay(&job(&recording)).unwrap(), 4_000_000);
    (0..50).for_each(|_| drop(next(&mut engine)));
    assert!(engine.state(state::SLIPPED) > 0);
    let worst = u64::from(engine.late().max().unwrap());
    assert!(worst < 2 * SLACK_NS as u64 + 8_000_000, "it does not add up: {worst}");
}

#[test]
fn hold_and_limit_are_kept_to_the_frame() {
    use crate::program::abi::control;
    let recording = recording(&[60, 70, 80], 0);
    let mut engine = engine(&job(&recording));
    engine.set(control::LIMIT, 4);
    (0..4).for_each(|_| drop(engine.send()));
    assert_eq!(engine.run().verdict, Verdict::Drop);
    engine.set(control::LIMIT, 6);
    engine.set(control::GO, 0);
    assert_eq!(engine.run().verdict, Verdict::Drop);
    engine.set(control::GO, 1);
    assert_eq!(engine.send().len(), 70, "it goes on where it was");
    assert_eq!(engine.sent(), 5);
}

#[test]
fn threads_share_the_frames() {
    let lens: Vec<usize> = (60..70).collect();
    let recording = recording(&lens, 0);
    for thread in 0..3 {
        let mut engine = engine(&ReplayJob { thread, threads: 3, ..job(&recording) });
        let mine: Vec<usize> = lens.iter().copied().skip(thread as usize).step_by(3).collect();
        for len in mine.iter().cycle().take(9) {
            assert_eq!(engine.send().len(), *len, "thread {thread}");
        }
    }
}

#[test]
fn what_cannot_be_sent_so_is_refused() {
    let (free, paced) = (recording(&[60, 60], 0), recording(&[60, 60], 10));
    let mut long = free.clone();
    long.bytes.resize(FRAME_MAX + 1, 0);
    long.frames = vec![Frame { at: 0, len: FRAME_MAX + 1, due: Duration::ZERO }];
    for (label, job) in [
        ("two threads in order", ReplayJob { threads: 2, ..job(&paced) }),
        ("in batches in order", ReplayJob { group: 4, ..job(&paced) }),
        ("more threads than frames", ReplayJob { threads: 3, ..job(&free) }),
        ("no frames", job(&Recording::default())),
        ("a long frame", job(&long)),
    ] {
        assert!(matches!(replay(&job), Err(Error::Config(_))), "{label}");
    }
}

/// Time that passes with each reading of the clock.
const STEP_NS: u64 = 500;
