//! Any bytes as an object: read, relocated, changed and listed without a panic.
//!
//! `cargo +nightly fuzz run spec_parse fuzz/corpus/spec_parse bpf/prebuilt bpf/prebuilt/test`
//! starts from the committed objects.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spec::Spec;
use spec::btf::Lacks;
use spec::disasm::{Listing, SpecNames};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut spec) = Spec::parse("fuzzed.o", bytes) else { return };
    if let Some(btf) = spec.btf.clone() {
        // An object's own types are a target as good and as bad as any.
        let _ = spec.relocate(&btf);
        let lacks = Lacks { enum64: true, datasec: true, func: true, ..Lacks::default() };
        let _ = btf.for_kernel(lacks);
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
});
