//! What the accepted programs were made of, so that one knows what was tested.

use std::collections::BTreeMap;
use std::fmt;

use spec::asm::Helper;
use spec::{Insn, Spec, Target, insn};

/// Counts by name.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub instructions: u64,
    pub operations: BTreeMap<String, u64>,
    pub helpers: BTreeMap<&'static str, u64>,
    pub maps: BTreeMap<&'static str, u64>,
    /// Messages of the verifier, with their number and the first seed.
    pub refusals: BTreeMap<String, (u64, u64)>,
}

impl Tally {
    /// Counts an object's instructions and maps.
    pub fn add(&mut self, spec: &Spec) {
        for program in &spec.programs {
            let mut second = false;
            for insn in &program.insns {
                if !second {
                    self.instruction(insn);
                }
                second = insn.is_wide();
            }
            for fixup in &program.fixups {
                if let Target::Map { map } | Target::MapValue { map, .. } = fixup.target {
                    let name = spec.maps[map].kind.name().unwrap_or("?");
                    *self.maps.entry(name).or_default() += 1;
                }
            }
        }
    }

    pub fn refused(&mut self, why: &str, seed: u64) {
        // Numbers make each refusal its own.
        let text: String = why
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .filter(|c| !c.is_ascii_digit())
            .take(120)
            .collect();
        self.refusals.entry(text).or_insert((0, seed)).0 += 1;
    }

    fn instruction(&mut self, insn: &Insn) {
        self.instructions += 1;
        if insn.is_call() && insn.src == 0 {
            let name = Helper(insn.imm as u32).name().unwrap_or("?");
            *self.helpers.entry(name).or_default() += 1;
        }
        *self.operations.entry(operation(insn)).or_default() += 1;
    }
}

/// Class, operation and source, with what the offset or immediate adds to it.
fn operation(insn: &Insn) -> String {
    let class = CLASSES[usize::from(insn.class())];
    let atomic = insn.class() == insn::CLASS_STX && insn.code & 0xe0 == insn::MODE_ATOMIC;
    let alu = matches!(insn.class(), insn::CLASS_ALU | insn::CLASS_ALU64);
    let detail = match () {
        () if atomic => format!(".{:x}", insn.imm),
        () if alu && insn.off != 0 => format!(".{}", insn.off),
        () if alu && insn.code & 0xf0 == insn::END => format!(".{}", insn.imm),
        () if insn.is_call() => format!(".{}", insn.src),
        () => String::new(),
    };
    format!("{class}:{:02x}{detail}", insn.code)
}

const CLASSES: [&str; 8] = ["ld", "ldx", "st", "stx", "alu32", "jmp", "jmp32", "alu64"];

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} instructions of {} kinds", self.instructions, self.operations.len())?;
        let row = |f: &mut fmt::Formatter<'_>, what: &str, rows: Vec<(&str, u64)>| {
            let cells: Vec<String> =
                rows.iter().map(|(name, count)| format!("{name} {count}")).collect();
            writeln!(f, "{what}: {}", cells.join(", "))
        };
        row(f, "operations", self.operations.iter().map(|(n, c)| (&**n, *c)).collect())?;
        row(f, "helpers", self.helpers.iter().map(|(n, c)| (*n, *c)).collect())?;
        row(f, "maps", self.maps.iter().map(|(n, c)| (*n, *c)).collect())?;
        for (why, (count, seed)) in &self.refusals {
            writeln!(f, "refused {count} times, first of seed {seed}: {why}")?;
        }
        Ok(())
    }
}
