//! `xsk list`: every queue of this namespace's interfaces that has sockets.

use anyhow::Result;
use sys::net::Netlink;
use xsk::device::Device;
use xsk::diagnose::{QueueHolders, holders};

use crate::cmd::{Context, Exit};
use crate::view::xsk::{Held, List, Process};

pub fn run(context: &Context) -> Result<Exit> {
    let mut sockets = Vec::new();
    for link in Netlink::open()?.links()? {
        // One that was removed meanwhile has none.
        let Ok(device) = Device::open(&link.name) else { continue };
        let queues = device.queues.rx.max(device.queues.tx);
        sockets.extend((0..queues).filter_map(|queue| held(&device, queue)));
    }
    context.show(&List { sockets })?;
    Ok(Exit::Done)
}

fn held(device: &Device, queue: u32) -> Option<Held> {
    let (processes, certain) = match holders(device.ifindex, queue) {
        QueueHolders::None => return None,
        QueueHolders::Known(processes) => (processes, true),
        QueueHolders::Suspected(processes) => (processes, false),
        QueueHolders::Invisible => (Vec::new(), true),
    };
    let processes = processes.into_iter();
    let processes = processes.map(|one| Process { pid: one.pid, command: one.command });
    Some(Held { interface: device.name.clone(), queue, certain, processes: processes.collect() })
}
