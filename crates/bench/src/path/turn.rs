//! Programs that exchange hardware addresses and send through the same interface, or the other one.

use anyhow::Result;
use kernel::{Link, LoadOptions, Mode, Object};
use spec::asm::Reg::{R1, R2, R3, R4, R5};
use spec::asm::{self, Assembler, Helper};
use spec::{Expect, Map as _, MapDef, MapKind, ProgramKind, Verdict};

use super::sink::is_ours;
use super::{ActivePath, Journey, Path};
use crate::field::Line;

/// A program that returns frames by `XDP_TX`.
pub const TX: Path = Path {
    name: "xdp-tx",
    about: "XDP in the driver exchanges hardware addresses and sends back through the same port",
    journey: Journey::Returned,
    set: |line| set(line, Target::Same),
};

/// A program that redirects frames by a devmap.
pub const REDIRECT: Path = Path {
    name: "xdp-redirect",
    about: "XDP in the driver exchanges hardware addresses, redirects to the other port (devmap)",
    journey: Journey::Crossed,
    set: |line| set(line, Target::Other),
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Same,
    Other,
}

struct Attached {
    _link: Link,
    _object: Object,
}

fn set(line: &Line, out: Target) -> Result<Box<dyn ActivePath>> {
    let object = object(out)?;
    if out == Target::Other {
        let port = line.far.ifindex()?.0.to_ne_bytes();
        // The kernel resolves the number in the namespace of the writing thread.
        line.far.run(|| object.map(PORTS)?.update(&[0; 4], &port, Expect::Any))??;
    }
    let link = line.near.attach(object.program(NAME)?, Mode::Native)?;
    Ok(Box::new(Attached { _link: link, _object: object }))
}

fn object(out: Target) -> Result<Object> {
    let mut a = Assembler::new(NAME, ProgramKind::XDP);
    let pass = a.label();
    a.packet(R2, R3, R1).need(R2, R3, HEADERS, R4, pass);
    is_ours(&mut a, pass);
    a.note("exchange hardware addresses");
    a.load32(R3, R2.at(0)).load16(R4, R2.at(4));
    a.load32(R5, R2.at(6)).store32(R2.at(0), R5).load16(R5, R2.at(10)).store16(R2.at(4), R5);
    a.store32(R2.at(6), R3).store16(R2.at(10), R4);
    match out {
        Target::Same => a.verdict(Verdict::Tx),
        Target::Other => {
            let otherwise = Verdict::Aborted as i32;
            a.load_map(R1, PORTS).mov(R2, 0).mov(R3, otherwise).call(Helper::REDIRECT_MAP).exit()
        }
    };
    a.bind(pass).verdict(Verdict::Pass);
    let mut object = asm::Object::new(NAME, "Dual MIT/GPL");
    if out == Target::Other {
        object.map(one_port(PORTS));
    }
    object.program(a);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

/// A map of one interface to send through.
pub fn one_port(name: &str) -> MapDef {
    MapDef {
        name: name.into(),
        kind: MapKind::DEVMAP,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        ..MapDef::default()
    }
}

impl ActivePath for Attached {}

const NAME: &str = "turn";
const PORTS: &str = "ports";
/// Up to the end of the UDP header.
const HEADERS: i32 = 42;
