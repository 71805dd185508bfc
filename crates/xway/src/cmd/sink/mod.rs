//! `sink`: counts arriving frames on an interface until a time or a signal, and judges them.

mod arrivals;

use std::time::{Duration, Instant};

use anyhow::Result;
use sys::signal::Stop;
use traffic::limits;
use traffic::sink::{Clocks, FrameAction, Judgement, Sink, SinkConfig, Via};

use self::arrivals::Arrivals;
use super::{Context, Exit};
use crate::args::{SinkArgs, ViaArg};

pub use arrivals::settle;

pub fn run(args: &SinkArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let sink = Sink::start(&config(args))?;
    let mut arrivals = Arrivals::new(args.monitor, context)?;
    let end = Instant::now() + args.time.unwrap_or(limits::DURATION).min(limits::DURATION);
    while Instant::now() < end {
        let left = end.saturating_duration_since(Instant::now());
        if stop.wait(left.min(POLL_INTERVAL))?.is_some() || !arrivals.look(&sink)? {
            break;
        }
        if args.until_end && sink.all_ended()? {
            settle(&sink)?;
            break;
        }
    }
    drop(arrivals);
    let received = sink.stop()?;
    context.show_next(&received)?;
    Ok(if args.judge && !Judgement::of(&received).good { Exit::No } else { Exit::Done })
}

fn config(args: &SinkArgs) -> SinkConfig {
    let via = match (args.via, args.mode) {
        (ViaArg::Stack, _) => Via::Stack,
        (ViaArg::Xdp, None) => Via::Xdp,
        (ViaArg::Xdp, Some(mode)) => Via::XdpIn(mode.into()),
    };
    let action = match (args.reflect, args.pass) {
        (true, _) => FrameAction::Reflect,
        (false, true) => FrameAction::Pass,
        (false, false) => FrameAction::Drop,
    };
    let clocks = if args.other_clock { Clocks::Apart } else { Clocks::Shared };
    SinkConfig { via, action, verify: !args.no_verify, clocks, ..SinkConfig::new(&args.iface) }
}

/// How soon the end is seen.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
