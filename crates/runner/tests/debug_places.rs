//! The debugger: goals of motions, packets, hits of breakpoints and their messages.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod debugger;

use debugger::{Capture, hits, line, numbered, open, state};
use runner::debug::Direction::{Backward, Forward};
use runner::debug::{Debugger, LogMessage, Motion, Position, Reason};

/// The goal of a motion is forgotten afterwards, and breakpoints before it stop.
#[test]
fn a_place_is_run_to() {
    let capture = Capture::new("advance", &[2, 3]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    let write = numbered("data[11] ^= 0x55");
    let place = write.to_string().parse().unwrap();
    let stop = debugger.go_to_place(&place, Forward).unwrap();
    assert_eq!((line(&stop), &stop.reason, stop.position.packet), (write, &Reason::Motion, 1));
    let stop = debugger.go_to_place(&place, Forward).unwrap();
    assert_eq!((line(&stop), stop.position.packet), (write, 2));
    let stop = debugger.go_to_place(&place, Backward).unwrap();
    assert_eq!((line(&stop), &stop.reason, stop.position.packet), (write, &Reason::Motion, 1));
    assert!(debugger.stop_points().is_empty());
    debugger.break_at(&"count".parse().unwrap(), None).unwrap();
    let stop = debugger.go_to_place(&place, Forward).unwrap();
    assert_eq!(stop.reason, Reason::Breakpoint { number: 1 });
}

#[test]
fn packets_are_passed_in_both_directions() {
    let capture = Capture::new("packets", &[2, 3]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    debugger.go(Motion::Next, Forward).unwrap();
    let here = debugger.position();
    let stop = debugger.go_by_packet(Backward).unwrap();
    assert_eq!((stop.position, stop.reason), (here, Reason::StartOfCapture));
    let stop = debugger.go_by_packet(Forward).unwrap();
    assert_eq!(stop.position, Position { packet: 2, step: 0 });
    assert_eq!(debugger.go_by_packet(Forward).unwrap().reason, Reason::EndOfCapture);
    let stop = debugger.go_by_packet(Backward).unwrap();
    assert_eq!(stop.position, Position { packet: 1, step: 0 });
}

#[test]
fn bytes_that_differ_from_those_received_are_known() {
    let capture = Capture::new("changed", &[2]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    let changed = |debugger: &Debugger<'_>| {
        let changed = state(debugger).packet.changed.into_iter();
        changed.map(|span| (span.offset, span.len)).collect::<Vec<_>>()
    };
    let write = numbered("data[11] ^= 0x55").to_string().parse().unwrap();
    debugger.go_to_place(&write, Forward).unwrap();
    assert_eq!(changed(&debugger), []);
    debugger.go(Motion::Next, Forward).unwrap();
    assert_eq!(changed(&debugger), [(11, 1)]);
    let overview = debugger.overview().unwrap();
    assert_eq!((overview.stop.position, overview.maps.len()), (debugger.position(), 3));
    let packet = &overview.state.packet;
    assert_eq!(packet.field_at(11), Some(("eth.src".to_owned(), "02:00:00:00:00:57".to_owned())));
    assert_eq!((packet.headers[1].span.offset, packet.headers[1].span.len), (14, 20));
    debugger.go(Motion::Next, Backward).unwrap();
    assert_eq!(changed(&debugger), []);
}

/// Hits are counted from the beginning of the capture, in both directions and from each position.
#[test]
fn hits_are_counted_from_the_beginning() {
    let capture = Capture::new("hits", &[2; 6]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    let point = debugger.break_at(&"count".parse().unwrap(), None).unwrap();
    for (text, expected) in
        [("3", &[3][..]), ("% 2", &[2, 4, 6]), ("> 4", &[5, 6]), ("<= 2", &[1, 2])]
    {
        debugger.set_hits(point.number, Some(text.parse().unwrap())).unwrap();
        let packets = |hits: Vec<Position>| hits.iter().map(|hit| hit.packet).collect::<Vec<_>>();
        debugger.go_to_packet(1).unwrap();
        assert_eq!(packets(hits(&mut debugger, Forward)), expected, "{text}");
        let mut backward = packets(hits(&mut debugger, Backward));
        backward.reverse();
        assert_eq!(backward, expected, "{text}");
        // From the middle.
        debugger.go_to_packet(3).unwrap();
        let after: Vec<_> = expected.iter().copied().filter(|packet| *packet >= 3).collect();
        assert_eq!(packets(hits(&mut debugger, Forward)), after, "{text}");
    }
    // Other motions are not affected by hits in earlier packets.
    debugger.go_to_packet(4).unwrap();
    let stop = debugger.go(Motion::Step, Backward).unwrap();
    assert_eq!((stop.position.packet, stop.reason), (3, Reason::Motion));
    assert!(debugger.set_hits(9, None).is_err());
}

#[test]
fn a_temporary_breakpoint_stops_once() {
    let capture = Capture::new("temporary", &[2, 3]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    let point = debugger.break_at(&"count".parse().unwrap(), None).unwrap();
    assert!(debugger.set_temporary(point.number).unwrap().temporary);
    let stop = debugger.go(Motion::Continue, Forward).unwrap();
    assert_eq!(stop.reason, Reason::Breakpoint { number: point.number });
    assert!(debugger.stop_points().is_empty());
    assert_eq!(debugger.go(Motion::Continue, Forward).unwrap().reason, Reason::EndOfCapture);
}

#[test]
fn messages_are_written_without_a_stop() {
    let capture = Capture::new("log", &[2, 3]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    let point = debugger.break_at(&"count".parse().unwrap(), None).unwrap();
    let message = "packet {$packet} of {bytes} bytes, {nothing}".parse().unwrap();
    debugger.set_log(point.number, Some(message)).unwrap();
    let stop = debugger.go(Motion::Continue, Forward).unwrap();
    assert_eq!(stop.reason, Reason::EndOfCapture);
    let log: Vec<_> = stop.log.iter().map(|line| (line.position.packet, &*line.text)).collect();
    let why = "<there is no variable or header `nothing` here>";
    assert_eq!(
        log,
        [
            (1, &*format!("packet 1 of 42 bytes, {why}")),
            (2, &*format!("packet 2 of 42 bytes, {why}"))
        ]
    );
    assert_eq!(debugger.go(Motion::Continue, Backward).unwrap().log, []);
    let message = "{$packet}".parse().unwrap();
    debugger.set_log(point.number, Some(message)).unwrap();
    debugger.set_hits(point.number, Some("2".parse().unwrap())).unwrap();
    let log = debugger.go(Motion::Continue, Forward).unwrap().log;
    assert_eq!(log.iter().map(|line| &*line.text).collect::<Vec<_>>(), ["2"]);
    for text in ["{", "{}", "{1 +}"] {
        assert!(text.parse::<LogMessage>().is_err(), "{text}");
    }
}
