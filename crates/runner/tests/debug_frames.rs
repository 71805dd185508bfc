//! The debugger's stack: functions that called others, inlined functions, and their variables.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod debugger;

use debugger::{Capture, open, state, value};
use runner::Error;
use runner::debug::Direction::{Backward, Forward};
use runner::debug::{Debugger, Motion, Reason};

const SOURCE: &str = include_str!("../../../bpf/test/frames.bpf.c");

fn numbered(text: &str) -> u32 {
    SOURCE.lines().position(|line| line.contains(text)).unwrap() as u32 + 1
}

/// The second call of `inspect`, by an inlined function in an inlined function.
fn inside(debugger: &mut Debugger<'_>) {
    debugger.break_at(&"inspect".parse().unwrap(), None).unwrap();
    debugger.go(Motion::Continue, Forward).unwrap();
    debugger.go(Motion::Continue, Forward).unwrap();
}

/// Names and texts of the local variables of a frame.
fn locals(debugger: &Debugger<'_>, frame: usize) -> Vec<String> {
    let locals = debugger.state_in(frame).unwrap().locals.into_iter();
    locals.map(|answer| format!("{} = {}", answer.name, answer.text)).collect()
}

#[track_caller]
fn assert_locals(debugger: &Debugger<'_>, frame: usize, expected: &[&str]) {
    let locals = locals(debugger, frame);
    for text in expected {
        assert!(locals.iter().any(|local| local == text), "{text} in {locals:?}");
    }
}

fn error(debugger: &Debugger<'_>, expression: &str) -> String {
    debugger.evaluate(&expression.parse().unwrap()).unwrap_err().to_string()
}

#[test]
fn the_stack_has_inlined_functions() {
    let capture = Capture::new("stack", &[2]);
    let options = capture.options("frames", "frames_first");
    let mut debugger = open(&options);
    inside(&mut debugger);
    let frames = debugger.state().unwrap().frames;
    let frames: Vec<_> = frames
        .iter()
        .map(|frame| {
            let source = frame.source.as_ref().unwrap();
            assert_eq!(source.file, "bpf/test/frames.bpf.c");
            (frame.function.as_str(), frame.inlined, frame.depth, source.line)
        })
        .collect();
    let expected = [
        ("inspect", false, 2, numbered("int inspect(")),
        ("fold", true, 1, numbered("return folded + inspect")),
        ("describe", true, 1, numbered("outer += fold")),
        ("frames_first", false, 1, numbered("= describe(")),
    ];
    assert_eq!(frames, expected);
}

/// Each frame has its own variables, of which some share a name; those of callers are in registers
/// that the call preserves, on the stack, and in parts.
#[test]
fn each_frame_has_its_variables() {
    let capture = Capture::new("frames", &[2]);
    let options = capture.options("frames", "frames_first");
    let mut debugger = open(&options);
    inside(&mut debugger);
    assert_locals(&debugger, 0, &["flags = stack-8", "round = 200", "key = 0"]);
    assert_locals(&debugger, 1, &["value = 210", "flags = stack-8", "folded = 200"]);
    let span = "span = {start: <optimized out>, length: 42}";
    assert_locals(&debugger, 2, &[span, "outer = 210", "end = <optimized out>"]);
    let flags = "flags = {urgent: 1, class: 0, offset: -9, rest: 200, level: LEVEL_LOW}";
    let word = "word = {whole: 16908804, halves: [516, 258], bytes: [4, 2, 2, 1]}";
    assert_locals(&debugger, 3, &[flags, word, "name = framec", "kind = KIND_OTHER"]);
    // The values are those of the source.
    assert_eq!(210 >> 3 ^ 210, 200);
    assert_eq!(debugger.state_in(0).unwrap().frame, 0);
    let none = debugger.state_in(4).unwrap_err();
    assert!(matches!(none, Error::NoFrame { number: 4, frames: 4 }), "{none}");
}

#[test]
fn expressions_are_of_the_chosen_frame() {
    let capture = Capture::new("choose", &[2]);
    let options = capture.options("frames", "frames_first");
    let mut debugger = open(&options);
    inside(&mut debugger);
    assert!(error(&debugger, "outer").contains("no variable"));
    assert!(matches!(debugger.choose_frame_by(-1), Err(Error::InnermostFrame)));
    let up = debugger.choose_frame_by(2).unwrap();
    assert_eq!((up.number, up.place.function.as_str()), (2, "describe"));
    assert_eq!(value(&debugger, "outer + 1"), "211");
    assert_eq!(value(&debugger, "span.length"), "42");
    assert!(error(&debugger, "span.start").contains("`start` is optimized out"));
    assert_eq!(value(&debugger, "flags->offset"), "-9");
    assert_eq!(value(&debugger, "flags->level == LEVEL_LOW"), "1");
    assert_eq!(value(&debugger, "r7"), "200");
    assert!(error(&debugger, "r1").contains("does not preserve r1"));
    let names: Vec<_> =
        debugger.state().unwrap().registers.into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["r6", "r7", "r8", "r9", "r10"]);
    // More than there are: the outermost.
    assert_eq!(debugger.choose_frame_by(100).unwrap().number, 3);
    assert_eq!(value(&debugger, "flags.class"), "0");
    assert_eq!(value(&debugger, "word.bytes[1]"), "2");
    assert!(matches!(debugger.choose_frame_by(1), Err(Error::OutermostFrame)));
    assert!(matches!(debugger.choose_frame(9), Err(Error::NoFrame { .. })));
    assert_eq!(debugger.frame(), 3, "an error leaves it");
    // A motion begins at the innermost one, whose parameter is r1.
    debugger.go(Motion::Instruction, Forward).unwrap();
    assert_eq!(debugger.frame(), 0);
    assert_eq!(value(&debugger, "round"), "200");
}

#[test]
fn inlined_functions_have_breakpoints() {
    let capture = Capture::new("inlined", &[2, 3]);
    let options = capture.options("frames", "frames_first");
    let mut debugger = open(&options);
    debugger.break_at(&"fold".parse().unwrap(), Some("value == 210".parse().unwrap())).unwrap();
    let stop = debugger.go(Motion::Continue, Forward).unwrap();
    assert_eq!(stop.reason, Reason::Breakpoint { number: 1 });
    let place = stop.place.unwrap();
    assert_eq!((place.function.as_str(), place.inlined), ("fold", true));
    assert_eq!(debugger.go(Motion::Continue, Forward).unwrap().position.packet, 2);
    assert_eq!(debugger.go(Motion::Continue, Backward).unwrap().position, stop.position);
}

/// A watchpoint on a variable of an outer function stops after the function inside it.
#[test]
fn the_last_write_to_a_variable_is_found_backward() {
    let capture = Capture::new("write", &[2]);
    let options = capture.options("frames", "frames_first");
    let mut debugger = open(&options);
    debugger.break_at(&"last".parse().unwrap(), None).unwrap();
    debugger.go(Motion::Continue, Forward).unwrap();
    debugger.watch("map seen[0].class".parse().unwrap(), None).unwrap();
    debugger.watch("flags.rest".parse().unwrap(), None).unwrap();
    let stop = debugger.go(Motion::Continue, Backward).unwrap();
    let Reason::Watchpoint { expression, old, new, .. } = &stop.reason else { panic!("{stop:?}") };
    assert_eq!((expression.as_str(), old.as_str(), new.as_str()), ("flags.rest", "200", "0"));
    let before = state(&debugger);
    debugger.go(Motion::Instruction, Forward).unwrap();
    let outermost = debugger.state().unwrap().frames.len() - 1;
    debugger.choose_frame(outermost).unwrap();
    assert_eq!(value(&debugger, "flags.rest"), "200");
    debugger.go(Motion::Instruction, Backward).unwrap();
    assert_eq!(state(&debugger), before);
}
