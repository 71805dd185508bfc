//! `Entry`: a socket in the map of sockets.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use spec::Map as _;

use super::group::put;
use super::shared::Shared;

/// Steers the packets of a queue to a socket as long as this value exists; then they go to the
/// stack again.
///
/// It keeps the socket open, so it should be dropped before or with the last handle of the socket:
/// a queue remains in use while a socket is open.
#[derive(Debug)]
#[must_use = "packets go to the socket only as long as this value exists"]
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
    /// Empties the slot only if it has this socket, which inserting it again shows. Errors are
    /// ignored, since the kernel does the same when the socket is closed.
    fn drop(&mut self) {
        let xsks = self.shared.xsks();
        if put(xsks, self.slot, self.socket.as_fd()).unwrap_or(false) {
            let _ = xsks.delete(&self.slot.to_ne_bytes());
        }
    }
}
