//! Variables: where they stand, and what text sets them to.

use spec::{Error, MapKind, Spec, Target, ValueError};

use crate::{object, without_types};

#[test]
fn sections_become_maps_of_one_value() {
    let spec = object("globals.o");
    let names: Vec<_> = spec.maps.iter().map(|map| map.name.as_str()).collect();
    assert_eq!(names, [".rodata", ".data", ".data.custom", ".bss"]);
    for map in &spec.maps {
        assert_eq!((map.kind, map.key_size, map.max_entries), (MapKind::ARRAY, 4, 1));
        assert_eq!(map.value_size as usize, map.contents.as_ref().unwrap().len());
        assert_eq!(map.frozen, map.name == ".rodata");
        assert_ne!(map.value_type, 0, "{}", map.name);
    }
    assert_eq!(spec.map(".bss").unwrap().contents, Some(vec![0; 12]));
}

#[test]
fn loads_point_into_the_value() {
    let spec = object("globals.o");
    let program = spec.program("use").unwrap();
    let global = |name: &str| spec.globals().into_iter().find(|g| g.name == name).unwrap();
    for name in ["counted", "last", "started", "limit", "hidden_limit", "custom", "use.calls"] {
        let wanted = global(name);
        let map = spec.map_index(&wanted.section).unwrap();
        let fixup = program
            .fixups
            .iter()
            .find(|fixup| fixup.target == Target::MapValue { map, offset: wanted.offset })
            .unwrap_or_else(|| panic!("{name}"));
        let [load, second] = program.insns[fixup.slot..fixup.slot + 2] else { unreachable!() };
        assert_eq!((load.src, load.imm), (spec::insn::PSEUDO_MAP_VALUE, 0), "{name}");
        assert_eq!(second.imm.cast_unsigned(), wanted.offset, "{name}");
    }
}

#[test]
fn globals_are_listed_with_their_types() {
    let globals = object("globals.o").globals();
    let table = [
        ("limit", ".rodata", "const volatile __u32", 4),
        ("enabled", ".rodata", "const volatile _Bool", 1),
        ("mac", ".rodata", "const volatile __u8[6]", 6),
        ("mode", ".rodata", "const volatile enum mode", 4),
        ("hidden_limit", ".rodata", "const volatile __u32", 4),
        ("counted", ".bss", "__u64", 8),
        ("custom", ".data.custom", "__u32", 4),
    ];
    for (name, section, text, size) in table {
        let found = globals.iter().find(|global| global.name == name).unwrap();
        assert_eq!((found.section.as_str(), found.size), (section, size), "{name}");
        assert_eq!(found.type_text.replace("volatile const", "const volatile"), text, "{name}");
    }
}

#[test]
fn text_is_read_by_type() {
    let table: [(&str, &str, &[u8]); 21] = [
        ("limit", "10", &[10, 0, 0, 0]),
        ("limit", "0x1_0000", &[0, 0, 1, 0]),
        ("limit", "10.1.0.2", &[2, 0, 1, 10]),
        ("target", "10.1.0.2", &[10, 1, 0, 2]),
        ("target", "0x0a010002", &[10, 1, 0, 2]),
        ("port", "1234", &[4, 210]),
        ("small", "255", &[255]),
        ("small", "'x'", b"x"),
        ("bias", "-3", &[253, 255]),
        ("wide", "18446744073709551615", &[255; 8]),
        ("enabled", "true", &[1]),
        ("enabled", "off", &[0]),
        ("mode", "MODE_DROP", &[6, 0, 0, 0]),
        ("mode", "5", &[5, 0, 0, 0]),
        ("signed_mode", "MODE_UNSET", &[255; 4]),
        ("mac", "02:00:5e:00:00:ff", &[2, 0, 0x5e, 0, 0, 255]),
        ("mac", "{1, 2}", &[1, 2, 0, 0, 0, 0]),
        ("address6", "::2", &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]),
        ("label", "edge", b"edge\0\0\0\0"),
        ("ports", "{1, 0x203}", &[1, 0, 3, 2, 0, 0, 0, 0]),
        ("custom", "1", &[1, 0, 0, 0]),
    ];
    for (name, text, wanted) in table {
        let mut spec = object("globals.o");
        spec.set_global_text(name, text).unwrap_or_else(|error| panic!("{name}={text}: {error}"));
        assert_eq!(contents(&spec, name), wanted, "{name}={text}");
    }
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let range = |value, least, most| ValueError::OutOfRange { value, least, most };
    let number = |text: &str| ValueError::NotNumber { text: text.to_owned() };
    let modes = ["MODE_OFF", "MODE_COUNT", "MODE_DROP"].map(str::to_owned).into();
    let table = [
        ("limit", "-1", range(-1, 0, 4_294_967_295)),
        ("limit", "4294967296", range(4_294_967_296, 0, 4_294_967_295)),
        ("limit", "much", number("much")),
        ("limit", "", number("")),
        ("small", "0x100", range(256, 0, 255)),
        ("bias", "40000", range(40_000, -32_768, 32_767)),
        ("enabled", "2", ValueError::NotBoolean { text: "2".to_owned() }),
        (
            "mode",
            "MODE_ON",
            ValueError::UnknownEnumerator { text: "MODE_ON".to_owned(), known: modes },
        ),
        ("label", "too long", ValueError::TextTooLong { length: 8, limit: 7 }),
        ("ports", "{1,2,3,4,5}", ValueError::TooManyElements { given: 5, limit: 4 }),
        ("mac", "02:00:00:00:00", ValueError::TextTooLong { length: 14, limit: 5 }),
        ("address6", "10.0.0.1", ValueError::NotAddress { text: "10.0.0.1".to_owned(), size: 16 }),
    ];
    let unchanged = object("globals.o");
    for (name, text, wanted) in table {
        let mut spec = unchanged.clone();
        let error = spec.set_global_text(name, text).unwrap_err();
        let words = error.to_string();
        assert!(words.starts_with(&format!("globals.o: global `{name}` of type `")), "{words}");
        assert!(words.ends_with(&format!("`: {wanted}")), "{words}");
        let Error::GlobalValue { cause, .. } = error else { panic!("{words}") };
        assert_eq!(*cause, wanted, "{name}={text}");
        assert_eq!(spec.maps, unchanged.maps);
    }
}

#[test]
fn an_unknown_name_lists_its_neighbours() {
    let mut spec = object("globals.o");
    let Err(Error::UnknownGlobal { near, .. }) = spec.set_global("limits", &[0; 4]) else {
        panic!("`limits` is no global")
    };
    assert_eq!(near[0], "limit");
    let error = spec.set_global("limit", &[0; 5]).unwrap_err();
    let Error::GlobalValue { cause, .. } = error else { panic!("{error}") };
    assert_eq!(*cause, ValueError::WrongLength { given: 5, wanted: 4 });
}

#[test]
fn symbols_serve_where_types_are_missing() {
    let mut spec = Spec::parse("bare.o", &without_types("globals.o")).unwrap();
    for (name, text, wanted) in [
        ("limit", "7000", &[0x58, 0x1b, 0, 0][..]),
        ("target", "10.1.0.2", &[10, 1, 0, 2]),
        ("mac", "02:00:5e:00:00:ff", &[2, 0, 0x5e, 0, 0, 255]),
        ("small", "-1", &[255]),
    ] {
        spec.set_global_text(name, text).unwrap();
        assert_eq!(contents(&spec, name), wanted, "{name}");
    }
    assert!(spec.set_global_text("limit", "10:20").is_err());
}

fn contents<'a>(spec: &'a Spec, name: &str) -> &'a [u8] {
    let global = spec.globals().into_iter().find(|global| global.name == name).unwrap();
    let bytes = spec.map(&global.section).unwrap().contents.as_ref().unwrap();
    &bytes[global.offset as usize..(global.offset + global.size) as usize]
}
