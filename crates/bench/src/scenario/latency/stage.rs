//! A sender, a device between, and a sink that tells how long each frame took.
//!
//! Rule: sender, device and sink are one machine's, so stamps are compared with the clock that
//! wrote them. The device works on a processor of its own, woken by the sender's as by an
//! interrupt; the sink's part is done there behind it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use lab::frame::{Flow, Side};
use lab::{Lab, LinkOptions, Router, ThreeHosts};
use traffic::sink::{Sink, SinkConfig, StreamReport};
use traffic::{Expect, Template};

use super::times::Times;
use crate::field::{FRAME, Flood, PORT, Place};

/// Two links and what is between them.
#[derive(Debug)]
pub struct Stage {
    pub sender: Place,
    /// The device's interface towards the sender.
    pub near: Place,
    /// The one towards the sink.
    pub far: Place,
    pub sink: Place,
    /// Of the device.
    pub cpu: usize,
    sender_cpu: usize,
    /// As the sender sends them.
    frame: Vec<u8>,
    _lab: Lab,
}

impl Stage {
    /// Between them is a switch: a bridge.
    pub fn switched() -> Result<Self> {
        let ThreeHosts { lab, a, b, switch, .. } = ThreeHosts::build(&LinkOptions::default())?;
        let places = [(a, "eth0"), (switch.clone(), "port-a"), (switch, "port-b"), (b, "eth0")];
        let [sender, near, far, sink] = places.map(|(host, device)| Place::lab(host, device));
        let frame = frame(&sender, &sink, &sink)?;
        Self::of([sender, near, far, sink], frame, lab)
    }

    /// Between them is a router.
    pub fn routed() -> Result<Self> {
        let Router { lab, a, b, c } = Router::build(&LinkOptions::default())?;
        let places = [(a, "eth0"), (b.clone(), "eth0"), (b, "eth1"), (c, "eth0")];
        let [sender, near, far, sink] = places.map(|(host, device)| Place::lab(host, device));
        let frame = frame(&sender, &near, &sink)?;
        Self::of([sender, near, far, sink], frame, lab)
    }

    fn of([sender, near, far, sink]: [Place; 4], frame: Vec<u8>, lab: Lab) -> Result<Self> {
        let cpus = sys::cpu::affinity()?;
        let sender_cpu = *cpus.last().context("no processor may be used")?;
        let cpu = *cpus.first().context("no processor may be used")?;
        ensure!(sender_cpu != cpu, "the device needs a processor of its own, and there is one");
        Ok(Self { sender, near, far, sink, cpu, sender_cpu, frame, _lab: lab })
    }

    /// Who works where, for the report.
    pub fn facts(&self) -> String {
        format!(
            "veth: the sender runs on processor {}, the device and the sink behind it on {}.",
            self.sender_cpu, self.cpu
        )
    }

    /// Frames at a rate for so long, from when the first one has arrived.
    pub fn send(&self, pps: u64, window: Duration) -> Result<Times> {
        let config = SinkConfig {
            verify: false,
            streams: 1,
            sources: 1,
            ..SinkConfig::new(self.sink.device())
        };
        let sink = self.sink.run(|| Sink::start(&config))??;
        let mut stream = Template::constant("latency", self.frame.clone());
        stream.stamp = Some(Expect::Pass);
        let (cpu, longest) = (self.sender_cpu, window + PATIENCE);
        let flood = Flood::streams(&self.sender, cpu, vec![stream], Some(pps), longest)?;
        lab::until("the first frame's arrival", PATIENCE, || {
            Ok(seen(&sink).is_ok_and(|stream| stream.received > 0).then_some(()))
        })?;
        let look = || -> Result<_> { Ok((Instant::now(), flood.given(), seen(&sink)?)) };
        let start = look()?;
        sleep(window);
        Times::between(start, look()?)
    }
}

/// What the sink knows of the one stream.
fn seen(sink: &Sink) -> Result<StreamReport> {
    let report = sink.snapshot()?;
    report.streams.into_iter().next().context("nothing has arrived")
}

/// UDP without a checksum and without a payload, so that a stamp has room in it.
fn frame(sender: &Place, to: &Place, sink: &Place) -> Result<Vec<u8>> {
    let source = Side { mac: sender.mac()?, ip: sender.ipv4()?.into(), port: PORT };
    let target = Side { mac: to.mac()?, ip: sink.ipv4()?.into(), port: PORT };
    Ok(Flow::new(source, target).udp_of_length(FRAME)?)
}

const PATIENCE: Duration = Duration::from_secs(5);
