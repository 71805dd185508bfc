//! A BPF program at the traffic-control ingress of the device.

use anyhow::Result;
use kernel::{Link, LoadOptions, Object, TcxSide};
use packet::{EtherType, IpProtocol};
use spec::asm::Reg::{R0, R1, R2, R3, R4};
use spec::asm::{self, Assembler, Cond, Size};
use spec::{ProgramKind, Spec};

use super::{ActiveHook, Hook, counter};
use crate::field::{Field, PORT};

/// A BPF program in the traffic-control hook.
pub const BPF: Hook = Hook::new(
    "tc-bpf",
    "a BPF program at the device's tc ingress (tcx) that reads the UDP port",
    set,
);

struct Attached {
    object: Object,
    _link: Link,
}

fn set(field: &Field) -> Result<Box<dyn ActiveHook>> {
    let object = Object::load(&program()?, &LoadOptions::default())?;
    let (program, ifindex) = (object.program(NAME)?, field.receiver.ifindex()?);
    let link = field.receiver.run(|| kernel::attach_tcx(ifindex, program, TcxSide::Ingress))??;
    Ok(Box::new(Attached { object, _link: link }))
}

/// Counts and drops UDP to [`PORT`], over IPv4 without options; passes the rest.
fn program() -> Result<Spec> {
    let mut a = Assembler::new(NAME, ProgramKind::TCX_INGRESS);
    let on = a.label();
    a.load32(R2, R1.at(DATA)).load32(R3, R1.at(DATA_END));
    a.note("Ethernet, IPv4, UDP").need(R2, R3, HEADERS, R4, on);
    for (offset, size, wanted) in [
        (12, Size::Half, EtherType::IPV4.0.to_be()),
        (14, Size::Byte, IPV4_PLAIN),
        (23, Size::Byte, IpProtocol::UDP.0.into()),
        (36, Size::Half, PORT.to_be()),
    ] {
        a.load(size, R4, R2.at(offset)).jump_if(R4, Cond::Ne, wanted, on);
    }
    counter::count(&mut a, on);
    a.mov32(R0, SHOT).exit();
    a.bind(on).mov32(R0, NEXT).exit();
    let mut object = asm::Object::new(NAME, "Dual MIT/GPL");
    object.map(counter::map());
    object.program(a);
    Ok(object.finish()?)
}

impl ActiveHook for Attached {
    fn ended(&self) -> Result<u64> {
        counter::read(&self.object)
    }
}

const NAME: &str = "tc_drop";
// Offsets in `struct __sk_buff`.
const DATA: i16 = 76;
const DATA_END: i16 = 80;
const HEADERS: i16 = 14 + 20 + 8;
/// Version 4, five words of header.
const IPV4_PLAIN: u16 = 0x45;
// `TCX_DROP` and `TCX_NEXT`.
const SHOT: i32 = 2;
const NEXT: i32 = -1;
