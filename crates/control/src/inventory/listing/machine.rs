//! Machine code that the JIT made, disassembled in AT&T syntax on x86-64, as bytes elsewhere.
//!
//! Positions count from the function's start. Branches name their target: a place in one of the
//! program's functions, or a kernel symbol.

use kernel::{Dump, DumpFunction, DumpLine, Source};

use super::symbols::Symbols;
use super::{Function, Instruction};

/// One entry for each function, in program order.
pub fn list(dump: &Dump) -> Vec<Function> {
    let decoded: Vec<_> = dump.functions.iter().map(|one| decode(code(dump, one), one)).collect();
    let targets = Targets::read(&dump.functions, decoded.iter().flatten());
    dump.functions
        .iter()
        .zip(decoded)
        .map(|(function, steps)| Function {
            name: function.name.clone(),
            address: (function.address != 0).then(|| format!("{:#x}", function.address)),
            instructions: steps
                .into_iter()
                .map(|step| Instruction {
                    at: step.at,
                    source: line_at(&dump.lines, function.machine_at + step.at),
                    text: targets.text(&step),
                    bytes: step.bytes,
                    hits: None,
                })
                .collect(),
        })
        .collect()
}

/// The bytes of a function; none where the kernel's numbers do not fit its code.
fn code<'a>(dump: &'a Dump, function: &DumpFunction) -> &'a [u8] {
    let end = function.machine_at.saturating_add(function.machine_len);
    dump.machine.get(function.machine_at..end).unwrap_or_default()
}

fn line_at(lines: &[DumpLine], at: usize) -> Option<Source> {
    // Several lines may begin at one place: the last of them is the one that made code.
    lines.iter().rfind(|line| line.machine_at == Some(at)).map(|line| line.source.clone())
}

/// One machine instruction.
#[derive(Clone, Debug, Default)]
struct Step {
    at: usize,
    bytes: String,
    text: String,
    /// Mnemonic and kernel address of a direct branch.
    branch: Option<(String, u64)>,
}

/// What branches lead to.
#[derive(Debug)]
struct Targets<'a> {
    functions: &'a [DumpFunction],
    symbols: Symbols,
}

impl<'a> Targets<'a> {
    fn read<'s>(functions: &'a [DumpFunction], steps: impl Iterator<Item = &'s Step>) -> Self {
        let all = steps.filter_map(|step| step.branch.as_ref().map(|(_, target)| *target));
        let outside = all.filter(|target| inside(functions, *target).is_none()).collect();
        Self { functions, symbols: Symbols::of(&outside) }
    }

    fn text(&self, step: &Step) -> String {
        let Some((mnemonic, target)) = &step.branch else { return step.text.clone() };
        let named = inside(self.functions, *target)
            .or_else(|| self.symbols.name(*target).map(str::to_owned));
        match named {
            Some(name) => format!("{mnemonic} {name}"),
            None => step.text.clone(),
        }
    }
}

/// `name` or `name+0x1f`.
fn inside(functions: &[DumpFunction], target: u64) -> Option<String> {
    functions.iter().find_map(|function| {
        let offset = target.checked_sub(function.address)?;
        let fits = (offset as usize) < function.machine_len;
        fits.then(|| match offset {
            0 => function.name.clone(),
            _ => format!("{}+{offset:#x}", function.name),
        })
    })
}

#[cfg(target_arch = "x86_64")]
fn decode(code: &[u8], function: &DumpFunction) -> Vec<Step> {
    use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter};

    let mut formatter = GasFormatter::new();
    formatter.options_mut().set_uppercase_hex(false);
    let decoder = Decoder::with_ip(64, code, function.address, DecoderOptions::NONE);
    let step = |insn: iced_x86::Instruction| {
        let at = insn.ip().wrapping_sub(function.address) as usize;
        let mut step = Step {
            at,
            bytes: packet::hex(code.get(at..at + insn.len()).unwrap_or_default()),
            ..Step::default()
        };
        formatter.format(&insn, &mut step.text);
        let target = insn.near_branch_target();
        if target != 0 {
            let mut mnemonic = String::new();
            formatter.format_mnemonic(&insn, &mut mnemonic);
            step.branch = Some((mnemonic, target));
        }
        step
    };
    decoder.into_iter().map(step).collect()
}

/// Rows of eight bytes.
#[cfg(not(target_arch = "x86_64"))]
fn decode(code: &[u8], _function: &DumpFunction) -> Vec<Step> {
    let rows = code.chunks(8).enumerate();
    rows.map(|(row, bytes)| {
        let bytes = packet::hex(bytes);
        Step { at: row * 8, text: bytes.clone(), bytes, branch: None }
    })
    .collect()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn branches_name_their_targets() {
        let function = |name: &str, address, machine_at, machine_len| DumpFunction {
            name: name.to_owned(),
            address,
            machine_at,
            machine_len,
            slot: 0,
        };
        let dump = Dump {
            // push %rbp; jmp +0; call the next function; ret, and a ret.
            machine: vec![0x55, 0xeb, 0x00, 0xe8, 0xf8, 0x0f, 0, 0, 0xc3, 0xc3],
            functions: vec![function("main", 0x1000, 0, 9), function("part", 0x2000, 9, 1)],
            lines: vec![DumpLine {
                slot: 0,
                machine_at: Some(3),
                source: kernel::Source { text: "part()".into(), file: "x.c".into(), line: 7 },
                column: 1,
            }],
            ..Dump::default()
        };
        let functions = list(&dump);
        let texts: Vec<_> = functions[0].instructions.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["push %rbp", "jmp main+0x3", "call part", "ret"]);
        assert_eq!(functions[0].instructions[2].bytes, "e8f80f0000");
        assert_eq!(functions[0].instructions[2].source.as_ref().map(|line| line.line), Some(7));
        assert_eq!(functions[1].address.as_deref(), Some("0x2000"));
    }
}
