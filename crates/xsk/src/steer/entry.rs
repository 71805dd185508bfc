//! `Entry`: a socket in its slot.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use spec::Map as _;

use super::group::put;
use super::shared::Shared;

/// The packets of a queue go to a socket as long as this lives; then to the stack again.
///
/// It keeps the socket open, so drop it before or with the socket's last handle: a queue stays
/// taken while any is open.
#[derive(Debug)]
#[must_use = "packets go to the socket only as long as this lives"]
pub struct Entry {
    pub(super) shared: Arc<Shared>,
    pub(super) slot: u32,
    pub(super) queue: u32,
    pub(super) socket: OwnedFd,
}

impl Entry {
    /// The receive queue.
    pub fn queue(&self) -> u32 {
        self.queue
    }
}

impl Drop for Entry {
    /// The slot is emptied only if it is this socket's: putting it in again tells. A destructor
    /// cannot report, and the kernel does the same when the socket is closed.
    fn drop(&mut self) {
        let xsks = self.shared.xsks();
        if put(xsks, self.slot, self.socket.as_fd()).unwrap_or(false) {
            let _ = xsks.delete(&self.slot.to_ne_bytes());
        }
    }
}
