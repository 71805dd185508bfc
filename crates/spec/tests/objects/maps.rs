//! Map definitions of the new style.

use spec::{Initial, MapDef, MapKind, Spec, Target};

use crate::{object, without_types};

#[test]
fn every_field_is_read() {
    let spec = object("maps.o");
    let plain = |name: &str, kind, key_size, value_size, max_entries| MapDef {
        name: name.into(),
        kind,
        key_size,
        value_size,
        max_entries,
        ..MapDef::default()
    };
    let table = [
        MapDef {
            flags: 4,
            numa_node: Some(0),
            pin_by_name: true,
            ..plain("flows", MapKind::LRU_HASH, 8, 8, 4096)
        },
        MapDef { flags: 1, ..plain("routes", MapKind::LPM_TRIE, 8, 4, 16) },
        MapDef { extra: 3, ..plain("seen", MapKind::BLOOM_FILTER, 0, 4, 100) },
        plain("events", MapKind::RINGBUF, 0, 0, 65536),
        plain("counters", MapKind::PERCPU_ARRAY, 4, 8, 5),
        plain("first", MapKind::ARRAY, 4, 8, 2),
        plain("second", MapKind::ARRAY, 4, 8, 2),
    ];
    for wanted in table {
        let found = spec.map(&wanted.name).unwrap();
        let untyped = MapDef { key_type: 0, value_type: 0, ..found.clone() };
        assert_eq!(untyped, wanted);
    }
    let btf = spec.btf.as_ref().unwrap();
    let flows = spec.map("flows").unwrap();
    assert_eq!(btf.type_text(flows.key_type), "struct flow");
    assert_eq!(btf.type_text(flows.value_type), "__u64");
}

#[test]
fn values_name_maps_and_programs() {
    let spec = object("maps.o");
    let tables = spec.map("tables").unwrap();
    let inner = tables.inner.as_deref().unwrap();
    assert_eq!((inner.kind, inner.key_size, inner.max_entries), (MapKind::ARRAY, 4, 2));
    let (first, second) = (spec.map_index("first").unwrap(), spec.map_index("second").unwrap());
    assert_eq!(
        tables.initial,
        [Initial::Map { index: 0, map: first }, Initial::Map { index: 2, map: second }]
    );
    let programs = spec.map("programs").unwrap();
    let number = |name: &str| spec.programs.iter().position(|program| program.name == name);
    assert_eq!(programs.value_size, 4);
    assert_eq!(
        programs.initial,
        [
            Initial::Program { index: 0, program: number("drop").unwrap() },
            Initial::Program { index: 2, program: number("count").unwrap() },
        ]
    );
}

#[test]
fn each_load_names_its_map() {
    let (maps, beyond) = (object("maps.o"), object("beyond.o"));
    let loads = |object: &str, program: &str| -> Vec<String> {
        let spec = if object == "maps.o" { &maps } else { &beyond };
        let fixups = &spec.program(program).unwrap().fixups;
        fixups
            .iter()
            .map(|fixup| match fixup.target {
                Target::Map { map } => spec.maps[map].name.clone(),
                ref other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(loads("maps.o", "count"), ["counters"]);
    assert_eq!(
        loads("maps.o", "use_all"),
        ["flows", "routes", "seen", "events", "tables", "programs"]
    );
    assert!(loads("maps.o", "drop").is_empty());
    assert_eq!(loads("beyond.o", "calls_library"), ["settings", "counters"], "static maps");
}

#[test]
fn definitions_need_types() {
    let error = Spec::parse("maps.o", &without_types("maps.o")).unwrap_err();
    let wanted = "maps.o: section `.maps`: map definition: its BTF is missing: \
                  compile with -g and do not strip .BTF";
    assert_eq!(error.to_string(), wanted);
}
