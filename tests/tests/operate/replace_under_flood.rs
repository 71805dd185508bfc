//! Changing programs under a running flood: every frame meets exactly one verdict, by sequence.
//!
//! ```text
//! a ── numbered frames ──▶ b eth0: XDP first | second | none ─▶ tcx stack ─▶ (dropped)
//! ```
//! All programs mark a frame's number in one shared array and count it as their own; the one after
//! XDP takes what passes while nothing is attached. At the end each number that was sent must have
//! one mark: no more, no less.
//!
//! What was seen on Linux 6.18, which `drivers/net/veth.c` explains:
//!
//! | receiving end | frames by redirect | frames by a socket |
//! |---|---|---|
//! | GRO on, as in every lab | none lost by attach, replace or detach | none lost |
//! | GRO off, replace | none lost | none lost |
//! | GRO off, attach and detach | all lost while nothing is attached | 0 to 1 in 60 rounds |
//!
//! Without GRO veth polls only while it has native XDP. Frames that are redirected to an end that
//! does not poll are refused (`veth_xdp_xmit`), and what waits in its ring when the last program
//! goes is freed (`veth_napi_del`). Both are the driver's.

use std::ops::Range;
use std::time::Instant;

use kernel::Mode;
use lab::{LinkOptions, TwoHosts};
use serde_json::Value;
use xway_tests::flood::Marks;
use xway_tests::flood::traffic::{BATCH, Source, Traffic};
use xway_tests::xway::{Xway, prebuilt};

/// Packets between two changes, so that each program meets some.
const STEP: u64 = 300;
/// What veth's ring holds.
const RING: u64 = 256;

fn two_hosts(gro: bool) -> TwoHosts {
    TwoHosts::build(&LinkOptions { gro, ..LinkOptions::default() }).unwrap()
}

#[test]
fn replacing_loses_and_doubles_nothing() {
    for (mode, gro, source, updates) in [
        (Mode::Native, true, Source::Redirect, 120),
        (Mode::Native, true, Source::Socket, 40),
        (Mode::Native, false, Source::Redirect, 40),
        (Mode::Generic, true, Source::Redirect, 40),
    ] {
        let net = two_hosts(gro);
        let marks = Marks::load(&net.b);
        let mut link = marks.attach(&net.b, "first", mode);
        let traffic = Traffic::start(&net, source);
        for round in 0..updates {
            traffic.pass(STEP);
            let (old, new) = [("first", "second"), ("second", "first")][round % 2];
            link.update(marks.program(new), Some(marks.program(old))).unwrap();
        }
        let tally = marks.settled(traffic.stop());
        let label = format!("{mode:?} mode, GRO {gro}, {source:?}");
        tally.assert_exact(&label);
        assert_eq!(tally.seen[2], 0, "{label}: frames passed XDP by");
        assert!(tally.seen[..2].iter().all(|seen| *seen > STEP * updates as u64 / 4), "{label}");
    }
}

/// The kernel refuses native and generic programs at the same time, so there is a gap. Its length
/// is printed, in microseconds: frames that met no program, by the rate of the frames.
#[test]
fn a_change_of_mode_has_a_gap_and_loses_no_frame() {
    const ROUNDS: usize = 40;
    let net = two_hosts(true);
    let marks = Marks::load(&net.b);
    let mut link = marks.attach(&net.b, "first", Mode::Native);
    let (traffic, begin) = (Traffic::start(&net, Source::Redirect), Instant::now());
    let (mut last, mut gaps) = (0, Vec::new());
    for round in 0..ROUNDS {
        traffic.pass(STEP);
        let (mode, name) = [(Mode::Generic, "second"), (Mode::Native, "first")][round % 2];
        link = marks.switch(&net.b, name, mode);
        traffic.pass(STEP);
        let none = marks.seen()[2];
        gaps.push(none - last);
        last = none;
    }
    let rate = traffic.sent() as f64 / begin.elapsed().as_secs_f64();
    let tally = marks.settled(traffic.stop());
    drop(link);
    tally.assert_exact("changes of mode");
    for (name, start) in [("native to generic", 0), ("generic to native", 1)] {
        let gaps = gaps.iter().skip(start).step_by(2);
        let mut gaps: Vec<_> = gaps.map(|one| *one as f64 / rate * 1e6).collect();
        gaps.sort_by(f64::total_cmp);
        let [least, median, most] = [0, gaps.len() / 2, gaps.len() - 1].map(|at| gaps[at].round());
        println!("{name}: {least} / {median} / {most} us (min / median / max)");
    }
}

/// Attach, replace, replace, detach, again and again. Answers the numbers that were surely sent
/// while a program was attached.
fn come_and_go(
    net: &TwoHosts,
    marks: &Marks,
    mode: Mode,
    traffic: &Traffic,
    rounds: usize,
) -> Vec<Range<u64>> {
    let round = || {
        traffic.pass(STEP);
        let mut link = marks.attach(&net.b, "first", mode);
        let start = traffic.sent();
        for name in ["second", "first"] {
            traffic.pass(STEP);
            link.update(marks.program(name), None).unwrap();
        }
        traffic.pass(STEP);
        // The last ones may still be in the sender's batch or in the driver's ring.
        let end = traffic.sent() - BATCH - RING;
        link.detach().unwrap();
        start..end
    };
    let attached = std::iter::repeat_with(round).take(rounds).collect();
    traffic.pass(STEP);
    attached
}

#[test]
fn attaching_and_detaching_lose_and_double_nothing() {
    for (mode, source, rounds) in [
        (Mode::Native, Source::Redirect, 55),
        (Mode::Native, Source::Socket, 15),
        (Mode::Generic, Source::Redirect, 15),
    ] {
        let net = two_hosts(true);
        let marks = Marks::load(&net.b);
        let traffic = Traffic::start(&net, source);
        come_and_go(&net, &marks, mode, &traffic, rounds);
        let tally = marks.settled(traffic.stop());
        let label = format!("{mode:?} mode, {source:?}");
        tally.assert_exact(&label);
        assert!(tally.seen.iter().all(|seen| *seen > STEP * rounds as u64 / 2), "{label}");
    }
}

#[test]
fn without_gro_veth_loses_only_what_comes_while_nothing_is_attached() {
    const ROUNDS: usize = 12;
    for source in [Source::Redirect, Source::Socket] {
        let net = two_hosts(false);
        let marks = Marks::load(&net.b);
        let traffic = Traffic::start(&net, source);
        let attached = come_and_go(&net, &marks, Mode::Native, &traffic, ROUNDS);
        let tally = marks.settled(traffic.stop());
        let lost: u64 = tally.lost.iter().map(|(_, count)| count).sum();
        println!("{source:?}, GRO off: {lost} of {} lost, {:?}", tally.sent, tally.lost);
        assert_eq!(tally.wrong, [0; 0], "{source:?}");
        assert_eq!(tally.seen.iter().sum::<u64>() + lost, tally.sent, "{source:?}");
        for (first, count) in &tally.lost {
            let within = |span: &&Range<u64>| span.start < first + count && *first < span.end;
            let found = attached.iter().find(within);
            assert_eq!(found, None, "{source:?}: {count} from {first} were lost under a program");
        }
        match source {
            Source::Redirect => {
                assert_eq!((tally.seen[2], tally.lost.len()), (0, ROUNDS + 1), "one a gap");
            }
            Source::Socket => assert!(lost <= RING * ROUNDS as u64, "more than the rings hold"),
        }
    }
}

#[test]
fn the_command_line_loses_and_doubles_nothing_either() {
    const ROUNDS: usize = 3;
    let (net, xway) = (two_hosts(true), Xway::new());
    let marks = Marks::load(&net.b);
    let traffic = Traffic::start(&net, Source::Redirect);
    let run = |arguments: &[&str]| {
        traffic.pass(STEP);
        xway.run_in(&net.b, arguments).ended(0);
    };
    let [drop_udp, forward_udp] = ["test/talk_drop.o", "test/talk_forward.o"].map(prebuilt);
    let [drop_udp, forward_udp] = [&drop_udp, &forward_udp].map(|path| path.to_str().unwrap());
    for round in 0..ROUNDS {
        // All of these pass the flood's frames, so the program after XDP marks each of them.
        run(&["attach", "eth0", drop_udp]);
        run(&["attach", "eth0", forward_udp, "--replace"]);
        run(&["drop", "eth0", "10.0.0.2 udp 9", "--replace"]);
        run(&["attach", "eth0", drop_udp, "--replace"]);
        traffic.pass(STEP);
        let status = xway.run_in(&net.b, &["--json", "status", "eth0"]).json(0);
        assert!(passed(&status) >= STEP, "round {round}: {status}");
        run(&["detach", "eth0"]);
    }
    let tally = marks.settled(traffic.stop());
    tally.assert_exact("command line");
    assert_eq!(tally.seen[..2], [0, 0]);
}

/// Packets that the interface's program let pass.
fn passed(status: &Value) -> u64 {
    let rates = &status["interfaces"][0]["programs"][0]["rates"];
    rates["verdicts"]["pass"]["packets"].as_u64().unwrap()
}
