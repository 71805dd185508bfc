//! Translated instructions in the kernel's notation, with the names that only the kernel knows.
//!
//! What the kernel hands out (`kernel/bpf/syscall.c`, `bpf_insn_prepare_dump`, Linux 6.18): a map
//! is its id; a helper is its distance from `__bpf_call_base`; a call of a BPF function has the
//! distance in `off` and, once compiled, the function's number in `imm`.

use std::collections::HashSet;

use kernel::{Dump, DumpFunction, DumpLine};
use spec::Insn;
use spec::btf::{Btf, Kind};
use spec::disasm::{self, Names};
use spec::insn::{PSEUDO_CALL, PSEUDO_FUNC, PSEUDO_KFUNC_CALL, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE};

use super::symbols::{self, Symbols};
use super::{Function, Instruction};

/// One entry for each function, in program order.
pub fn list(dump: &Dump) -> Vec<Function> {
    let insns: Vec<_> = dump.translated.iter().map(|insn| readable(*insn)).collect();
    let names = KernelNames::read(&insns, &dump.functions);
    let ends = dump.functions.iter().skip(1).map(|next| next.slot);
    let ends = ends.chain([insns.len()]);
    let functions = dump.functions.iter().zip(ends).map(|(function, end)| Function {
        name: function.name.clone(),
        address: None,
        instructions: disasm::slots(&insns)
            .filter(|slot| (function.slot..end).contains(slot))
            .map(|slot| instruction(&insns, slot, &names, &dump.lines))
            .collect(),
    });
    functions.collect()
}

fn instruction(
    insns: &[Insn],
    slot: usize,
    names: &KernelNames,
    lines: &[DumpLine],
) -> Instruction {
    let width = if insns[slot].is_wide() { 2 } else { 1 };
    let raw = Insn::bytes(&insns[slot..(slot + width).min(insns.len())]);
    Instruction {
        at: slot,
        text: disasm::insn(insns, slot, names),
        bytes: packet::hex(&raw),
        source: lines.iter().find(|line| line.slot == slot).map(|line| line.source.clone()),
        hits: None,
    }
}

/// The distance of a local call goes where it was when the program was loaded.
fn readable(insn: Insn) -> Insn {
    if insn.is_local_call() { Insn { imm: insn.off.into(), off: 0, ..insn } } else { insn }
}

/// Names for numbers in instructions, as the kernel reports them.
#[derive(Debug, Default)]
struct KernelNames {
    functions: Vec<(usize, String)>,
    /// Address of `__bpf_call_base`.
    base: Option<u64>,
    symbols: Symbols,
    types: Option<Btf>,
}

impl KernelNames {
    fn read(insns: &[Insn], functions: &[DumpFunction]) -> Self {
        let functions = functions.iter().map(|one| (one.slot, one.name.clone())).collect();
        let mut names = Self { functions, ..Self::default() };
        let calls: Vec<_> =
            insns.iter().filter(|insn| insn.is_call() && insn.src != PSEUDO_CALL).collect();
        if calls.is_empty() {
            return names;
        }
        let table = sys::proc::kallsyms().unwrap_or_default();
        names.base = symbols::address_of(&table, "__bpf_call_base");
        let wanted: HashSet<_> = calls.iter().filter_map(|call| names.address(**call)).collect();
        names.symbols = Symbols::parse(&table, &wanted);
        if calls.iter().any(|call| call.src == PSEUDO_KFUNC_CALL) {
            names.types = sys::proc::kernel_btf().ok().and_then(|raw| Btf::parse(&raw).ok());
        }
        names
    }

    fn address(&self, call: Insn) -> Option<u64> {
        (call.imm != 0).then_some(self.base?.wrapping_add_signed(call.imm.into()))
    }

    /// The function `imm` slots after the next one.
    fn function(&self, slot: usize, insn: Insn) -> Option<String> {
        let target = slot as i64 + 1 + i64::from(insn.imm);
        let found = self.functions.iter().find(|(start, _)| *start as i64 == target);
        found.map(|(_, name)| name.clone())
    }

    /// Where the JIT can call far, a kernel function keeps its BTF number.
    fn kernel_function(&self, insn: Insn) -> Option<String> {
        let ty = self.types.as_ref()?.ty(insn.imm.cast_unsigned())?;
        (insn.off == 0 && ty.kind() == Kind::Func).then(|| ty.name().to_owned())
    }
}

impl Names for KernelNames {
    fn wide(&self, slot: usize, insn: Insn, value: u64) -> Option<String> {
        let (low, high) = (value as u32, value >> 32);
        match insn.src {
            PSEUDO_MAP_FD => Some(format!("map[id:{low}]")),
            PSEUDO_MAP_VALUE => Some(format!("map[id:{low}][0]+{high}")),
            PSEUDO_FUNC => self.function(slot, insn).map(|name| format!("subprog[{name}]")),
            _ => None,
        }
    }

    fn call(&self, slot: usize, insn: Insn) -> Option<String> {
        if insn.is_local_call() {
            return self.function(slot, insn);
        }
        let named = self.address(insn).and_then(|address| self.symbols.name(address));
        named.map(str::to_owned).or_else(|| {
            if insn.src == PSEUDO_KFUNC_CALL { self.kernel_function(insn) } else { None }
        })
    }
}

#[cfg(test)]
mod tests {
    use spec::insn::{CALL, EXIT, LD_IMM64};

    use super::*;

    fn dump(translated: Vec<Insn>, functions: &[(&str, usize)]) -> Dump {
        let function = |(name, slot): &(&str, usize)| DumpFunction {
            name: (*name).to_owned(),
            slot: *slot,
            ..Default::default()
        };
        Dump { translated, functions: functions.iter().map(function).collect(), ..Dump::default() }
    }

    #[test]
    fn functions_and_maps_have_names() {
        let insns = vec![
            Insn::new(LD_IMM64, 1, PSEUDO_MAP_VALUE, 0, 7),
            Insn::new(0, 0, 0, 0, 16),
            // Once compiled: one slot ahead, function number 1.
            Insn::new(CALL, 0, PSEUDO_CALL, 1, 1),
            Insn::new(EXIT, 0, 0, 0, 0),
            Insn::new(EXIT, 0, 0, 0, 0),
        ];
        let functions = list(&dump(insns, &[("main", 0), ("part", 4)]));
        let text = |at: usize| functions[0].instructions[at].text.as_str();
        assert!(text(0).ends_with("r1 = map[id:7][0]+16"), "{}", text(0));
        assert_eq!(text(1), "(85) call pc+1#part");
        assert_eq!(functions[0].instructions.len(), 3);
        assert_eq!((functions[1].name.as_str(), functions[1].instructions[0].at), ("part", 4));
    }

    #[test]
    fn helpers_are_named_by_their_distance() {
        let table = "ffffffff81000000 T __bpf_call_base\nffffffff81000100 T bpf_redirect\n";
        let call = Insn::new(CALL, 0, 0, 0, 0x100);
        let mut names = KernelNames {
            base: symbols::address_of(table, "__bpf_call_base"),
            ..KernelNames::default()
        };
        let wanted = HashSet::from([names.address(call).unwrap()]);
        names.symbols = Symbols::parse(table, &wanted);
        assert_eq!(names.call(0, call), Some("bpf_redirect".to_owned()));
        assert_eq!(names.call(0, Insn { imm: 0x200, ..call }), None);
        assert_eq!(names.call(0, Insn { imm: 0, ..call }), None, "hidden");
    }
}
