//! Every committed object as source, assembled and read again.

use std::path::Path;

use crate::asm::source::assemble;
use crate::disasm::{Unprintable, source};
use crate::model::{Fixup, Initial, MapDef, Program, Spec, Target};

/// References by name, since sections may be numbered in another order.
fn fixups(spec: &Spec, fixups: &[Fixup]) -> Vec<(usize, String, u32)> {
    let named = fixups.iter().map(|fixup| match &fixup.target {
        Target::Map { map } => (fixup.slot, spec.maps[*map].name.clone(), u32::MAX),
        Target::MapValue { map, offset } => (fixup.slot, spec.maps[*map].name.clone(), *offset),
        other => panic!("{other:?}"),
    });
    named.collect()
}

fn initial(spec: &Spec, map: &MapDef) -> Vec<(u32, String)> {
    let named = map.initial.iter().map(|initial| match initial {
        Initial::Map { index, map } => (*index, spec.maps[*map].name.clone()),
        Initial::Program { index, program } => (*index, spec.programs[*program].name.clone()),
    });
    named.collect()
}

/// Functions that programs call may be in another order.
fn insns(program: &Program) -> Vec<crate::Insn> {
    let end = program.functions.get(1).map_or(program.insns.len(), |function| function.slot);
    let mut insns = program.insns[..end].to_vec();
    for insn in insns.iter_mut().filter(|insn| insn.src == crate::insn::PSEUDO_CALL) {
        insn.imm = if insn.is_call() { 0 } else { insn.imm };
    }
    insns
}

fn compare(name: &str, spec: &Spec, again: &Spec) {
    assert_eq!(spec.license, again.license, "{name}");
    let variables = |spec: &Spec| {
        let mut all = spec.variables.clone();
        all.sort_by(|a, b| (&a.section, a.offset, &a.name).cmp(&(&b.section, b.offset, &b.name)));
        all
    };
    assert_eq!(variables(spec), variables(again), "{name}");
    assert_eq!(spec.maps.len(), again.maps.len(), "{name}");
    for map in &spec.maps {
        let other = again.map(&map.name).unwrap();
        assert_eq!(initial(spec, map), initial(again, other), "{name}: {}", map.name);
        let untyped = |map: &MapDef| MapDef {
            key_type: 0,
            value_type: 0,
            initial: Vec::new(),
            inner: map.inner.as_ref().map(|inner| {
                Box::new(MapDef {
                    name: String::new(),
                    key_type: 0,
                    value_type: 0,
                    ..(**inner).clone()
                })
            }),
            ..map.clone()
        };
        assert_eq!(untyped(map), untyped(other), "{name}");
    }
    assert_eq!(spec.programs.len(), again.programs.len(), "{name}");
    for program in &spec.programs {
        let other = again.program(&program.name).unwrap();
        assert_eq!(program.section, other.section);
        assert_eq!((program.kind, program.autoload), (other.kind, other.autoload), "{name}");
        assert_eq!(insns(program), insns(other), "{name}: {}", program.name);
        assert_eq!(program.insns.len(), other.insns.len(), "{name}: {}", program.name);
        if program.functions.len() == 1 {
            assert_eq!(fixups(spec, &program.fixups), fixups(again, &other.fixups), "{name}");
        }
    }
}

#[test]
fn every_committed_object_reads_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf/prebuilt");
    let (mut same, mut refused) = (0, Vec::new());
    for folder in [folder.clone(), folder.join("test")] {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "o") {
                continue;
            }
            let name = path.display().to_string();
            let spec = Spec::parse(&name, &std::fs::read(&path).unwrap()).unwrap();
            let text = match source(&spec) {
                Ok(text) => text,
                Err(
                    Unprintable::Kconfig
                    | Unprintable::Reference { .. }
                    | Unprintable::KernelObject { .. },
                ) => {
                    refused.push(name);
                    continue;
                }
                Err(error) => panic!("{name}: {error}"),
            };
            let object =
                assemble("again.s", &text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
            let again = Spec::parse("again.o", &object).unwrap_or_else(|e| panic!("{name}: {e}"));
            compare(&name, &spec, &again);
            same += 1;
        }
    }
    assert!(same >= 15, "{same} read back, refused: {refused:?}");
}
