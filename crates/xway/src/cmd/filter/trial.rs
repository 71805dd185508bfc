//! `filter try`: runs new rules beside the active ones, on the same packets, without effect.
//!
//! Rule: see `control::filter::trial`. Not here: how both rule sets run in one program.

use std::time::{Duration, Instant};

use anyhow::Result;
use control::filter::comparison::{ChangedSample, DecisionReport, TrialHead, TrialReport};
use control::filter::source;
use control::filter::trial::{Ended, Trial};
use control::filter::update::Update;
use filter::Ruleset;
use filter::runtime::trial::ChangedPacket;
use packet::dissect::dissect;
use sys::signal::Stop;

use super::capture::Capture;
use crate::args::FilterTryArgs;
use crate::cmd::{Context, Exit};

pub fn run(args: &FilterTryArgs, context: &Context) -> Result<Exit> {
    let new = source::read(&args.file)?.ruleset;
    let stop = Stop::new()?;
    let capture = args.write.as_deref();
    let mut capture = capture.map(|path| Capture::create(path, &args.iface)).transpose()?;
    let (old, trial) = begin(args, context, &new)?;
    let mut samples = Vec::new();
    let begin = Instant::now();
    let ended = trial.watch(args.time, &stop, |changed| -> Result<()> {
        if let Some(capture) = &mut capture {
            capture.write(&changed)?;
        }
        if samples.len() < args.samples {
            samples.push(sample(&changed, [&old, &new], begin.elapsed()));
        }
        Ok(())
    })?;
    let pairs = trial.pairs()?;
    let seconds = begin.elapsed().as_secs_f64();
    drop(trial);
    let head = TrialHead { interface: args.iface.clone(), seconds, ended };
    let tried = TrialReport::new(head, &pairs, [&old, &new], samples);
    let is_same = tried.changed.packets == 0 && ended != Ended::RulesChanged;
    let exit = if is_same { Exit::Done } else { Exit::No };
    if let Some(capture) = capture {
        capture.finish()?;
    }
    context.show(&tried)?;
    Ok(exit)
}

/// The active rules, and a trial of new ones beside them. The writers' lock is held until it runs.
fn begin(args: &FilterTryArgs, context: &Context, new: &Ruleset) -> Result<(Ruleset, Trial)> {
    let update = Update::begin(&context.control, &args.iface)?;
    let old = update.required()?.rules()?;
    let trial = Trial::start(&context.control, &update, new)?;
    Ok((old, trial))
}

fn sample(changed: &ChangedPacket, [old, new]: [&Ruleset; 2], at: Duration) -> ChangedSample {
    ChangedSample {
        t: at.as_secs_f64(),
        packet: dissect(&changed.bytes).summary,
        length: changed.length,
        old: DecisionReport::new(&changed.old, old),
        new: DecisionReport::new(&changed.new, new),
    }
}
