//! Programs decoded for execution: one dense operation per slot.
//!
//! Decoding checks what needs no run: known codes, registers, jump targets, known functions.
//! The functions that programs may call are given as a table, so this module does not depend on
//! them. The stages are `spec::Program` (bytes) → `Verified` (a future static verifier) →
//! `Compiled`. The interpreter alone accepts a program that no verifier has seen, because it
//! checks every access when it happens.

mod decode;
mod forms;
mod fuse;
mod op;
mod source;

use std::sync::Arc;

use spec::asm::Helper;
use spec::btf::Btf;

use crate::error::{Result, Unavailable};
use crate::fault::{SkipReason, Trap};
use crate::maps::Map;
use crate::memory::{OFFSET_MASK, RegionId, offset};

use fuse::Array;
pub(crate) use op::{Kind, Op, Reg};
pub use source::SourceLine;

/// What the names in a program resolve to.
pub(crate) struct Link<'a, C> {
    /// The maps, by their number in the object.
    pub maps: &'a [Arc<Map>],
    /// The functions that the program may call.
    pub functions: &'a CallTable<C>,
    /// The number that the program will have.
    pub program: usize,
}

/// Looks up the functions that a program may call; `C` is what calls one.
#[derive(Debug)]
pub(crate) struct CallTable<C> {
    /// A helper by its number.
    pub helper: fn(Helper) -> std::result::Result<C, Unavailable>,
    /// A kernel function by its name.
    pub kfunc: fn(&str) -> std::result::Result<C, Unavailable>,
}

/// A decoded program.
#[derive(Debug)]
pub struct Program {
    source: spec::Program,
    number: usize,
    ops: Box<[Op]>,
    /// The operations for runs without a hook: see `fuse`.
    fast: Box<[Op]>,
    arrays: Box<[Array]>,
    /// Names of the functions that the program calls.
    callees: Box<[String]>,
    traps: Box<[Trap]>,
    lines: Box<[SourceLine]>,
    skipped: Option<SkipReason>,
}

impl Program {
    /// Decodes a program. Also returns the functions that it calls, in the order of its callees.
    pub(crate) fn decode<C: Copy>(
        source: &spec::Program,
        btf: Option<&Btf>,
        link: &Link<'_, C>,
    ) -> Result<(Self, Vec<C>)> {
        let decoded = decode::decode(source, link)?;
        let (fast, arrays) = fuse::fuse(&decoded.ops, &decoded.callees, link.maps);
        let program = Self {
            source: source.clone(),
            number: link.program,
            ops: decoded.ops.into(),
            fast,
            arrays,
            callees: decoded.callees.into(),
            traps: decoded.traps.into(),
            lines: source::lines(source, btf),
            skipped: None,
        };
        Ok((program, decoded.calls))
    }

    /// A placeholder for a program that is not loaded; running it is a fault with the reason.
    pub(crate) fn skipped(source: &spec::Program, number: usize, reason: SkipReason) -> Self {
        Self {
            source: source.clone(),
            number,
            ops: [Op::new(Kind::Trap)].into(),
            fast: [Op::new(Kind::Trap)].into(),
            arrays: Box::default(),
            callees: Box::default(),
            traps: [Trap::NotLoaded(reason.clone())].into(),
            lines: Box::default(),
            skipped: Some(reason),
        }
    }

    /// Why the program was not loaded; `None` for a program that was.
    pub fn skip_reason(&self) -> Option<&SkipReason> {
        self.skipped.as_ref()
    }

    /// Name of the program.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Type and attach point of the program.
    pub fn kind(&self) -> spec::ProgramKind {
        self.source.kind
    }

    /// Position in the machine's list of programs.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The program as it is in the object.
    pub fn source(&self) -> &spec::Program {
        &self.source
    }

    /// Whether the slot holds a conditional jump.
    pub fn is_branch(&self, slot: usize) -> bool {
        self.ops.get(slot).is_some_and(|op| op.kind.is_branch())
    }

    /// One operation per slot.
    pub(crate) fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The operations for runs without a hook.
    pub(crate) fn fast_ops(&self) -> &[Op] {
        &self.fast
    }

    /// The array of a [`Kind::LookupArray`] operation.
    #[inline(always)]
    pub(crate) fn array(&self, row: u64) -> &Array {
        &self.arrays[row as usize]
    }

    /// Name of the function that a [`Kind::Call`] operation calls.
    pub(crate) fn callee(&self, row: u64) -> &str {
        &self.callees[row as usize]
    }

    /// The reason of a [`Kind::Trap`] operation.
    pub(crate) fn trap(&self, row: u64) -> &Trap {
        &self.traps[row as usize]
    }
}

/// Bits of a function's address that hold its slot; the bits above hold the program's number.
const SLOT_BITS: u32 = 20;
/// Marks the address of a kernel function, which programs can only compare with null.
const KERNEL: u64 = 1 << (crate::memory::OFFSET_BITS - 1);

impl<C> Link<'_, C> {
    /// A map by its number in the object.
    fn map(&self, map: usize) -> Option<&Map> {
        self.maps.get(map).map(|map| &**map)
    }

    /// The address of a byte of a map's first value.
    fn value(&self, map: usize, offset: u32) -> Option<u64> {
        let map = self.map(map)?;
        let (_, layout) = map.values()?;
        Some(map.attributes().address(&layout, 0) + u64::from(offset))
    }

    /// The address of the function at a slot.
    fn function(&self, slot: usize) -> u64 {
        RegionId::FUNCTIONS.at(((self.program as u64) << SLOT_BITS | slot as u64) & OFFSET_MASK)
    }

    /// The address of a kernel function, by its row in the callees.
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
