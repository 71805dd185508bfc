//! One counter of a program that is assembled here: a value for each processor, no lock.

use anyhow::{Context, Result};
use kernel::Object;
use spec::asm::Reg::{R0, R1, R2, R10};
use spec::asm::{Assembler, Cond, Label};
use spec::{MapDef, MapKind};

/// The counter's map, to be declared in the program's object.
pub fn map() -> MapDef {
    MapDef {
        name: NAME.into(),
        kind: MapKind::PERCPU_ARRAY,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        ..MapDef::default()
    }
}

/// Adds one. Jumps to `never` if the lookup fails, which the verifier requires. Overwrites R0 to
/// R5 and four bytes of the stack.
pub fn count(a: &mut Assembler, never: Label) {
    a.note("count").store32(R10.at(KEY), 0).mov(R2, R10).add(R2, KEY);
    a.lookup(NAME, R2.at(0)).jump_if(R0, Cond::Eq, 0, never).count(R0.at(0), 1, R1);
}

/// The sum over all processors.
pub fn read(object: &Object) -> Result<u64> {
    let values = object.map(NAME)?.lookup_per_cpu(&0u32.to_ne_bytes())?;
    values.and_then(|values| values.sums().first().copied()).context("a counter without a value")
}

const NAME: &str = "count";
/// Offset of the key on the stack.
const KEY: i16 = -4;
