//! `Terminal`: a command in a pseudoterminal, whose screen a test reads and whose keys it presses.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lab::until;
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};
use vt100::Parser;

use crate::stage::PATIENCE;

pub struct Terminal {
    child: Child,
    keys: File,
    parser: Arc<Mutex<Parser>>,
    reader: Option<Reader>,
}

/// The thread that reads what the command prints.
struct Reader {
    is_closed: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Terminal {
    /// Starts a command in a terminal of this size.
    pub fn start(mut command: Command, (rows, columns): (u16, u16)) -> Self {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // Otherwise a command of another test would inherit this terminal and keep it open.
        let only = STARTS.lock().unwrap_or_else(PoisonError::into_inner);
        let pty = openpty(Some(&size), None).unwrap();
        // A clone is not inherited by the command.
        let keys = File::from(pty.master).try_clone().unwrap();
        let stream = || Stdio::from(pty.slave.try_clone().unwrap());
        command.env("TERM", "xterm").stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.spawn().unwrap();
        drop((command, pty.slave, only));
        let parser = Arc::new(Mutex::new(Parser::new(rows, columns, 0)));
        let (mut output, screen) = (keys.try_clone().unwrap(), Arc::clone(&parser));
        let is_closed = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&is_closed);
        // It ends with an error when the last process closes the terminal.
        let thread = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while !is_over.load(Relaxed) {
                if !sys::poll::readable(output.as_fd(), CHECK).unwrap() {
                    continue;
                }
                let Ok(read @ 1..) = output.read(&mut bytes) else { return };
                screen.lock().unwrap().process(&bytes[..read]);
            }
        });
        Self { child, keys, parser, reader: Some(Reader { is_closed, thread }) }
    }

    /// Closes the terminal, as a window that the user closes: nothing can be read from it or
    /// written to it any more.
    pub fn close(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.is_closed.store(true, Relaxed);
            reader.thread.join().unwrap();
        }
        self.keys = File::open("/dev/null").unwrap();
    }

    /// What is on the screen.
    pub fn text(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    /// Whether the program uses the screen for itself, so that what was there before returns.
    pub fn is_taken_over(&self) -> bool {
        self.parser.lock().unwrap().screen().alternate_screen()
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen satisfies a condition, and returns it.
    #[track_caller]
    pub fn wait_for(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let done = until(what, PATIENCE, || Ok(holds(&self.text()).then_some(())));
        let text = self.text();
        assert!(done.is_ok(), "{what}:\n{text}");
        text
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the command has ended.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let child = &mut self.child;
        let ended = until("the command has ended", PATIENCE, || Ok(child.try_wait().unwrap()));
        ended.unwrap_or_else(|error| panic!("{error}:\n{}", self.text()))
    }

    /// Whether lines are edited by the terminal, as before a program takes it over.
    pub fn edits_lines(&self) -> bool {
        tcgetattr(&self.keys).unwrap().local_flags.contains(LocalFlags::ICANON | LocalFlags::ECHO)
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("child", &self.child).finish_non_exhaustive()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Held while a command starts.
static STARTS: Mutex<()> = Mutex::new(());
/// Time between checks whether the terminal was closed.
const CHECK: Duration = Duration::from_millis(50);
