//! Counts frames at an interface by an XDP program, which drops them: at a rate that no socket
//! would keep up with.

use std::net::Ipv4Addr;

use kernel::{Attach, Link, LoadOptions, Map, Mode, Object, Replace};
use lab::Host;
use spec::asm::Reg::{R0, R1, R3, R4, R5, R6};
use spec::asm::{self, Assembler, Atomic, Cond, Helper, Width};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Verdict};

/// Frames to one IPv4 address that arrive at `eth0` of a host; dropped, the program is detached.
#[derive(Debug)]
pub struct Arrivals {
    seen: Map,
    _link: Link,
}

/// Number of frames, and when the last one came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub frames: u64,
    /// On the monotonic clock.
    pub last_ns: u64,
}

impl Arrivals {
    /// Begins to count.
    pub fn attach(host: &Host, to: Ipv4Addr) -> Self {
        let mut object = asm::Object::new("arrivals", "GPL");
        object.map(MapDef {
            name: SEEN.into(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: 16,
            max_entries: 1,
            ..MapDef::default()
        });
        object.program(program(to));
        let object = Object::load(&object.finish().unwrap(), &LoadOptions::default()).unwrap();
        let (ifindex, program) = (host.ifindex("eth0").unwrap(), object.program(NAME).unwrap());
        let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
        let link = host.run(|| kernel::attach(&attach)).unwrap().unwrap();
        Self { seen: object.map(SEEN).unwrap().duplicate().unwrap(), _link: link }
    }

    /// What came so far.
    pub fn now(&self) -> Arrived {
        let value = self.seen.lookup(&[0; 4]).unwrap().unwrap();
        let word = |at: usize| u64::from_ne_bytes(value[at..at + 8].try_into().unwrap());
        Arrived { frames: word(0), last_ns: word(8) }
    }

    /// Another handle of the same counter, for another thread.
    pub fn reader(&self) -> impl Fn() -> u64 + Send + 'static {
        let seen = self.seen.duplicate().unwrap();
        move || {
            let value = seen.lookup(&[0; 4]).unwrap().unwrap();
            u64::from_ne_bytes(*value.first_chunk().unwrap())
        }
    }
}

/// R6 the start of the frame.
fn program(to: Ipv4Addr) -> Assembler {
    let mut a = Assembler::new(NAME, ProgramKind::XDP);
    let pass = a.label();
    a.packet(R6, R3, R1).need(R6, R3, 34, R4, pass);
    a.load16(R4, R6.at(12)).be16(R4).jump_if(R4, Cond::Ne, 0x0800, pass);
    a.load32(R4, R6.at(30)).load_imm64(R5, u32::from_ne_bytes(to.octets()).into());
    a.jump_if(R4, Cond::Ne, R5, pass);
    a.call(Helper::KTIME_GET_NS).load_map_value(R5, SEEN, 0).store64(R5.at(8), R0);
    a.mov(R0, 1).atomic(Atomic::FetchAdd, Width::W64, R5.at(0), R0);
    a.verdict(Verdict::Drop);
    a.bind(pass).verdict(Verdict::Pass);
    a
}

const NAME: &str = "arrivals";
const SEEN: &str = "seen";
