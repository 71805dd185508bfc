//! A run from its start to its answer: sends, looks on, counts what arrives where that is asked.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use control::metrics;
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
    /// Of the first frames, where it was written.
    pub capture: Option<PathBuf>,
}

impl Run<'_> {
    pub fn carry_out(self, stop: &Stop, context: &Context) -> Result<Exit> {
        let sink = start_sink(&self.args.sink)?;
        let telling = (self.args.telling.interval, self.args.telling.prometheus);
        let mut watch = Watch::new(telling, Sending::HEIGHT, context)?;
        let generator = Generator::start(self.config.clone())?;
        watch.begin();
        let mut look = Look::new(&self, generator.snapshot()?);
        let mut over = false;
        while !over && !generator.is_done() {
            over = stop.wait(LOOK_EVERY)?.is_some();
            if watch.is_due() {
                over |= !look.tell(&generator, sink.as_ref(), &mut watch)?;
            }
        }
        let report = if over { generator.stop()? } else { generator.wait()? };
        let mut received = sink.map(finish).transpose()?;
        watch.publish(|| metrics::page(Some((&report.totals, &look.names)), received.as_ref()));
        drop(watch);
        let bad = received.as_ref().is_some_and(|received| !Judgement::of(received).good);
        if let Some(received) = &mut received {
            received.name_streams(&self.names);
        }
        let summary = report.summary(&self.names);
        let nothing = summary.sent == 0 && !summary.stopped;
        let sent = Sent { summary, capture: self.capture, sink: received };
        context.show_next(&sent)?;
        Ok(if nothing || (self.args.sink.judge && bad) { Exit::No } else { Exit::Done })
    }
}

/// Looking at a generator, and at the sink beside it, while they run.
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

    /// `false` when nobody reads on.
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

/// Waits for the sender's end, or until it must be lost, and for what is behind it.
fn finish(sink: Sink) -> Result<SinkReport> {
    let end = Instant::now() + END_PATIENCE;
    while Instant::now() < end && !sink.all_ended()? {
        std::thread::sleep(LOOK_EVERY);
    }
    settle(&sink)?;
    Ok(sink.stop()?)
}

/// How soon an end or a signal is seen.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// For the sender's end to arrive.
const END_PATIENCE: Duration = Duration::from_millis(500);
