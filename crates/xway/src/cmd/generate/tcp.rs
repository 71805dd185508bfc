//! `gen tcp`: connections from their opening to their answer.

use std::time::Duration;

use anyhow::{Result, bail};
use control::metrics;
use sys::signal::Stop;
use traffic::Rate;
use traffic::tcp::{Algorithm, Config, Interval, Run, Snapshot};

use super::guard;
use crate::args::generate::{AlgorithmArg, TcpArgs};
use crate::cmd::watch::Watch;
use crate::cmd::{Context, Exit};
use crate::view::tcp::HEIGHT;

pub fn run(args: &TcpArgs, stop: &Stop, context: &Context) -> Result<Exit> {
    let config = config(args)?;
    if !args.force {
        let rate = config.rate_bps.map_or(Rate::Max, |bps| Rate::BitsPerSecond(bps as f64));
        guard::check(&args.dev, rate, SEGMENT)?;
    }
    let telling = (args.telling.interval, args.telling.prometheus);
    let mut watch = Watch::new(telling, HEIGHT, context)?;
    let run = Run::start(&config)?;
    let mut last = Snapshot::default();
    let mut over = false;
    while !over && !run.is_done() {
        over = stop.wait(LOOK_EVERY)?.is_some();
        if watch.is_due() {
            let now = run.snapshot()?;
            watch.publish(|| metrics::connections(&now));
            over |= !watch.tell(&Interval::between(&last, &now))?;
            last = now;
        }
    }
    let report = if over { run.stop()? } else { run.wait()? };
    drop(watch);
    context.show_next(&report.summary(args.each))?;
    Ok(if report.totals.established == 0 { Exit::No } else { Exit::Done })
}

fn config(args: &TcpArgs) -> Result<Config> {
    let default = Config::new(&args.dev, args.to);
    let Ok(flows) = u32::try_from(args.flows) else { bail!("so many connections there cannot be") };
    let rate_bps = match args.rate {
        None | Some(Rate::Max) => None,
        Some(Rate::BitsPerSecond(bps)) => Some(bps as u64),
        Some(Rate::PacketsPerSecond(_)) => bail!("connections are paced in bits: --rate 2gbps"),
    };
    Ok(Config {
        source: args.src,
        sources: args.sources,
        ports: args.sport.clone(),
        flows,
        cpus: args.cpus.clone().map(|cpus| cpus.0).unwrap_or_default(),
        algorithm: match args.algorithm {
            AlgorithmArg::NewReno => Algorithm::NewReno,
            AlgorithmArg::Cubic => Algorithm::Cubic,
        },
        mss: args.mss,
        bytes: args.bytes,
        // What has an end by its bytes needs none by time.
        duration: args.time.or(default.duration.filter(|_| args.bytes.is_none())),
        rate_bps,
        opens_per_second: args.opens,
        quantum: args.quantum,
        batch: args.batch,
        ..default
    })
}

/// Bytes of a frame, for the guard.
const SEGMENT: f64 = 1514.0;
const LOOK_EVERY: Duration = Duration::from_millis(10);
