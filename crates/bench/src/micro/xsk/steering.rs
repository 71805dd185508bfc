//! `Steering`: the program that steers an interface's frames to AF_XDP sockets, for libraries that
//! put their sockets into a given map.

use anyhow::Result;
use kernel::{Link, LoadOptions, Mode, Object};
use lab::Host;
use spec::asm::Reg::{R1, R2, R3};
use spec::asm::{self, Assembler, Helper};
use spec::{MapDef, MapKind, ProgramKind, Verdict};

use crate::field::Place;

/// The program and its map, until dropped.
pub struct Steering {
    object: Object,
    _link: Link,
}

impl Steering {
    /// Attaches the program to an interface of a host.
    pub fn attach(host: &Host, interface: &str) -> Result<Self> {
        let object = object()?;
        let place = Place::lab(host.clone(), interface);
        let link = place.attach(object.program(NAME)?, Mode::Native)?;
        Ok(Self { object, _link: link })
    }

    /// The id of the XSKMAP.
    pub fn map_id(&self) -> Result<u32> {
        Ok(self.object.map(SOCKETS)?.id())
    }
}

/// Redirects to the socket of the frame's queue, else passes to the stack.
fn object() -> Result<Object> {
    let mut a = Assembler::new(NAME, ProgramKind::XDP);
    a.load32(R2, R1.at(RX_QUEUE)).load_map(R1, SOCKETS).mov(R3, Verdict::Pass as i32);
    a.call(Helper::REDIRECT_MAP).exit();
    let mut object = asm::Object::new(NAME, "Dual MIT/GPL");
    object.map(MapDef {
        name: SOCKETS.into(),
        kind: MapKind::XSKMAP,
        key_size: 4,
        value_size: 4,
        max_entries: 64,
        ..MapDef::default()
    });
    object.program(a);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

const NAME: &str = "to_sockets";
const SOCKETS: &str = "sockets";
/// Offset of the queue in `struct xdp_md`.
const RX_QUEUE: i16 = 16;
