//! The documents' own programs, in the style of their time.

use spec::{Initial, MapDef, MapKind, ProgramKind, Spec, Target};

use crate::{bytes, object, without_types};

#[test]
fn numbered_sections_are_xdp_programs() {
    for (file, program, section) in [
        ("talk_drop.o", "drop_udp", "xdp1"),
        ("talk_forward.o", "forward_udp", "xdp_fwd"),
        ("paper_count.o", "count_and_reflect", "xdp1"),
        ("old_maps.o", "look_up", "xdp2_old"),
    ] {
        for bytes in [bytes(file), without_types(file)] {
            let spec = Spec::parse(file, &bytes).unwrap();
            assert_eq!(spec.programs.len(), 1, "{file}");
            let found = &spec.programs[0];
            assert_eq!((found.name.as_str(), found.section.as_str()), (program, section));
            assert_eq!(found.kind, ProgramKind::XDP);
            assert!(found.autoload);
            assert_eq!(spec.license, "GPL");
            assert!(!spec.needs_target());
        }
    }
}

#[test]
fn types_give_source_lines() {
    let spec = object("talk_drop.o");
    let btf = spec.btf.as_ref().unwrap();
    let program = spec.program("drop_udp").unwrap();
    let line = program.line_at(program.insns.len() - 1).unwrap();
    assert_eq!(btf.string(line.file), Some("./bpf/test/talk_drop.bpf.c"));
    let mut texts = program.lines.iter().filter_map(|line| btf.string(line.text));
    assert!(texts.any(|text| text.contains("htons(1234) ? XDP_DROP")));
    assert_eq!(program.lines[0].slot, 0);
    assert!(program.lines.is_sorted_by(|a, b| a.slot < b.slot));
    let bare = Spec::parse("bare", &without_types("talk_drop.o")).unwrap();
    assert!(bare.btf.is_none());
    assert!(bare.program("drop_udp").unwrap().lines.is_empty());
}

#[test]
fn the_papers_map_is_plain_numbers() {
    for bytes in [bytes("paper_count.o"), without_types("paper_count.o")] {
        let spec = Spec::parse("paper_count.o", &bytes).unwrap();
        let wanted = MapDef {
            name: "rxcnt".into(),
            kind: MapKind::PERCPU_ARRAY,
            key_size: 4,
            value_size: 8,
            max_entries: 256,
            ..MapDef::default()
        };
        assert_eq!(spec.maps, [wanted]);
        let program = &spec.programs[0];
        let loads: Vec<_> = program.fixups.iter().map(|fixup| &fixup.target).collect();
        assert_eq!(loads, [&Target::Map { map: 0 }]);
        let load = program.insns[program.fixups[0].slot];
        assert!(load.is_wide());
        assert_eq!((load.src, load.imm), (spec::insn::PSEUDO_MAP_FD, 0));
    }
}

#[test]
fn dialects_are_told_by_length() {
    let spec = object("old_maps.o");
    let map = |name: &str| spec.map(name).unwrap();
    assert_eq!(map("flows").numa_node, Some(0));
    assert_eq!(map("flows").max_entries, 1024);
    assert_ne!((map("flows").key_type, map("flows").value_type), (0, 0), "annotated");
    let tables = map("tables");
    assert_eq!(tables.inner.as_deref().map(|inner| inner.name.as_str()), Some("flows"));
    assert!(map("pinned").pin_by_name);
    assert!(!map("tables").pin_by_name);
}

#[test]
fn an_inner_map_of_iproute2_is_found_by_its_id() {
    let spec = object("old_inner.o");
    let template = |name: &str| {
        let inner = spec.map(name).unwrap().inner.as_deref();
        inner.map(|inner| (inner.name.as_str(), inner.key_size, inner.max_entries))
    };
    assert_eq!(template("services"), Some(("backends", 4, 2)));
    assert_eq!(template("by_port"), Some(("by_flow", 8, 16)));
    let backends = spec.map_index("backends").unwrap();
    let placed = [Initial::Map { index: 3, map: backends }];
    assert_eq!(spec.map("services").unwrap().initial, placed, "`inner_idx` is a slot");
    assert_eq!(spec.map("by_port").unwrap().initial, [], "-1 stands for no slot");
}

#[test]
fn a_field_without_meaning_is_refused() {
    // The inner map's number and the NUMA node of `tables`, whose flags ask for no node.
    let tables = [12u32, 4, 4, 8, 0, 0, 0].map(u32::to_le_bytes).concat();
    let mut bytes = bytes("old_maps.o");
    let at = bytes.windows(tables.len()).position(|window| window == tables).unwrap();
    bytes[at + 24] = 9;
    let error = Spec::parse("old_maps.o", &bytes).unwrap_err().to_string();
    let wanted = "map definition: field 6 holds 9; its meaning is unknown";
    assert!(error.starts_with("old_maps.o: section `maps`, symbol `tables`, offset"), "{error}");
    assert!(error.ends_with(wanted), "{error}");
}
