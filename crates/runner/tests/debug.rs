//! The debugger: motions forward and backward, places, watchpoints and expressions.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod debugger;

use std::fs;

use debugger::{Capture, hits, line, numbered, open, state, value};
use runner::debug::Direction::{Backward, Forward};
use runner::debug::{Debugger, Expression, Motion, Position, Reason, State};
use runner::{Callbacks, Error, Interrupt, Options};

#[test]
fn instructions_go_forward_and_back() {
    let capture = Capture::new("stepi", &[2, 3]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    let forward = walk(&mut debugger, Motion::Instruction, Forward);
    assert!(forward.len() > 100, "{}", forward.len());
    let mut backward = walk(&mut debugger, Motion::Instruction, Backward);
    backward.reverse();
    assert!(forward == backward, "registers, packet or maps differ");
    assert_eq!(debugger.position(), Position { packet: 1, step: 0 });
}

/// From each position where a line begins, a step leads to a position from which a step back leads
/// to where it began, with the same registers, packet and maps.
#[test]
fn each_step_is_undone() {
    let capture = Capture::new("step", &[2, 3]);
    for (object, program) in [("locals", "locals_first"), ("calls", "calls_back")] {
        let options = capture.options(object, program);
        let mut debugger = open(&options);
        loop {
            let before = (debugger.position(), state(&debugger));
            let stop = debugger.go(Motion::Step, Forward).unwrap();
            if stop.reason == Reason::EndOfCapture {
                break;
            }
            assert!(stop.position > before.0);
            let back = debugger.go(Motion::Step, Backward).unwrap();
            assert_eq!((back.position, state(&debugger)), before, "{object}: {stop:?}");
            assert_eq!(debugger.go(Motion::Step, Forward).unwrap().position, stop.position);
        }
    }
}

/// A step over calls that remains in its function is undone; one that leaves it is undone by a
/// step, which enters the function again at its end.
#[test]
fn each_step_over_calls_is_undone() {
    let capture = Capture::new("next", &[2, 3]);
    for (object, program) in [("locals", "locals_first"), ("calls", "calls_all")] {
        let options = capture.options(object, program);
        let mut debugger = open(&options);
        let mut lines = Vec::new();
        loop {
            let before = (debugger.position(), state(&debugger));
            let stop = debugger.go(Motion::Next, Forward).unwrap();
            if stop.reason == Reason::EndOfCapture {
                break;
            }
            lines.push(line(&stop));
            let back = debugger.go(Motion::Next, Backward).unwrap();
            assert_eq!((back.position, state(&debugger)), before, "{object}: {stop:?}");
            debugger.go_to(stop.position).unwrap();
        }
        if object == "locals" {
            let inner = lines
                .iter()
                .filter(|line| (numbered("int weigh")..=numbered("return 0;")).contains(line));
            assert_eq!(inner.count(), 0, "no line of a called function: {lines:?}");
        }
    }
}

#[test]
fn a_step_back_over_calls_at_the_beginning_of_a_packet_leads_to_the_verdict_before() {
    let capture = Capture::new("begin", &[2, 3]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    let start = debugger.go(Motion::Next, Backward).unwrap();
    assert_eq!(
        (start.reason, start.position),
        (Reason::StartOfCapture, Position { packet: 1, step: 0 })
    );
    debugger.go_to_packet(2).unwrap();
    let stop = debugger.go(Motion::Next, Backward).unwrap();
    assert_eq!((stop.position.packet, stop.verdict), (1, Some("tx")));
    assert_eq!(
        debugger.go(Motion::Next, Forward).unwrap().position,
        Position { packet: 2, step: 0 }
    );
    // The first line of the packet after a call is where a step over the call came from.
    let first = debugger.here().unwrap();
    let second = debugger.go(Motion::Next, Forward).unwrap();
    assert_ne!(line(&first), line(&second));
    assert_eq!(debugger.go(Motion::Next, Backward).unwrap().position, first.position);
}

#[test]
fn functions_are_entered_and_left() {
    let capture = Capture::new("finish", &[2]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    debugger.break_at(&"weigh".parse().unwrap(), None).unwrap();
    let inside = debugger.go(Motion::Continue, Forward).unwrap();
    assert_eq!(inside.reason, Reason::Breakpoint { number: 1 });
    let frames = debugger.state().unwrap().frames;
    let names: Vec<_> = frames.iter().map(|frame| frame.function.as_str()).collect();
    assert_eq!(names, ["weigh", "locals_first"]);
    let after = debugger.go(Motion::Finish, Forward).unwrap();
    assert_eq!(after.place.as_ref().unwrap().function, "locals_first");
    assert_eq!(value(&debugger, "r0"), "7", "2 * 3 + 1");
    debugger.go_to(inside.position).unwrap();
    let call = debugger.go(Motion::Finish, Backward).unwrap();
    assert_eq!(call.position.step + 1, inside.position.step);
    assert!(call.place.unwrap().insn.contains("call"));
    assert_eq!(debugger.go(Motion::Step, Forward).unwrap().position, inside.position);
    assert_eq!(debugger.go(Motion::Step, Backward).unwrap().position.packet, 1);
}

#[test]
fn a_callback_that_is_called_again_is_another_call() {
    let capture = Capture::new("callback", &[2]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    debugger.break_at(&"add".parse().unwrap(), None).unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let stop = debugger.go(Motion::Continue, Forward).unwrap();
        assert_eq!(stop.reason, Reason::Breakpoint { number: 1 });
        seen.push((stop.position, value(&debugger, "r1")));
    }
    assert_eq!(seen.iter().map(|(_, index)| index.as_str()).collect::<Vec<_>>(), ["0", "1", "2"]);
    // Out of the last call, and back by its calls.
    let after = debugger.go(Motion::Finish, Forward).unwrap();
    assert_eq!(after.place.unwrap().function, "locals_first");
    for (position, _) in seen.iter().rev() {
        assert_eq!(debugger.go(Motion::Continue, Backward).unwrap().position, *position);
    }
    // A step over calls leaves one call for the next, and goes back.
    let mut stop = debugger.here().unwrap();
    while stop.position < seen[1].0 {
        stop = debugger.go(Motion::Next, Forward).unwrap();
        assert_eq!(stop.place.as_ref().unwrap().function, "add");
    }
    assert_eq!(stop.position, seen[1].0);
    debugger.delete(1).unwrap();
    let call = debugger.go(Motion::Finish, Backward).unwrap();
    let insn = call.place.unwrap().insn;
    assert!(insn.contains("bpf_loop"), "{insn}");
}

#[test]
fn a_tail_call_leaves_the_function() {
    let capture = Capture::new("tail", &[2]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    debugger.break_at(&"locals_last".parse().unwrap(), None).unwrap();
    let stop = debugger.go(Motion::Continue, Forward).unwrap();
    let place = stop.place.unwrap();
    assert_eq!((place.program.as_str(), place.slot, place.depth), ("locals_last", 0, 1));
    assert_eq!(debugger.state().unwrap().frames.len(), 1);
    let back = debugger.go(Motion::Next, Backward).unwrap();
    assert_eq!(line(&back), numbered("bpf_tail_call(ctx"));
    assert_eq!(debugger.go(Motion::Next, Forward).unwrap().position, stop.position);
    let end = debugger.go(Motion::Finish, Forward).unwrap();
    assert_eq!((end.verdict, end.place), (Some("tx"), None));
}

#[test]
fn runs_stop_at_each_kind_of_place() {
    let capture = Capture::new("places", &[2, 3]);
    let options = capture.options("locals", "locals_first");
    let total = numbered("total += sum");
    let table = [
        (format!("locals.bpf.c:{total}"), vec![1, 2]),
        (format!("bpf/test/locals.bpf.c:{total}"), vec![1, 2]),
        (total.to_string(), vec![1, 2]),
        ("count".to_owned(), vec![1, 2]),
        ("*0".to_owned(), vec![2]),
        ("*locals_last:0".to_owned(), vec![1, 2]),
        ("map counts".to_owned(), vec![1, 1, 2, 2]),
        ("verdict tx".to_owned(), vec![1]),
        ("verdict pass".to_owned(), vec![2]),
        ("fault".to_owned(), vec![]),
    ];
    for (place, packets) in table {
        let mut debugger = open(&options);
        debugger.break_at(&place.parse().unwrap(), None).unwrap();
        let forward = hits(&mut debugger, Forward);
        let numbers: Vec<_> = forward.iter().map(|position| position.packet).collect();
        assert!(numbers.starts_with(&packets), "{place}: {numbers:?}");
        assert!(place == "map counts" || numbers == packets, "{place}: {numbers:?}");
        let end = debugger.position();
        let mut backward = hits(&mut debugger, Backward);
        backward.reverse();
        // A run begins after the first position and before the last.
        backward.retain(|position| position.step > 0 || position.packet > 1);
        let forward: Vec<_> = forward.into_iter().filter(|position| *position < end).collect();
        assert_eq!(forward, backward, "{place}");
    }
}

#[test]
fn conditions_choose_among_places() {
    let capture = Capture::new("condition", &[2, 3, 5]);
    let options = capture.options("locals", "locals_first");
    let table = [
        ("packet[5] == 3", vec![2]),
        ("eth.dst == 02:00:00:00:00:05", vec![3]),
        ("eth.dst != 02:00:00:00:00:05 && $packet > 1", vec![2]),
        ("ipv4.src == 10.0.0.1", vec![1, 2, 3]),
        ("ip.dst == 10.1.0.2 && udp.dport == 53", vec![1, 2, 3]),
        ("tcp.dport == 53", vec![]),
        ("map counts[9].packets == 1", vec![2, 3]),
        ("map counts[9].packets > 0 || runs == 7", vec![2, 3]),
        ("packet[26:4] == 10.0.0.1 && packet.len == 42", vec![1, 2, 3]),
        ("runs + 1 == $packet", vec![1, 2, 3]),
        ("((struct endpoint *)r10)->port == 7", vec![]),
        ("XDP_TX == 3 && !(runs % 2)", vec![1, 3]),
    ];
    for (condition, packets) in table {
        let mut debugger = open(&options);
        let condition: Expression = condition.parse().unwrap();
        debugger.break_at(&"locals_last".parse().unwrap(), Some(condition.clone())).unwrap();
        let numbers: Vec<_> =
            hits(&mut debugger, Forward).iter().map(|position| position.packet).collect();
        assert_eq!(numbers, packets, "{condition}");
    }
}

#[test]
fn a_watchpoint_stops_after_a_change_and_before_it() {
    let capture = Capture::new("watch", &[2, 3]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    debugger.watch("total".parse().unwrap(), None).unwrap();
    let stop = debugger.go(Motion::Continue, Forward).unwrap();
    let changed = |old: &str, new: &str| Reason::Watchpoint {
        number: 1,
        expression: "total".to_owned(),
        old: old.to_owned(),
        new: new.to_owned(),
    };
    assert_eq!(stop.reason, changed("0", "37"), "0 + 10 + 20 + 7");
    let before = debugger.go(Motion::Continue, Backward).unwrap();
    assert_eq!(before.reason, changed("37", "0"));
    assert_eq!(before.position.step + 1, stop.position.step);
    assert_eq!(value(&debugger, "total"), "0");
    assert_eq!(debugger.go(Motion::Continue, Forward).unwrap().position, stop.position);
    let second = debugger.go(Motion::Continue, Forward).unwrap();
    assert_eq!((second.position.packet, second.reason), (2, changed("37", "77")));
    assert_eq!(debugger.go(Motion::Continue, Forward).unwrap().reason, Reason::EndOfCapture);
    debugger.delete(1).unwrap();
    debugger.watch("packet[11]".parse().unwrap(), Some("$packet == 2".parse().unwrap())).unwrap();
    assert_eq!(debugger.go(Motion::Continue, Backward).unwrap().position.packet, 2);
    assert_eq!(debugger.go(Motion::Continue, Backward).unwrap().reason, Reason::StartOfCapture);
}

#[test]
fn expressions_read_and_errors_say_why_not() {
    let capture = Capture::new("expressions", &[2]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    debugger.break_at(&"locals_last".parse().unwrap(), None).unwrap();
    debugger.go(Motion::Continue, Forward).unwrap();
    let table = [
        ("ipv4.src", "10.0.0.1"),
        ("packet[26:4]", "hex:0a000001"),
        ("map counts[6]", "{packets: 1, bytes: 42}"),
        ("map counts[2 * 3].bytes >> 1", "21"),
        ("total", "37"),
        ("-total + 0x10", "-21"),
        ("~0 & 7", "7"),
        ("r1", "ctx"),
        ("XDP_TX", "3"),
        ("packet.len", "42"),
        ("metadata.len", "0"),
    ];
    for (expression, expected) in table {
        assert_eq!(value(&debugger, expression), expected, "{expression}");
    }
    let table = [
        ("r3", "r3 is not set"),
        ("map counts[7]", "map `counts` has no element with key 7"),
        ("map other[7]", "there is no map `other`"),
        ("tcp.sport", "there is no variable or header `tcp` here"),
        ("ipv4.x", "`ipv4` has no field `x`; it has version_ihl"),
        ("packet[40:3]", "bytes 40:3 are not among 42"),
        ("*r1", "only a pointer with a type leads to a value"),
        ("1 / 0", "the result of the arithmetic is undefined"),
        ("map counts[6].x", "`struct count` has no member `x`"),
    ];
    for (expression, expected) in table {
        let error = debugger.evaluate(&expression.parse().unwrap()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(expected), "{expression}: {error}");
    }
    for text in ["", "1 +", "packet[", "map x", "((1)", "a b", "packet.size", "'ab'", "0x", "§"] {
        assert!(text.parse::<Expression>().is_err(), "{text}");
    }
    assert!("(".repeat(5000).parse::<Expression>().is_err());
    assert!("(".repeat(2000).parse::<Expression>().is_err());
    assert!(format!("{}1", "-".repeat(2000)).parse::<Expression>().is_err());
    let counts = debugger.map("counts").unwrap();
    assert_eq!(counts.entries.len(), 1);
}

/// Local variables of the object that keeps its DWARF: in registers, on the stack, constants.
#[test]
fn local_variables_have_values() {
    let capture = Capture::new("locals", &[2]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    debugger.break_at(&numbered("total += sum").to_string().parse().unwrap(), None).unwrap();
    debugger.go(Motion::Continue, Forward).unwrap();
    let table = [
        ("sum", "30"),
        ("weight", "7"),
        ("endpoint", "{address: 16777226, port: 7, tags: [2, 6]}"),
        ("endpoint.address == 10.0.0.1", "1"),
        ("endpoint.tags[1]", "6"),
        ("data", "packet+0 (eth.dst)"),
        ("data[5]", "2"),
        ("*data", "2"),
        ("end - data", "42"),
        ("((struct endpoint *)r10)[-1].port", "7"),
    ];
    for (expression, expected) in table {
        assert_eq!(value(&debugger, expression), expected, "{expression}");
    }
    let locals = debugger.state().unwrap().locals;
    let names: Vec<_> = locals.iter().map(|local| local.name.as_str()).collect();
    assert_eq!(names, ["ctx", "endpoint", "sum", "data", "end", "weight"]);
    assert_eq!((locals[0].text.as_str(), locals[2].text.as_str()), ("<optimized out>", "30"));
    assert_eq!(locals[1].type_text.as_deref(), Some("struct endpoint"));
    // In a called function, the names are its own.
    debugger
        .break_at(&numbered("known = bpf_map_lookup").to_string().parse().unwrap(), None)
        .unwrap();
    debugger.go(Motion::Continue, Forward).unwrap();
    assert_eq!(value(&debugger, "key"), "6");
    assert_eq!(value(&debugger, "fresh"), "{packets: 1, bytes: 42}");
    let error = debugger.evaluate(&"sum".parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains("there is no variable or header `sum`"), "{error}");
}

#[test]
fn a_local_variable_is_watched_in_each_call() {
    let capture = Capture::new("watch-local", &[2]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    debugger.watch("sum".parse().unwrap(), Some("sum >= 10".parse().unwrap())).unwrap();
    let mut values = Vec::new();
    loop {
        let stop = debugger.go(Motion::Continue, Forward).unwrap();
        let Reason::Watchpoint { new, .. } = stop.reason else { break };
        values.push((stop.place.unwrap().function, new));
    }
    // `add` has a pointer of this name, which does not change.
    assert_eq!(values, [("locals_first".to_owned(), "30".to_owned())]);
}

#[test]
fn what_does_not_exist_is_named() {
    let capture = Capture::new("errors", &[2]);
    let options = capture.options("locals", "locals_first");
    let mut debugger = open(&options);
    let table = [
        ("other.c:1", "there is no source file `other.c`"),
        ("locals.bpf.c:9999", "has no code at or after line 9999"),
        ("nothing", "there is no function `nothing`"),
        ("*9999", "has no instruction at slot 9999"),
        ("*x:1", "program `x` is not loaded"),
        ("map x", "there is no map `x`"),
    ];
    for (place, expected) in table {
        let error = debugger.break_at(&place.parse().unwrap(), None).unwrap_err().to_string();
        assert!(error.contains(expected), "{place}: {error}");
    }
    for place in ["", "verdict maybe", "*", "a:b", "some thing"] {
        assert!(place.parse::<runner::debug::Place>().is_err(), "{place}");
    }
    assert!(matches!(debugger.go_to_packet(2), Err(Error::NoPacket { packets: 1, wanted: 2 })));
    let beyond = debugger.go_to(Position { packet: 1, step: 9999 });
    assert!(matches!(beyond, Err(Error::NoPosition { packet: 1, step: 9999 })));
    assert!(matches!(debugger.delete(1), Err(Error::NoStopPoint { number: 1 })));
    assert!(debugger.set_condition(1, None).is_err());
    assert_eq!(debugger.position(), Position { packet: 1, step: 0 });
    let pipe = Options { input: "/dev/null".into(), ..options.clone() };
    let refused = Debugger::open(&pipe, Callbacks::default());
    assert!(matches!(refused, Err(Error::NotRepeatable { .. })));
    let callbacks = Callbacks::default().with_interrupt(Interrupt::new(counting()));
    let mut debugger = Debugger::open(&options, callbacks).unwrap();
    assert!(debugger.go(Motion::Continue, Forward).is_ok(), "short motions end before requests");
}

/// Without line information, motions are by instructions, and a note reports it.
#[test]
fn a_program_without_lines_goes_by_instructions() {
    let capture = Capture::new("lineless", &[2]);
    let options = capture.options("locals", "locals_first");
    let mut object = fs::read(&options.object).unwrap();
    let name = b".BTF.ext";
    let at = object.windows(name.len()).position(|bytes| bytes == name).unwrap();
    object[at..at + name.len()].copy_from_slice(b".unknown");
    let lineless = capture.0.with_extension("o");
    fs::write(&lineless, object).unwrap();
    let options = Options { object: lineless.to_str().unwrap().to_owned(), ..options };
    let debugger = Debugger::open(&options, Callbacks::default());
    fs::remove_file(&lineless).unwrap();
    let mut debugger = debugger.unwrap();
    for step in 1..4 {
        let stop = debugger.go(Motion::Next, Forward).unwrap();
        assert_eq!(stop.position.step, step);
        assert!(stop.place.unwrap().source.is_none());
        assert!(stop.note.unwrap().contains("no line information"));
    }
    assert_eq!(debugger.go(Motion::Step, Backward).unwrap().position.step, 2);
    let error = debugger.break_at(&"31".parse().unwrap(), None).unwrap_err().to_string();
    assert!(error.contains("the object has no line information"), "{error}");
    assert!(debugger.source_lines().is_empty());
}

/// A request that arrives while a motion begins ends it, and is not taken for an earlier one.
#[test]
fn a_request_at_the_beginning_of_a_motion_ends_it() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    let capture = Capture::new("requested", &[2; 5000]);
    let options = capture.options("locals", "locals_first");
    // From `u32::MAX` on: not used yet, then 0 once, then 1.
    let calls = Arc::new(AtomicU32::new(u32::MAX));
    let seen = Arc::clone(&calls);
    let requests = move || match seen.load(Relaxed) {
        u32::MAX => 0,
        before => seen.swap(before + 1, Relaxed).min(1),
    };
    let callbacks = Callbacks::default().with_interrupt(Interrupt::new(requests));
    let mut debugger = Debugger::open(&options, callbacks).unwrap();
    debugger.break_at(&"fault".parse().unwrap(), None).unwrap();
    calls.store(0, Relaxed);
    let ended = debugger.go(Motion::Continue, Forward);
    assert!(matches!(ended, Err(Error::MotionInterrupted { .. })), "{ended:?}");
}

/// Requests that come one after the other.
fn counting() -> impl Fn() -> u32 + Send + Sync {
    let count = std::sync::atomic::AtomicU32::new(0);
    move || count.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// Positions with their states, to the end of the capture or to its start.
fn walk(
    debugger: &mut Debugger<'_>,
    motion: Motion,
    direction: runner::debug::Direction,
) -> Vec<(Position, State)> {
    let mut states = Vec::new();
    loop {
        states.push((debugger.position(), state(debugger)));
        let stop = debugger.go(motion, direction).unwrap();
        if matches!(stop.reason, Reason::EndOfCapture | Reason::StartOfCapture) {
            return states;
        }
        assert!(states.len() < 10_000);
    }
}
