//! How sockets wait for packets, for space to send, and for the completion of sent packets.
//!
//! Rule: every wait has a [`Deadline`], and ends early when an [`Interrupt`] is raised, a signal
//! handler ran in the thread, or the interface fails. The kernel reports received packets; it does
//! not report completed frames in all modes, so waits of `Tx` poll after short sleeps. The methods
//! are those of [`Rx`](crate::Rx) and [`Tx`](crate::Tx).
//!
//! # Policies
//!
//! | policy | method | cost |
//! |---|---|---|
//! | [`Wait::Spin`] | polling the ring | a processor |
//! | [`Wait::Poll`] | sleeping in `poll(2)` | the wake-up of a thread for each batch |
//! | [`Wait::BusyPoll`] | running the driver's receive code in the thread | a processor |
//! | [`Wait::Adaptive`] | spinning while packets arrive singly and soon, or sleeping | as these |
//!
//! # Event loops
//!
//! A program with its own event loop uses a [`Readiness`], a program on tokio the cargo feature
//! `tokio`.

mod busy_poll;
mod deadline;
mod delay;
mod interrupt;
mod options;
mod readiness;
mod turns;
mod waiter;

pub use busy_poll::BusyPoll;
pub use deadline::Deadline;
pub(crate) use delay::Delay;
pub use interrupt::Interrupt;
pub(crate) use options::Options;
pub use readiness::Readiness;
pub(crate) use turns::Turn;
pub(crate) use waiter::Waiter;

/// How a half of a socket waits; see the [table](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Never sleeps: the lowest latency, at the cost of a processor.
    Spin,
    /// Sleeps immediately: packets accumulate meanwhile, which needs the least work per packet.
    Poll,
    /// Never sleeps, and runs the driver in the thread. The socket must have been opened with the
    /// options of [`BusyPoll`].
    BusyPoll,
    /// Spins for up to 50 µs where the last packets arrived singly and soon; otherwise sleeps.
    #[default]
    Adaptive,
}
