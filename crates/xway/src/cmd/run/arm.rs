//! `Arm`: one interface to both runtimes: load, fill maps, run a packet.
//!
//! Rule: both runtimes get the same object, map contents and packets, and return results of the
//! same type, so that printing, writing and comparing do not depend on the runtime.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use kernel::{LoadOptions, Object, TestOutcome, TestRun};
use spec::btf::Btf;
use spec::{Input, MapDef, Verdict};
use vm::{Cause, Machine, Map, Options, Output, Port, Run, Worker};

use super::Job;
use super::configure::Configuration;
use super::events::Events;
use super::input::Played;
use super::testable::{is_mapped, is_redirected, testable};
use crate::view::say;

pub enum Arm {
    Vm(Box<Vm>),
    Kernel(Box<Kernel>),
}

/// The engine: one machine, in which one processor runs all packets.
pub struct Vm {
    machine: Machine,
    maps: Vec<Arc<Map>>,
    worker: Worker,
    program: usize,
    cpus: u32,
    egress: Vec<u32>,
    clock: Timeline,
}

/// Converts times of the capture to times since boot: the first packet arrives when the
/// world starts.
struct Timeline {
    start_ns: u64,
    first_ns: Option<u64>,
}

/// The object in the kernel, not attached.
pub struct Kernel {
    object: Object,
    program: String,
    /// Names of the maps that can be read as memory.
    mapped: Vec<String>,
    /// The processor that runs the program.
    cpu: usize,
    cpus: usize,
    egress: Vec<u32>,
}

impl Arm {
    pub fn vm(job: &Job<'_>) -> Result<Self> {
        Self::vm_with(job, job.args.cpus, 0, None)
    }

    /// The engine with the properties of this machine's kernel on that processor: the same number
    /// of processors, and the kernel's types if the object relocates fields of them.
    pub fn vm_like_kernel(job: &Job<'_>, cpu: usize) -> Result<Self> {
        let types = job.spec.needs_target().then(sys::proc::kernel_btf).transpose()?;
        let types = types.map(|raw| Btf::parse(&raw)).transpose()?;
        let cpus = u32::try_from(sys::cpu::possible()?)?;
        Self::vm_with(job, cpus, u32::try_from(cpu)?, types)
    }

    /// A machine of `cpus` processors, in which processor `cpu` runs all packets.
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

    /// The kernel. Binds the calling thread to one processor, on which all per-CPU values are then
    /// counted.
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
            say("the kernel runs the program as a plain XDP program, not after a redirect");
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

    /// The processor on which the kernel runs the program; 0 for the engine.
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

    /// Runs one packet and returns the outcome.
    pub fn run(&mut self, packet: &Played) -> Result<Run> {
        match self {
            Self::Vm(vm) => vm.run(packet),
            Self::Kernel(kernel) => kernel.run(&packet.input),
        }
        .with_context(|| format!("packet {}", packet.number))
    }

    /// Buffers by which the program sends records to user space.
    pub fn events(&self) -> Result<Events> {
        match self {
            Self::Vm(vm) => Events::open(&vm.machine),
            Self::Kernel(_) => Ok(Events::default()),
        }
    }

    /// Lines that the program printed with `bpf_trace_printk`; empty for the kernel, which writes
    /// them to its trace buffer.
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

    /// Lines that programs printed since the previous call.
    pub fn log(&self) -> Vec<String> {
        self.machine.take_trace().0.into_iter().map(|line| line.text).collect()
    }

    /// The processor that runs all packets, for observing it.
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

    /// Runs the program only, for measurements.
    pub fn execute(&mut self, packet: &Played) -> Result<()> {
        self.worker.put(&packet.input)?;
        // Faults were reported in the counted pass.
        let _code = self.worker.execute(self.program);
        Ok(())
    }

    /// Copies the packet to its buffer only, for measurements.
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
    /// A map; `None` if it was not created because no program uses it.
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
            // A test run ends with the verdict; the kernel does not report the redirect's target.
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

    /// Runs the program once or repeatedly. A test run needs an interface whose driver supports
    /// XDP; the loopback interface does not, and is the kernel's default if none is given.
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
                "the kernel requires Ethernet frames of at least 14 bytes".to_owned()
            }
            0 => format!("the kernel refused a test run of `{}` on {len} bytes", self.program),
            _ => format!("is interface {ifindex} here, up, and ready for XDP?"),
        })
    }
}

const LOOPBACK: u32 = 1;
const ETHERNET_HEADER: usize = 14;
