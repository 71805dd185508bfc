//! Programs on interfaces.
//!
//! An attachment is a [`Link`]: by `bpf_link` where the kernel has one for the mode, else by
//! netlink. Rule: dropping a [`Link`] leaves the interface as it was found, unless it was pinned
//! or kept by an explicit word; a change that fails leaves the old program running.
//! All functions act in the calling thread's network namespace, but for tracepoints, which are the
//! whole machine's.

mod clear;
mod guard;
mod netlink;
mod occupied;
mod tcx;
mod tracepoint;
mod xdp;

use sys::net::{Ifindex, XdpMode};

use crate::program::Program;

pub use clear::{Detached, detach_all};
pub use guard::Link;
pub use tcx::{TcxSide, attach_tcx};
pub use tracepoint::attach_raw_tracepoint;
pub use xdp::attach;

/// What to attach where.
#[derive(Clone, Copy, Debug)]
pub struct Attach<'a> {
    pub ifindex: Ifindex,
    pub program: &'a Program,
    pub mode: XdpMode,
    pub replace: Replace,
}

/// What happens to a program that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replace {
    /// It stays, and attaching fails.
    #[default]
    No,
    /// It is replaced, whoever's it is: atomically in the same mode, with a gap in another.
    Yes,
}
