//! Two ends of a link: one floods, the other is measured. Both are hosts of a lab, or named cards
//! (`card`). Or three hosts of a lab in a [`Line`].
//!
//! Rule: everything that a scenario changes goes through a [`Place`], which knows whether it is a
//! host of the lab or a named interface; no other interface is touched. On veth the
//! receiver's work is done on the sender's processor, so a rate is of both together.

mod card;
mod cpus;
mod flood;
mod leftover;
mod line;
mod owner;
mod place;
mod polling;
mod spoof;
mod worker;

pub use cpus::Cpus;
pub use flood::Flood;
pub use line::{FORWARD, Line};
pub use owner::name;
pub use place::Place;
pub use polling::Attribute;
pub use spoof::{Attack, SOURCES, invented};
pub use worker::Worker;

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::Result;
use lab::frame::{Flow, Side};
use lab::{LinkOptions, TwoHosts};

use crate::Testbed;

/// What hooks are measured on.
#[derive(Debug)]
pub struct Field {
    /// The end that floods.
    pub sender: Place,
    /// The end that is measured.
    pub receiver: Place,
    /// Processor of the flood.
    pub sender_cpu: usize,
    /// Processor of the receiver's process: another one, if there is any.
    pub receiver_cpu: usize,
    _lab: Option<TwoHosts>,
}

impl Field {
    /// # Errors
    /// When the lab cannot be created, or the interfaces cannot be used.
    pub fn build(testbed: &Testbed) -> Result<Self> {
        match testbed {
            Testbed::Lab => Self::lab(&LinkOptions::default()),
            Testbed::Nic { iface, peer } => Self::cards(iface, peer),
        }
    }

    /// Builds a field in a lab with the given options of its link.
    ///
    /// # Errors
    /// When the lab cannot be created.
    pub fn lab(options: &LinkOptions) -> Result<Self> {
        let net = TwoHosts::build(options)?;
        let place = |host: &lab::Host| Place::lab(host.clone(), LINK);
        let Cpus { sender: sender_cpu, process: receiver_cpu } = Cpus::here()?;
        let (sender, receiver) = (place(&net.a), place(&net.b));
        Ok(Self { sender, receiver, sender_cpu, receiver_cpu, _lab: Some(net) })
    }

    /// Removes what killed runs left, then prepares the field.
    fn cards(iface: &str, peer: &str) -> Result<Self> {
        let (sender, receiver) = card::open(iface, peer)?;
        leftover::sweep(&receiver)?;
        let busy = card::interrupted(&receiver);
        let (sender_cpu, receiver_cpu) = card::processors(&sys::cpu::affinity()?, &busy)?;
        Ok(Self { sender, receiver, sender_cpu, receiver_cpu, _lab: None })
    }

    /// Whether it is known how many frames were sent: another host does not report them.
    pub fn is_offer_known(&self) -> bool {
        !self.sender.is_away()
    }

    /// Whether the sender and the receiver's kernel work on one processor, as on veth.
    pub fn is_shared(&self) -> bool {
        self.is_offer_known() && card::interrupted(&self.receiver).is_empty()
    }

    /// Source and destination of frames.
    pub fn addresses(&self) -> Result<(Ipv4Addr, Ipv4Addr)> {
        match self.receiver.is_home() {
            true => card::addresses(&self.receiver),
            false => Ok((self.sender.ipv4()?, self.receiver.ipv4()?)),
        }
    }

    /// Two places of a lab that the caller owns.
    pub fn between(sender: Place, receiver: Place, sender_cpu: usize, receiver_cpu: usize) -> Self {
        Self { sender, receiver, sender_cpu, receiver_cpu, _lab: None }
    }

    /// Which hosts share a processor, for the report.
    pub fn facts(&self) -> String {
        let busy = card::interrupted(&self.receiver);
        if !busy.is_empty() {
            let busy = busy.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            return format!(
                "{} sends to {}, on processor {} if it is of this host; the receiver's interrupts \
                 come to processors {busy}; its processes run on processor {}",
                self.sender, self.receiver, self.sender_cpu, self.receiver_cpu
            );
        }
        let alone = self.sender_cpu != self.receiver_cpu;
        let processes = if alone { "have one of their own" } else { "share it" };
        format!(
            "veth: the sender, and the receiver up to its sockets, run on processor {}; processes \
             of the receiver {processes} (processor {})",
            self.sender_cpu, self.receiver_cpu
        )
    }

    /// A UDP frame of 60 bytes, checksum set, from the sender to a port of the receiver.
    pub fn frame(&self, port: u16) -> Result<Vec<u8>> {
        let (from, to) = self.addresses()?;
        let side = |place: &Place, ip: Ipv4Addr| -> Result<Side> {
            Ok(Side { mac: place.mac()?, ip: ip.into(), port })
        };
        Ok(Flow::new(side(&self.sender, from)?, side(&self.receiver, to)?).udp_of_length(FRAME)?)
    }

    /// Frames to [`PORT`] at the highest rate whenever the flood is resumed, in a lab.
    pub fn held_flood(&self, longest: Duration) -> Result<Flood> {
        Flood::held(self, self.frame(PORT)?, longest)
    }

    /// Frames to [`PORT`] at the highest rate, or at `rate` frames per second, for at most
    /// `longest`.
    pub fn flood(&self, rate: Option<u64>, longest: Duration) -> Result<Flood> {
        Flood::start(self, self.frame(PORT)?, rate, longest)
    }
}

/// Destination port of the flood.
pub const PORT: u16 = 1234;
/// Bytes of a frame without its checksum: the least that Ethernet has.
pub const FRAME: usize = 60;
const LINK: &str = "eth0";
