//! Field relocations against targets with other layouts.

use spec::btf::{Btf, Kind};
use spec::co_re::RelocationError;
use spec::insn::Insn;
use spec::{Error, Program, Spec};

use crate::object;

fn relocated() -> Spec {
    let mut spec = object("core.o");
    assert!(spec.needs_target());
    spec.relocate(object("core_target.o").btf.as_ref().unwrap()).unwrap();
    assert!(!spec.needs_target());
    spec
}

/// The one instruction that relocation changed or would change.
fn subject(before: &Spec, after: &Spec, name: &str) -> (Insn, Insn) {
    let slot = before.program(name).unwrap().fixups[0].slot;
    let program = after.program(name).unwrap();
    (program.insns[slot], program.insns.get(slot + 1).copied().unwrap_or_default())
}

#[test]
fn accesses_move_and_widen() {
    let (before, after) = (object("core.o"), relocated());
    // LDX codes: 0x61 four bytes, 0x69 two, 0x79 eight.
    let table = [
        ("read_length", 0x79, 16),
        ("read_nested", 0x61, 52),
        ("read_anonymous", 0x61, 64),
        ("read_element", 0x69, 28),
    ];
    for (name, code, offset) in table {
        let (insn, _) = subject(&before, &after, name);
        assert_eq!((insn.code, insn.off), (code, offset), "{name}");
    }
}

#[test]
fn questions_are_answered() {
    let (before, after) = (object("core.o"), relocated());
    let target = object("core_target.o");
    let id = |spec: &Spec| spec.btf.as_ref().unwrap().find(Kind::Struct, "packet").unwrap();
    let table = [
        ("offset_wanted", 52),
        ("size_whole", 8),
        ("signed_level", 1),
        ("left_high", 32),
        ("right_high", 64 - 9),
        ("exists_kind", 1),
        ("exists_added", 1),
        ("type_packet", 1),
        ("type_absent", 0),
        ("type_size", 96),
        ("type_matches", 1),
        ("typedef_size", 8),
        ("target_id", id(&target)),
        ("enum_exists", 1),
        ("enum_value", 22),
        ("enum_new", 1),
    ];
    for (name, wanted) in table {
        let (insn, _) = subject(&before, &after, name);
        assert_eq!(insn.imm.cast_unsigned(), wanted, "{name}");
    }
    let (low, high) = subject(&before, &after, "enum_wide");
    assert_eq!((low.imm, high.imm), (2, 2));
}

#[test]
fn an_objects_own_id_needs_no_target() {
    let spec = object("core.o");
    let program = spec.program("local_id").unwrap();
    assert!(program.fixups.is_empty());
    let id = spec.btf.as_ref().unwrap().find(Kind::Struct, "packet").unwrap();
    assert!(program.insns.iter().any(|insn| insn.imm.cast_unsigned() == id));
}

#[test]
fn what_is_missing_is_poisoned_and_named() {
    let (before, after) = (object("core.o"), relocated());
    let text = |name: &str| {
        let program: &Program = after.program(name).unwrap();
        program.unresolved.iter().map(|item| item.text.as_str()).collect::<Vec<_>>()
    };
    let table = [
        ("read_absent", "offset of struct absent.x: the target has no such type"),
        // A signed field cannot be read in another width.
        ("read_level", "offset of struct packet.level: 4 bytes in the object, 8 in the target"),
    ];
    for (name, wanted) in table {
        assert_eq!(text(name), [wanted]);
        let (insn, _) = subject(&before, &after, name);
        assert!(insn.is_call() && insn.imm == 0x0bad_2310, "{name}: {insn:?}");
    }
    assert!(text("read_length").is_empty());
}

#[test]
fn accesses_in_subprograms_move_too() {
    let after = relocated();
    let program = after.program("in_sub").unwrap();
    let sub = program.functions[1].slot;
    let offsets: Vec<_> = program.insns[sub..].iter().map(|insn| insn.off).collect();
    assert!(offsets.contains(&16), "length moved to 16: {offsets:?}");
    assert_eq!(program.unresolved.len(), 1, "level became wider and signed");
    assert!(program.unresolved[0].slot >= sub);
}

#[test]
fn two_different_answers_are_an_error() {
    let mut spec = object("core.o");
    spec.programs.retain(|program| program.name == "read_length");
    let unchanged = spec.programs.clone();
    let error = spec.relocate(object("core_other.o").btf.as_ref().unwrap()).unwrap_err();
    let wanted = "core.o: section `xdp`, symbol `read_length`, offset 0x0: field relocation: \
                  `offset of struct packet.length` is ambiguous: several types of the target match";
    assert_eq!(error.to_string(), wanted);
    let Error::Relocation { cause, .. } = error else { panic!("{error:?}") };
    let relocation = "offset of struct packet.length".to_owned();
    assert_eq!(cause, RelocationError::Ambiguous { relocation });
    assert_eq!(spec.programs, unchanged);
}

#[test]
fn without_relocations_nothing_is_asked() {
    let mut spec = object("talk_drop.o");
    let before = spec.programs.clone();
    spec.relocate(&Btf::default()).unwrap();
    assert_eq!(spec.programs, before);
}

#[test]
fn an_objects_own_types_change_nothing() {
    let mut spec = object("core.o");
    // Questions about `packet` as a whole would find `packet___new` too.
    spec.programs.retain(|program| program.name.starts_with("read_"));
    assert!(spec.programs.len() > 4);
    let own = spec.btf.clone().unwrap();
    let before = spec.clone();
    spec.relocate(&own).unwrap();
    for (was, is) in before.programs.iter().zip(&spec.programs) {
        assert_eq!(was.insns, is.insns, "{}", was.name);
    }
}
