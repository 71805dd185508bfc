//! A device under test: forwards stamped frames from one port to another, and applies an action to
//! one in a thousand. It leaves all others to its stack.

use kernel::{Link, LoadOptions, Map, Object};
use lab::Host;
use spec::asm::Reg::{R0, R1, R2, R3, R4, R5, R6, R7};
use spec::asm::{self, Assembler, Atomic, Cond, Helper, Width};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Verdict};
use sys::net::Ifindex;
use traffic::Stamp;

/// Which frames meet its fault: those whose count, from 1 on, this divides.
pub const EACH: u64 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// It is dropped.
    Lose,
    /// A bit of its stamp's number is turned.
    Corrupt,
}

/// Dropping it takes its program off.
#[derive(Debug)]
pub struct Device {
    seen: Map,
    _link: Link,
}

impl Device {
    /// From `eth0` to `eth1`, for frames of at least 60 bytes.
    pub fn attach(host: &Host, fault: Fault) -> Self {
        let mut object = asm::Object::new("device", "GPL");
        object.map(MapDef {
            name: SEEN.into(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: 8,
            max_entries: 1,
            ..MapDef::default()
        });
        object.program(program(fault, host.ifindex("eth1").unwrap()));
        let object = Object::load(&object.finish().unwrap(), &LoadOptions::default()).unwrap();
        let link = super::attach(host, "eth0", &object, "device");
        let seen = object.map(SEEN).unwrap().duplicate().unwrap();
        Self { seen, _link: link }
    }

    /// Stamped frames that came, ends included.
    pub fn seen(&self) -> u64 {
        let value = self.seen.lookup(&[0; 4]).unwrap().unwrap();
        u64::from_ne_bytes(value.try_into().unwrap())
    }
}

/// R6 the start of the frame, R7 that of its stamp.
fn program(fault: Fault, to: Ifindex) -> Assembler {
    let mut a = Assembler::new("device", ProgramKind::XDP);
    let [pass, forward, data] = [(); 3].map(|()| a.label());
    a.packet(R6, R3, R1).need(R6, R3, 60, R4, pass);
    a.note("the stamp, at the end").mov(R2, R3).sub(R2, R6).sub(R2, Stamp::LEN as i32);
    a.jump_if(R2, Cond::Gt, 4000, pass).mov(R7, R6).add(R7, R2);
    a.need(R7, R3, Stamp::LEN as i32, R4, pass);
    a.load16(R4, R7.at(0)).be16(R4).jump_if(R4, Cond::Ne, i32::from(Stamp::MAGIC), pass);
    a.note("ends are not counted").load8(R4, R7.at(Stamp::KIND as i16)).and(R4, 2);
    a.jump_if(R4, Cond::Eq, 0, data).jump(forward);
    a.bind(data).load_map_value(R5, SEEN, 0).mov(R0, 1);
    a.atomic(Atomic::FetchAdd, Width::W64, R5.at(0), R0).add(R0, 1).rem(R0, EACH as i32);
    a.jump_if(R0, Cond::Ne, 0, forward);
    match fault {
        Fault::None => {}
        Fault::Lose => {
            a.verdict(Verdict::Drop);
        }
        Fault::Corrupt => {
            a.load8(R4, R7.at(Stamp::NUMBER as i16)).xor(R4, 0x40);
            a.store8(R7.at(Stamp::NUMBER as i16), R4);
        }
    }
    a.bind(forward).mov(R1, to.0 as i32).mov(R2, 0).call(Helper::REDIRECT).exit();
    a.bind(pass).verdict(Verdict::Pass);
    a
}

const SEEN: &str = "seen";
