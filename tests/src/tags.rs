//! VLAN tags beside the frame, as a program of traffic control on the sending side leaves them.

use kernel::{TcxSide, attach_tcx};
use lab::Host;
use spec::ProgramKind;
use spec::asm::Reg::{R0, R2, R3};
use spec::asm::{Assembler, Helper};

use crate::program::{load, object};

/// While it lives, every packet that leaves gets a tag, which a veth pair carries beside the frame.
#[derive(Debug)]
pub struct Tagger {
    _link: kernel::Link,
}

impl Tagger {
    pub fn new(host: &Host, interface: &str, vlan: u16) -> Self {
        let mut code =
            Assembler::new("tagger", ProgramKind { program_type: 3, attach_type: 47, flags: 0 });
        code.mov(R2, i32::from(0x8100_u16.to_be())).mov(R3, i32::from(vlan));
        code.call(Helper::SKB_VLAN_PUSH).mov(R0, 0).exit();
        let object = load(&object(vec![], vec![code]));
        let ifindex = host.ifindex(interface).unwrap();
        let program = object.program("tagger").unwrap();
        let link = host.run(|| attach_tcx(ifindex, program, TcxSide::Egress)).unwrap().unwrap();
        Self { _link: link }
    }
}
