//! Attributes of an interface: queues, sizes, and the abilities of its driver for `AF_XDP`.
//!
//! Rule: a [`Device`] has the attributes that the kernel reported when it was opened, and nothing
//! is guessed: an attribute that the kernel does not report is `None`. [`check`](Device::check)
//! compares options with them, without system calls. The holders of a queue are found by
//! [`diagnose`](crate::diagnose).

mod check;
mod open;
mod report;

pub use check::Wanted;
pub use report::{Abilities, DeviceReport};

use sys::net::{Ifindex, XdpFeatures};

/// Attributes of one interface of the network namespace in which it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Name of the interface.
    pub name: String,
    /// Index of the interface.
    pub ifindex: Ifindex,
    /// The driver, such as `ice`, or the kind of a virtual interface, such as `veth`.
    pub driver: String,
    /// Most bytes of a packet after the Ethernet header.
    pub mtu: u32,
    /// Administratively up.
    pub up: bool,
    /// Up, with a carrier.
    pub running: bool,
    /// Number of its queues.
    pub queues: Queues,
    /// The NUMA node of the device; `None` for virtual interfaces.
    pub node: Option<u32>,
    /// XDP features of the driver; `None` before Linux 6.3.
    pub features: Option<XdpFeatures>,
}

/// Number of queues in use; they are numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// Receive queues.
    pub rx: u32,
    /// Transmit queues.
    pub tx: u32,
    /// Most queues that `ethtool -L` can set up, if the driver reports it.
    pub most: Option<u32>,
}

impl Queues {
    /// Number of queues that both receive and transmit.
    pub fn both(self) -> u32 {
        self.rx.min(self.tx)
    }
}
