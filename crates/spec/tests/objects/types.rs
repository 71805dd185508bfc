//! BTF: reading, building, printing, and the subset that kernels accept.

use spec::Error;
use spec::btf::{Btf, BtfSection, Builder, InvalidBtf, Kind, Linkage, MissingFeatures, Value};

use crate::object;

fn btf(name: &str) -> Btf {
    object(name).btf.unwrap()
}

#[test]
fn enums_name_numbers() {
    let btf = btf("globals.o");
    let pairs = |name: &str| -> Vec<_> {
        let values = btf.enum_values(name).unwrap();
        values.into_iter().map(|entry| (entry.name.to_owned(), entry.value)).collect()
    };
    let wanted = [("MODE_OFF", 0), ("MODE_COUNT", 5), ("MODE_DROP", 6)];
    assert_eq!(pairs("mode"), wanted.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(pairs("signed_mode")[0].1, -1);
    assert!(btf.enum_values("address6").is_none());
    assert!(btf.enum_values("missing").is_none());
    let wide = self::btf("core.o");
    assert_eq!(wide.enum_values("wide").unwrap()[0].value, 0x1_0000_0001);
}

#[test]
fn data_sections_are_placed() {
    let btf = btf("globals.o");
    let id = btf.find(Kind::Datasec, ".rodata").unwrap();
    let spec = object("globals.o");
    assert_eq!(btf.size_of(id), Some(u64::from(spec.map(".rodata").unwrap().value_size)));
    let vars = btf.datasec(".rodata").unwrap();
    assert!(vars.is_sorted_by(|(_, a), (_, b)| a.offset + a.size <= b.offset), "{vars:?}");
    assert!(vars.iter().any(|(var, _)| var.name() == "hidden_limit"));
    let inside = btf.ty(btf.find(Kind::Var, "inside").unwrap()).unwrap();
    assert_eq!(inside.linkage(), Linkage::Static as u32, "hidden symbols are static once linked");
}

#[test]
fn a_builder_keeps_what_was_there() {
    let base = btf("calls.o");
    let mut builder = Builder::extend(&base);
    let int = builder.int("long long", 64, true);
    let proto = builder.func_proto(int, &[("x", int)]);
    let func = builder.func("added", proto, Linkage::Global);
    let both = builder.structure("pair", 16, &[("a", int, 0), ("b", int, 64)]);
    let file = builder.string("made.c");
    let other = builder.append(&btf("globals.o"));
    let built = builder.build().unwrap();
    for id in 1..base.len() {
        assert_eq!(format!("{:?}", built.ty(id)), format!("{:?}", base.ty(id)));
    }
    assert_eq!(int, base.len());
    assert_eq!(built.find(Kind::Func, "added"), Some(func));
    assert_eq!(built.size_of(both), Some(16));
    assert_eq!(built.string(file), Some("made.c"));
    let mode = btf("globals.o").find(Kind::Enum, "mode").unwrap();
    assert_eq!(built.find(Kind::Enum, "mode"), Some(other.type_id(mode)));
    assert_eq!(built.datasec(".rodata").unwrap()[0].0.name(), "limit");
    assert_eq!(Btf::parse(built.raw()), Ok(built));
}

#[test]
fn values_print_by_type() {
    let mut builder = Builder::new();
    let byte = builder.int("char", 8, true);
    let int = builder.int("int", 32, true);
    let uint = builder.int("unsigned int", 32, false);
    let text = builder.array(byte, int, 8);
    let numbers = builder.array(uint, int, 2);
    let mode = builder.enumeration("mode", &[("OFF", 0), ("ON", 1)]);
    let inner = builder.structure("", 8, &[("numbers", numbers, 0)]);
    let fields = [("name", text, 0), ("level", int, 64), ("mode", mode, 96), ("", inner, 128)];
    let outer = builder.structure("outer", 24, &fields);
    let btf = builder.build().unwrap();
    let mut bytes = b"edge\0\0\0\0".to_vec();
    for word in [-5i32, 1, 7, 8] {
        bytes.extend(word.to_le_bytes());
    }
    let field = |name: &str, value| (name.to_owned(), value);
    let wanted = Value::Struct(vec![
        field("name", Value::Text("edge".into())),
        field("level", Value::Int(-5)),
        field("mode", Value::Enum("ON".into(), 1)),
        field("numbers", Value::Array(vec![Value::Uint(7), Value::Uint(8)])),
    ]);
    assert_eq!(btf.value(outer, &bytes), wanted);
    assert_eq!(btf.value(outer, &bytes[..8]), Value::Bytes(bytes[..8].to_vec()), "too short");
    assert_eq!(btf.value(999, &[1]), Value::Bytes(vec![1]));
}

#[test]
fn externs_become_what_kernels_take() {
    let btf = btf("externs.o");
    let fixed = btf.for_kernel(MissingFeatures::default()).unwrap();
    let extern_linkage =
        |btf: &Btf| btf.types().filter(|ty| ty.linkage() == Linkage::Extern as u32).count();
    assert!(extern_linkage(&btf) > 5);
    assert_eq!(extern_linkage(&fixed), 0);
    for section in [".ksyms", ".kconfig"] {
        let id = fixed.find(Kind::Datasec, section).unwrap();
        let size = fixed.size_of(id).unwrap();
        let vars = fixed.datasec(section).unwrap();
        assert!(vars.is_sorted_by(|(_, a), (_, b)| a.offset + a.size <= b.offset), "{section}");
        assert!(vars.iter().all(|(var, _)| var.kind() == Kind::Var), "{section}");
        let (_, last) = vars.last().unwrap();
        assert!(u64::from(last.offset + last.size) <= size, "{section}");
    }
    assert_eq!(
        self::btf("talk_drop.o").for_kernel(MissingFeatures::default()),
        Ok(self::btf("talk_drop.o"))
    );
}

#[test]
fn old_kernels_get_what_they_know() {
    let all = MissingFeatures {
        func: true,
        datasec: true,
        global_func: true,
        float: true,
        decl_tag: true,
        type_tag: true,
        enum64: true,
    };
    let unknown = [
        Kind::Func,
        Kind::FuncProto,
        Kind::Var,
        Kind::Datasec,
        Kind::Float,
        Kind::DeclTag,
        Kind::TypeTag,
        Kind::Enum64,
    ];
    for name in ["calls.o", "core.o", "externs.o", "globals.o", "maps.o"] {
        let old = btf(name).for_kernel(all).unwrap();
        for ty in old.types() {
            assert!(!unknown.contains(&ty.kind()), "{name}: {ty:?}");
        }
        assert_eq!(Btf::parse(old.raw()).unwrap(), old);
    }
    let no_global = MissingFeatures { global_func: true, ..MissingFeatures::default() };
    let calls = btf("calls.o").for_kernel(no_global).unwrap();
    assert!(calls.types().filter(|ty| ty.kind() == Kind::Func).all(|ty| ty.linkage() == 0));
}

#[test]
fn damaged_blobs_are_refused() {
    let whole = btf("globals.o").raw().to_vec();
    let with = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes
    };
    let outside = |section| InvalidBtf::OutsideBlob { section };
    let table: [(InvalidBtf, Vec<u8>); 6] = [
        (InvalidBtf::TruncatedHeader, whole[..20].to_vec()),
        (InvalidBtf::WrongMagic { magic: 0xeb00 }, with(0, 0)),
        (InvalidBtf::BigEndian, [&[0xeb, 0x9f], &whole[2..]].concat()),
        (outside(BtfSection::Types), with(15, 0x7f)),
        (InvalidBtf::UnknownKind { kind: 31 }, with(24 + 7, 0x1f)),
        (outside(BtfSection::Strings), whole[..whole.len() - 1].to_vec()),
    ];
    for (wanted, bytes) in table {
        let Err(Error::Btf { cause, .. }) = Btf::parse(&bytes) else { panic!("{wanted}") };
        assert_eq!(cause, wanted);
    }
}

#[test]
fn a_kernels_types_are_found_by_name() {
    let Ok(raw) = std::fs::read("/sys/kernel/btf/vmlinux") else {
        eprintln!("skipped: this kernel offers no BTF");
        return;
    };
    let btf = Btf::parse(&raw).unwrap();
    let id = btf.find(Kind::Struct, "xdp_md").unwrap();
    let first = btf.ty(id).unwrap().members().next().unwrap();
    assert_eq!((first.name, first.bit_offset), ("data", 0));
    let actions = btf.enum_values("xdp_action").unwrap();
    assert!(actions.iter().any(|entry| (entry.name, entry.value) == ("XDP_REDIRECT", 4)));
    assert!(btf.find(Kind::Struct, "xdp_md_of_nobody").is_none());
}
