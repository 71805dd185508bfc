//! `run`: a program over a capture, in the engine or in the kernel, without an interface.
//!
//! Rule: the table, the maps and the written captures are those of one pass over the capture;
//! further rounds only measure. Nothing is attached and nothing of the system is changed.

mod arm;
mod configure;
mod cover;
mod diff;
mod difference;
mod entries;
mod events;
mod explain;
mod input;
mod interrupt;
mod maps;
mod measure;
mod nature;
mod outputs;
mod pair;
mod tally;
mod testable;
mod trace;

use anyhow::{Context as _, Result, bail};
use control::object;
use spec::{MapDef, Plan, Program, Spec};
use vm::World;

use self::arm::Arm;
use self::configure::Configuration;
use self::cover::Cover;
use self::input::Capture;
use self::interrupt::Interrupt;
use self::outputs::Outputs;
use self::tally::Tally;
use super::{Context, Exit, confine, folder};
use crate::args::{RunArgs, RuntimeArg};
use crate::text;
use crate::view::run::Report;
use crate::view::{say, wrapped};

pub fn run(args: &RunArgs, context: &Context) -> Result<Exit> {
    let host = wants_host(args).then(host_world).transpose()?;
    let interrupt = Interrupt::new()?;
    if args.runtime == RuntimeArg::Vm && !args.diff {
        confine(args)?;
    }
    let mut capture = Capture::open(args, &interrupt)?;
    let job = Job::prepare(args, host, capture.time_ns(), interrupt)?;
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
        if run.is_interrupted() {
            break;
        }
        events.take(packet.number);
        outputs.write(&packet, &run)?;
        tally.count(&packet, &run);
    }
    let mut files = outputs.finish()?;
    let coverage = cover.map(|cover| cover.finish(&mut arm, &mut files)).transpose()?;
    let maps = arm.maps(&job);
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
        not_compared: None,
    };
    context.show(&report)?;
    Ok(if report.tally.faults == 0 { Exit::Done } else { Exit::No })
}

/// From here on, only the files that were named are read and written. The engine needs no more.
fn confine(args: &RunArgs) -> Result<()> {
    let mut named = confine::begin()?;
    named.input(&args.object);
    named.input(&args.input);
    args.world.iter().for_each(|world| named.input(world));
    args.maps.iter().for_each(|(_, file)| named.input(file));
    if wants_host(args) {
        // The kernel's version and configuration, which objects may ask for.
        HOST_FILES.iter().for_each(|file| named.input(file));
        let release = sys::proc::kernel_release().unwrap_or_default();
        named.input(format!("/boot/config-{release}"));
    }
    let cover = args.cover.iter().flatten();
    cover.chain(&args.save_world).for_each(|file| named.output(file));
    if let Some(folder) = &args.out {
        named.output_dir(folder)?;
    }
    named.end()
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
    /// What the program needs.
    plan: Plan,
    interrupt: Interrupt,
}

impl<'a> Job<'a> {
    /// `host` is the world of this machine, if that is wanted; `time_ns` is when the capture
    /// begins.
    fn prepare(
        args: &'a RunArgs,
        host: Option<World>,
        time_ns: Option<u64>,
        interrupt: Interrupt,
    ) -> Result<Self> {
        let mut opened = object::open(&args.object)?;
        opened.set(&args.set)?;
        opened.complete(&args.open.map_sizes, &args.open.kconfig)?;
        if args.world.as_deref().is_some_and(|path| path.as_os_str() == "host") || args.diff {
            kernel::fill_configuration(&mut opened.spec)?;
        }
        opened.set_kind(args.program.as_deref(), args.kind.as_deref())?;
        let configuration = Configuration::parse(args, &mut opened)?;
        let program = opened.choose(args.program.as_deref())?.clone();
        if !program.kind.is_xdp() && !program.kind.is_unknown() {
            bail!("`{}` is not an XDP program but {}", program.name, program.section);
        }
        let world = host.map_or_else(|| world(args, time_ns), Ok)?;
        if let Some(file) = &args.save_world {
            folder::write(file, &world.to_toml()?)?;
        }
        let (name, spec) = (opened.name, opened.spec);
        let plan = Plan::new(&spec, Some(std::slice::from_ref(&program.name)))?;
        Ok(Self { args, name, spec, program, world, configuration, plan, interrupt })
    }

    /// Whether a map is to be listed or compared: one that the program uses.
    fn shows(&self, def: &MapDef) -> bool {
        let is_used = || {
            let number = self.spec.map_index(&def.name);
            number.is_some_and(|number| self.plan.needs_map(number))
        };
        !def.frozen && !self.args.ignore_map.contains(&def.name) && is_used()
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

/// Whether the world is that of this machine. The kernel has it in any case, so what is compared
/// with the kernel has it too.
fn wants_host(args: &RunArgs) -> bool {
    match &args.world {
        Some(path) => path.as_os_str() == "host",
        None => args.diff,
    }
}

fn host_world() -> Result<World> {
    let snapshot = control::host::snapshot()?;
    for words in &snapshot.omitted {
        say(&wrapped(&format!("the world leaves out {words}"), TEXT_WIDTH));
    }
    Ok(snapshot.world)
}

/// The scenario, or an empty world at the time of the capture.
fn world(args: &RunArgs, time_ns: Option<u64>) -> Result<World> {
    let Some(path) = &args.world else {
        let mut world = World::default();
        let offset_ns = time_ns.and_then(|time_ns| time_ns.checked_sub(world.clock.start_ns));
        world.clock.wall_offset_ns = offset_ns.unwrap_or(world.clock.wall_offset_ns);
        return Ok(world);
    };
    World::from_toml(&text::read(path)?).with_context(|| path.display().to_string())
}

/// What describes the host's kernel and stays readable with `--world host`.
const HOST_FILES: [&str; 2] = ["/proc/config.gz", "/proc/sys/kernel/osrelease"];
/// Columns of running text.
const TEXT_WIDTH: usize = 90;
