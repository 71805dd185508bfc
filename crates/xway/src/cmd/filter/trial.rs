//! `filter try`: new rules beside those in force, on the same packets, without effect.
//!
//! Rule: the rules in force decide as ever, with their own maps; the program of before is back
//! when the trial is over. Killed in the middle, the program of the trial goes on deciding by the
//! rules in force, until the next command that changes or shows something puts the one of before
//! back. Who changes rules during a trial ends it.

use std::fs::File;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use filter::Ruleset;
use filter::maps::{CHANGES, PAIRS};
use filter::runtime::trial::{self, Changed};
use kernel::{Object, RingBuffer};
use spec::Spec;
use sys::signal::Stop;

use super::beside::Parts;
use super::capture::Capture;
use super::change::{Change, How};
use super::live::none;
use super::{file, rules};
use crate::args::{FilterPlacement, FilterTryArgs};
use crate::cmd::{Context, Exit, LOOK_EVERY};
use crate::dissect::dissect;
use crate::state;
use crate::view::filter::trial::{Ended, Head, Sample, Tried};

pub fn run(args: &FilterTryArgs, context: &Context) -> Result<Exit> {
    let new = rules::read(&args.file)?.ruleset;
    let stop = Stop::new()?;
    let capture = args.write.as_deref();
    let mut capture = capture.map(|path| Capture::create(path, &args.iface)).transpose()?;
    let (old, trial) = begin(args, context, &new)?;
    let mut samples = Vec::new();
    let begin = Instant::now();
    let ended = trial.watch(args.time, &stop, |changed| {
        if let Some(capture) = &mut capture {
            capture.write(&changed)?;
        }
        if samples.len() < args.samples {
            samples.push(sample(&changed, [&old, &new], begin.elapsed()));
        }
        Ok(())
    })?;
    let pairs = trial::pairs(trial.object.map(PAIRS)?)?;
    let seconds = begin.elapsed().as_secs_f64();
    drop(trial);
    let head = Head { interface: args.iface.clone(), seconds, ended };
    let tried = Tried::new(head, &pairs, [&old, &new], samples);
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
    let change = Change::begin(context, &args.iface)?;
    let Some(live) = &change.live else { bail!(none(&args.iface)) };
    let old = live.rules()?;
    let trial = Trial::start(context, &change, new)?;
    Ok((old, trial))
}

/// While it lives both sets of rules meet packets.
struct Trial {
    object: Object,
    /// Its guard: dropped, the program of before is back.
    trial: state::Trial,
    /// Behind the trial: nobody else begins one before it is over.
    _claim: File,
}

impl Trial {
    fn start(context: &Context, change: &Change, new: &Ruleset) -> Result<Self> {
        let claim = change.claim(context)?;
        let globals = change.globals(&How::default())?;
        let (object, trial) = file::by_form(|form| {
            let refused = "the rules were not tried";
            let front = file::compiled(new, false, &change.target, form);
            let mut front = front.context(refused)?;
            let behind = change.in_force(form).context(refused)?;
            globals.set(&mut front.spec)?;
            let asked = FilterPlacement::default();
            let separate = |front: &mut Spec, behind: &mut Spec| {
                trial::make_new(front)?;
                trial::make_old(behind)
            };
            let parts = Parts { front, behind };
            parts.load(change, new, &asked, separate, |object, program, placement| {
                let trial = change.try_out((&object, program), placement)?;
                Ok((object, trial))
            })
        })?;
        Ok(Self { object, trial, _claim: claim })
    }

    /// Hands on packets that would meet another verdict, until the time is over, somebody
    /// interrupts, or other rules are in force; answers which.
    fn watch(
        &self,
        time: Duration,
        stop: &Stop,
        mut each: impl FnMut(Changed) -> Result<()>,
    ) -> Result<Ended> {
        let mut ring = RingBuffer::new(self.object.map(CHANGES)?)?;
        let begin = Instant::now();
        for look in 1.. {
            let left = time.saturating_sub(begin.elapsed());
            let interrupted = stop.wait(left.min(LOOK_EVERY))?.is_some();
            let mut records = Vec::new();
            ring.drain(|record| records.extend(Changed::parse(record)));
            records.into_iter().try_for_each(&mut each)?;
            let is_over = begin.elapsed() >= time;
            if (is_over || interrupted || look % ASK_EVERY == 0) && !self.trial.runs()? {
                return Ok(Ended::RulesChanged);
            }
            if interrupted {
                return Ok(Ended::Interrupted);
            }
            if is_over {
                break;
            }
        }
        Ok(Ended::Time)
    }
}

fn sample(changed: &Changed, [old, new]: [&Ruleset; 2], at: Duration) -> Sample {
    Sample {
        t: at.as_secs_f64(),
        packet: dissect(&changed.bytes).summary,
        length: changed.length,
        old: crate::view::filter::trial::Opinion::of(&changed.old, old),
        new: crate::view::filter::trial::Opinion::of(&changed.new, new),
    }
}

/// At each of so many looks it asks whether its program still runs.
const ASK_EVERY: u32 = 10;
