//! `Job`: the input of the compiler; `Made`: its output.

use kernel::Ifindex;
use spec::Spec;

use crate::error::{ConfigError, Result};
use crate::limits::{BATCH, STREAMS, THREADS};
use crate::template::Template;

/// The description of one thread's program.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// At least one template; streams are mixed by their weights.
    pub templates: &'a [Template],
    /// Where frames go.
    pub exit: Exit,
    /// Number of this thread, from 0: it draws its own part of all numbers.
    pub thread: u32,
    /// Number of threads.
    pub threads: u32,
    /// Seed of random numbers.
    pub seed: u64,
    /// Number of frames that are sent together: the batch of every live run of this program, 1 to
    /// `limits::BATCH`.
    pub group: u32,
    /// The distances between groups; `None` omits pacing from the program.
    pub pace: Option<Gaps>,
    /// Headers are rewritten in each frame.
    pub rewrite: bool,
    /// When the clock is read for stamps.
    pub clock: Clock,
}

impl Job<'_> {
    /// Whether any frame has a stamp.
    pub(super) fn is_stamped(&self) -> bool {
        self.templates.iter().any(|template| template.stamp.is_some())
    }

    /// Whether the program needs the index of a frame in its batch.
    pub(super) fn needs_place(&self) -> bool {
        self.pace.is_some() || (self.is_stamped() && self.clock == Clock::Group)
    }

    pub(super) fn check(&self) -> Result<()> {
        let range = |what, max: u64, given: u64| {
            Err(ConfigError::Range { what, min: 1, max, given }.into())
        };
        if !(1..=STREAMS).contains(&self.templates.len()) {
            return range("streams", STREAMS as u64, self.templates.len() as u64);
        }
        if !(1..=BATCH).contains(&self.group) {
            return range("frames in a group", BATCH.into(), self.group.into());
        }
        if self.thread >= self.threads || self.threads as usize > THREADS {
            return range("threads", THREADS as u64, self.threads.into());
        }
        Ok(self.templates.iter().try_for_each(Template::check)?)
    }
}

/// Where a finished frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Out of this interface.
    Redirect(Ifindex),
    /// Up the stack, or to the program that is composed after this one.
    Pass,
}

/// The distances between groups of frames, with the mean in `control::INTERVAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Equal distances.
    Even,
    /// Exponential distances, as of independent events.
    Poisson,
}

/// When the clock is read for the stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// For each frame.
    #[default]
    Frame,
    /// For the first frame of each group, with which the others are sent.
    Group,
}

/// A program, ready to be loaded.
#[derive(Clone, Debug)]
pub struct Made {
    /// `abi::PROGRAM` with its maps.
    pub spec: Spec,
    /// The input of live runs.
    pub frame: Vec<u8>,
    /// Values of arrays in order, by the map's name, which must be written before the first run.
    pub tables: Vec<(String, Vec<Vec<u8>>)>,
}
