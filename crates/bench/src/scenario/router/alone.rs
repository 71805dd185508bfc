//! What a router's program alone costs a packet, by test run: without driver, sender and sink.
//!
//! The kernel runs the program on one frame again and again, and each run finds what the one before
//! left. So a prelude puts the frame back before each run: addresses, TTL, VLAN tag, and the next
//! of the destinations. It is put into the program, whose own code is unchanged, and before a
//! program that does nothing, whose time is subtracted.
//!
//! Rule: both run in turns of short batches, and the fastest quarter of each counts: whatever
//! disturbs a batch makes it slower. Not here: the programs (`way`).

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kernel::{LoadOptions, Map, Object, Program, TestRun};
use lab::frame::{Flow, Side, Tag};
use spec::asm::Reg::{R1, R2, R3, R4, R5, R6};
use spec::asm::{self, Assembler, Cond, Helper, Size};
use spec::compose::precede;
use spec::{Expect, Input, Map as _, MapDef, MapKind, ProgramKind, Spec, Verdict};

use super::net::{FRAME6, Net};
use super::way::{Loaded, Setup, Way};
use crate::field::{FRAME, PORT};
use crate::harness::{Arm, Value};

/// A way that is measured alone.
#[derive(Clone, Debug)]
pub struct Alone<'a> {
    pub net: &'a Net,
    /// A program.
    pub way: Way,
    pub setup: Setup,
    /// The tag of the frames that come in.
    pub tag: Option<Tag>,
    /// In turn.
    pub destinations: &'a [IpAddr],
}

impl<'a> Alone<'a> {
    /// Nanoseconds of a packet in `row`, without those of the prelude, which are in `around/row`.
    pub fn arm(self, row: String) -> Arm<'a> {
        let mut case = None;
        Arm::wide(&row.clone(), move |window| {
            let case = match &mut case {
                Some(case) => case,
                empty => empty.insert(self.load()?),
            };
            let [around, whole] = self.net.near.run(|| case.measure(self.net, window))??;
            Ok(vec![
                Value::new(&row, "ns", whole - around),
                Value::new(format!("around/{row}"), "ns", around),
            ])
        })
    }

    fn load(&self) -> Result<Case> {
        let frames = Frames::build(self)?;
        let (spec, name) =
            self.way.spec(self.net, &self.setup)?.context("no program to run alone")?;
        let program = self.way.start(self.net, &self.setup, &frames.before(&spec, name)?, name)?;
        frames.fill(program.map(FRAMES)?)?;
        let nothing = frames.before(&nothing()?, NOTHING)?;
        let nothing = Object::load(&nothing, &LoadOptions::default())?;
        frames.fill(nothing.map(FRAMES)?)?;
        let input = Input {
            packet: frames.first,
            ingress_ifindex: self.net.near.ifindex()?.0,
            ..Input::default()
        };
        let run = TestRun { input, repeat: BATCH, ..TestRun::default() };
        Ok(Case { program, nothing, run, sink: self.net.sink.mac()?.0 })
    }
}

/// Both programs, ready to run.
struct Case {
    program: Loaded,
    nothing: Object,
    run: TestRun,
    /// MAC address of all next hops.
    sink: [u8; 6],
}

impl Case {
    /// Nanoseconds of a run without the program and with it.
    fn measure(&self, net: &Net, window: Duration) -> Result<[f64; 2]> {
        sys::cpu::set_affinity(&[net.cpu])?;
        let (nothing, program) = (self.nothing.program(NOTHING)?, self.program.program()?);
        // Only an interface with a program accepts test runs in its name.
        let _attached = net.attach(nothing)?;
        let (mut times, start) = ([Vec::new(), Vec::new()], Instant::now());
        while start.elapsed() < window || times[1].len() < FEWEST {
            times[0].push(self.batch(nothing, Verdict::Pass)?);
            times[1].push(self.batch(program, Verdict::Redirect)?);
        }
        Ok(times.map(fastest))
    }

    fn batch(&self, program: &Program, expected: Verdict) -> Result<f64> {
        let outcome = program.run(&self.run)?;
        let verdict = outcome.verdict();
        ensure!(verdict == expected, "{verdict} is wrong here");
        let is_sent = outcome.packet.starts_with(&self.sink);
        ensure!(is_sent == (expected == Verdict::Redirect), "wrong hardware address");
        Ok(f64::from(outcome.duration_ns))
    }
}

/// Mean of the fastest quarter.
fn fastest(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.truncate(times.len().div_ceil(4));
    times.iter().sum::<f64>() / times.len() as f64
}

/// The frames that a program meets.
struct Frames {
    /// The first of them.
    first: Vec<u8>,
    /// The turn, and for each destination the bytes that depend on it.
    list: Vec<u8>,
    is_ipv6: bool,
    /// Bytes of the tag.
    tag: i16,
    count: i32,
}

impl Frames {
    fn build(alone: &Alone<'_>) -> Result<Self> {
        let net = alone.net;
        let is_ipv6 = alone.destinations.iter().any(IpAddr::is_ipv6);
        let source = Side { mac: net.sender.mac()?, ip: net.source(is_ipv6)?, port: PORT };
        let near = net.near.mac()?;
        let tags: Vec<Tag> = alone.tag.into_iter().collect();
        let tag: i16 = if tags.is_empty() { 0 } else { 4 };
        let length = if is_ipv6 { FRAME6 } else { FRAME };
        let length = length + usize::from(tag.unsigned_abs());
        let (mut first, mut list) = (Vec::new(), vec![0; TURN]);
        for ip in alone.destinations {
            let flow = Flow::new(source, Side { mac: near, ip: *ip, port: PORT });
            let frame = Flow { tags: tags.clone(), ..flow }.udp_of_length(length)?;
            for (at, size) in varying(is_ipv6) {
                let at = usize::try_from(at + tag)?;
                list.extend_from_slice(frame.get(at..at + size.bytes()).context("short frame")?);
            }
            if first.is_empty() {
                first = frame;
            }
        }
        let count = i32::try_from(alone.destinations.len())?;
        Ok(Self { first, list, is_ipv6, tag, count })
    }

    fn fill(&self, map: &Map) -> Result<()> {
        Ok(map.update(&[0; 4], &self.list, Expect::Any)?)
    }

    /// The program with the prelude.
    fn before(&self, spec: &Spec, program: &str) -> Result<Spec> {
        let mut spec = spec.clone();
        spec.maps.push(MapDef {
            name: FRAMES.to_owned(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: u32::try_from(self.list.len())?,
            max_entries: 1,
            ..MapDef::default()
        });
        Ok(precede(&spec, program, self.prelude()?)?)
    }

    /// Stores as long as the loads of the programs, which would otherwise wait for them.
    fn prelude(&self) -> Result<Assembler> {
        let length = i32::try_from(self.first.len())?;
        let mut a = Assembler::new(FRAMES, ProgramKind::XDP);
        let (stays, fits) = (a.label(), a.label());
        a.mov(R6, R1);
        // A tag was added or removed.
        a.packet(R2, R3, R6).sub(R3, R2).add(R3, -length).mov(R2, R3).jump_if(
            R2,
            Cond::Eq,
            0,
            stays,
        );
        a.call(Helper::XDP_ADJUST_HEAD).bind(stays);
        a.mov(R1, R6).packet(R2, R3, R6).mov(R4, R2).add(R4, length).jump_if(
            R4,
            Cond::Le,
            R3,
            fits,
        );
        a.verdict(Verdict::Aborted).bind(fits);
        let word =
            |at: usize| self.first[at..].first_chunk().map_or(0, |word| i32::from_le_bytes(*word));
        for at in [0, 4, 8].into_iter().chain((self.tag != 0).then_some(12)) {
            a.store32(R2.at(at), word(usize::try_from(at)?));
        }
        let wraps = a.label();
        a.load_map_value(R5, FRAMES, 0).load64(R4, R5.at(0)).jump_if(
            R4,
            Cond::Lt,
            self.count,
            wraps,
        );
        a.mov(R4, 0).bind(wraps).mov(R3, R4).add(R3, 1).store64(R5.at(0), R3);
        let sizes: usize = varying(self.is_ipv6).iter().map(|(_, size)| size.bytes()).sum();
        a.mul(R4, i32::try_from(sizes)?).add(R5, R4);
        let mut from = i16::try_from(TURN)?;
        for (at, size) in varying(self.is_ipv6) {
            a.load(size, R3, R5.at(from)).store(size, R2.at(at + self.tag), R3);
            from += i16::try_from(size.bytes())?;
        }
        if self.is_ipv6 {
            a.store8(R2.at(HOP_LIMIT + self.tag), HOPS);
        }
        Ok(a)
    }
}

/// What is written for each destination: in IPv4 TTL, protocol and checksum together.
fn varying(is_ipv6: bool) -> [(i16, Size); 2] {
    match is_ipv6 {
        false => [(TTL, Size::Word), (DESTINATION4, Size::Word)],
        true => [(DESTINATION6, Size::Double), (DESTINATION6 + 8, Size::Double)],
    }
}

/// A program without anything to do.
fn nothing() -> Result<Spec> {
    let mut program = Assembler::new(NOTHING, ProgramKind::XDP);
    program.verdict(Verdict::Pass);
    let mut object = asm::Object::new(NOTHING, "Dual MIT/GPL");
    object.program(program);
    Ok(object.finish()?)
}

const NOTHING: &str = "nothing";
/// Name of the map of destinations, and of the prelude.
const FRAMES: &str = "bench_frames";
/// Bytes of the number of the next destination, before the list.
const TURN: usize = 8;
/// Offsets in a frame without a tag.
const TTL: i16 = 22;
const DESTINATION4: i16 = 30;
const HOP_LIMIT: i16 = 21;
const DESTINATION6: i16 = 38;
const HOPS: i32 = 64;
/// Runs of one batch: each destination once, and short beside a time slice.
const BATCH: u32 = 20_000;
/// Batches of each program in a turn, at least.
const FEWEST: usize = 8;
