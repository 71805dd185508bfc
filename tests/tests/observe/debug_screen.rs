//! `xway debug` in a pseudoterminal: the full-screen front end, the line console, and what remains
//! in the terminal afterwards. Needs no root.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use lab::frame::{Flow, Side};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pcap::{LinkType, Packet, Writer};
use xway_tests::built;
use xway_tests::terminal::Terminal;

const OBJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bpf/prebuilt/test/locals.o");
const SOURCE: &str = include_str!("../../../bpf/test/locals.bpf.c");
const DOWN: &str = "\x1b[B";
const CTRL_C: &str = "\x03";
/// A run over this number of packets takes longer than a key.
const MANY: usize = 300_000;

/// A capture that is gone when the test ends.
struct Capture(PathBuf);

impl Capture {
    fn new(test: &str, packets: usize) -> Self {
        let path = std::env::temp_dir().join(format!("xway-{test}-{}.pcapng", std::process::id()));
        let file = std::io::BufWriter::new(File::create(&path).unwrap());
        let mut writer = Writer::pcapng(file, &pcap::Options::default()).unwrap();
        writer.interface("eth0", LinkType::ETHERNET).unwrap();
        let side =
            |last, ip, port| Side::new(&format!("02:00:00:00:00:{last:02}"), ip, port).unwrap();
        let flow = Flow::new(side(9, "10.0.0.9", 4000), side(1, "10.1.0.2", 53));
        let packet = Packet { data: flow.udp_of_length(60).unwrap(), ..Packet::default() };
        for _ in 0..packets {
            writer.write(&packet).unwrap();
        }
        writer.finish().unwrap();
        Self(path)
    }

    fn debug(&self, words: &[&str]) -> Terminal {
        let mut command = Command::new(built::program("xway", "xway"));
        command.args(["debug", OBJECT, "--program", "locals_first", "--in"]);
        command.arg(&self.0).args(words);
        Terminal::start(command, (24, 80))
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _absent = fs::remove_file(&self.0);
    }
}

/// Number of the first line that contains a text.
fn numbered(text: &str) -> usize {
    1 + SOURCE.lines().position(|line| line.contains(text)).unwrap()
}

fn at(line: usize) -> String {
    format!("locals_first at locals.bpf.c:{line}")
}

#[track_caller]
fn wait_for_line(terminal: &Terminal, line: usize) -> String {
    terminal.wait_for(&format!("line {line}"), |text| {
        text.contains(&at(line)) && text.contains("q quit")
    })
}

fn signal(terminal: &Terminal, signal: Signal) {
    kill(Pid::from_raw(terminal.id().cast_signed()), signal).unwrap();
}

#[track_caller]
fn assert_restored(terminal: &Terminal) {
    terminal.wait_for("the screen from before", |text| !text.contains("q quit"));
    assert!(!terminal.is_taken_over() && terminal.edits_lines());
}

#[test]
fn a_line_is_reached_passed_and_left_backward() {
    let capture = Capture::new("debug-screen", 2);
    let mut debug = capture.debug(&[]);
    let first = numbered("__u8 *data = ");
    wait_for_line(&debug, first);
    let text = debug.wait_for("panes", |text| text.contains("0000: 02 00"));
    assert!(debug.is_taken_over() && !debug.edits_lines(), "{text}");
    assert!(text.contains("packet 1 of 2, step 0"), "{text}");
    assert!(text.contains("0 (61) r9 = *(u32 *)(r1 +0)"), "{text}");
    let write = numbered("data[11] ^= 0x55");
    debug.press(&format!(":break {write}\r"));
    debug.wait_for("the breakpoint", |text| text.contains("breakpoint 1: bpf/test/locals"));
    debug.press("c");
    debug.wait_for("the byte before the write", |text| {
        text.contains("00 00 00 09 08") && text.contains(&format!("●▶  {write} "))
    });
    debug.press("n");
    debug.wait_for("the written byte", |text| {
        text.contains("00 00 00 5c*08") && !text.contains(&at(write))
    });
    debug.press("N");
    debug.wait_for("the write is undone", |text| {
        text.contains("00 00 00 09 08") && text.contains(&at(write))
    });
    // The breakpoint of the chosen line is deleted, and the next line is run to.
    debug.press("b");
    debug.wait_for("no breakpoint", |text| text.contains("0 breakpoints and watchpoints"));
    debug.press(&format!("{DOWN}r"));
    wait_for_line(&debug, write + 1);
    debug.press("]");
    debug.wait_for("the next packet", |text| text.contains("packet 2 of 2, step 0"));
    debug.press("?");
    debug.wait_for("help", |text| text.contains("run to the chosen line"));
    debug.press("q");
    debug.wait_for("panes", |text| text.contains("q quit"));
    debug.press("q");
    assert!(debug.wait().success());
    assert_restored(&debug);
}

/// Ctrl-C ends a run over a long capture, and a signal ends the session during another one.
#[test]
fn a_long_run_is_interrupted() {
    let capture = Capture::new("debug-screen-long", MANY);
    let mut debug = capture.debug(&["--command", "break fault"]);
    let first = numbered("__u8 *data = ");
    wait_for_line(&debug, first);
    debug.press("c");
    debug.wait_for("the run", |text| text.contains("continue … (Ctrl-C ends it)"));
    debug.press(CTRL_C);
    let text = debug.wait_for("the end of the run", |text| text.contains("interrupted at packet"));
    assert!(text.contains("packet 1 of 300000, step 0") && text.contains(&at(first)), "{text}");
    debug.press("n");
    debug.wait_for("a motion afterwards", |text| text.contains(&at(first + 1)));
    debug.press("c");
    debug.wait_for("the run", |text| text.contains("continue … (Ctrl-C ends it)"));
    signal(&debug, Signal::SIGTERM);
    assert!(debug.wait().success());
    assert_restored(&debug);
}

#[test]
fn the_line_console_is_interrupted_and_continues() {
    let capture = Capture::new("debug-console-long", MANY);
    let mut debug = capture.debug(&["--console"]);
    debug.wait_for("the prompt", |text| text.ends_with("(xway) "));
    assert!(!debug.is_taken_over());
    debug.press("continue\r");
    // The editor restores the terminal while a command runs.
    debug.wait_for("the run", |_| debug.edits_lines());
    // The terminal is not the controlling one of the command, so Ctrl-C does not signal it.
    signal(&debug, Signal::SIGINT);
    debug.wait_for("the end of the run", |text| {
        text.contains("the position is unchanged") && text.trim_end().ends_with("(xway)")
    });
    debug.press("info\r");
    let text = debug.wait_for("the position", |text| text.matches("packet 1, ").count() == 2);
    assert!(text.contains("locals_first at bpf/test/locals.bpf.c"), "{text}");
    debug.press("quit\r");
    assert!(debug.wait().success());
    assert!(debug.edits_lines());
}

/// Each signal that ends a process restores the terminal, while the session waits for a key and
/// while a run is under way.
#[test]
fn signals_restore_the_terminal() {
    let capture = Capture::new("debug-screen-signals", MANY);
    let first = numbered("__u8 *data = ");
    for ending in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        for runs in [false, true] {
            let mut debug = capture.debug(&["--command", "break fault"]);
            wait_for_line(&debug, first);
            assert!(debug.is_taken_over());
            if runs {
                debug.press("c");
                debug.wait_for("the run", |text| text.contains("continue … (Ctrl-C ends it)"));
            }
            signal(&debug, ending);
            assert!(debug.wait().success(), "{ending}, during a run: {runs}");
            assert_restored(&debug);
        }
    }
}

/// A terminal that is closed ends the session, which has nothing to read any more.
#[test]
fn a_closed_terminal_ends_the_session() {
    let capture = Capture::new("debug-screen-closed", 2);
    for words in [&[][..], &["--console"]] {
        let mut debug = capture.debug(words);
        let prompt = if words.is_empty() { "q quit" } else { "(xway)" };
        debug.wait_for("the session", |text| text.contains(prompt));
        debug.close();
        debug.wait();
    }
}

/// The variables of the caller are shown, with its line.
#[test]
fn the_caller_is_chosen() {
    let capture = Capture::new("debug-screen-frames", 1);
    let mut debug = capture.debug(&["--command", "break weigh", "--command", "continue"]);
    debug.wait_for("the function", |text| text.contains("weigh at locals.bpf.c"));
    let call = numbered("weight = weigh(");
    debug.press("u");
    let text = debug.wait_for("the caller", |text| {
        text.contains(&format!("#1 {}", at(call))) && text.contains("endpoint = {address")
    });
    assert!(text.contains(&format!("▶  {call} ")), "{text}");
    debug.press("d");
    debug.wait_for("the function", |text| !text.contains("#1 ") && text.contains("weigh at"));
    debug.press("u");
    debug.wait_for("the caller", |text| text.contains("#1 "));
    debug.press("n");
    debug.wait_for("the innermost function", |text| !text.contains("#1 "));
    debug.press("q");
    assert!(debug.wait().success());
    assert_restored(&debug);
}

/// A script runs before the panes are shown; its errors are printed after the terminal is restored.
#[test]
fn a_script_that_fails_ends_the_session() {
    let capture = Capture::new("debug-screen-script", 1);
    let mut debug = capture.debug(&["--command", "print nothing"]);
    assert_eq!(debug.wait().code(), Some(2));
    debug.wait_for("the error", |text| text.contains("there is no variable or header `nothing`"));
    assert!(!debug.is_taken_over() && debug.edits_lines());
}
