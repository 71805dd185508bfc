//! Where all frames of a memory are.

use super::region::{Region, Side};
use crate::sync::Ordering;

/// Frames by owner; the five add up to `total`, and a leak is what stays `held` when every socket
/// and frame is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    pub total: u32,
    /// In the depot.
    pub free: u32,
    /// Frames in the program's hands, and free ones in the caches of sockets.
    pub held: u32,
    /// With the kernel for packets to come, or received and not yet taken.
    pub receiving: u32,
    /// With the kernel to be sent, or sent and not yet taken back.
    pub transmitting: u32,
}

impl Audit {
    pub(super) fn of(region: &Region) -> Self {
        let total = region.geometry.frames;
        let away = region.count.load(Ordering::Acquire) as u32;
        let mut audit = Self { total, free: total.saturating_sub(away), ..Self::default() };
        for chunk in 0..total {
            match region.owner(chunk) {
                None => {}
                Some(Side::Fill(_)) => audit.receiving += 1,
                Some(Side::Tx(_)) => audit.transmitting += 1,
            }
        }
        audit.held = away.saturating_sub(audit.receiving + audit.transmitting);
        audit
    }

    /// Every frame is in the depot.
    pub fn is_all_free(&self) -> bool {
        self.free == self.total
    }
}
