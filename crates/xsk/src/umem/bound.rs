//! What memory needs to know of a socket that is bound with it.

use std::fmt;
use std::os::fd::BorrowedFd;

/// A bound socket as its memory sees it: it lends its registration to further sockets of the same
/// memory, and an audit reads how full its rings are.
pub(crate) trait BoundSocket: fmt::Debug + Send + Sync {
    /// The descriptor whose registration another socket can share.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// How it was bound.
    fn options(&self) -> BindOptions;

    /// Number of the pool whose frames the kernel has from this socket.
    fn pool(&self) -> u32;

    /// Entries in the rings that the kernel takes from; `None` before they are mapped.
    fn filled(&self) -> Option<Filled>;
}

/// Options that all sockets of one memory have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BindOptions {
    /// The kernel reports when it must be called; otherwise it is called for every batch.
    pub needs_wakeup: bool,
    pub is_multi_buffer: bool,
}

/// Entries that the kernel has not taken yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    pub fill: u32,
    pub tx: u32,
}
