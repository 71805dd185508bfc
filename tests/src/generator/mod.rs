//! What tests of the generator share: streams without anything that varies but the stamp, and a
//! receiver that counts them on its own, in XDP.

pub mod resizer;
pub mod spoiler;

use std::time::Duration;

use kernel::{Attach, LoadOptions, Map, Mode, Object, Replace};
use lab::frame::{Flow, Side};
use lab::{Host, LinkOptions, TwoHosts};
use spec::asm::Reg::{R0, R1, R2, R3, R4, R5, R6};
use spec::asm::{self, Assembler, Cond};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Verdict};
use traffic::generator::{Config, Generator, Load};
use traffic::{Expect, Kind, Stamp, Template};

/// Long enough for anything that comes at all.
pub const SECONDS: Duration = Duration::from_secs(20);
pub const PORT: u16 = 4242;
/// Bytes of a frame from [`stream`].
pub const LEN: usize = 60;

pub fn two_hosts() -> TwoHosts {
    TwoHosts::build(&LinkOptions::default()).unwrap()
}

/// In the host that sends.
pub fn start(host: &Host, config: Config) -> traffic::Result<Generator> {
    host.run(|| Generator::start(config)).unwrap()
}

/// UDP frames to a host's `eth0` from an unused address.
pub fn stream(to: &Host) -> Template {
    let source = Side::new("02:78:77:00:00:63", "10.0.0.99", 9).unwrap();
    let ip = to.ipv4("eth0").unwrap().into();
    let destination = Side { mac: to.mac("eth0").unwrap(), ip, port: PORT };
    let flow = Flow::new(source, destination);
    // The sum of a stamp is zero, so the checksum of a payload of zeros is right for all.
    template(flow.udp(&[0; LEN - 42]).unwrap())
}

/// Frames of these bytes, but for a stamp at their end.
pub fn template(bytes: Vec<u8>) -> Template {
    let constant = Template::constant("test", bytes);
    Template { id: 7, headers: 42, stamp: Some(Expect::Pass), ..constant }
}

/// Sends `count` frames of one stream out of `eth0`.
pub fn config(template: Template, count: u64) -> Config {
    let load = Load::Streams(vec![template]);
    let config = Config::new("eth0", load);
    Config { count: Some(count), duration: Some(SECONDS), announce_end: true, ..config }
}

/// What arrived from one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub data: u64,
    /// Numbers that did not follow the one before.
    pub disorder: u64,
    pub ends: u64,
    /// The number in the last of these.
    pub announced: u64,
}

/// Counts stamped frames of [`LEN`] bytes on a host's `eth0`, by the thread that sent them, and
/// drops them. All else passes.
#[derive(Debug)]
pub struct Counter {
    state: Map,
    _link: kernel::Link,
}

impl Counter {
    pub fn attach(host: &Host) -> Self {
        let ifindex = host.ifindex("eth0").unwrap();
        let mut object = asm::Object::new("counter", "GPL");
        object.map(MapDef {
            name: SEEN.into(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: SOURCES << SHIFT,
            max_entries: 1,
            ..MapDef::default()
        });
        object.program(counting());
        let object = Object::load(&object.finish().unwrap(), &LoadOptions::default()).unwrap();
        let program = object.program("counter").unwrap();
        let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
        let link = host.run(|| kernel::attach(&attach)).unwrap().unwrap();
        let state = object.map(SEEN).unwrap().duplicate().unwrap();
        Self { state, _link: link }
    }

    pub fn seen(&self, source: usize) -> Seen {
        let value = self.state.lookup(&[0; 4]).unwrap().unwrap();
        let word = |index: usize| {
            let at = (source << SHIFT) + index * 8;
            u64::from_ne_bytes(value[at..at + 8].try_into().unwrap())
        };
        Seen { data: word(0), disorder: word(1), ends: word(2), announced: word(3) }
    }

    /// Waits until all of these arrived.
    pub fn wait(&self, source: usize, data: u64) -> Seen {
        let all = || Ok((self.seen(source).data >= data).then_some(()));
        lab::until("arrival of all frames", SECONDS, all).unwrap();
        self.seen(source)
    }
}

fn counting() -> Assembler {
    let mut a = Assembler::new("counter", ProgramKind::XDP);
    let [pass, data, in_order] = [(); 3].map(|()| a.label());
    let stamp = LEN - Stamp::LEN;
    let at = |part: usize| R2.at((stamp + part) as i16);
    a.packet(R2, R3, R1).need(R2, R3, LEN as i32, R4, pass);
    a.load16(R4, at(0)).be16(R4).jump_if(R4, Cond::Ne, i32::from(Stamp::MAGIC), pass);
    a.load8(R1, at(Stamp::SOURCE)).jump_if(R1, Cond::Ge, SOURCES as i32, pass);
    a.lsh(R1, SHIFT).load_map_value(R6, SEEN, 0).add(R6, R1);
    a.load32(R5, at(Stamp::NUMBER)).be32(R5);
    a.load8(R4, at(Stamp::KIND)).jump_if(R4, Cond::Ne, i32::from(Kind::End.code()), data);
    a.count(R6.at(16), 1, R4).store64(R6.at(24), R5).verdict(Verdict::Drop);
    a.bind(data).count(R6.at(0), 1, R4);
    a.load64(R4, R6.at(32)).mov(R0, R5).add(R0, 1).store64(R6.at(32), R0);
    a.jump_if(R4, Cond::Eq, R5, in_order).count(R6.at(8), 1, R4);
    a.bind(in_order).verdict(Verdict::Drop);
    a.bind(pass).verdict(Verdict::Pass);
    a
}

const SEEN: &str = "seen";
const SOURCES: u32 = 4;
/// Each source has 64 bytes.
const SHIFT: i32 = 6;
