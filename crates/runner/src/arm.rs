//! `Arm`: one interface to both runtimes: load, fill maps, run a packet.
//!
//! Rule: both runtimes get the same object, map contents and packets, and return results of the
//! same type, so that printing, writing and comparing do not depend on the runtime.

use std::sync::Arc;

use kernel::{LoadOptions, Object, TestOutcome, TestRun};
use packet::header_len::ETHERNET as ETHERNET_HEADER;
use spec::btf::Btf;
use spec::{Input, MapDef, Verdict};
use vm::{Cause, Machine, Map, Options, Output, Port, Run, Worker};

use crate::configure::Configuration;
use crate::error::{Context as _, Error, Result};
use crate::events::Events;
use crate::input::Played;
use crate::notice::Notice;
use crate::options::Runtime;
use crate::setup::Setup;
use crate::testable::{is_mapped, is_redirected, testable};

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
    /// The runtime of the options, with the object loaded and its maps filled.
    pub fn load(setup: &Setup<'_>) -> Result<Self> {
        Ok(match setup.options.runtime {
            Runtime::Vm => Self::Vm(Box::new(Vm::load(setup)?)),
            Runtime::Kernel => Self::Kernel(Box::new(Kernel::load(setup)?)),
        })
    }

    pub const fn name(&self) -> &'static str {
        match self {
            Self::Vm(_) => "vm",
            Self::Kernel(_) => "kernel",
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
    /// The engine of the options, to be observed.
    ///
    /// # Errors
    /// The kernel is to run the program.
    pub fn observable(setup: &Setup<'_>) -> Result<Self> {
        match setup.options.runtime {
            Runtime::Vm => Self::load(setup),
            Runtime::Kernel => Err(Error::Unobservable),
        }
    }

    /// The engine of the options.
    fn load(setup: &Setup<'_>) -> Result<Self> {
        Self::with(setup, setup.options.cpus, 0, None)
    }

    /// The engine with the properties of this machine's kernel on that processor: the same number
    /// of processors, and the kernel's types if the object relocates fields of them.
    pub fn like_kernel(setup: &Setup<'_>, cpu: usize) -> Result<Self> {
        let types = setup.spec.needs_target().then(sys::proc::kernel_btf).transpose()?;
        let types = types.map(|raw| Btf::parse(&raw)).transpose()?;
        Self::with(setup, sys::cpu::possible()? as u32, cpu as u32, types)
    }

    /// A machine of `cpus` processors, in which processor `cpu` runs all packets.
    fn with(setup: &Setup<'_>, cpus: u32, cpu: u32, target: Option<Btf>) -> Result<Self> {
        let programs = Some(vec![setup.program.name.clone()]);
        let world = setup.world.clone();
        let options = Options { cpus, world, programs, target, ..Options::default() };
        let machine = Machine::load(&setup.spec, &options)?;
        let program = machine.program(&setup.program.name)?;
        let (maps, mut worker) = (machine.maps(), machine.worker(cpu));
        let interrupt = setup.callbacks.interrupt.clone();
        worker.set_interrupt(Some(Box::new(move || interrupt.has_come())));
        let clock = Timeline { start_ns: setup.world.clock.start_ns, first_ns: None };
        let egress = setup.egress();
        let vm = Self { machine, maps, worker, program, cpus, egress, clock };
        vm.configure(&setup.configuration)?;
        Ok(vm)
    }

    fn configure(&self, configuration: &Configuration) -> Result<()> {
        configuration.apply(self.cpus as usize, &self.egress, |name| self.find(name))
    }

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
        let found = self.maps.iter().find(|map| map.attributes().name == name);
        let map = found.ok_or_else(|| Error::NoMap { name: name.to_owned() })?;
        match map.why_absent() {
            Some(why) => Err(Error::AbsentMap { name: name.to_owned(), cause: why.to_owned() }),
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
    /// Binds the calling thread to one processor, on which all per-CPU values are then counted.
    pub fn load(setup: &Setup<'_>) -> Result<Self> {
        let cpu = sys::cpu::affinity()?.first().copied().unwrap_or(0);
        sys::cpu::set_affinity(&[cpu])?;
        let program = setup.program.name.clone();
        let options =
            LoadOptions { programs: Some(vec![program.clone()]), ..LoadOptions::default() };
        let spec = testable(&setup.spec, &setup.program);
        let object = Object::load(&spec, &options);
        let object = match is_redirected(setup.program.kind) {
            true => object.with_context(|| {
                format!(
                    "`{program}` is loaded as a plain XDP program, because the kernel refuses \
                         test runs of programs for devmaps and cpumaps"
                )
            })?,
            false => object?,
        };
        if is_redirected(setup.program.kind) {
            setup.callbacks.observer.notify(&Notice::PlainProgram);
        }
        let mapped = spec.maps.iter().filter(|def| is_mapped(def)).map(|def| def.name.clone());
        let mapped = mapped.collect();
        let cpus = sys::cpu::possible()?;
        let egress = setup.egress();
        let kernel = Self { object, program, mapped, cpu, cpus, egress };
        kernel.configure(&setup.configuration)?;
        Ok(kernel)
    }

    fn configure(&self, configuration: &Configuration) -> Result<()> {
        configuration.apply(self.cpus, &self.egress, |name| Ok(self.object.map(name)?))
    }

    /// The processor that runs the program.
    pub fn cpu(&self) -> usize {
        self.cpu
    }

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
