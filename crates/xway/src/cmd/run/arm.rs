//! The two runtimes under one roof: load, fill, run a packet, read the maps.
//!
//! Rule: both get the same object, the same map contents and the same packets; what they answer
//! has one shape, so that whatever is printed, written or compared knows no runtime.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use kernel::{LoadOptions, Object, TestOutcome, TestRun};
use packet::header_len::ETHERNET as ETHERNET_HEADER;
use spec::btf::Btf;
use spec::{Input, MapDef, Verdict};
use vm::{Cause, Machine, Map, Options, Output, Port, Run, Worker};

use super::Job;
use super::configure::Configuration;
use super::entries::Entries;
use super::events::Events;
use super::input::Played;
use super::testable::{is_mapped, is_redirected, testable};
use crate::view::say;

pub enum Arm {
    Vm(Box<Vm>),
    Kernel(Box<Kernel>),
}

/// The engine: one machine, of which one processor runs everything.
pub struct Vm {
    machine: Machine,
    maps: Vec<Arc<Map>>,
    worker: Worker,
    program: usize,
    cpus: u32,
    egress: Vec<u32>,
    clock: Timeline,
}

/// The capture's times as times since boot: its first packet comes when the world starts.
struct Timeline {
    start_ns: u64,
    first_ns: Option<u64>,
}

/// The object in the kernel, attached to nothing.
pub struct Kernel {
    object: Object,
    program: String,
    /// Names of the maps that can be read as memory.
    mapped: Vec<String>,
    /// The one that runs it.
    cpu: usize,
    cpus: usize,
    egress: Vec<u32>,
}

impl Arm {
    pub fn vm(job: &Job<'_>) -> Result<Self> {
        Self::vm_with(job, job.args.cpus, 0, None)
    }

    /// The engine as this machine's kernel would run it on that processor: with as many of them,
    /// and with its types where the object asks for fields of theirs.
    pub fn vm_like_kernel(job: &Job<'_>, cpu: usize) -> Result<Self> {
        let types = job.spec.needs_target().then(sys::proc::kernel_btf).transpose()?;
        let types = types.map(|raw| Btf::parse(&raw)).transpose()?;
        let cpus = u32::try_from(sys::cpu::possible()?)?;
        Self::vm_with(job, cpus, u32::try_from(cpu)?, types)
    }

    /// A machine of so many processors, of which the given one runs everything.
    fn vm_with(job: &Job<'_>, cpus: u32, cpu: u32, target: Option<Btf>) -> Result<Self> {
        let programs = Some(vec![job.program.name.clone()]);
        let world = job.world.clone();
        let options = Options { cpus, world, programs, target, ..Options::default() };
        let machine = Machine::load(&job.spec, &options)?;
        let program = machine.program(&job.program.name)?;
        let (maps, mut worker) = (machine.maps(), machine.worker(cpu));
        let interrupt = job.interrupt.clone();
        worker.set_interrupt(Some(Box::new(move || interrupt.has_come())));
        let clock = Timeline { start_ns: job.world.clock.start_ns, first_ns: None };
        let egress = job.egress();
        Ok(Self::Vm(Box::new(Vm { machine, maps, worker, program, cpus, egress, clock })))
    }

    /// From here on this thread stays on one processor, so that per-CPU values add up on it.
    pub fn kernel(job: &Job<'_>) -> Result<Self> {
        let cpu = sys::cpu::affinity()?.first().copied().unwrap_or(0);
        sys::cpu::set_affinity(&[cpu])?;
        let program = job.program.name.clone();
        let options =
            LoadOptions { programs: Some(vec![program.clone()]), ..LoadOptions::default() };
        let spec = testable(&job.spec, &job.program);
        let object = Object::load(&spec, &options);
        let object = match is_redirected(job.program.kind) {
            true => object.with_context(|| {
                format!(
                    "`{program}` is loaded as a plain XDP program, because the kernel refuses \
                         test runs of programs for devmaps and cpumaps"
                )
            })?,
            false => object?,
        };
        if is_redirected(job.program.kind) {
            say("the kernel runs the program as a plain XDP program, not behind a redirect");
        }
        let mapped = spec.maps.iter().filter(|def| is_mapped(def)).map(|def| def.name.clone());
        let mapped = mapped.collect();
        let cpus = sys::cpu::possible()?;
        let egress = job.egress();
        Ok(Self::Kernel(Box::new(Kernel { object, program, mapped, cpu, cpus, egress })))
    }

    pub const fn name(&self) -> &'static str {
        match self {
            Self::Vm(_) => "vm",
            Self::Kernel(_) => "kernel",
        }
    }

    /// The processor that the kernel runs the program on; the engine's own have no such place.
    pub fn cpu(&self) -> usize {
        match self {
            Self::Vm(_) => 0,
            Self::Kernel(kernel) => kernel.cpu,
        }
    }

    pub fn configure(&self, configuration: &Configuration) -> Result<()> {
        match self {
            Self::Vm(vm) => configuration.apply(vm.cpus as usize, &vm.egress, |name| vm.find(name)),
            Self::Kernel(kernel) => configuration
                .apply(kernel.cpus, &kernel.egress, |name| Ok(kernel.object.map(name)?)),
        }
    }

    /// Runs one packet and says what became of it.
    pub fn run(&mut self, packet: &Played) -> Result<Run> {
        match self {
            Self::Vm(vm) => vm.run(packet),
            Self::Kernel(kernel) => kernel.run(&packet.input),
        }
        .with_context(|| format!("packet {}", packet.number))
    }

    /// Clears the fields of values that hold what only their runtime understands: addresses of
    /// its objects, locks, timers. Both runtimes' values have them in the same places.
    pub fn blank(&self, def: &MapDef, entries: &mut Entries) -> Result<()> {
        let Self::Vm(vm) = self else { return Ok(()) };
        let fields = &vm.find(&def.name)?.facts().fields;
        let step = (def.value_size as usize).next_multiple_of(8).max(8);
        for (_, value) in entries.iter_mut().filter(|_| !fields.is_empty()) {
            value.chunks_mut(step).for_each(|one| fields.blank(one));
        }
        Ok(())
    }

    /// The buffers that the program sends to user space through.
    pub fn events(&self) -> Result<Events> {
        match self {
            Self::Vm(vm) => Events::open(&vm.machine),
            Self::Kernel(_) => Ok(Events::default()),
        }
    }

    /// What the program printed with `bpf_trace_printk`; the kernel keeps it to itself.
    pub fn log(&self) -> Vec<String> {
        match self {
            Self::Vm(vm) => vm.log(),
            Self::Kernel(_) => Vec::new(),
        }
    }
}

impl Vm {
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    pub fn maps(&self) -> &[Arc<Map>] {
        &self.maps
    }

    /// What programs printed since this was asked last.
    pub fn log(&self) -> Vec<String> {
        self.machine.take_trace().0.into_iter().map(|line| line.text).collect()
    }

    /// The processor that runs everything, to watch it.
    pub fn worker(&mut self) -> &mut Worker {
        &mut self.worker
    }

    pub fn run(&mut self, packet: &Played) -> Result<Run> {
        let now_ns = self.clock.at(packet.timestamp_ns);
        match self.worker.advance(now_ns) {
            Err(fault) if fault.cause == Cause::Interrupted => {
                return Ok(Run { fault: Some(fault), ..Run::default() });
            }
            advanced => advanced.map_err(vm::Error::Fault)?,
        };
        Ok(self.worker.run(self.program, &packet.input)?)
    }

    /// Nothing but the program, for measuring.
    pub fn execute(&mut self, packet: &Played) -> Result<()> {
        self.worker.put(&packet.input)?;
        // A fault was told in the counted pass.
        let _code = self.worker.execute(self.program);
        Ok(())
    }

    /// The packet in its buffer and no more.
    pub fn put(&mut self, packet: &Played) -> Result<()> {
        Ok(self.worker.put(&packet.input)?)
    }

    pub fn find(&self, name: &str) -> Result<&Map> {
        let found = self.maps.iter().find(|map| map.facts().name == name);
        let map = found.with_context(|| format!("there is no map `{name}`"))?;
        match map.why_absent() {
            Some(why) => bail!("map `{name}` was not created: {why}"),
            None => Ok(map),
        }
    }
}

impl Timeline {
    fn at(&mut self, timestamp_ns: u64) -> u64 {
        let first_ns = *self.first_ns.get_or_insert(timestamp_ns);
        self.start_ns.saturating_add(timestamp_ns.saturating_sub(first_ns))
    }
}

impl Kernel {
    /// `None` where it was left out because no program uses it.
    pub fn map(&self, name: &str) -> Option<&kernel::Map> {
        self.object.map(name).ok()
    }

    pub fn is_mapped(&self, def: &MapDef) -> bool {
        self.mapped.contains(&def.name)
    }

    fn run(&self, input: &Input) -> Result<Run> {
        let outcome = self.test(input, 1)?;
        let port = match outcome.verdict() {
            Verdict::Pass => Some(Port::Stack { ifindex: input.ingress_ifindex }),
            Verdict::Tx => Some(Port::Device { ifindex: input.ingress_ifindex }),
            // A test run ends with the verdict; where a redirect leads stays in the kernel.
            Verdict::Redirect | Verdict::Drop | Verdict::Aborted => None,
        };
        let output = port.map(|port| Output {
            port,
            packet: outcome.packet.clone(),
            metadata: outcome.metadata.clone(),
        });
        Ok(Run {
            verdict: outcome.verdict(),
            code: outcome.code,
            packet: outcome.packet,
            metadata: outcome.metadata,
            outputs: output.into_iter().collect(),
            ..Run::default()
        })
    }

    /// Mean nanoseconds of a run, as the kernel measures it.
    pub fn time(&self, packet: &Played, repeat: u32) -> Result<u32> {
        Ok(self.test(&packet.input, repeat)?.duration_ns)
    }

    /// A test run takes an interface whose driver is ready for XDP. The loopback interface is
    /// none, and is what it takes when none is named.
    fn test(&self, input: &Input, repeat: u32) -> Result<TestOutcome> {
        let mut input = input.clone();
        if input.ingress_ifindex == LOOPBACK {
            input.ingress_ifindex = 0;
        }
        let ifindex = input.ingress_ifindex;
        let len = input.packet.len();
        let run = TestRun { input, repeat, cpu: None };
        let outcome = self.object.program(&self.program)?.run(&run);
        outcome.with_context(|| match ifindex {
            0 if len < ETHERNET_HEADER => {
                "the kernel takes Ethernet frames of 14 bytes and more".to_owned()
            }
            0 => format!("the kernel refused a test run of `{}` on {len} bytes", self.program),
            _ => format!("is interface {ifindex} here, up, and ready for XDP?"),
        })
    }
}

const LOOPBACK: u32 = 1;
