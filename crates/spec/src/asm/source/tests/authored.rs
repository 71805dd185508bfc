//! What an author writes, as the object's reader sees it.

use crate::asm::source::assemble;
use crate::model::{Initial, MapKind, Spec, Target};

fn spec(text: &str) -> Spec {
    let object = assemble("test.s", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Spec::parse("test.o", &object).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_program_with_a_map_a_function_and_a_variable() {
    let spec = spec(
        r#"
        .license "GPL"
        .map packets percpu_array key=4 value=8 entries=2 flags=0x0

        .section .rodata
limit:  .long 5
        .section xdp
drop:
        r6 = r1
        r1 = limit ll
        w2 = *(u32 *)(r1 + 0)
        r1 = packets ll
        call check
        if r0 != 0 goto out
        r0 = 2
out:    exit

        .text
check:  r0 = r2
        exit
        "#,
    );
    assert_eq!(spec.license, "GPL");
    let program = &spec.programs[0];
    assert_eq!((program.name.as_str(), program.section.as_str()), ("drop", "xdp"));
    assert_eq!(program.functions.len(), 2);
    assert_eq!(program.functions[1].name, "check");
    let packets = spec.map_index("packets").unwrap();
    let map = &spec.maps[packets];
    assert_eq!(map.kind, MapKind::PERCPU_ARRAY);
    assert_eq!((map.key_size, map.value_size, map.max_entries), (4, 8, 2));
    let rodata = spec.map_index(".rodata").unwrap();
    assert_eq!(spec.maps[rodata].contents.as_deref(), Some(&[5, 0, 0, 0][..]));
    let targets: Vec<_> = program.fixups.iter().map(|fixup| &fixup.target).collect();
    let limit = Target::MapValue { map: rodata, offset: 0 };
    assert_eq!(targets, [&limit, &Target::Map { map: packets }]);
    let line = program.line_at(3).unwrap();
    let types = spec.btf.as_ref().unwrap();
    assert_eq!(types.string(line.text), Some("w2 = *(u32 *)(r1 + 0)"));
    assert_eq!((types.string(line.file), line.line), (Some("test.s"), 11));
    assert_eq!(spec.globals()[0].name, "limit");
}

#[test]
fn a_declared_symbol_that_nothing_uses_is_left_out() {
    let text = ".section xdp\n.globl unused\nfirst: r0 = 1\nexit\n";
    let object = assemble("test.s", text).unwrap();
    let has = |name: &[u8]| object.windows(name.len()).any(|bytes| bytes == name);
    assert!(has(b"\0first\0") && !has(b"\0unused\0"));
}

#[test]
fn maps_of_maps_and_of_programs() {
    let spec = spec(
        r#"
        .map small hash key=4 value=4 entries=16
        .map tables array_of_maps key=4 entries=3 inner=(hash key=4 value=4 entries=16)
        .values tables 0=small 2=small
        .map next prog_array entries=4
        .values next 1=second
        .section xdp
        .globl second
first:  r0 = 1
        exit
second: r0 = 2
        exit
        "#,
    );
    let names: Vec<_> = spec.programs.iter().map(|program| program.name.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    let tables = spec.map("tables").unwrap();
    assert_eq!(tables.initial, [0, 2].map(|index| Initial::Map { index, map: 0 }));
    assert_eq!(tables.inner.as_ref().unwrap().max_entries, 16);
    let next = spec.map("next").unwrap();
    assert_eq!(next.initial, [Initial::Program { index: 1, program: 1 }]);
}
