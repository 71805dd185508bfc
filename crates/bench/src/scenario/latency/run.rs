//! `LatencyRun`: stamped frames are sent through a device in one direction, and a sink measures how
//! long each took.
//!
//! Rule: sender, device and sink are on one machine, so stamps are compared with the clock that
//! wrote them. The device works on a processor of its own, woken by the sender's as by an
//! interrupt; the sink runs on the device's processor after it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use traffic::sink::{Sink, SinkConfig, StreamReport};
use traffic::{Expect, Template};

use super::times::Times;
use crate::field::{Flood, Line};
use crate::path::{ActivePath, BUSY_POLL, Path};

/// A path that is set up until this is dropped.
pub struct LatencyRun<'a> {
    line: &'a Line,
    path: &'a Path,
    set: Box<dyn ActivePath>,
}

impl<'a> LatencyRun<'a> {
    /// Sets up the path; from now on it works on the device's processor.
    pub fn begin(line: &'a Line, path: &'a Path) -> Result<Self> {
        // A path that polls the interface itself takes it from the kernel threads.
        if path.name != BUSY_POLL.name {
            line.near.poll_in_threads(line.cpus.process)?;
        }
        Ok(Self { line, path, set: (path.set)(line)? })
    }

    /// Sends frames at a rate during `window`, which begins when the first one has arrived.
    pub fn send(&mut self, pps: u64, window: Duration) -> Result<Times> {
        let Self { line, path, set } = self;
        let place = path.journey.end(line);
        let config =
            SinkConfig { verify: false, streams: 1, sources: 1, ..SinkConfig::new(place.device()) };
        let sink = place.run(|| Sink::start(&config))??;
        let mut stream = Template::constant("latency", path.journey.blank(line)?);
        stream.stamp = Some(Expect::Pass);
        let (cpu, longest) = (line.cpus.sender, window + PATIENCE);
        let flood = Flood::streams(&line.sender, cpu, vec![stream], Some(pps), longest)?;
        lab::until("the first frame's arrival", PATIENCE, || {
            Ok(seen(&sink).is_ok_and(|stream| stream.received > 0).then_some(()))
        })?;
        let look = || -> Result<_> { Ok((Instant::now(), flood.given(), seen(&sink)?)) };
        let start = look()?;
        sleep(window);
        let end = look()?;
        set.check()?;
        Times::between(start, end)
    }
}

/// The sink's report of the only stream.
fn seen(sink: &Sink) -> Result<StreamReport> {
    let report = sink.snapshot()?;
    report.streams.into_iter().next().context("nothing has arrived")
}

const PATIENCE: Duration = Duration::from_secs(5);
