//! A case on either arm: the packets and the contents of the maps afterwards.
//!
//! Rule: the kernel runs on one processor, the one whose number the engine is given.

use std::fmt;

use kernel::{LoadOptions, Object, RingBuffer, TestRun};
use spec::btf::Btf;
use spec::disasm::{Listing, Plain};
use spec::{Input, MapDef, MapKind, Program, Spec};
use vm::world::{Interface, World};
use vm::{Machine, Options};

use super::maps::padding_cleared;
use super::touch::{Answer, Touch};

/// All that a run of a case shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub runs: Vec<Ran>,
    pub maps: Vec<Contents>,
    /// Names of all maps that the program needs.
    pub made: Vec<String>,
}

/// The result for one packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub code: u32,
    pub packet: Vec<u8>,
    pub metadata: Vec<u8>,
    /// What user space was answered then.
    pub answers: Vec<Answer>,
}

/// The contents of a map; sorted where the order has no meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    pub map: String,
    pub elements: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Why an arm did not run a case to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The kernel's verifier refuses the program.
    Refused(String),
    Other(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

/// The two sides, on one processor.
#[derive(Clone, Debug)]
pub struct Arms {
    cpu: u32,
    cpus: u32,
    /// What field accesses are made for; without, the kernel's own types.
    target: Option<Btf>,
}

/// What both arms do.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    pub spec: &'a Spec,
    /// Packets go through this program, one after the other; it alone is loaded, with those that
    /// its maps hold.
    pub program: &'a str,
    pub packets: &'a [Input],
    /// What user space does after each packet.
    pub touches: &'a [Touch],
    pub fill: Fill,
    /// Maps whose contents hang on addresses or clocks.
    pub ignored: &'a [&'a str],
}

/// How maps are filled before the first packet.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub kernel: fn(&Object),
    pub engine: fn(&Machine),
}

impl Fill {
    pub const NOTHING: Self = Self { kernel: |_| (), engine: |_| () };
}

impl Arms {
    /// Keeps the calling thread on the first processor that it may use.
    pub fn here() -> Self {
        let cpu = sys::cpu::affinity().unwrap()[0];
        Self::on(cpu)
    }

    /// Keeps the calling thread on a processor.
    pub fn on(cpu: usize) -> Self {
        sys::cpu::set_affinity(&[cpu]).unwrap();
        let cpus = u32::try_from(sys::cpu::possible().unwrap()).unwrap();
        Self { cpu: cpu as u32, cpus, target: None }
    }

    /// Relocates field accesses for these types.
    #[must_use]
    pub fn with_types(self, target: Btf) -> Self {
        Self { target: Some(target), ..self }
    }

    pub fn kernel(&self, job: &Job<'_>) -> Result<Seen, Failure> {
        let programs = Some(vec![job.program.to_owned()]);
        let options =
            LoadOptions { programs, target: self.target.clone(), ..LoadOptions::default() };
        let object = Object::load(job.spec, &options).map_err(refusal)?;
        (job.fill.kernel)(&object);
        let program = object.program(job.program).map_err(other)?;
        let mut runs = Vec::new();
        for input in job.packets {
            let run = TestRun { input: input.clone(), repeat: 1, cpu: None };
            let outcome = program.run(&run).map_err(other)?;
            let (code, packet, metadata) = (outcome.code, outcome.packet, outcome.metadata);
            // Where no program uses a map, it is not made.
            let touch = |touch: &Touch| {
                let map = object.map(&job.spec.maps[touch.map].name).ok()?;
                Some(touch.act(job.spec, map))
            };
            let answers = job.touches.iter().filter_map(touch).collect();
            runs.push(Ran { code, packet, metadata, answers });
        }
        let mut maps = Vec::new();
        for def in compared(job) {
            // A map that no program uses is not made.
            let Ok(map) = object.map(&def.name) else { continue };
            let elements = match def.kind {
                MapKind::QUEUE | MapKind::STACK => drained(|| map.take(&[]).map_err(other))?,
                MapKind::RINGBUF => {
                    let mut records = Vec::new();
                    let mut ring = RingBuffer::new(map).map_err(other)?;
                    ring.drain(|record| records.push((Vec::new(), record.to_vec())));
                    records
                }
                _ => elements(map)?,
            };
            maps.push(contents(def, elements));
        }
        let made = object.maps().iter().map(|map| map.name().to_owned()).collect();
        Ok(Seen { runs, maps, made })
    }

    /// What the kernel's verifier made of a program, listed.
    pub fn translated(&self, spec: &Spec, program: &str) -> Result<String, Failure> {
        let object = Object::load(spec, &LoadOptions::default()).map_err(refusal)?;
        let dump = object.program(program).and_then(|program| program.dump()).map_err(other)?;
        let program = Program { insns: dump.translated, ..Program::default() };
        Ok(Listing::new(&program, &Plain).labels(true).to_string())
    }

    /// `like`: the result of the kernel's arm, whose maps are compared.
    pub fn engine(&self, job: &Job<'_>, like: &Seen) -> Result<Seen, Failure> {
        let programs = Some(vec![job.program.to_owned()]);
        let target = self.target.clone();
        let world = World::default().with_interface(loopback());
        let options = Options { cpus: self.cpus, programs, target, world, ..Options::default() };
        let machine = Machine::load(job.spec, &options).map_err(other)?;
        (job.fill.engine)(&machine);
        let number = machine.program(job.program).map_err(other)?;
        let mut worker = machine.worker(self.cpu);
        let mut runs = Vec::new();
        for input in job.packets {
            worker.put(input).map_err(other)?;
            let code = worker.execute(number).map_err(other)?;
            let (packet, metadata) = (worker.packet().into_owned(), worker.metadata().to_vec());
            let touch = |touch: &Touch| {
                let map = machine.map(&job.spec.maps[touch.map].name).ok()?;
                let made = like.made.contains(&map.attributes().name);
                made.then(|| touch.act(job.spec, &*map))
            };
            let answers = job.touches.iter().filter_map(touch).collect();
            runs.push(Ran { code, packet, metadata, answers });
        }
        let mut maps = Vec::new();
        for def in compared(job) {
            if !like.made.contains(&def.name) {
                continue;
            }
            let map = machine.map(&def.name).map_err(other)?;
            let elements = match def.kind {
                MapKind::QUEUE | MapKind::STACK => drained(|| Ok(map.take(&[], 0).ok()))?,
                MapKind::RINGBUF => {
                    let records = map.records().map_err(other)?.records;
                    records.into_iter().map(|record| (Vec::new(), record.bytes)).collect()
                }
                _ => elements(&*map)?,
            };
            maps.push(contents(def, elements));
        }
        Ok(Seen { runs, maps, made: like.made.clone() })
    }
}

/// The only interface of a network namespace as it is made.
fn loopback() -> Interface {
    Interface { mtu: 65536, up: false, ..Interface::new(1, "lo") }
}

fn refusal(error: kernel::Error) -> Failure {
    match error {
        kernel::Error::Verifier { log, .. } => Failure::Refused(log.to_string()),
        error => Failure::Other(format!("load: {error}")),
    }
}

fn other(error: impl fmt::Display) -> Failure {
    Failure::Other(error.to_string())
}

/// Maps whose contents user space reads alike on both sides.
fn compared<'a>(job: &Job<'a>) -> impl Iterator<Item = &'a MapDef> {
    let ignored = job.ignored;
    job.spec.maps.iter().filter(move |def| {
        READABLE.contains(&def.kind) && !def.frozen && !ignored.contains(&&*def.name)
    })
}

const READABLE: [MapKind; 10] = [
    MapKind::ARRAY,
    MapKind::PERCPU_ARRAY,
    MapKind::HASH,
    MapKind::PERCPU_HASH,
    MapKind::LRU_HASH,
    MapKind::LRU_PERCPU_HASH,
    MapKind::LPM_TRIE,
    MapKind::QUEUE,
    MapKind::STACK,
    MapKind::RINGBUF,
];

type Elements = Vec<(Vec<u8>, Vec<u8>)>;

fn elements<M: spec::Map>(map: &M) -> Result<Elements, Failure> {
    let mut elements = Vec::new();
    for key in map.keys().map_err(other)? {
        let value = map.lookup(&key).map_err(other)?;
        elements.push((key, value.unwrap_or_default()));
    }
    elements.sort();
    Ok(elements)
}

/// All that a queue holds, in order.
fn drained(
    mut take: impl FnMut() -> Result<Option<Vec<u8>>, Failure>,
) -> Result<Elements, Failure> {
    let mut elements = Vec::new();
    while let Some(value) = take()? {
        elements.push((Vec::new(), value));
    }
    Ok(elements)
}

fn contents(def: &MapDef, elements: Elements) -> Contents {
    let cleared = |(key, value)| (key, padding_cleared(def, value));
    Contents { map: def.name.clone(), elements: elements.into_iter().map(cleared).collect() }
}
