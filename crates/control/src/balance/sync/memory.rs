//! `FlowMemory`: the flows of a balancer, as memory that the program uses, too.

use functions::balancer::abi::{Cells, Kind};
use functions::balancer::sync::{CellMemory, Flow};
use kernel::Map;
use sys::mmap::Mapping;

#[derive(Debug)]
pub struct FlowMemory {
    mapping: Mapping,
    lines: u32,
}

impl FlowMemory {
    /// # Errors
    /// The map cannot be mapped.
    pub fn new(flows: &Map) -> kernel::Result<Self> {
        Ok(Self { mapping: flows.mapping(true)?, lines: flows.max_entries() })
    }

    /// For a process that writes nothing.
    ///
    /// # Errors
    /// The map cannot be mapped.
    pub fn read_only(flows: &Map) -> kernel::Result<Self> {
        Ok(Self { mapping: flows.mapping(false)?, lines: flows.max_entries() })
    }

    /// All flows, without notes; `now` is of [`now_units`](functions::balancer::sync::now_units).
    pub fn remembered(&self, now: u64) -> impl Iterator<Item = Flow> + '_ {
        let cells =
            (0..self.lines).flat_map(move |line| (0..WAYS).map(move |way| self.read(line, way)));
        cells.filter_map(move |cell| Flow::of(cell, now)).filter(|one| one.kind != NOTE)
    }
}

impl CellMemory for FlowMemory {
    fn lines(&self) -> u32 {
        self.lines
    }

    fn read(&self, line: u32, way: usize) -> u64 {
        self.mapping.load_u64(at(line, way))
    }

    fn replace(&self, line: u32, way: usize, old: u64, new: u64) -> bool {
        self.mapping.replace_u64(at(line, way), old, new)
    }
}

/// `BALANCER_WAYS`.
const WAYS: usize = Cells::SIZE / size_of::<u64>();
const NOTE: u8 = Kind::Note as u8;

const fn at(line: u32, way: usize) -> usize {
    line as usize * Cells::SIZE + way * size_of::<u64>()
}
