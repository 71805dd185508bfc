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
pub use xdp::{attach, attach_knowing, put_back, take_off};

/// What to attach where.
#[derive(Clone, Copy, Debug)]
pub struct Attach<'a> {
    pub ifindex: Ifindex,
    pub program: &'a Program,
    pub mode: XdpMode,
    pub replace: Replace,
}

/// What runs on an interface, as far as the caller holds it. Opening it by number would need
/// `CAP_SYS_ADMIN`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    pub program: Option<&'a Program>,
    /// The link of that program; `None` if it was attached by netlink.
    pub link: Option<&'a Link>,
    /// The caller puts back a program of another mode where the change fails or is undone. Else
    /// that is done here, by netlink, since a link that was detached cannot be revived.
    pub puts_back: bool,
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
