//! `filter try`: new rules beside those in force, on the same packets, without effect.
//!
//! Rule: the rules in force decide as ever, with their own maps; the program of before is back
//! when the trial is over. Killed in the middle, the program of the trial goes on deciding by the
//! rules in force, until the next command that changes or shows something puts the one of before
//! back. Who changes rules during a trial ends it.

use std::time::{Duration, Instant};

use anyhow::Result;
use control::filter::comparison::{ChangedSample, DecisionReport, TrialHead, TrialReport};
use control::filter::source;
use control::filter::trial::{Ended, Trial};
use control::filter::update::Update;
use filter::Ruleset;
use filter::runtime::trial::ChangedPacket;
use sys::signal::Stop;

use super::capture::Capture;
use crate::args::FilterTryArgs;
use crate::cmd::{Context, Exit};
use crate::dissect::dissect;

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

/// The rules in force, and the trial of new ones beside them. Nobody changes anything until it
/// runs.
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
