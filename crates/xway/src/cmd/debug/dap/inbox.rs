//! Messages of the client, read while a motion runs.
//!
//! Rule: messages are answered in order. Those that end a motion are noticed when they arrive:
//! `pause`, and what ends the session.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use super::protocol::{Received, Request, receive};

/// Messages that wait to be answered.
#[derive(Debug, Default)]
pub struct Inbox {
    waiting: Mutex<VecDeque<Result<Received>>>,
    changed: Condvar,
    /// Number of waiting requests to pause.
    pauses: AtomicU32,
    /// Number of waiting messages that end the session.
    ends: AtomicU32,
    /// A motion runs, which is all that can be paused.
    moves: AtomicBool,
    /// Number of checks that found a message which ends what runs.
    checks: AtomicU32,
}

impl Inbox {
    /// Reads standard input from now on, in a thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn open() -> Result<Arc<Self>> {
        let inbox = Arc::new(Self::default());
        let reader = Arc::clone(&inbox);
        // It reads until the client leaves or the process ends.
        sys::thread::spawn("dap-reader", move || reader.fill(&mut io::stdin().lock()))?;
        Ok(inbox)
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// The input has no messages.
    pub fn next(&self) -> Result<Received> {
        let mut waiting = self.waiting();
        loop {
            if let Some(message) = waiting.pop_front() {
                if let Some(counter) = self.counter(&message) {
                    counter.fetch_sub(1, Relaxed);
                }
                self.changed.notify_all();
                return message;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes a request to pause before those that arrived earlier, because it ended a motion.
    pub fn take_pause(&self) -> Option<Request> {
        let mut waiting = self.waiting();
        let place = waiting.iter().position(|message| is_request(message, &["pause"]))?;
        let Some(Ok(Received::Request(request))) = waiting.remove(place) else { return None };
        self.pauses.fetch_sub(1, Relaxed);
        self.changed.notify_all();
        Some(request)
    }

    /// Number of requests to end a motion. While one waits, each check counts as another: it also
    /// ends a motion that begins after it arrived.
    pub fn requests(&self) -> u32 {
        let is_paused = self.moves.load(Relaxed) && self.pauses.load(Relaxed) > 0;
        match is_paused || self.ends.load(Relaxed) > 0 {
            false => self.checks.load(Relaxed),
            true => self.checks.fetch_add(1, Relaxed) + 1,
        }
    }

    /// Whether requests to pause end what runs.
    pub fn can_pause(&self, moves: bool) {
        self.moves.store(moves, Relaxed);
    }

    /// The counter of messages like this one, if it ends what runs.
    fn counter(&self, message: &Result<Received>) -> Option<&AtomicU32> {
        let is_end = matches!(message, Err(_) | Ok(Received::End))
            || is_request(message, &["disconnect", "terminate"]);
        match is_end {
            true => Some(&self.ends),
            false => is_request(message, &["pause"]).then_some(&self.pauses),
        }
    }

    fn fill(&self, input: &mut impl BufRead) {
        loop {
            let message = receive(input);
            let is_last = matches!(message, Err(_) | Ok(Received::End));
            let mut waiting = self.waiting();
            while waiting.len() >= WAITING {
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            if let Some(counter) = self.counter(&message) {
                counter.fetch_add(1, Relaxed);
            }
            waiting.push_back(message);
            self.changed.notify_all();
            if is_last {
                return;
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Result<Received>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_request(message: &Result<Received>, commands: &[&str]) -> bool {
    match message {
        Ok(Received::Request(request)) => commands.contains(&request.command.as_str()),
        _ => false,
    }
}

/// Messages that wait; the client waits when there are more.
const WAITING: usize = 64;
