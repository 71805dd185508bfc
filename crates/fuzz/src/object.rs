//! Objects and types.

use spec::Spec;
use spec::btf::{Btf, MissingFeatures};
use spec::disasm::{Listing, SpecNames};

/// Read, relocated, changed and listed without a panic.
pub fn parse(bytes: &[u8]) {
    let Ok(mut spec) = Spec::parse("fuzzed.o", bytes) else { return };
    if let Some(btf) = spec.btf.clone() {
        // An object's own types are a target as good and as bad as any.
        let _ = spec.relocate(&btf);
        for map in &spec.maps {
            let contents = map.contents.as_deref().unwrap_or_default();
            let _ = btf.value(map.value_type, &contents[..contents.len().min(4096)]);
        }
    }
    if let Some(global) = spec.globals().first() {
        let _ = spec.set_global_text(&global.name, "1");
    }
    for program in spec.programs.iter().filter(|program| program.insns.len() < 4096) {
        let names = SpecNames { spec: &spec, program };
        let _ = Listing::new(program, &names).source(spec.btf.as_ref()).to_string();
    }
}

/// Types are viewed, printed and repaired for kernels; what is given to a kernel reads again.
pub fn btf(bytes: &[u8]) {
    let Ok(btf) = Btf::parse(bytes) else { return };
    let all = MissingFeatures {
        func: true,
        datasec: true,
        global_func: true,
        float: true,
        decl_tag: true,
        type_tag: true,
        enum64: true,
    };
    for lacks in [MissingFeatures::default(), all] {
        let Ok(copy) = btf.for_kernel(lacks) else { continue };
        let again = Btf::parse(copy.raw()).expect("what is made for a kernel");
        assert!(again.len() >= btf.len(), "ids are kept");
    }
    for ty in btf.types().take(256) {
        let _ = (ty.name(), btf.size_of(ty.id()), btf.align_of(ty.id()), btf.resolve(ty.id()));
        let _ = btf.find(ty.kind(), ty.name());
        let _ = btf.value(ty.id(), &bytes[..bytes.len().min(64)]);
    }
}
