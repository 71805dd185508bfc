//! Every program of every committed object, printed and read back.

use std::path::{Path, PathBuf};

use crate::asm::text::{Reference, parse_code};
use crate::disasm::{Listing, SpecNames};
use crate::model::{Program, Spec, Target};

fn objects() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf/prebuilt");
    let folders = [folder.clone(), folder.join("test")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "o"));
    paths.sort();
    assert!(paths.len() >= 10, "{paths:?}");
    paths
}

/// What the text must have kept of the program's references.
fn references(spec: &Spec, program: &Program) -> Vec<(usize, Reference)> {
    let map = |index: usize| spec.maps[index].name.clone();
    let kept = program.fixups.iter().filter_map(|fixup| {
        let reference = match &fixup.target {
            Target::Map { map: index } => Reference::Map(map(*index)),
            Target::MapValue { map: index, offset } => Reference::MapValue(map(*index), *offset),
            Target::Ksym { name, .. } | Target::KfuncAddress { name, .. } => {
                Reference::Symbol(name.clone())
            }
            Target::Kfunc { name, .. } => Reference::Kfunc(name.clone()),
            Target::Field(_) => return None,
        };
        Some((fixup.slot, reference))
    });
    kept.collect()
}

#[test]
fn every_committed_program_reads_back() {
    let mut programs = 0;
    for path in objects() {
        let name = path.display().to_string();
        let spec = Spec::parse(&name, &std::fs::read(&path).unwrap()).unwrap();
        for program in &spec.programs {
            for labels in [false, true] {
                let names = SpecNames { spec: &spec, program };
                let types = spec.btf.as_ref();
                let listing = Listing::new(program, &names).source(types).labels(labels);
                let listing = listing.to_string();
                let code =
                    parse_code(&listing).unwrap_or_else(|e| panic!("{name}: {e}\n{listing}"));
                let mut expected = program.insns.clone();
                for fixup in &program.fixups {
                    // Whether a symbol has a type is in no text.
                    if matches!(fixup.target, Target::Ksym { .. } | Target::KfuncAddress { .. }) {
                        expected[fixup.slot].src = 0;
                    }
                }
                assert_eq!(code.insns, expected, "{name}: {}\n{listing}", program.name);
                assert_eq!(code.references, references(&spec, program), "{name}");
            }
            programs += 1;
        }
    }
    assert!(programs >= 20, "only {programs} programs");
}
