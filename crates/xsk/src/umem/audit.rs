//! `Audit`: all frames of a memory by owner.

use super::region::Region;
use crate::sync::Ordering;

/// Number of frames by owner. `free`, `held`, `receiving`, `transmitting` and `retired` add up to
/// `total`. Frames that are `held` after all sockets and frames were dropped are a leak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Audit {
    /// All frames of the memory.
    pub total: u32,
    /// In the depot.
    pub free: u32,
    /// Frames that the program owns, and free frames in the caches of sockets: see
    /// [`Tx::cached`](crate::Tx::cached) and [`Rx::cached`](crate::Rx::cached).
    pub held: u32,
    /// With the kernel for receiving, or received and not yet taken: `fill` and `rx` together.
    pub receiving: u32,
    /// In fill rings.
    pub fill: u32,
    /// In rx rings, or on the way there in a driver.
    pub rx: u32,
    /// With the kernel for sending, or sent and not yet taken back: `tx` and `completion` together.
    pub transmitting: u32,
    /// In tx rings.
    pub tx: u32,
    /// In completion rings, on the way there in a driver, or queued for a batch.
    pub completion: u32,
    /// Frames of closed sockets to which a driver may still write; they return to the depot soon.
    pub retired: u32,
}

impl Audit {
    pub(super) fn of(region: &Region) -> Self {
        let total = region.geometry.frames;
        let away = region.count.load(Ordering::Acquire) as u32;
        let mut audit = Self { total, ..Self::default() };
        let retired = region.retired();
        for chunk in 0..total {
            match region.owner(chunk) {
                None => {}
                Some(side) if retired.contains(&side.pool()) => audit.retired += 1,
                Some(side) if side.is_tx() => audit.transmitting += 1,
                Some(_) => audit.receiving += 1,
            }
        }
        // Frames that move during the audit may be counted twice.
        audit.free = total.saturating_sub(away).saturating_sub(audit.retired);
        audit.held = away.saturating_sub(audit.receiving + audit.transmitting);
        audit.count_rings(region);
        audit
    }

    /// Whether all frames are in the depot.
    pub fn is_all_free(&self) -> bool {
        self.free == self.total
    }

    fn count_rings(&mut self, region: &Region) {
        let mut pools = Vec::new();
        for socket in region.living() {
            let Some(filled) = socket.filled() else { continue };
            self.tx += filled.tx;
            // Sockets of one queue have one fill ring.
            if !pools.contains(&socket.pool()) {
                pools.push(socket.pool());
                self.fill += filled.fill;
            }
        }
        self.fill = self.fill.min(self.receiving);
        self.rx = self.receiving - self.fill;
        self.tx = self.tx.min(self.transmitting);
        self.completion = self.transmitting - self.tx;
    }
}
