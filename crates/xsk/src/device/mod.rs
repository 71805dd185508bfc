//! An interface as it is: queues, sizes, and what its driver can do for `AF_XDP`.
//!
//! Rule: a [`Device`] is what the kernel said when it was opened, and nothing in it is guessed:
//! what this kernel does not tell is `None`. Whether options fit it is [`check`](Device::check),
//! which asks nobody. Not here: who holds a queue ([`diagnose`](crate::diagnose)).

mod check;
mod open;
mod report;

pub use check::Wanted;
pub use report::{Abilities, DeviceReport};

use sys::net::{Ifindex, XdpFeatures};

/// One interface of the network namespace that it was opened in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    pub ifindex: Ifindex,
    /// The driver, such as `ice`, or the kind of a virtual interface, such as `veth`.
    pub driver: String,
    /// Bytes behind the Ethernet header.
    pub mtu: u32,
    /// Switched on by its administrator.
    pub up: bool,
    /// Up, with a link to somebody.
    pub running: bool,
    pub queues: Queues,
    /// The NUMA node that it hangs on; `None` for virtual interfaces.
    pub node: Option<u32>,
    /// What its driver says of XDP; Linux before 6.3 does not tell.
    pub features: Option<XdpFeatures>,
}

/// How many queues are in use. They are numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    pub rx: u32,
    pub tx: u32,
    /// As many as `ethtool -L` can set, where the driver knows.
    pub most: Option<u32>,
}

impl Queues {
    /// Queues that receive and transmit.
    pub fn both(self) -> u32 {
        self.rx.min(self.tx)
    }
}
