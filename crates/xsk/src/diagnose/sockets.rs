//! The queues of a namespace that have sockets, with their holders.

use serde::Serialize;
use sys::net::Netlink;

use super::holder::{Holder, QueueHolders, holders};
use crate::device::Device;
use crate::error::Result;

/// Queues of this network namespace that have sockets.
#[derive(Clone, Debug, Serialize)]
pub struct Sockets {
    /// Queues in the order of interfaces and numbers.
    pub sockets: Vec<HeldQueue>,
}

/// A queue that has sockets.
#[derive(Clone, Debug, Serialize)]
pub struct HeldQueue {
    /// Name of the interface.
    pub interface: String,
    /// Number of the queue, from 0.
    pub queue: u32,
    /// These processes hold the queue; `false`: one of them does.
    pub certain: bool,
    /// Processes; none where they are not visible: in another container, or while the socket is
    /// being closed.
    pub processes: Vec<Holder>,
}

/// Finds the queues that have sockets.
///
/// # Errors
/// The interfaces cannot be listed.
pub fn sockets() -> Result<Sockets> {
    let mut sockets = Vec::new();
    for link in Netlink::open()?.links()? {
        // An interface that was removed meanwhile has none.
        let Ok(device) = Device::open(&link.name) else { continue };
        let queues = device.queues.rx.max(device.queues.tx);
        sockets.extend((0..queues).filter_map(|queue| held(&device, queue)));
    }
    Ok(Sockets { sockets })
}

fn held(device: &Device, queue: u32) -> Option<HeldQueue> {
    let (processes, certain) = match holders(device.ifindex, queue) {
        QueueHolders::None => return None,
        QueueHolders::Known(processes) => (processes, true),
        QueueHolders::Suspected(processes) => (processes, false),
        QueueHolders::Invisible => (Vec::new(), true),
    };
    Some(HeldQueue { interface: device.name.clone(), queue, certain, processes })
}
