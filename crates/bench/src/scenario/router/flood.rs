//! Packets through the router for a time, and where those that count are counted.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};
use functions::route::Reason;
use kernel::{Mode, Program};
use traffic::Template;

use super::net::Net;
use super::way::Loaded;
use crate::hook::{ActiveHook, Span};

/// A flood through a router.
#[derive(Debug)]
pub struct Passage<'a> {
    pub net: &'a Net,
    /// The program that routes; without it, Linux does.
    pub program: Option<&'a Program>,
    /// Sent in turn.
    pub streams: &'a [Template],
    pub counted: Counted<'a>,
}

/// Where packets are counted.
#[derive(Debug)]
pub enum Counted<'a> {
    /// Where they arrive.
    Sink,
    /// Where answers arrive, which this program ends in the driver.
    Sender(&'a Program),
    /// Where they come in.
    Router,
    /// By the router, for one reason.
    Reason(&'a Loaded, Reason),
}

impl Passage<'_> {
    /// # Errors
    /// No packets are counted, or Linux routed although there is a program.
    pub fn measure(&self, window: Duration) -> Result<Span> {
        let net = self.net;
        let before = net.routed_by_linux()?;
        let _link = self.program.map(|program| net.attach(program)).transpose()?;
        let _ending = match &self.counted {
            Counted::Sender(program) => Some(net.sender.attach(program, Mode::Native)?),
            _ => None,
        };
        let flood = net.flood(self.streams, None, window)?;
        let start = self.ended()?;
        lab::until("packets after the router", PATIENCE, || {
            Ok(self.ended().is_ok_and(|ended| ended > start + WARM_UP).then_some(()))
        })?;
        let span = Span::of(&flood, self, || sleep(window))?;
        let by_linux = net.routed_by_linux()? - before;
        let is_few = by_linux < span.ended / 100;
        ensure!(is_few == self.program.is_some(), "Linux routed {by_linux} packets");
        Ok(span)
    }
}

impl ActiveHook for Passage<'_> {
    fn ended(&self) -> Result<u64> {
        Ok(match &self.counted {
            Counted::Sink => self.net.arrived()?,
            Counted::Sender(_) => self.net.sender.statistics()?.rx_packets,
            Counted::Router => self.net.near.statistics()?.rx_packets,
            Counted::Reason(router, reason) => router.statistics()?.reason(reason.label()).packets,
        })
    }
}

const PATIENCE: Duration = Duration::from_secs(5);
/// Packets that arrive before the clock starts.
const WARM_UP: u64 = 1000;
