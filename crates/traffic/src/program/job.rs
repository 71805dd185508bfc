//! What a program is made for, and what comes of it.

use kernel::Ifindex;
use spec::Spec;

use crate::error::{Error, Result};
use crate::limits::{BATCH, STREAMS, THREADS};
use crate::template::Template;

/// One thread's program.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// At least one; mixed by their weights.
    pub templates: &'a [Template],
    pub exit: Exit,
    /// Which of `threads` this is, from 0: it draws its own part of all numbers.
    pub thread: u32,
    pub threads: u32,
    pub seed: u64,
    /// Frames that leave together: the batch of every live run of this program, 1 to
    /// `limits::BATCH`.
    pub group: u32,
    /// How groups follow each other; `None` leaves pacing out of the program.
    pub pace: Option<Gaps>,
    /// Headers are written anew into each frame.
    pub rewrite: bool,
    pub clock: Clock,
}

impl Job<'_> {
    /// Whether any frame carries a stamp.
    pub(super) fn is_stamped(&self) -> bool {
        self.templates.iter().any(|template| template.stamp.is_some())
    }

    /// Whether the program must know where in its batch a frame is.
    pub(super) fn needs_place(&self) -> bool {
        self.pace.is_some() || (self.is_stamped() && self.clock == Clock::Group)
    }

    pub(super) fn check(&self) -> Result<()> {
        let wrong = |why: String| Err(Error::Config(why));
        if !(1..=STREAMS).contains(&self.templates.len()) {
            return wrong(format!("1 to {STREAMS} streams, not {}", self.templates.len()));
        }
        if !(1..=BATCH).contains(&self.group) {
            return wrong(format!("1 to {BATCH} frames leave together, not {}", self.group));
        }
        if self.thread >= self.threads || self.threads as usize > THREADS {
            return wrong(format!("1 to {THREADS} threads send, not {}", self.threads));
        }
        Ok(self.templates.iter().try_for_each(Template::check)?)
    }
}

/// What becomes of a frame that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It leaves through this interface.
    Redirect(Ifindex),
    /// It goes up the stack, or on to the program that is composed behind this one.
    Pass,
}

/// How groups of frames follow each other, at the interval in `control::INTERVAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    Even,
    /// As if each frame came independently of the others.
    Poisson,
}

/// When the clock is read for the stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// For each frame.
    #[default]
    Frame,
    /// For the first frame of each group: its others leave with it.
    Group,
}

/// A program, ready to be loaded.
#[derive(Clone, Debug)]
pub struct Made {
    /// `abi::PROGRAM` with its maps.
    pub spec: Spec,
    /// What live runs are given.
    pub frame: Vec<u8>,
    /// Values of arrays, by the map's name and in order, to be written before the first run.
    pub tables: Vec<(String, Vec<Vec<u8>>)>,
}
