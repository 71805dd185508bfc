//! Local variables from the DWARF of `locals.o`, and damaged ones.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![forbid(unsafe_code)]

use proptest::prelude::*;
use spec::Spec;
use spec::dwarf::{Locals, Location};

const OBJECT: &[u8] = include_bytes!("../../../bpf/prebuilt/test/locals.o");
const STRIPPED: &[u8] = include_bytes!("../../../bpf/prebuilt/test/calls.o");

#[test]
fn variables_have_names_types_and_places() {
    let locals = Locals::parse(OBJECT);
    assert!(!locals.is_empty() && locals.has("endpoint") && !locals.has("nothing"));
    let at = |function: &str, slot| {
        let variables = locals.at(function, slot).into_iter();
        variables
            .map(|one| (one.name.clone(), locals.types.type_text(one.type_id), one.place(slot)))
            .collect::<Vec<_>>()
    };
    let first = at("locals_first", 25);
    let find = |name: &str| first.iter().find(|(known, ..)| known == name).unwrap().clone();
    let typed = |text: &str, place| (text.to_owned(), place);
    let (_, text, place) = find("endpoint");
    assert_eq!((text, place), typed("struct endpoint", Some(Location::Stack { offset: 8 })));
    let (_, text, place) = find("sum");
    assert_eq!((text, place), typed("__u64", Some(Location::Stack { offset: 0 })));
    let (_, text, place) = find("data");
    assert_eq!((text, place), typed("__u8 *", Some(Location::Register(9))));
    let (_, text, place) = find("weight");
    assert_eq!((text, place), typed("int", Some(Location::Register(8))));
    assert_eq!(find("ctx").2, None, "r1 holds another value by then");
    assert_eq!(
        at("locals_first", 0).iter().find(|one| one.0 == "ctx").unwrap().2,
        Some(Location::Register(1))
    );
    let weigh = at("weigh", 0);
    let factor = weigh.iter().find(|(name, ..)| name == "factor").unwrap();
    assert_eq!(factor.2, Some(Location::Constant(3)), "propagated into the only call");
    assert!(at("nothing", 0).is_empty());
}

/// The lowest byte that a function uses is where offsets of its variables start.
#[test]
fn the_size_of_a_stack_is_that_of_its_variables() {
    let (locals, spec) = (Locals::parse(OBJECT), Spec::parse("locals.o", OBJECT).unwrap());
    let program = spec.program("locals_first").unwrap();
    let sizes = program.functions.iter().map(|function| {
        let next = program.functions.iter().find(|next| next.slot > function.slot);
        let end = next.map_or(program.insns.len(), |next| next.slot);
        let insns = &program.insns[function.slot..end];
        (function.name.as_str(), locals.stack_bytes(&function.name, insns))
    });
    let mut sizes: Vec<_> = sizes.collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [("add", 0), ("count", 24), ("locals_first", 16), ("weigh", 0)]);
}

#[test]
fn objects_without_dwarf_have_no_variables() {
    for bytes in [STRIPPED, b"", b"\x7fELF", &OBJECT[..200]] {
        assert!(Locals::parse(bytes).is_empty());
    }
}

/// Where the DWARF is in the file: damage elsewhere only hides it.
fn sections() -> std::ops::Range<usize> {
    let start = OBJECT.windows(4).position(|bytes| bytes == [0x2a, 0x01, 0x11, 0x01]).unwrap_or(0);
    start.min(OBJECT.len() / 4)..OBJECT.len()
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// Damaged bytes are read without a panic, and what is read can be used.
    #[test]
    fn damage_is_survived(
        damage in prop::collection::vec((sections(), any::<u8>()), 1..20),
        slot in 0_usize..80,
    ) {
        let mut bytes = OBJECT.to_vec();
        for (at, byte) in damage {
            bytes[at] = byte;
        }
        let locals = Locals::parse(&bytes);
        for function in ["locals_first", "count", "weigh"] {
            for variable in locals.at(function, slot) {
                let _place = variable.place(slot);
                let size = locals.types.size_of(variable.type_id).unwrap_or(0).min(64);
                let _value = locals.types.value(variable.type_id, &vec![0; size as usize]);
                let _text = locals.types.type_text(variable.type_id);
            }
            let _size = locals.stack_bytes(function, &[]);
        }
    }
}
