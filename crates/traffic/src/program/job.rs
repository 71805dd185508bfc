//! What a program is made for, and what comes of it.

use kernel::Ifindex;
use spec::Spec;

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
