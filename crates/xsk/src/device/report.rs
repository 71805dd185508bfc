//! `DeviceReport`: what an interface can do for sockets, as it is shown.

use serde::Serialize;

use super::{Device, Wanted};
use crate::error::Result;
use crate::workers::Cpus;

/// What an interface is, and what it can do for sockets.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceReport {
    /// Name of the interface.
    pub interface: String,
    /// Driver, or kind of a virtual interface.
    pub driver: String,
    /// Largest packet after the Ethernet header, in bytes.
    pub mtu: u32,
    /// Enabled by its administrator.
    pub up: bool,
    /// Receive queues in use.
    pub rx_queues: u32,
    /// Transmit queues in use.
    pub tx_queues: u32,
    /// Most queues that can be set; `null` where the driver does not report them.
    pub most_queues: Option<u32>,
    /// NUMA node; `null` for virtual interfaces.
    pub numa_node: Option<u32>,
    /// What the driver reports of itself; `null` before Linux 6.3.
    pub abilities: Option<Abilities>,
    /// Why packets are copied; `null` with zero copy.
    pub why_copy: Option<String>,
    /// Why no socket can be opened with default options.
    pub refused: Option<String>,
    /// Where the thread of each queue would run, and why there.
    pub workers: Vec<String>,
}

/// What a driver reports of itself.
#[derive(Clone, Debug, Serialize)]
pub struct Abilities {
    /// `NETDEV_XDP_ACT_*` in lower case.
    pub xdp: Vec<&'static str>,
    /// Zero copy for AF_XDP.
    pub zero_copy: bool,
    /// Most frames of one packet with zero copy.
    pub zero_copy_segments: u32,
    /// Checksums are computed on transmission.
    pub tx_checksum: bool,
    /// Transmissions are timestamped.
    pub tx_timestamp: bool,
    /// Packets can be sent at a given time.
    pub launch_time: bool,
}

impl DeviceReport {
    /// Describes a device.
    ///
    /// # Errors
    /// The processors of this process cannot be read.
    pub fn new(device: Device) -> Result<Self> {
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
        let wanted = Wanted::default();
        Ok(Self {
            why_copy: device.why_copy(&wanted),
            refused: device.check(&wanted).err().map(|error| error.to_string()),
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
        })
    }
}
