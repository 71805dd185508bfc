//! A receiver that checks every known byte of the frames it is lent, then lengthens, shortens,
//! moves and overwrites them, and sends most of them back.

use kernel::{Attach, LoadOptions, Map, Mode, Object, Replace};
use lab::{Host, TwoHosts};
use spec::asm::Reg::{R0, R1, R2, R3, R4, R6, R7, R8};
use spec::asm::{self, Assembler, Cond, Helper, Label};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Verdict};

use super::SECONDS;
use crate::program;

/// What is done with a frame: bytes that its ends move by, and where it goes.
#[derive(Clone, Copy, Debug)]
struct Act {
    head: i32,
    meta: i32,
    tail: i32,
    verdict: Verdict,
}

/// One after the other.
const ACTS: [Act; 12] = [
    act(0, 0, -20, Verdict::Tx),
    act(0, 0, 40, Verdict::Tx),
    act(0, 0, -1, Verdict::Redirect),
    act(0, 0, 300, Verdict::Redirect),
    act(-8, 0, 0, Verdict::Tx),
    act(12, 0, 12, Verdict::Tx),
    act(0, -16, 0, Verdict::Tx),
    act(0, -4, -4, Verdict::Redirect),
    act(0, 0, -30, Verdict::Drop),
    act(0, 0, 30, Verdict::Pass),
    act(-14, 0, -7, Verdict::Pass),
    act(0, 0, 0, Verdict::Tx),
];

const fn act(head: i32, meta: i32, tail: i32, verdict: Verdict) -> Act {
    Act { head, meta, tail, verdict }
}

/// Runs on the `eth0` of the second host; what comes back to the first one ends there.
#[derive(Debug)]
pub struct Resizer {
    seen: Map,
    _links: [kernel::Link; 2],
}

impl Resizer {
    /// Expects these bytes at the beginning of every frame, whole words of them, and the length of
    /// its IPv4 header.
    pub fn attach(net: &TwoHosts, begin: &[u8], spoils: bool) -> Self {
        let mut object = asm::Object::new("resizer", "GPL");
        object.map(MapDef {
            name: SEEN.into(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: 24,
            max_entries: 1,
            ..MapDef::default()
        });
        object.program(resizing(begin, spoils, net.b.ifindex("eth0").unwrap().0));
        let object = Object::load(&object.finish().unwrap(), &LoadOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let seen = object.map(SEEN).unwrap().duplicate().unwrap();
        let end = program::constant_program("end", Verdict::Drop);
        let links = [attach(&net.b, object.program("resizer").unwrap()), attach(&net.a, &end)];
        Self { seen, _links: links }
    }

    /// Waits for `frames` frames; returns how many did not arrive whole.
    pub fn wait(&self, frames: u64) -> u64 {
        let all = || {
            let [whole, wrong] = self.counts();
            Ok((whole + wrong >= frames).then_some(wrong))
        };
        lab::until("arrival of all frames", SECONDS, all).unwrap()
    }

    fn counts(&self) -> [u64; 2] {
        let value = self.seen.lookup(&[0; 4]).unwrap().unwrap();
        [0, 8].map(|at| u64::from_ne_bytes(value[at..at + 8].try_into().unwrap()))
    }
}

fn attach(host: &Host, program: &kernel::Program) -> kernel::Link {
    let ifindex = host.ifindex("eth0").unwrap();
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    host.run(|| kernel::attach(&attach)).unwrap().unwrap()
}

/// Frames to groups are the hosts' own: they pass, and are not counted.
fn resizing(begin: &[u8], spoils: bool, back: u32) -> Assembler {
    let mut a = Assembler::new("resizer", ProgramKind::XDP);
    let [pass, wrong, counted] = [(); 3].map(|()| a.label());
    a.mov(R6, R1).call(Helper::XDP_GET_BUFF_LEN).mov(R7, R0);
    a.load_map_value(R8, SEEN, 0);
    a.packet(R2, R3, R6).need(R2, R3, LEAST, R4, wrong);
    a.load8(R4, R2.at(0)).jump_if(R4, Cond::Eq, 0x33, pass).jump_if(R4, Cond::Eq, 0xff, pass);
    a.load16(R4, R2.at(16)).be16(R4).add(R4, 14).jump_if(R4, Cond::Ne, R7, wrong);
    a.load32(R4, R6.at(DATA_META)).load32(R1, R6.at(DATA));
    a.jump_if(R4, Cond::Ne, R1, wrong);
    for (index, word) in begin.as_chunks::<4>().0.iter().enumerate() {
        a.load32(R4, R2.at(4 * index as i16)).mov32(R1, i32::from_ne_bytes(*word));
        a.jump_if(R4, Cond::Ne, R1, wrong);
    }
    a.count(R8.at(0), 1, R4).jump(counted);
    a.bind(wrong).count(R8.at(8), 1, R4).bind(counted);
    if spoils {
        spoil(&mut a);
    }
    a.load64(R7, R8.at(16)).mov(R4, R7).add(R4, 1).rem(R4, ACTS.len() as i32);
    a.store64(R8.at(16), R4);
    for (number, act) in ACTS.iter().enumerate() {
        let next = a.label();
        a.jump_if(R7, Cond::Ne, number as i32, next);
        do_act(&mut a, *act, back, pass);
        a.bind(next);
    }
    a.bind(pass).verdict(Verdict::Pass);
    a
}

/// Overwrites the headers of a frame that has some.
fn spoil(a: &mut Assembler) {
    let short = a.label();
    a.packet(R2, R3, R6).need(R2, R3, SPOILT as i32, R4, short).load_imm64(R4, 0xeeee_eeee_eeee);
    for at in (0..SPOILT).step_by(8) {
        a.store64(R2.at(at), R4);
    }
    a.bind(short);
}

fn do_act(a: &mut Assembler, act: Act, back: u32, failed: Label) {
    let moves = [
        (act.tail, Helper::XDP_ADJUST_TAIL),
        (act.head, Helper::XDP_ADJUST_HEAD),
        (act.meta, Helper::XDP_ADJUST_META),
    ];
    for (bytes, helper) in moves.into_iter().filter(|(bytes, _)| *bytes != 0) {
        a.mov(R1, R6).mov(R2, bytes).call(helper).jump_if(R0, Cond::Ne, 0, failed);
    }
    if act.verdict == Verdict::Redirect {
        a.load_imm64(R1, back.into()).mov(R2, 0).call(Helper::REDIRECT).exit();
    } else {
        a.verdict(act.verdict);
    }
}

const SEEN: &str = "seen";
/// Bytes of the shortest frame.
const LEAST: i32 = 60;
const SPOILT: i16 = 40;
/// Places in the context.
const DATA: i16 = 0;
const DATA_META: i16 = 8;
