//! Two ends of a link: one floods, the other is measured.
//!
//! Rule: everything that a scenario changes goes through a [`Place`], which knows whether it is a
//! host of the lab or an interface that somebody named; no other interface is touched. On veth the
//! receiver's work is done on the sender's processor, so a rate is of both together.

mod flood;
mod place;

pub use flood::Flood;
pub use place::Place;

use std::time::Duration;

use anyhow::{Context, Result};
use lab::frame::{Flow, Side};
use lab::{LinkOptions, TwoHosts};

use crate::Ground;

/// What hooks are measured on.
#[derive(Debug)]
pub struct Field {
    pub sender: Place,
    pub receiver: Place,
    /// Of the flood.
    pub sender_cpu: usize,
    /// For a process of the receiver: another one, if there is any.
    pub receiver_cpu: usize,
    _lab: Option<TwoHosts>,
}

impl Field {
    /// # Errors
    /// When the lab cannot be made, or the interfaces cannot be had.
    pub fn build(ground: &Ground) -> Result<Self> {
        ground.lab_only()?;
        let net = TwoHosts::build(&LinkOptions::default())?;
        let place = |host: &lab::Host| Place::lab(host.clone(), LINK);
        let cpus = sys::cpu::affinity()?;
        let sender_cpu = *cpus.last().context("no processor may be used")?;
        let receiver_cpu = *cpus.first().context("no processor may be used")?;
        let (sender, receiver) = (place(&net.a), place(&net.b));
        Ok(Self { sender, receiver, sender_cpu, receiver_cpu, _lab: Some(net) })
    }

    /// Who shares a processor with whom, for the report.
    pub fn facts(&self) -> String {
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
        let side = |place: &Place| -> Result<Side> {
            Ok(Side { mac: place.mac()?, ip: place.ipv4()?.into(), port })
        };
        Ok(Flow::new(side(&self.sender)?, side(&self.receiver)?).udp_of_length(FRAME)?)
    }

    /// Frames to [`PORT`] as fast as they go, or so many a second, for at most `longest`.
    pub fn flood(&self, rate: Option<u64>, longest: Duration) -> Result<Flood> {
        Flood::start(self, self.frame(PORT)?, rate, longest)
    }
}

/// That of the flood.
pub const PORT: u16 = 1234;
/// Bytes of a frame without its checksum: the least that Ethernet has.
pub const FRAME: usize = 60;
const LINK: &str = "eth0";
