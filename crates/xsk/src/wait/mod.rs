//! Waiting: for packets, for room to send, for the end of what was sent.
//!
//! Rule: every wait has a [`Deadline`], and ends early when an [`Interrupt`] is raised, a signal
//! handler ran in the thread, or the interface fails. The kernel tells when packets come; it does
//! not tell in all modes when frames are done, so waits of `Tx` look again after a short sleep.
//! The methods themselves are with [`Rx`](crate::Rx) and [`Tx`](crate::Tx).
//!
//! # Which one
//!
//! | | waits by | costs |
//! |---|---|---|
//! | [`Wait::Spin`] | looking at the ring | a processor |
//! | [`Wait::Poll`] | sleeping in `poll(2)` | the wake-up of a thread for each batch |
//! | [`Wait::BusyPoll`] | running the driver's receive code itself | a processor |
//! | [`Wait::Adaptive`] | spinning where single packets come soon, else sleeping | as that |
//!
//! # Other loops
//!
//! A program with an event loop of its own asks for a [`Readiness`]; a program on tokio has the
//! cargo feature `tokio`.

mod any;
mod busy_poll;
mod deadline;
mod delay;
mod interrupt;
mod options;
mod readiness;
mod turns;
mod waiter;

pub use any::any;
pub use busy_poll::BusyPoll;
pub use deadline::Deadline;
pub(crate) use delay::Delay;
pub use interrupt::Interrupt;
pub(crate) use options::Options;
pub use readiness::Readiness;
pub(crate) use turns::Turn;
pub(crate) use waiter::Waiter;

/// How a half of a socket waits. See the [table](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Never sleeps: the shortest answers, for a whole processor.
    Spin,
    /// Sleeps at once: packets gather meanwhile, which is the least work for each.
    Poll,
    /// Never sleeps, and lets the thread do the driver's work: see [`BusyPoll`], whose options the
    /// socket must have been opened with.
    BusyPoll,
    /// Spins for up to 50 µs where the last packets came one by one and soon; else sleeps.
    #[default]
    Adaptive,
}
