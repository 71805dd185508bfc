//! `Terminal`: a command in a pseudoterminal, whose screen a test reads and whose keys it presses.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use lab::until;
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};
use vt100::Parser;

use crate::stage::PATIENCE;

pub struct Terminal {
    child: Child,
    keys: File,
    parser: Arc<Mutex<Parser>>,
}

impl Terminal {
    /// Starts a command in a terminal of this size.
    pub fn start(mut command: Command, (rows, columns): (u16, u16)) -> Self {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let stream = || Stdio::from(pty.slave.try_clone().unwrap());
        command.env("TERM", "xterm").stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.spawn().unwrap();
        drop((command, pty.slave));
        let keys = File::from(pty.master);
        let parser = Arc::new(Mutex::new(Parser::new(rows, columns, 0)));
        let (mut output, screen) = (keys.try_clone().unwrap(), Arc::clone(&parser));
        // It ends with an error when the last process closes the terminal.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                screen.lock().unwrap().process(&bytes[..read]);
            }
        });
        Self { child, keys, parser }
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
