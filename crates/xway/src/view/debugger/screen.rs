//! `DebuggerScreen`: the terminal of the full-screen debugger, and its keyboard.
//!
//! Rule: a motion runs in the thread that reads keys, so keys are also read while it runs. Ctrl-C
//! and Esc end the motion then; other keys wait.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use sys::signal::Stop;

use super::Panes;
use super::draw::draw;
use crate::view::terminal::{Arrived, FullScreen, Input};

/// The terminal.
#[derive(Debug)]
pub struct DebuggerScreen {
    terminal: FullScreen,
    keyboard: Arc<Keyboard>,
}

/// The keys that were pressed, and the signals that came.
#[derive(Debug)]
pub struct Keyboard {
    signals: Stop,
    input: Input,
    /// Keys that were pressed during a motion.
    waiting: Mutex<(VecDeque<KeyEvent>, Instant)>,
    /// Requests to end a motion.
    requests: AtomicU32,
    /// A signal that ends the session came, or the terminal was closed.
    has_ended: AtomicBool,
}

impl DebuggerScreen {
    /// Takes over the terminal of standard error. From now on, signals are held back. Make it
    /// before any thread, and before the process is confined.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn open() -> io::Result<Self> {
        let signals = Stop::new().map_err(io::Error::other)?;
        let terminal = FullScreen::open()?;
        // Opens what events are read from.
        let input = Input::new();
        input.wait(Duration::ZERO)?;
        let waiting = Mutex::new((VecDeque::new(), Instant::now()));
        let (requests, has_ended) = (AtomicU32::new(0), AtomicBool::new(false));
        let keyboard = Arc::new(Keyboard { signals, input, waiting, requests, has_ended });
        Ok(Self { terminal, keyboard })
    }

    pub fn keyboard(&self) -> Arc<Keyboard> {
        Arc::clone(&self.keyboard)
    }

    pub fn draw(&mut self, panes: &Panes) {
        self.terminal.draw(|frame| draw(panes, frame));
    }

    pub fn area(&mut self) -> Rect {
        self.terminal.area()
    }

    /// Waits for a key. `None` when the terminal has another size; an error when a signal ended the
    /// session.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub fn next(&self) -> io::Result<Next> {
        self.keyboard.next()
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Key(KeyEvent),
    /// The terminal has another size.
    Resize,
    /// A signal ended the session, or the terminal was closed.
    End,
}

impl Keyboard {
    /// Number of requests to end a motion that were read before this call, which may read more.
    /// Called often while a motion runs. One that arrived before the first call ends it, too.
    pub fn requests(&self) -> u32 {
        let so_far = self.requests.load(Relaxed);
        let mut waiting = self.waiting();
        if waiting.1.elapsed() >= CHECK {
            waiting.1 = Instant::now();
            if self.read_during_motion(&mut waiting.0).is_err() {
                self.has_ended.store(true, Relaxed);
            }
        }
        match self.has_ended.load(Relaxed) {
            // It also ends a motion that begins afterwards.
            true => self.requests.fetch_add(1, Relaxed) + 1,
            false => so_far,
        }
    }

    fn read_during_motion(&self, waiting: &mut VecDeque<KeyEvent>) -> io::Result<()> {
        if self.signals.pending().is_some() {
            self.has_ended.store(true, Relaxed);
        }
        loop {
            let event = match self.input.wait(Duration::ZERO)? {
                Arrived::Event(event) => event,
                Arrived::Nothing => return Ok(()),
                Arrived::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            };
            match pressed(&event) {
                Some(key) if ends_motion(key) => {
                    waiting.clear();
                    self.requests.fetch_add(1, Relaxed);
                }
                Some(key) if waiting.len() < WAITING => waiting.push_back(key),
                _ => {}
            }
        }
    }

    fn next(&self) -> io::Result<Next> {
        loop {
            if self.has_ended.load(Relaxed) || self.signals.pending().is_some() {
                return Ok(Next::End);
            }
            if let Some(key) = self.waiting().0.pop_front() {
                return Ok(Next::Key(key));
            }
            match self.input.wait(CHECK)? {
                Arrived::Nothing => {}
                Arrived::End => return Ok(Next::End),
                Arrived::Event(Event::Resize(..)) => return Ok(Next::Resize),
                Arrived::Event(event) => {
                    if let Some(key) = pressed(&event) {
                        return Ok(Next::Key(key));
                    }
                }
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, (VecDeque<KeyEvent>, Instant)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pressed(event: &Event) -> Option<KeyEvent> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(*key),
        _ => None,
    }
}

fn ends_motion(key: KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Esc || key.code == KeyCode::Char('c') && is_control
}

/// Time between two checks for keys and signals.
const CHECK: Duration = Duration::from_millis(50);
/// Keys that wait for the end of a motion.
const WAITING: usize = 64;
