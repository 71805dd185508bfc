//! Executes a measurement: for each load the rate, then bursts, then latency.

use std::ops::ControlFlow;

use super::bench::{Bench, Halt, Observer};
use super::config::{Bursts, Config, Load};
use super::report::{Burst, Latency, NdrReport, Progress, Purpose, Row, Trial};
use super::search::{Options, Outcome, Search, Seen};
use crate::error::Result;
use crate::sink::Sink;

/// Measures the device between the generator's interface, in the network namespace of the calling
/// thread, and the sink. `observer` receives the progress, and ends the measurement by `Break`; the
/// report then has the finished rows.
///
/// # Errors
/// As [`Generator::start`](crate::generator::Generator::start); and
/// [`Error::Config`](crate::Error::Config) when streams have no stamps, or there are more, over all
/// loads, than a sink counts.
pub fn measure(
    config: &Config,
    sink: &Sink,
    observer: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<NdrReport> {
    config.check()?;
    Search::new(config.rate.clone())?;
    let Options { loss, resolution, .. } = config.rate;
    let mut report = NdrReport { loss, resolution, rows: Vec::new(), stopped: false };
    let mut first = 0;
    for (index, load) in config.loads.iter().enumerate() {
        let (size, of) = (load.size, config.loads.len());
        let mut row = || -> Result<Row, Halt> {
            proceed(observer(Progress::Load { size, index, of }))?;
            let bench = Bench::new(config, load, first, sink)?;
            let row = Rows { config, load, bench, observer, trials: Vec::new() }.measure()?;
            proceed(observer(Progress::Row(&row)))?;
            Ok(row)
        };
        match row() {
            Ok(row) => report.rows.push(row),
            Err(Halt::Failed(error)) => return Err(*error),
            Err(Halt::Stopped) => {
                report.stopped = true;
                break;
            }
        }
        first += load.streams.len() as u16;
    }
    Ok(report)
}

/// The measurement of one row.
struct Rows<'a, 'b> {
    config: &'a Config,
    load: &'a Load,
    bench: Bench<'a>,
    observer: &'a mut Observer<'b>,
    trials: Vec<Trial>,
}

impl Rows<'_, '_> {
    fn measure(mut self) -> Result<Row, Halt> {
        let outcome = self.rate()?;
        let burst = match self.config.bursts {
            Some(bursts) => Some(self.burst(bursts)?),
            None => None,
        };
        let pps = outcome.found.map(|found| found.level);
        let latencies = match pps {
            Some(pps) => self.latencies(pps)?,
            None => Vec::new(),
        };
        let bytes = self.bench.mean_bytes()?;
        Ok(Row {
            size: self.load.size,
            bytes,
            pps,
            gbit_per_second: pps.map(|pps| pps * bytes * 8.0 / 1e9),
            loss: outcome.found.map(|found| found.loss),
            above_pps: outcome.above.map(|above| above.level),
            above_loss: outcome.above.map(|above| above.loss),
            binding: outcome.binding,
            steady: outcome.steady,
            burst,
            latencies,
            trials: self.trials,
        })
    }

    fn rate(&mut self) -> Result<Outcome, Halt> {
        let mut search = Search::new(self.config.rate.clone())?;
        while let Some(pps) = search.next() {
            let (trial, _) =
                self.bench.rate(Purpose::Rate, pps, self.config.trial, self.observer)?;
            search.record(Seen { level: trial.offered_pps, loss: trial.loss });
            self.note(trial)?;
        }
        Ok(search.outcome())
    }

    fn burst(&mut self, bursts: Bursts) -> Result<Burst, Halt> {
        let mut search = Search::new(Options {
            floor: 1.0,
            ceiling: bursts.longest as f64,
            confirmations: bursts.repeats,
            trials: self.config.rate.trials + bursts.repeats,
            ..self.config.rate.clone()
        })?;
        while let Some(frames) = search.next() {
            let trial = self.bench.burst(frames.round() as u64, self.observer)?;
            search.record(Seen { level: trial.sent as f64, loss: trial.loss });
            self.note(trial)?;
        }
        let outcome = search.outcome();
        let frames = outcome.found.map(|found| found.level as u64);
        Ok(Burst { frames, binding: outcome.binding })
    }

    fn latencies(&mut self, pps: f64) -> Result<Vec<Latency>, Halt> {
        let mut latencies = Vec::new();
        for share in &self.config.shares {
            let time = self.config.latency;
            let (trial, counts) =
                self.bench.rate(Purpose::Latency, pps * share, time, self.observer)?;
            latencies.push(Latency {
                share: *share,
                pps: trial.offered_pps,
                lost: trial.lost,
                latency_ns: counts.latency_ns,
                jitter_ns: counts.jitter_ns,
            });
            self.note(trial)?;
        }
        Ok(latencies)
    }

    fn note(&mut self, trial: Trial) -> Result<(), Halt> {
        self.trials.push(trial);
        match self.trials.last() {
            Some(trial) => proceed((self.observer)(Progress::Trial(trial))),
            None => Ok(()),
        }
    }
}

fn proceed(answer: ControlFlow<()>) -> Result<(), Halt> {
    match answer {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Halt::Stopped),
    }
}
