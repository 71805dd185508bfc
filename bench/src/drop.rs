//! `drop`: how many 60-byte UDP frames a second the drop program discards, by mode, and the limit
//! that the sender sets.
//!
//! One core sends live frames as fast as it can over a veth pair; on veth the same core does the
//! receiver's work, so sender and receiver share it. `limit` is the same with a program of two
//! instructions: what is left when dropping costs nothing. Counted is what arrived and was
//! dropped, not what was sent.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use functions::drop::{self, Config, Maps};
use functions::stats;
use kernel::{Attach, LoadOptions, Mode, Object, Replace};
use lab::frame::{Flow, Side};
use lab::{LinkOptions, TwoHosts};
use report::Bench;
use spec::asm::{self, Assembler};
use spec::{ProgramKind, Spec, Verdict};
use traffic::Template;
use traffic::generator::{self, Generator, Load};

use crate::Entry;
use crate::harness::{Arm, Harness};

pub const ENTRY: Entry =
    Entry { name: "drop", about: "packets dropped a second, native and generic, on one core", run };

fn run(harness: &mut Harness) -> Result<Bench> {
    let field = Field::build()?;
    let native = Target::drop(Mode::Native)?;
    let generic = Target::drop(Mode::Generic)?;
    let limit = Target::limit()?;
    let mut bench = Bench::new("drop");
    let field = &field;
    let arm =
        |name, target: Target| Arm::new(name, "pps", move |window| field.measure(&target, window));
    let mut arms = [arm("native", native), arm("generic", generic), arm("limit", limit)];
    harness.interleave(&mut bench, &mut arms)?;
    bench.ratio("native", "generic").ratio("native", "limit");
    Ok(bench)
}

/// Two hosts: `a` floods, `b` drops.
struct Field {
    net: TwoHosts,
    frame: Vec<u8>,
    cpu: usize,
}

/// A program to attach, and where its packets are counted.
struct Target {
    object: Object,
    program: &'static str,
    mode: Mode,
    counts: Counts,
}

enum Counts {
    /// The program's own.
    Stats,
    /// What the interface received: the program does not count.
    Interface,
}

impl Field {
    fn build() -> Result<Self> {
        let net = TwoHosts::build(&LinkOptions::default())?;
        let side = |host: &lab::Host| -> Result<Side> {
            Ok(Side { mac: host.mac(LINK)?, ip: host.ipv4(LINK)?.into(), port: PORT })
        };
        let frame = Flow::new(side(&net.a)?, side(&net.b)?).udp_of_length(FRAME_LEN)?;
        let cpu = *sys::cpu::affinity()?.last().context("no processor may be used")?;
        Ok(Self { net, frame, cpu })
    }

    /// Dropped packets a second while the flood is under way.
    fn measure(&self, target: &Target, window: Duration) -> Result<f64> {
        let receiver = &self.net.b;
        let program = target.object.program(target.program)?;
        let ifindex = receiver.ifindex(LINK)?;
        let attach = Attach { ifindex, program, mode: target.mode, replace: Replace::No };
        let _link = receiver.run(|| kernel::attach(&attach))??;
        let load = Load::Streams(vec![Template::constant("flood", self.frame.clone())]);
        let config = generator::Config {
            duration: Some(window + START),
            cpus: vec![self.cpu],
            ..generator::Config::new(LINK, load)
        };
        let flood = self.net.a.run(|| Generator::start(config))??;
        lab::until("the flood", START, || Ok((flood.given() > WARM_UP).then_some(())))?;
        let (start, before) = (Instant::now(), self.dropped(target)?);
        std::thread::sleep(window);
        let after = self.dropped(target)?;
        let seconds = start.elapsed().as_secs_f64();
        drop(flood);
        ensure!(after > before, "nothing arrived: is something else attached?");
        Ok((after - before) as f64 / seconds)
    }

    fn dropped(&self, target: &Target) -> Result<u64> {
        match target.counts {
            Counts::Interface => Ok(self.net.b.netlink()?.link(LINK)?.statistics.rx_packets),
            Counts::Stats => {
                let map = target.object.map(stats::MAP)?;
                let labels: Vec<String> =
                    drop::Reason::ALL.iter().map(|reason| reason.label().to_owned()).collect();
                Ok(stats::Stats::read(map, &labels)?.verdict(Verdict::Drop).packets)
            }
        }
    }
}

/// The drop program with these rules.
pub fn drop_object(rules: &[String]) -> Result<Object> {
    let rules = rules.iter().map(|rule| Ok(rule.parse()?)).collect::<Result<_>>()?;
    let config = Config { rules, ..Config::default() };
    let mut spec = Spec::parse("drop", drop::OBJECT)?;
    config.apply(&mut spec)?;
    let object = Object::load(&spec, &LoadOptions::default())?;
    drop::update(&config, &Maps::find(|name| object.map(name))?)?;
    Ok(object)
}

/// The least program that drops.
pub fn limit_object() -> Result<Object> {
    let mut program = Assembler::new(LIMIT, ProgramKind::XDP);
    program.verdict(Verdict::Drop);
    let mut object = asm::Object::new(LIMIT, "Dual MIT/GPL");
    object.program(program);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

impl Target {
    /// With one rule that every frame of the flood meets.
    fn drop(mode: Mode) -> Result<Self> {
        let object = drop_object(&[format!("any udp {PORT}")])?;
        Ok(Self { object, program: drop::PROGRAM, mode, counts: Counts::Stats })
    }

    fn limit() -> Result<Self> {
        let (mode, counts) = (Mode::Native, Counts::Interface);
        Ok(Self { object: limit_object()?, program: LIMIT, mode, counts })
    }
}

/// Name of the least program.
pub const LIMIT: &str = "limit";
const LINK: &str = "eth0";
const PORT: u16 = 1234;
const FRAME_LEN: usize = 60;
/// A flood takes a while to get going: a page pool is made and the kernel's grace period waited.
const START: Duration = Duration::from_secs(5);
const WARM_UP: u64 = 1000;
