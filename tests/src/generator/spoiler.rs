//! A receiver that changes the frames it is lent: it overwrites their ethertype, having counted
//! whether it was still that of IPv4.

use kernel::{Attach, LoadOptions, Map, Mode, Object, Replace};
use lab::Host;
use spec::asm::Reg::{R1, R2, R3, R4, R6};
use spec::asm::{self, Assembler, Cond};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Verdict};

use super::{LEN, SECONDS};

#[derive(Debug)]
pub struct Spoiler {
    seen: Map,
    _link: kernel::Link,
}

impl Spoiler {
    /// On a host's `eth0`.
    pub fn attach(host: &Host) -> Self {
        let mut object = asm::Object::new("spoiler", "GPL");
        object.map(MapDef {
            name: SEEN.into(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: 16,
            max_entries: 1,
            ..MapDef::default()
        });
        object.program(spoiling());
        let object = Object::load(&object.finish().unwrap(), &LoadOptions::default()).unwrap();
        let program = object.program("spoiler").unwrap();
        let ifindex = host.ifindex("eth0").unwrap();
        let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
        let link = host.run(|| kernel::attach(&attach)).unwrap().unwrap();
        Self { seen: object.map(SEEN).unwrap().duplicate().unwrap(), _link: link }
    }

    /// Waits for `frames` frames; returns how many arrived corrupted.
    pub fn wait(&self, frames: u64) -> u64 {
        let all = || {
            let [good, spoilt] = self.counts();
            Ok((good + spoilt >= frames).then_some(spoilt))
        };
        lab::until("arrival of all frames", SECONDS, all).unwrap()
    }

    fn counts(&self) -> [u64; 2] {
        let value = self.seen.lookup(&[0; 4]).unwrap().unwrap();
        [0, 8].map(|at| u64::from_ne_bytes(value[at..at + 8].try_into().unwrap()))
    }
}

/// Counts stamped frames alone, which are of this length.
fn spoiling() -> Assembler {
    let mut a = Assembler::new("spoiler", ProgramKind::XDP);
    let [pass, spoilt, spoil] = [(); 3].map(|()| a.label());
    a.packet(R2, R3, R1).need(R2, R3, LEN as i32, R4, pass);
    a.load_map_value(R6, SEEN, 0);
    a.load16(R4, R2.at(12)).be16(R4).jump_if(R4, Cond::Eq, SPOILT, spoilt);
    a.jump_if(R4, Cond::Ne, IPV4, pass).count(R6.at(0), 1, R4).jump(spoil);
    a.bind(spoilt).count(R6.at(8), 1, R4);
    a.bind(spoil).mov(R4, SPOILT).be16(R4).store16(R2.at(12), R4).verdict(Verdict::Drop);
    a.bind(pass).verdict(Verdict::Pass);
    a
}

const SEEN: &str = "seen";
const IPV4: i32 = 0x0800;
const SPOILT: i32 = 0x88b5;
