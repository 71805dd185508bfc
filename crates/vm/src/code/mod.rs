//! Programs decoded for execution: one dense operation a slot.
//!
//! Decoding checks what needs no run: known codes, registers, jump targets, known functions.
//! The seam for what follows: `spec::Program` (bytes) → a static verifier's `Verified` →
//! `Compiled`. The interpreter alone may take a program that no verifier has seen, because it
//! checks every access when it happens.

mod decode;
mod forms;
mod fuse;
mod op;
mod source;

use std::sync::Arc;

use spec::btf::Btf;

use crate::error::Result;
use crate::helpers::Call;
use crate::maps::Map;
use crate::memory::{OFFSET_MASK, RegionId, offset};

use fuse::Array;
pub(crate) use op::{Kind, Op, Reg};
pub use source::SourceLine;

/// What names in a program resolve to.
pub(crate) struct Link<'a> {
    /// By the number of the object's map.
    pub maps: &'a [Arc<Map>],
    /// The number that the program will have.
    pub program: usize,
}

/// A program, ready to run.
#[derive(Debug)]
pub struct Program {
    source: spec::Program,
    number: usize,
    ops: Box<[Op]>,
    /// The same, faster: see `fuse`.
    fast: Box<[Op]>,
    arrays: Box<[Array]>,
    calls: Box<[Callee]>,
    traps: Box<[String]>,
    lines: Box<[SourceLine]>,
    skipped: bool,
}

/// A helper or kfunc that a program calls.
#[derive(Debug)]
pub(crate) struct Callee {
    pub name: String,
    pub call: Call,
}

impl Program {
    pub(crate) fn decode(
        source: &spec::Program,
        btf: Option<&Btf>,
        link: &Link<'_>,
    ) -> Result<Self> {
        let decoded = decode::decode(source, link)?;
        let (fast, arrays) = fuse::fuse(&decoded.ops, &decoded.calls, link);
        Ok(Self {
            source: source.clone(),
            number: link.program,
            ops: decoded.ops.into(),
            fast,
            arrays,
            calls: decoded.calls.into(),
            traps: decoded.traps.into(),
            lines: source::lines(source, btf),
            skipped: false,
        })
    }

    /// Stands for a program that is not loaded; running it is a fault that says why.
    pub(crate) fn skipped(source: &spec::Program, number: usize, why: String) -> Self {
        Self {
            source: source.clone(),
            number,
            ops: [Op::new(Kind::Trap)].into(),
            fast: [Op::new(Kind::Trap)].into(),
            arrays: Box::default(),
            calls: Box::default(),
            traps: [why].into(),
            lines: Box::default(),
            skipped: true,
        }
    }

    /// Why the program was not loaded, where it was not.
    pub fn why_skipped(&self) -> Option<&str> {
        self.skipped.then(|| self.trap(0))
    }

    pub fn name(&self) -> &str {
        &self.source.name
    }

    pub fn kind(&self) -> spec::ProgramKind {
        self.source.kind
    }

    /// Reg in the machine's list of programs.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The program as the object has it.
    pub fn source(&self) -> &spec::Program {
        &self.source
    }

    /// Whether the slot holds a jump with two ways out.
    pub fn is_branch(&self, slot: usize) -> bool {
        self.ops.get(slot).is_some_and(|op| op.kind.is_branch())
    }

    pub(crate) fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// What runs when no hook is set.
    pub(crate) fn fast_ops(&self) -> &[Op] {
        &self.fast
    }

    #[inline(always)]
    pub(crate) fn array(&self, row: u64) -> &Array {
        &self.arrays[row as usize]
    }

    pub(crate) fn callee(&self, row: u64) -> &Callee {
        &self.calls[row as usize]
    }

    pub(crate) fn trap(&self, row: u64) -> &str {
        &self.traps[row as usize]
    }
}

/// Bits of a function's address that hold its slot; the program's number is above.
const SLOT_BITS: u32 = 20;
/// Set in the address of a kernel function, which only a test for null may use.
const KERNEL: u64 = 1 << (crate::memory::OFFSET_BITS - 1);

impl Link<'_> {
    fn map(&self, map: usize) -> Option<&Map> {
        self.maps.get(map).map(|map| &**map)
    }

    /// The address of a byte of a map's first value.
    fn value(&self, map: usize, offset: u32) -> Option<u64> {
        let map = self.map(map)?;
        let (_, layout) = map.values()?;
        Some(map.facts().address(&layout, 0) + u64::from(offset))
    }

    /// The address of the function at a slot.
    fn function(&self, slot: usize) -> u64 {
        RegionId::FUNCTIONS.at(((self.program as u64) << SLOT_BITS | slot as u64) & OFFSET_MASK)
    }

    fn kernel_function(&self, row: usize) -> u64 {
        RegionId::FUNCTIONS.at(KERNEL | row as u64)
    }
}

/// Program and slot of a function's address.
pub(crate) fn function_at(address: u64) -> Option<(usize, usize)> {
    if RegionId::of(address) != RegionId::FUNCTIONS || offset(address) & KERNEL != 0 {
        return None;
    }
    let offset = offset(address);
    Some(((offset >> SLOT_BITS) as usize, (offset & ((1 << SLOT_BITS) - 1)) as usize))
}
