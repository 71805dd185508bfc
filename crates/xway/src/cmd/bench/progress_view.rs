//! Progress of a run: a live view on a terminal, a line for each value elsewhere, nothing with
//! `--json` and without a terminal.
//!
//! Rule: it draws between two turns only, so that drawing does not affect measurements.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use bench::{Measurement, Plan};

use super::interrupt::Interrupt;
use crate::view::bench::state::ScenarioState;
use crate::view::live::Screen;
use crate::view::say;

pub struct ProgressView {
    to: Output,
    interrupt: Interrupt,
    title: String,
    state: ScenarioState,
    screen: Option<Screen>,
    /// Start of the current turn.
    begin: Instant,
}

/// Amount of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    Picture,
    Lines,
    Silent,
}

impl Output {
    pub fn choose(is_json: bool) -> Self {
        match (io::stderr().is_terminal(), is_json) {
            (true, _) => Self::Picture,
            (false, true) => Self::Silent,
            (false, false) => Self::Lines,
        }
    }
}

impl ProgressView {
    pub fn new(to: Output, interrupt: Interrupt) -> Self {
        let (title, state) = (String::new(), ScenarioState::default());
        Self { to, interrupt, title, state, screen: None, begin: Instant::now() }
    }

    /// What comes is of this scenario.
    pub fn scenario(&mut self, title: String) {
        self.title = title;
    }

    /// The picture goes, for what is printed next.
    pub fn end(&mut self) {
        self.screen = None;
    }

    pub fn begin(&mut self, plan: Plan<'_>) {
        self.state = ScenarioState::new(&self.title, plan);
        self.screen = None;
        if self.to != Output::Silent {
            self.screen = Some(Screen::new(self.state.height()));
        }
        self.show();
    }

    pub fn turns(&mut self, arm: &str, round: usize) {
        self.interrupt.turns(arm);
        self.state.turns(arm, round);
        self.show();
        self.begin = Instant::now();
    }

    pub fn value(&mut self, told: Measurement<'_>) {
        self.state.value(told, self.took());
        self.show();
    }

    pub fn missed(&mut self, arm: &str, reason: &str) {
        self.state.missed(arm, reason, self.took());
        self.show();
    }

    pub fn excluded(&mut self, arm: &str, reason: &str) {
        self.state.excluded(arm, reason, self.took());
        self.show();
    }

    /// Also before there are arms.
    pub fn message(&mut self, text: &str) {
        match (&self.screen, self.to) {
            (Some(_), _) => {
                self.state.message(text);
                self.show();
            }
            (None, Output::Silent) => {}
            (None, _) => say(text),
        }
    }

    fn took(&self) -> Duration {
        self.begin.elapsed()
    }

    fn show(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.show(&self.state);
        }
    }
}
