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
pub use xdp::{attach, attach_expecting, detach, restore};

/// What to attach where.
#[derive(Clone, Copy, Debug)]
pub struct Attach<'a> {
    /// The interface, in this thread's network namespace.
    pub ifindex: Ifindex,
    /// The program to attach.
    pub program: &'a Program,
    /// Mode: native, generic or offload.
    pub mode: XdpMode,
    /// What to do with a program that is attached already.
    pub replace: Replace,
}

/// What runs on an interface, as far as the caller holds it. Opening it by id would need
/// `CAP_SYS_ADMIN`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExpectedState<'a> {
    /// The program that is expected to be attached; `None` for none.
    pub program: Option<&'a Program>,
    /// The link of that program; `None` if it was attached by netlink.
    pub link: Option<&'a Link>,
    /// Whether the caller restores a program of another mode if the change fails or is undone.
    /// Otherwise the change does so by netlink, since a detached link cannot be attached again.
    pub caller_restores: bool,
}

/// What happens to a program that is attached already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replace {
    /// The attached program remains, and attaching fails.
    #[default]
    No,
    /// The attached program is replaced, regardless of its owner: atomically in the same mode, with
    /// a gap in another.
    Yes,
    /// The program with this id is replaced, as with `Yes`; attaching fails if another one runs.
    Only(u32),
}
