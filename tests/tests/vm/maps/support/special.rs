//! Maps whose values have special fields, on both arms.

use std::os::fd::AsFd as _;
use std::sync::Arc;

use spec::btf::{Btf, Builder};
use spec::{MapDef, Spec};
use sys::bpf::{self, MapCreate};
use vm::{Error, Machine};

use super::{Pair, options};

/// What lies in the middle of a value of 32 bytes, by name and size.
#[derive(Clone, Copy, Debug)]
pub struct Special {
    pub name: &'static str,
    pub size: u32,
}

/// Types with a key and such a value.
struct Types {
    btf: Btf,
    key: u32,
    value: u32,
}

/// `struct { u64 a; struct special s; … u64 b; }`
fn types(special: Special) -> Types {
    let mut types = Builder::new();
    let (word, long) = (types.int("u32", 32, false), types.int("u64", 64, false));
    let inner = if special.size == 4 {
        types.structure(special.name, 4, &[("val", word, 0)])
    } else {
        let words = types.array(long, word, special.size / 8);
        types.structure(special.name, special.size, &[("__opaque", words, 0)])
    };
    let fields = [("a", long, 0), ("s", inner, 64), ("b", long, 192)];
    let value = types.structure("value", 32, &fields);
    Types { btf: types.build().unwrap(), key: word, value }
}

/// The error numbers of creation, 0 for none: kernel, engine.
pub fn create(def: &MapDef, special: Special) -> (i32, i32) {
    let types = types(special);
    let number = |answer: Result<(), i32>| answer.err().unwrap_or(0);
    let engine = in_engine(def, &types).map(drop);
    (number(in_kernel(def, &types).map(drop)), number(engine))
}

pub fn pair(def: &MapDef, special: Special) -> Pair {
    let types = types(special);
    let kernel = in_kernel(def, &types).unwrap();
    let (machine, engine) = in_engine(def, &types).unwrap();
    Pair { kernel, engine, runtimes: None, _machine: Some(machine) }
}

fn in_kernel(def: &MapDef, types: &Types) -> Result<bpf::Map, i32> {
    let btf = bpf::btf_load(types.btf.raw(), &mut []).unwrap();
    let create = MapCreate {
        name: "m",
        kind: def.kind.0,
        key_size: def.key_size,
        value_size: def.value_size,
        max_entries: def.max_entries,
        flags: def.flags,
        btf: Some(btf.as_fd()),
        key_type: types.key,
        value_type: types.value,
        ..MapCreate::default()
    };
    bpf::Map::create(&create).map_err(|error| error.errno)
}

fn in_engine(def: &MapDef, types: &Types) -> Result<(Machine, Arc<vm::Map>), i32> {
    let spec = Spec { btf: Some(types.btf.clone()), ..Spec::default() };
    let machine = Machine::load(&spec, &options()).unwrap();
    let def = MapDef { key_type: types.key, value_type: types.value, ..def.clone() };
    let map = machine.create_map(&def).map_err(|error| match error {
        Error::Map { errno, .. } => errno.0,
        other => panic!("{other}"),
    })?;
    Ok((machine, map))
}
