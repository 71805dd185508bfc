//! `demo`: a flooded service fails without XDP and works with it.
//!
//! It reproduces figure 7 of "The eXpress Data Path" (CoNEXT 2018) on this machine: TCP clients
//! send requests while an attacker on the same link sends 60-byte UDP frames, in four phases with
//! the same placement. Everything is in namespaces of its own and removed afterwards, also on
//! Ctrl-C.

mod meter;
mod phase;
mod replay;
mod report;
mod stage;
mod traffic;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use sys::cap::Caps;
use sys::signal::Stop;

use self::meter::Meter;
use self::phase::Phase;
use self::stage::Stage;
use super::{Context, Exit, rights};
use crate::args::{DemoArgs, RuntimeArg};
use crate::view::demo::Progress;
use crate::view::live::Screen;
use crate::view::{say, wrapped};

pub fn run(args: &DemoArgs, context: &Context) -> Result<Exit> {
    match args.runtime.unwrap_or_else(allowed) {
        RuntimeArg::Kernel => in_the_kernel(args, context),
        RuntimeArg::Vm => replay::run(args, context),
    }
}

/// The kernel, where this process may make a lab in it.
fn allowed() -> RuntimeArg {
    let may = Caps::effective().is_ok_and(|caps| rights::LAB.iter().all(|cap| caps.allows(*cap)));
    if may { RuntimeArg::Kernel } else { RuntimeArg::Vm }
}

fn in_the_kernel(args: &DemoArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let stage = Stage::build(args.rate).context("the demo's lab cannot be made")?;
    let method = stage.placement();
    say(&wrapped(&method, TEXT_WIDTH));
    let time = args.phase.unwrap_or(PHASE);
    let mut story = Story { screen: Screen::new(Progress::HEIGHT), meter: Meter::new(), time };
    for phase in Phase::ALL {
        story.tell(phase, &stage, &stop).with_context(|| format!("phase `{}`", phase.name()))?;
    }
    drop(stage);
    let Story { screen, meter, .. } = story;
    drop(screen);
    let answer = report::write(&meter, args, &method)?;
    context.show(&answer)?;
    Ok(if answer.kept() { Exit::Done } else { Exit::No })
}

struct Story {
    screen: Screen,
    meter: Meter,
    /// Duration of each phase.
    time: Duration,
}

impl Story {
    /// Sets the phase up, lets it settle, then samples it.
    fn tell(&mut self, phase: Phase, stage: &Stage, stop: &Stop) -> Result<()> {
        let scene = stage.play(phase, self.time + SETTLE)?;
        let settled = Instant::now() + SETTLE;
        while Instant::now() < settled {
            pause(stop, settled - Instant::now())?;
        }
        self.meter.begin(phase, &scene)?;
        let end = Instant::now() + self.time;
        while Instant::now() < end {
            pause(stop, SAMPLE.min(end.saturating_duration_since(Instant::now())))?;
            self.meter.sample(&scene)?;
            self.screen.show(&self.meter.progress(phase, self.time));
        }
        self.meter.end(&scene)
    }
}

/// Waits, but not beyond a signal.
fn pause(stop: &Stop, time: Duration) -> Result<()> {
    match stop.wait(time)? {
        Some(_signal) => bail!("stopped; the lab is removed and nothing is left"),
        None => Ok(()),
    }
}

/// Long enough for a figure.
const PHASE: Duration = Duration::from_secs(6);
/// Time for a connection to notice the flood, and for the program to be attached.
const SETTLE: Duration = Duration::from_millis(700);
const SAMPLE: Duration = Duration::from_millis(100);
/// Columns of running text.
const TEXT_WIDTH: usize = 90;
