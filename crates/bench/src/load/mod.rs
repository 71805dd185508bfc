//! The AF_XDP load engine: one worker for each socket sends, receives, echoes, forwards or measures
//! round trips with numbered packets, and accounts for every packet.
//!
//! `xway xsk bench` and the scenario `xsk-wait` run whole workers ([`run`]); hooks and forwarding
//! paths use the batch operations alone. Not here: opening interfaces and sockets, and threads,
//! which belong to the caller. The peers in `bench/peers/xsk` have loops of their own, because
//! each library must be measured without this crate.

mod packet;
mod plan;
mod recorder;
mod report;
mod roles;
mod tracker;

pub use packet::Template;
pub use plan::{Plan, Progress, Role};
pub use recorder::Tally;
pub use report::{InterfaceCounters, Interval, LoadReport, Loss, Setup};
pub use roles::{Task, forward_batch, run};
pub use tracker::{Arrived, STREAMS, Tracker};
