//! `xsk info`: what one interface can do for sockets.

use anyhow::Result;
use xsk::device::{Device, Wanted};
use xsk::workers::Cpus;

use crate::cmd::{Context, Exit};
use crate::view::xsk::{Abilities, Info};

pub fn run(dev: &str, context: &Context) -> Result<Exit> {
    let device = Device::open(dev)?;
    let queues: Vec<u32> = (0..device.queues.both()).collect();
    let places = Cpus::Auto.places(device.ifindex, &queues)?;
    let abilities = device.features.map(|features| Abilities {
        xdp: features.names(),
        zero_copy: features.zero_copy(),
        zero_copy_segments: features.zero_copy_segments,
        tx_checksum: features.tx_checksum(),
        tx_timestamp: features.tx_timestamp(),
        launch_time: features.launch_time(),
    });
    let info = Info {
        why_copy: device.why_copy(&Wanted::default()),
        refused: device.check(&Wanted::default()).err().map(|error| error.to_string()),
        workers: places.iter().map(ToString::to_string).collect(),
        abilities,
        interface: device.name,
        driver: device.driver,
        mtu: device.mtu,
        up: device.up,
        rx_queues: device.queues.rx,
        tx_queues: device.queues.tx,
        most_queues: device.queues.most,
        numa_node: device.node,
    };
    context.show(&info)?;
    Ok(Exit::Done)
}
