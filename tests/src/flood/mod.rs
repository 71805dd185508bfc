//! Programs that mark the number of each frame they see, and the outcome of all numbers.
//!
//! Frames are IPv4 without options over Ethernet with UDP to [`PORT`]; the number is at the start
//! of the payload, eight bytes, big-endian.

pub mod traffic;

use std::time::Duration;

use kernel::{Attach, Link, LoadOptions, Mode, Object, Program, Replace, TcxSide};
use lab::Host;
use spec::asm::Reg::*;
use spec::asm::{self, Assembler, Atomic, Cond, Width};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Verdict};

use traffic::{MOST, PORT};

/// Until something that surely comes has come, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The programs `first`, `second` (XDP) and `stack` (after it), over one array of marks.
#[derive(Debug)]
pub struct Marks {
    object: Object,
    _stack: Link,
}

/// The outcome of the numbers below `sent`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub sent: u64,
    /// Frames that `first`, `second` and `stack` counted.
    pub seen: [u64; 3],
    /// Stretches of numbers without a mark: the first, and how many.
    pub lost: Vec<(u64, u64)>,
    /// Numbers with more than one mark, or that were not sent.
    pub wrong: Vec<u64>,
}

impl Marks {
    /// Loads, and attaches the program after XDP on `host`'s `eth0`.
    pub fn load(host: &Host) -> Self {
        let mut object = asm::Object::new("marks", "GPL");
        object.map(array("marks", 4, MOST as u32));
        object.map(array("seen", 24, 1));
        object.program(marking("first", ProgramKind::XDP, 0));
        object.program(marking("second", ProgramKind::XDP, 1));
        object.program(marking("stack", ProgramKind::TCX_INGRESS, 2));
        let spec = object.finish().unwrap();
        let object = Object::load(&spec, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let ifindex = host.ifindex("eth0").unwrap();
        let stack = object.program("stack").unwrap();
        let link = host.run(|| kernel::attach_tcx(ifindex, stack, TcxSide::Ingress));
        Self { _stack: link.unwrap().unwrap(), object }
    }

    pub fn program(&self, name: &str) -> &Program {
        self.object.program(name).unwrap()
    }

    pub fn attach(&self, host: &Host, program: &str, mode: Mode) -> Link {
        let ifindex = host.ifindex("eth0").unwrap();
        let (program, replace) = (self.program(program), Replace::No);
        host.run(|| kernel::attach(&Attach { ifindex, program, mode, replace })).unwrap().unwrap()
    }

    /// Attaches in place of what runs in another mode, which is not put back.
    pub fn switch(&self, host: &Host, program: &str, mode: Mode) -> Link {
        let ifindex = host.ifindex("eth0").unwrap();
        let (program, replace) = (self.program(program), Replace::Yes);
        let known = kernel::Known { puts_back: true, ..kernel::Known::default() };
        let attach = Attach { ifindex, program, mode, replace };
        host.run(|| kernel::attach_knowing(&attach, known)).unwrap().unwrap()
    }

    /// The tally once all frames are seen, or once no more come.
    pub fn settled(&self, sent: u64) -> Tally {
        let mut before = None;
        lab::until("the end of the flood", PATIENCE, || {
            let seen = self.seen();
            let quiet = before.replace(seen) == Some(seen);
            if quiet || seen.iter().sum::<u64>() >= sent {
                return Ok(Some(()));
            }
            std::thread::sleep(QUIET);
            Ok(None)
        })
        .unwrap();
        let mut tally = Tally { sent, seen: self.seen(), ..Tally::default() };
        for (key, value) in self.object.map("marks").unwrap().entries().unwrap() {
            let word = |bytes: Vec<u8>| u32::from_ne_bytes(bytes.try_into().unwrap());
            tally.add(word(key).into(), word(value));
        }
        tally
    }

    pub fn seen(&self) -> [u64; 3] {
        let value = self.object.map("seen").unwrap().lookup(&[0; 4]).unwrap().unwrap();
        let word = |at: usize| u64::from_ne_bytes(value[at..at + 8].try_into().unwrap());
        [word(0), word(8), word(16)]
    }
}

impl Tally {
    /// Every number was seen once, and each verdict counted.
    #[track_caller]
    pub fn assert_exact(&self, label: &str) {
        assert_eq!((&self.lost, &self.wrong), (&vec![], &vec![]), "{label}: {:?}", self.seen);
        assert_eq!(self.seen.iter().sum::<u64>(), self.sent, "{label}: {:?}", self.seen);
    }

    fn add(&mut self, number: u64, marks: u32) {
        match (marks, self.lost.last_mut()) {
            (1, _) if number < self.sent => {}
            (0, _) if number >= self.sent => {}
            (0, Some((first, count))) if *first + *count == number => *count += 1,
            (0, _) => self.lost.push((number, 1)),
            _ => self.wrong.push(number),
        }
    }
}

fn array(name: &str, value_size: u32, max_entries: u32) -> MapDef {
    let kind = MapKind::ARRAY;
    MapDef { name: name.into(), kind, key_size: 4, value_size, max_entries, ..MapDef::default() }
}

/// Marks, counts in the eight bytes at `place` and drops the flood's frames; passes others.
fn marking(name: &str, kind: ProgramKind, place: u32) -> Assembler {
    let [data, drop, go_on] =
        if kind.is_xdp() { [0, Verdict::Drop as i16, Verdict::Pass as i16] } else { TCX };
    let mut a = Assembler::new(name, kind);
    let (other, beyond) = (a.label(), a.label());
    a.load32(R2, R1.at(data)).load32(R3, R1.at(data + 4)).need(R2, R3, 50, R4, other);
    a.load16(R4, R2.at(12)).be16(R4).jump_if(R4, Cond::Ne, 0x0800, other);
    a.load16(R4, R2.at(36)).be16(R4).jump_if(R4, Cond::Ne, i32::from(PORT), other);
    a.load64(R5, R2.at(42)).be64(R5).store32(R10.at(-4), R5);
    a.load_map_value(R6, "seen", place * 8).mov(R4, 1);
    a.atomic(Atomic::Add, Width::W64, R6.at(0), R4);
    a.lookup("marks", R10.at(-4)).jump_if(R0, Cond::Eq, 0, beyond);
    a.mov(R1, 1).atomic(Atomic::Add, Width::W32, R0.at(0), R1);
    a.bind(beyond).mov32(R0, drop).exit();
    a.bind(other).mov32(R0, go_on).exit();
    a
}

/// Where `data` is in `struct __sk_buff`, `TCX_DROP` and `TCX_NEXT`.
const TCX: [i16; 3] = [76, 2, -1];
/// Frames still on their way are seen within this.
const QUIET: Duration = Duration::from_millis(50);
