//! Three hosts in a line: one floods, one forwards, one counts arriving packets.
//!
//! ```text
//!   a, sender            b, forwarder            c, sink
//!   eth0 ─────────────── eth0 eth1 ─────────────── eth0
//!   10.0.1.2       10.0.1.1   10.0.2.1       10.0.2.2
//! ```
//! Rule: the forwarder forwards nothing until a forwarding path is set up on it.

use std::time::Duration;

use anyhow::Result;
use lab::frame::{Flow, Side};
use lab::{Host, LinkOptions, Router};
use traffic::Template;

use super::{Cpus, FRAME, Flood, PORT, Place};
use crate::Testbed;

/// The hosts on which forwarding paths are measured.
#[derive(Debug)]
pub struct Line {
    /// The host that floods.
    pub sender: Place,
    /// The forwarder's interface towards the sender.
    pub near: Place,
    /// The forwarder's interface towards the sink.
    pub far: Place,
    /// The host at which packets arrive.
    pub sink: Place,
    /// The host between the two, which is measured.
    pub forwarder: Host,
    /// The processors of the flood, the forwarder and the sink.
    pub cpus: Cpus,
    _lab: Router,
}

impl Line {
    /// # Errors
    /// When the lab cannot be created.
    pub fn build(testbed: &Testbed) -> Result<Self> {
        testbed.lab_only()?;
        let net = Router::build(&LinkOptions::default())?;
        net.b.set_sysctl(FORWARD, "0")?;
        Ok(Self {
            sender: Place::lab(net.a.clone(), "eth0"),
            near: Place::lab(net.b.clone(), "eth0"),
            far: Place::lab(net.b.clone(), "eth1"),
            sink: Place::lab(net.c.clone(), "eth0"),
            forwarder: net.b.clone(),
            cpus: Cpus::here()?,
            _lab: net,
        })
    }

    /// Which hosts share a processor, for the report.
    pub fn facts(&self) -> String {
        let Cpus { sender, process } = self.cpus;
        let with = if sender == process { "with them" } else { "alone" };
        format!(
            "veth: the sender, the forwarder's kernel and the sink run on processor {sender}; \
             processes of the forwarder run {with} on processor {process}, and what they send is \
             received there"
        )
    }

    /// UDP of 60 bytes with its checksum, from the sender to the address of `ip`, addressed to the
    /// interface of `mac`.
    pub fn frame(&self, mac: &Place, ip: &Place) -> Result<Vec<u8>> {
        Ok(self.flow(mac, ip)?.udp(&PAYLOAD)?)
    }

    /// UDP of 60 bytes without a checksum and with zeros as payload.
    pub fn blank(&self, mac: &Place, ip: &Place) -> Result<Vec<u8>> {
        Ok(self.flow(mac, ip)?.udp_of_length(FRAME)?)
    }

    fn flow(&self, mac: &Place, ip: &Place) -> Result<Flow> {
        let source = Side { mac: self.sender.mac()?, ip: self.sender.ipv4()?.into(), port: PORT };
        let target = Side { mac: mac.mac()?, ip: ip.ipv4()?.into(), port: PORT };
        Ok(Flow::new(source, target))
    }

    /// Sends this frame as fast as possible, for at most `longest`.
    pub fn flood(&self, frame: Vec<u8>, longest: Duration) -> Result<Flood> {
        let streams = vec![Template::constant("flood", frame)];
        Flood::streams(&self.sender, self.cpus.sender, streams, None, longest)
    }
}

/// The setting that lets a host forward.
pub const FORWARD: &str = "ipv4/ip_forward";
/// Fills a frame up to the minimum length.
const PAYLOAD: [u8; 18] = *b"expressway forward";
