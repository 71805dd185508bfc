//! What a run tells of itself: a picture on a terminal, a line for each value elsewhere, nothing
//! when JSON was asked for and nobody looks.
//!
//! Rule: it draws between two turns only, so that drawing takes no time from what is measured.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use bench::{Plan, Told};

use super::interrupt::Interrupt;
use crate::view::bench::course::Course;
use crate::view::live::Screen;
use crate::view::say;

pub struct Teller {
    to: To,
    interrupt: Interrupt,
    title: String,
    course: Course,
    screen: Option<Screen>,
    /// Of the turn that is on.
    begin: Instant,
}

/// How much to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Picture,
    Lines,
    Nobody,
}

impl To {
    pub fn choose(is_json: bool) -> Self {
        match (io::stderr().is_terminal(), is_json) {
            (true, _) => Self::Picture,
            (false, true) => Self::Nobody,
            (false, false) => Self::Lines,
        }
    }
}

impl Teller {
    pub fn new(to: To, interrupt: Interrupt) -> Self {
        let (title, course) = (String::new(), Course::default());
        Self { to, interrupt, title, course, screen: None, begin: Instant::now() }
    }

    /// What comes is of this scenario.
    pub fn scenario(&mut self, title: String) {
        self.title = title;
    }

    /// The picture goes, for what is printed next.
    pub fn end(&mut self) {
        self.screen = None;
    }

    pub fn begins(&mut self, plan: Plan<'_>) {
        self.course = Course::new(&self.title, plan);
        self.screen = None;
        if self.to != To::Nobody {
            self.screen = Some(Screen::new(self.course.height()));
        }
        self.show();
    }

    pub fn turns(&mut self, arm: &str, round: usize) {
        self.interrupt.turns(arm);
        self.course.turns(arm, round);
        self.show();
        self.begin = Instant::now();
    }

    pub fn value(&mut self, told: Told<'_>) {
        self.course.value(told, self.took());
        self.show();
    }

    pub fn misses(&mut self, arm: &str, reason: &str) {
        self.course.misses(arm, reason, self.took());
        self.show();
    }

    pub fn leaves(&mut self, arm: &str, reason: &str) {
        self.course.leaves(arm, reason, self.took());
        self.show();
    }

    /// Also before there are arms.
    pub fn says(&mut self, text: &str) {
        match (&self.screen, self.to) {
            (Some(_), _) => {
                self.course.says(text);
                self.show();
            }
            (None, To::Nobody) => {}
            (None, _) => say(text),
        }
    }

    fn took(&self) -> Duration {
        self.begin.elapsed()
    }

    fn show(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.show(&self.course);
        }
    }
}
