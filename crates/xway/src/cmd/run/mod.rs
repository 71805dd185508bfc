//! `run`: a program over a capture, in the engine or in the kernel, without an interface.
//!
//! Rule: the table, the maps and the written captures are those of one pass over the capture;
//! further rounds only measure. Nothing is attached and nothing of the system is changed.

mod arm;
mod configure;
mod cover;
mod diff;
mod events;
mod explain;
mod input;
mod maps;
mod measure;
mod outputs;
mod tally;
mod trace;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use spec::{Program, Spec};
use vm::World;

use self::arm::Arm;
use self::configure::Configuration;
use self::cover::Cover;
use self::input::Capture;
use self::outputs::Outputs;
use self::tally::Tally;
use super::{Context, Exit};
use crate::args::{RunArgs, RuntimeArg};
use crate::object;
use crate::view::run::Report;
use crate::view::{say, wrapped};

pub fn run(args: &RunArgs, context: &Context) -> Result<Exit> {
    let mut capture = Capture::open(args)?;
    let job = Job::prepare(args, capture.time_ns())?;
    capture.for_program(&job.program);
    let watched = args.explain.is_some() || args.trace || args.cover.is_some();
    if watched && args.runtime == RuntimeArg::Kernel {
        bail!("the kernel keeps a program's path to itself: watch it with --runtime vm");
    }
    if args.diff {
        return diff::run(&job, capture, context);
    }
    if let Some(number) = args.explain {
        return explain::run(&job, capture, number, context);
    }
    if args.trace {
        return trace::run(&job, capture, context);
    }
    let mut arm = job.arm(args.runtime)?;
    let cover = Cover::start(&mut arm, args.cover.as_ref())?;
    let mut outputs = Outputs::open(args.out.as_deref(), &job.world)?;
    let mut tally = Tally::default();
    let mut events = arm.events()?;
    while let Some(packet) = capture.next()? {
        let run = arm.run(&packet)?;
        events.take(packet.number);
        outputs.write(&packet, &run)?;
        tally.count(&packet, &run);
    }
    let mut files = outputs.finish()?;
    let coverage = cover.map(|cover| cover.finish(&mut arm, &mut files)).transpose()?;
    let maps = arm.maps(&job)?;
    let rates = measure::rates(&mut arm, &job, capture.kept())?;
    let report = Report {
        object: job.name.clone(),
        program: job.program.name.clone(),
        runtime: arm.name(),
        interrupted: capture.interrupted(),
        unfit: capture.unfit(),
        tally: tally.finish(&job.world),
        rates,
        maps,
        events: events.finish(),
        log: arm.log(),
        files,
        coverage,
        first_difference: None,
    };
    context.show(&report)?;
    Ok(if report.tally.faults == 0 { Exit::Done } else { Exit::No })
}

/// What is to be run, read and checked, before any runtime is chosen.
struct Job<'a> {
    args: &'a RunArgs,
    /// What people call the object.
    name: String,
    spec: Spec,
    program: Program,
    world: World,
    configuration: Configuration,
}

impl<'a> Job<'a> {
    /// `time_ns` is when the capture begins.
    fn prepare(args: &'a RunArgs, time_ns: Option<u64>) -> Result<Self> {
        let mut opened = object::open(&args.object)?;
        opened.set(&args.set)?;
        opened.complete(&args.open)?;
        if args.world.as_deref().is_some_and(|path| path.as_os_str() == "host") || args.diff {
            kernel::fill_configuration(&mut opened.spec)?;
        }
        opened.set_kind(args.program.as_deref(), args.kind.as_deref())?;
        let configuration = Configuration::parse(args, &mut opened)?;
        let program = opened.choose(args.program.as_deref())?.clone();
        if !program.kind.is_xdp() && !program.kind.is_unknown() {
            bail!("`{}` is no XDP program but {}", program.name, program.section);
        }
        let world = world(args, time_ns)?;
        if let Some(file) = &args.save_world {
            let written = std::fs::write(file, world.to_toml()?);
            written.with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(Self { args, name: opened.name, spec: opened.spec, program, world, configuration })
    }

    /// Interfaces that packets may leave by.
    fn egress(&self) -> Vec<u32> {
        self.world.interfaces.iter().map(|interface| interface.index).collect()
    }

    /// A runtime with the object loaded and its maps filled.
    fn arm(&self, runtime: RuntimeArg) -> Result<Arm> {
        let arm = match runtime {
            RuntimeArg::Vm => Arm::vm(self)?,
            RuntimeArg::Kernel => Arm::kernel(self)?,
        };
        arm.configure(&self.configuration)?;
        Ok(arm)
    }
}

/// The scenario, the host's state, or an empty world at the time of the capture. The kernel has
/// the host's state in any case, so what is compared with it has it too.
fn world(args: &RunArgs, time_ns: Option<u64>) -> Result<World> {
    let host = PathBuf::from("host");
    let Some(path) = args.world.as_ref().or(args.diff.then_some(&host)) else {
        let mut world = World::default();
        let offset_ns = time_ns.and_then(|time_ns| time_ns.checked_sub(world.clock.start_ns));
        world.clock.wall_offset_ns = offset_ns.unwrap_or(world.clock.wall_offset_ns);
        return Ok(world);
    };
    if path.as_os_str() == "host" {
        let snapshot = crate::world::host()?;
        for words in &snapshot.omitted {
            say(&wrapped(&format!("the world leaves out {words}"), TEXT_WIDTH));
        }
        return Ok(snapshot.world);
    }
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    World::from_toml(&text).with_context(|| path.display().to_string())
}

/// Columns of running text.
const TEXT_WIDTH: usize = 90;
