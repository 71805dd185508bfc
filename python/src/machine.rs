//! A loaded object.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use spec::{Input, MapKind, Spec};
use vm::{Options, Worker, World};

use crate::map::Map;
use crate::outcome::Outcome;
use crate::{Error, raised};

/// An object file brought to life.
///
/// `Machine(path, globals={}, world=None, cpus=1, program=None)`: `globals` are set before the
/// programs start, each written as text or number; `world` is the path of a scenario (TOML);
/// `program` is what `run` runs, needed when the object has several.
#[pyclass(unsendable)]
pub struct Machine {
    machine: vm::Machine,
    worker: Worker,
    program: Option<usize>,
}

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (path, globals = HashMap::new(), world = None, cpus = 1, program = None))]
    fn new(
        path: PathBuf,
        globals: HashMap<String, Bound<'_, PyAny>>,
        world: Option<PathBuf>,
        cpus: u32,
        program: Option<&str>,
    ) -> PyResult<Self> {
        let name = path.display().to_string();
        let mut spec = Spec::parse(&name, &fs::read(&path)?).map_err(told)?;
        for (global, value) in globals {
            spec.set_global_text(&global, &value.str()?.to_string()).map_err(told)?;
        }
        let options = Options {
            cpus,
            world: world.map(read_world).transpose()?.unwrap_or_default(),
            programs: program.map(|program| vec![program.to_owned()]),
            ..Options::default()
        };
        let machine = vm::Machine::load(&spec, &options).map_err(raised)?;
        let program = match program {
            Some(program) => Some(machine.program(program).map_err(raised)?),
            None => only(&spec, &machine),
        };
        for map in machine.maps().into_iter().filter(|map| map.why_absent().is_none()) {
            if map.attributes().kind == MapKind::PERF_EVENT_ARRAY {
                map.open_events(None).map_err(told)?;
            }
        }
        let worker = machine.worker(0);
        Ok(Self { machine, worker, program })
    }

    /// The object's maps by name.
    #[getter]
    fn maps(&self) -> BTreeMap<String, Map> {
        let maps = self.machine.maps().into_iter().filter(|map| map.why_absent().is_none());
        maps.map(|map| (map.attributes().name.clone(), Map::new(map))).collect()
    }

    /// Runs a program on a packet and acts on its verdict.
    #[pyo3(signature = (packet, program = None, ifindex = 1, queue = 0, metadata = Vec::new()))]
    fn run(
        &mut self,
        packet: Vec<u8>,
        program: Option<&str>,
        ifindex: u32,
        queue: u32,
        metadata: Vec<u8>,
    ) -> PyResult<Outcome> {
        let number = match program {
            Some(program) => self.machine.program(program).map_err(raised)?,
            None => self.program.ok_or_else(|| {
                Error::new_err("the object has several programs: name one with `program`")
            })?,
        };
        let input = Input { packet, metadata, ingress_ifindex: ifindex, rx_queue: queue };
        let run = self.worker.run(number, &input).map_err(raised)?;
        match run.fault {
            Some(fault) => Err(raised(vm::Error::Fault(fault))),
            None => Ok(Outcome::new(run)),
        }
    }

    /// Takes what programs printed with `bpf_trace_printk`, oldest first.
    fn take_log(&self) -> Vec<String> {
        self.machine.take_trace().0.into_iter().map(|line| line.text).collect()
    }

    /// Takes what programs sent through a ring buffer or perf event array, in order.
    fn records<'py>(&self, py: Python<'py>, map: &str) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let map = self.machine.map(map).map_err(raised)?;
        let records = map.records().map_err(told)?.records;
        Ok(records.iter().map(|record| PyBytes::new(py, &record.bytes)).collect())
    }

    /// Advances the clock to `now_ns` nanoseconds since boot, and runs the timers that are due.
    fn advance(&mut self, now_ns: u64) -> PyResult<usize> {
        self.worker.advance(now_ns).map_err(|fault| raised(vm::Error::Fault(fault)))
    }
}

/// The program, where the object has one that loads.
fn only(spec: &Spec, machine: &vm::Machine) -> Option<usize> {
    let names = spec.programs.iter().filter(|program| program.autoload);
    let mut numbers = names.filter_map(|program| machine.program(&program.name).ok());
    let first = numbers.next()?;
    numbers.next().is_none().then_some(first)
}

fn read_world(path: PathBuf) -> PyResult<World> {
    World::from_toml(&fs::read_to_string(path)?).map_err(told)
}

fn told(error: impl std::fmt::Display) -> PyErr {
    Error::new_err(error.to_string())
}
