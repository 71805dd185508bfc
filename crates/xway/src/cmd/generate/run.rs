//! A run from its start to its report: sends, shows progress, and counts arriving frames on
//! request.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use control::metrics;
use sys::net::ethtool::Ethtool;
use sys::netns::NetNs;
use sys::signal::Stop;
use traffic::generator::{Config, Generator, Interval, Snapshot};
use traffic::sink::{self, Judgement, Sink, SinkConfig, SinkReport};

use super::settings;
use crate::args::generate::{SendArgs, SinkSide};
use crate::cmd::sink::settle;
use crate::cmd::watch::Watch;
use crate::cmd::{Context, Exit};
use crate::view::generate::{Sending, Sent};

pub struct Run<'a> {
    pub args: &'a SendArgs,
    pub config: Config,
    /// Ids and names of the streams, in their order.
    pub names: Vec<(u16, String)>,
    /// File to which the first frames were written.
    pub capture: Option<PathBuf>,
    /// Packets of a recording to which an Ethernet header was added, by link type.
    pub framed: Option<BTreeMap<String, u64>>,
}

impl Run<'_> {
    pub fn carry_out(self, stop: &Stop, context: &Context) -> Result<Exit> {
        let sink = start_sink(&self.args.sink)?;
        let monitor = (self.args.monitor.interval, self.args.monitor.prometheus);
        let mut watch = Watch::new(monitor, Sending::HEIGHT, context)?;
        let generator = Generator::start(self.config.clone())?;
        watch.begin();
        let mut look = Look::new(&self, generator.snapshot()?);
        let mut over = false;
        while !over && !generator.is_done() {
            over = stop.wait(POLL_INTERVAL)?.is_some();
            if watch.is_due() {
                over |= !look.tell(&generator, sink.as_ref(), &mut watch)?;
            }
        }
        let report = if over { generator.stop()? } else { generator.wait()? };
        let mut received = sink.map(finish).transpose()?;
        watch.publish(|| metrics::page(Some((&report.totals, &look.names)), received.as_ref()));
        drop(watch);
        if let Some(received) = &mut received
            && received.streams.len() == self.names.len()
        {
            received.exclude_unsent(report.totals.not_sent);
        }
        let bad = received.as_ref().is_some_and(|received| !Judgement::of(received).good);
        if let Some(received) = &mut received {
            received.name_streams(&self.names);
        }
        let summary = report.summary(&self.names, &self.config.profile);
        let nothing = summary.sent == 0 && !summary.stopped;
        let missed = summary.missed.is_some_and(|missed| missed > TOLERANCE);
        let link_bps = link_bps(&self.config.interface);
        let Self { capture, framed, .. } = self;
        let sent = Sent { summary, link_bps, capture, sink: received, framed };
        context.show_next(&sent)?;
        let failed = nothing || (missed && !self.args.allow_miss) || (self.args.sink.judge && bad);
        Ok(if failed { Exit::No } else { Exit::Done })
    }
}

/// Speed of the interface's link; `None` if it is unknown.
fn link_bps(interface: &str) -> Option<f64> {
    let speed = Ethtool::open().and_then(|ethtool| ethtool.speed_mbit(interface));
    speed.ok().flatten().map(|mbit| f64::from(mbit) * 1e6)
}

/// Progress of a generator, and of the sink beside it.
struct Look<'a> {
    config: &'a Config,
    names: Vec<String>,
    sent: Snapshot,
    received: SinkReport,
    history: Vec<u64>,
}

impl<'a> Look<'a> {
    fn new(run: &'a Run<'_>, sent: Snapshot) -> Self {
        let names = run.names.iter().map(|(_, name)| name.clone()).collect();
        let received = SinkReport::default();
        Self { config: &run.config, names, sent, received, history: Vec::new() }
    }

    /// Returns `false` if standard output was closed.
    fn tell(
        &mut self,
        generator: &Generator,
        sink: Option<&Sink>,
        watch: &mut Watch<'_>,
    ) -> Result<bool> {
        let now = generator.snapshot()?;
        let interval = Interval::between(&self.sent, &now);
        let mut arrivals = None;
        if let Some(sink) = sink {
            let received = sink.snapshot()?;
            arrivals = Some(sink::Interval::between(&self.received, &received));
            self.received = received;
        }
        let arrived = sink.map(|_| &self.received);
        watch.publish(|| metrics::page(Some((&now, &self.names)), arrived));
        if self.history.len() >= Sending::HISTORY {
            self.history.remove(0);
        }
        self.history.push(interval.pps as u64);
        let done = settings::progress(self.config, now.sent + now.not_sent, now.elapsed);
        self.sent = now;
        watch.tell(&Sending { interval, sink: arrivals, done, history: self.history.clone() })
    }
}

/// In the namespace that was named, where one was.
pub fn start_sink(side: &SinkSide) -> Result<Option<Sink>> {
    let Some(interface) = &side.sink else { return Ok(None) };
    listen(interface, side.sink_netns.as_deref()).map(Some)
}

pub fn listen(interface: &str, netns: Option<&str>) -> Result<Sink> {
    let config = SinkConfig::new(interface);
    let started = match netns {
        Some(name) => NetNs::open(name)?.enter(|| Sink::start(&config))?,
        None => Sink::start(&config),
    };
    started.with_context(|| format!("cannot listen on {interface}"))
}

/// Waits until the sink has received the end of the sender's streams and later frames, or a
/// timeout.
fn finish(sink: Sink) -> Result<SinkReport> {
    let end = Instant::now() + END_PATIENCE;
    while Instant::now() < end && !sink.all_ended()? {
        std::thread::sleep(POLL_INTERVAL);
    }
    settle(&sink)?;
    Ok(sink.stop()?)
}

/// Share of the rate that may be missed.
const TOLERANCE: f64 = 0.01;
/// How soon an end or a signal is seen.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// For the sender's end to arrive.
const END_PATIENCE: Duration = Duration::from_millis(500);
