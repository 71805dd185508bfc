//! Progress of a sink.

use std::time::{Duration, Instant};

use anyhow::Result;
use control::metrics;
use traffic::sink::{Interval, Sink, SinkReport};

use crate::args::MonitorArgs;
use crate::cmd::Context;
use crate::cmd::watch::Watch;
use crate::view::sink::Arriving;

/// The last reading of a sink, and the receiver of progress.
#[derive(Debug)]
pub struct Arrivals<'a> {
    watch: Watch<'a>,
    last: SinkReport,
}

impl<'a> Arrivals<'a> {
    pub fn new(monitor: MonitorArgs, context: &'a Context) -> Result<Self> {
        let watch = Watch::new((monitor.interval, monitor.prometheus), HEIGHT, context)?;
        watch.publish(|| metrics::page(None, Some(&SinkReport::default())));
        Ok(Self { watch, last: SinkReport::default() })
    }

    /// Reports progress when it is due. Returns `false` if standard output was closed.
    pub fn look(&mut self, sink: &Sink) -> Result<bool> {
        if !self.watch.is_due() {
            return Ok(true);
        }
        let now = sink.snapshot()?;
        let interval = Interval::between(&self.last, &now);
        self.watch.publish(|| metrics::page(None, Some(&now)));
        self.last = now.clone();
        self.watch.tell(&Arriving { interval, totals: now })
    }
}

/// Waits for frames that are still on their way: until none came for a while, or for too long.
pub fn settle(sink: &Sink) -> Result<()> {
    let end = Instant::now() + SETTLE_MAX;
    let mut seen = sink.snapshot()?.received();
    while Instant::now() < end {
        std::thread::sleep(SETTLE);
        let now = sink.snapshot()?.received();
        if now == seen {
            break;
        }
        seen = now;
    }
    Ok(())
}

/// Rows on a terminal.
const HEIGHT: u16 = 14;
/// Time after which all frames on other queues of this machine have arrived.
const SETTLE: Duration = Duration::from_millis(20);
const SETTLE_MAX: Duration = Duration::from_secs(2);
