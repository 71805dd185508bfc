//! Where all frames of a memory are.

use super::region::Region;
use crate::sync::Ordering;

/// Frames by owner. `free`, `held`, `receiving`, `transmitting` and `retired` add up to `total`;
/// a leak is what stays `held` when every socket and frame is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Audit {
    pub total: u32,
    /// In the depot.
    pub free: u32,
    /// Frames in the program's hands, and free ones that the halves of sockets keep: see
    /// [`Tx::cached`](crate::Tx::cached) and [`Rx::cached`](crate::Rx::cached).
    pub held: u32,
    /// With the kernel for packets to come, or received and not yet taken: `fill` and `rx`.
    pub receiving: u32,
    /// In fill rings.
    pub fill: u32,
    /// In rx rings, or with a driver on the way there.
    pub rx: u32,
    /// With the kernel to be sent, or sent and not yet taken back: `tx` and `completion`.
    pub transmitting: u32,
    /// In tx rings.
    pub tx: u32,
    /// In completion rings, with a driver on the way there, or waiting for their batch.
    pub completion: u32,
    /// Of closed sockets, with a driver that may still write to them; they come home soon.
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
        // Frames that move meanwhile may be counted twice.
        audit.free = total.saturating_sub(away).saturating_sub(audit.retired);
        audit.held = away.saturating_sub(audit.receiving + audit.transmitting);
        audit.look_into_rings(region);
        audit
    }

    /// Every frame is in the depot.
    pub fn is_all_free(&self) -> bool {
        self.free == self.total
    }

    fn look_into_rings(&mut self, region: &Region) {
        let mut pools = Vec::new();
        for socket in region.living() {
            let Some(gauges) = socket.gauges() else { continue };
            self.tx += gauges.tx.filled();
            // Sockets of one queue have one fill ring.
            if !pools.contains(&socket.shared_pool().number()) {
                pools.push(socket.shared_pool().number());
                self.fill += gauges.fill.filled();
            }
        }
        self.fill = self.fill.min(self.receiving);
        self.rx = self.receiving - self.fill;
        self.tx = self.tx.min(self.transmitting);
        self.completion = self.transmitting - self.tx;
    }
}
