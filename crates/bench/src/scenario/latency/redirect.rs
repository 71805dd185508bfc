//! A program in the driver that sends every frame on through the other interface.

use anyhow::Result;
use kernel::{Attach, Link, LoadOptions, Mode, Object, Replace};
use spec::asm::Reg::{R1, R2, R3};
use spec::asm::{self, Assembler, Helper};
use spec::{Expect, Map as _, MapDef, MapKind, ProgramKind};

use super::stage::Stage;

/// The program and its map, until dropped.
#[derive(Debug)]
pub struct Redirect {
    _object: Object,
    _link: Link,
}

impl Redirect {
    pub fn attach(stage: &Stage) -> Result<Self> {
        let object = object()?;
        let (ifindex, out) = (stage.near.ifindex()?, stage.far.ifindex()?);
        let link = stage.near.run(|| {
            // Interfaces are those of the namespace of whoever puts them in.
            object.map(OUT)?.update(&[0; 4], &out.0.to_ne_bytes(), Expect::Any)?;
            let program = object.program(NAME)?;
            kernel::attach(&Attach { ifindex, program, mode: Mode::Native, replace: Replace::No })
        })??;
        Ok(Self { _object: object, _link: link })
    }
}

fn object() -> Result<Object> {
    let mut a = Assembler::new(NAME, ProgramKind::XDP);
    a.load_map(R1, OUT).mov(R2, 0).mov(R3, 0).call(Helper::REDIRECT_MAP).exit();
    let mut object = asm::Object::new(NAME, "Dual MIT/GPL");
    object.map(MapDef {
        name: OUT.into(),
        kind: MapKind::DEVMAP,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        ..MapDef::default()
    });
    object.program(a);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

const NAME: &str = "onward";
const OUT: &str = "out";
