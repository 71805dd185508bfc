//! A panic inside a full-screen view: the terminal is as before, and the message remains visible.
//!
//! Each test starts this binary again in a pseudoterminal, with one of the tests that are ignored
//! otherwise: they take over the terminal and panic.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};
use serde::Serialize;
use vt100::{Parser, Screen};

use super::browser::{Browsable, BrowserScreen, Sheet};
use super::debugger::{DebuggerScreen, Panes};
use super::{Paint, View};

/// A state of `top` whose tables cannot be drawn the second time.
#[derive(Serialize)]
struct Broken(bool);

impl View for Broken {
    fn text(&self, _: Paint) -> String {
        String::new()
    }
}

impl Browsable for Broken {
    fn line(&self) -> String {
        String::new()
    }

    fn head(&self) -> String {
        PICTURE.to_owned()
    }

    fn sheets(&self) -> Vec<Sheet> {
        assert!(!self.0, "{MESSAGE}");
        Vec::new()
    }
}

#[test]
#[ignore = "takes over the terminal"]
#[should_panic(expected = "the view has a defect")]
fn browser() {
    let mut screen = BrowserScreen::open().unwrap();
    screen.show(&Broken(false));
    screen.show(&Broken(true));
}

#[test]
#[ignore = "takes over the terminal"]
#[should_panic(expected = "the view has a defect")]
fn debugger() {
    let mut screen = DebuggerScreen::open().unwrap();
    let mut panes = Panes::default();
    panes.say(PICTURE, false);
    screen.draw(&panes);
    panic!("{MESSAGE}");
}

#[test]
fn a_panic_in_a_table_view_restores_the_terminal() {
    assert_restored("browser");
}

#[test]
fn a_panic_in_the_debugger_restores_the_terminal() {
    assert_restored("debugger");
}

/// Runs a test in a terminal.
#[track_caller]
fn assert_restored(test: &str) {
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(Some(&size), None).unwrap();
    let stream = || Stdio::from(pty.slave.try_clone().unwrap());
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = format!("view::panic_tests::{test}");
    command.args(["--exact", &name, "--ignored", "--nocapture"]).env("TERM", "xterm");
    // A backtrace is longer than the terminal.
    command.env("RUST_BACKTRACE", "0");
    command.stdin(stream()).stdout(stream()).stderr(stream());
    let mut child = command.spawn().unwrap();
    drop((command, pty.slave));
    let (mut output, mut screens) = (File::from(pty.master), Screens::default());
    let deadline = Instant::now() + PATIENCE;
    let mut bytes = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if !sys::poll::readable(output.as_fd(), left).unwrap() {
            child.kill().unwrap();
            panic!("it does not end:\n{}", screens.screen().contents());
        }
        // It ends with an error when the last process closes the terminal.
        let Ok(read @ 1..) = output.read(&mut bytes) else { break };
        bytes[..read].iter().for_each(|byte| screens.process(*byte));
    }
    assert!(child.wait().unwrap().success(), "{}", screens.screen().contents());
    let (screen, text) = (screens.screen(), screens.screen().contents());
    assert!(screens.picture, "the view was not shown:\n{text}");
    assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{text}");
    assert!(text.contains(MESSAGE) && !text.contains(PICTURE), "{text}");
    // What is printed next does not replace the message.
    let row = text.lines().position(|line| line.contains(MESSAGE)).unwrap();
    assert!(usize::from(screen.cursor_position().0) > row, "{text}");
    let flags = tcgetattr(&output).unwrap().local_flags;
    assert!(flags.contains(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG), "{text}");
}

/// What is on a terminal, and whether the view was on it.
struct Screens {
    parser: Parser,
    picture: bool,
}

impl Default for Screens {
    fn default() -> Self {
        Self { parser: Parser::new(24, 80, 0), picture: false }
    }
}

impl Screens {
    fn process(&mut self, byte: u8) {
        // The view is complete where a sequence begins that may restore the terminal.
        if byte == ESCAPE && self.screen().alternate_screen() {
            self.picture |= self.screen().contents().contains(PICTURE);
        }
        self.parser.process(&[byte]);
    }

    fn screen(&self) -> &Screen {
        self.parser.screen()
    }
}

const PICTURE: &str = "all is well";
const MESSAGE: &str = "the view has a defect";
const ESCAPE: u8 = 0x1b;
/// For a process to start and end beside whatever else the machine does.
const PATIENCE: Duration = Duration::from_mins(2);
