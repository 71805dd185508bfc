//! A case on either arm: what the packets became, and what is in the maps afterwards.
//!
//! Rule: the kernel runs on one processor, the one whose number the engine is given.

use std::fmt;

use kernel::{LoadOptions, Object, RingBuffer, TestRun};
use spec::{MapDef, MapKind, Spec};
use vm::{Machine, Options};

use super::case::Case;

/// All that a run of a case shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub runs: Vec<Ran>,
    pub maps: Vec<Contents>,
}

/// What became of one packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub code: u32,
    pub packet: Vec<u8>,
    pub metadata: Vec<u8>,
}

/// What is in a map; sorted where the order says nothing.
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
#[derive(Clone, Copy, Debug)]
pub struct Arms {
    cpu: u32,
    cpus: u32,
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
        Self { cpu: cpu as u32, cpus }
    }

    pub fn kernel(&self, case: &Case) -> Result<Seen, Failure> {
        let object = Object::load(&case.spec, &LoadOptions::default()).map_err(refusal)?;
        let program = object.program(case.entry()).map_err(other)?;
        let mut runs = Vec::new();
        for input in &case.packets {
            let run = TestRun { input: input.clone(), repeat: 1, cpu: None };
            let outcome = program.run(&run).map_err(other)?;
            let (code, packet, metadata) = (outcome.code, outcome.packet, outcome.metadata);
            runs.push(Ran { code, packet, metadata });
        }
        let mut maps = Vec::new();
        for def in compared(&case.spec) {
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
        Ok(Seen { runs, maps })
    }

    /// `like`: what the kernel's arm showed, whose maps are looked at.
    pub fn engine(&self, case: &Case, like: &Seen) -> Result<Seen, Failure> {
        let options = Options { cpus: self.cpus, ..Options::default() };
        let machine = Machine::load(&case.spec, &options).map_err(other)?;
        let number = machine.program(case.entry()).map_err(other)?;
        let mut worker = machine.worker(self.cpu);
        let mut runs = Vec::new();
        for input in &case.packets {
            worker.put(input).map_err(other)?;
            let code = worker.execute(number).map_err(other)?;
            let (packet, metadata) = (worker.packet().into_owned(), worker.metadata().to_vec());
            runs.push(Ran { code, packet, metadata });
        }
        let mut maps = Vec::new();
        for def in compared(&case.spec) {
            if !like.maps.iter().any(|contents| contents.map == def.name) {
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
        Ok(Seen { runs, maps })
    }
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
fn compared(spec: &Spec) -> impl Iterator<Item = &MapDef> {
    spec.maps.iter().filter(|def| {
        let opaque = [
            MapKind::PROG_ARRAY,
            MapKind::BLOOM_FILTER,
            MapKind::DEVMAP,
            MapKind::DEVMAP_HASH,
            MapKind::CPUMAP,
            MapKind::XSKMAP,
            MapKind::ARRAY_OF_MAPS,
            MapKind::HASH_OF_MAPS,
        ];
        !opaque.contains(&def.kind) && !def.frozen
    })
}

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

/// What fills up a processor's value to eight bytes is nobody's.
fn contents(def: &MapDef, mut elements: Elements) -> Contents {
    if def.kind.is_per_cpu() {
        let (size, stride) = (def.value_size as usize, def.value_size.next_multiple_of(8) as usize);
        for value in elements.iter_mut().flat_map(|(_, value)| value.chunks_mut(stride)) {
            value[size..].fill(0);
        }
    }
    Contents { map: def.name.clone(), elements }
}
