//! Looking at a sink while it listens.

use std::time::{Duration, Instant};

use anyhow::Result;
use control::metrics;
use traffic::sink::{Interval, Sink, SinkReport};

use crate::args::Telling;
use crate::cmd::Context;
use crate::cmd::watch::Watch;
use crate::view::sink::Arriving;

/// What was seen last, and who is told.
#[derive(Debug)]
pub struct Arrivals<'a> {
    watch: Watch<'a>,
    last: SinkReport,
}

impl<'a> Arrivals<'a> {
    pub fn new(telling: Telling, context: &'a Context) -> Result<Self> {
        let watch = Watch::new((telling.interval, telling.prometheus), HEIGHT, context)?;
        watch.publish(|| metrics::page(None, Some(&SinkReport::default())));
        Ok(Self { watch, last: SinkReport::default() })
    }

    /// Tells of the sink where it is time to. `false` when nobody reads on.
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
/// Longer than a frame stays on another queue of the same machine.
const SETTLE: Duration = Duration::from_millis(20);
const SETTLE_MAX: Duration = Duration::from_secs(2);
