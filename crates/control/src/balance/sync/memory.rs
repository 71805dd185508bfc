//! `FlowMemory`: the flows of a balancer, as memory that the program uses, too.

use functions::balancer::abi::Cells;
use functions::balancer::sync::CellMemory;
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

const fn at(line: u32, way: usize) -> usize {
    line as usize * Cells::SIZE + way * size_of::<u64>()
}
