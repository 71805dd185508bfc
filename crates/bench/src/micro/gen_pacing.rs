//! `gen-pacing`: how well the generator keeps a schedule, measured by the generator and by its
//! receiver.
//!
//! One core sends 60-byte frames at a rate over a veth pair. `error` is what the generator
//! reports: how far from its own time each frame left. `gap` is what an XDP program at the
//! receiver sees: how far the time between two frames is from even; where frames leave in groups,
//! all but the first of a group come early and that one late. The peer is a busy loop around
//! `send` on a UDP socket, the best that a sender of ordinary packets can do.

use std::cell::RefCell;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kernel::{Attach, Link, LoadOptions, Map, Mode, Object, Replace};
use lab::frame::{Flow, Side};
use lab::{LinkOptions, TwoHosts};
use report::Bench;
use spec::asm::Reg::{R0, R1, R2, R3, R4, R5, R6};
use spec::asm::{self, Assembler, Cond, Helper};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Verdict};
use traffic::generator::{Config, Generator, Load};
use traffic::histogram::{BUCKETS, Histogram};
use traffic::{Rate, Template};

use crate::harness::{Arm, Harness};
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `gen-pacing`.
pub const SCENARIO: Scenario = Scenario {
    name: "gen-pacing",
    kind: Kind::Part,
    about: "how far from their times paced frames leave",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let field = Field::build()?;
    let mut bench = Bench::new("gen-pacing");
    let runs: Vec<Run> = RATES
        .iter()
        .flat_map(|(name, pps)| {
            [Method::Generator, Method::Socket].map(|way| Run::new(name, *pps, way))
        })
        .filter(|run| run.way == Method::Generator || run.pps <= SOCKET_MOST)
        .collect();
    let mut arms = Vec::new();
    for run in &runs {
        for (metric, unit) in run.metrics() {
            let name = format!("{}-{}/{metric}", run.way.name(), run.name);
            let field = &field;
            arms.push(Arm::new(&name, unit, move |window| run.value(field, metric, window)));
        }
    }
    harness.interleave(&mut bench, &mut arms)?;
    Ok(bench)
}

/// Host `a` sends, `b` reads its clock.
struct Field {
    net: TwoHosts,
    template: Template,
    cpu: usize,
}

/// A sender at one rate, and the values of its last measurement that were not returned yet.
struct Run {
    name: &'static str,
    pps: f64,
    way: Method,
    values: RefCell<Vec<(&'static str, f64)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Generator,
    Socket,
}

impl Run {
    fn new(name: &'static str, pps: f64, way: Method) -> Self {
        Self { name, pps, way, values: RefCell::default() }
    }

    fn metrics(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let own = self.way == Method::Generator;
        METRICS.into_iter().filter(move |(metric, _)| own || !metric.starts_with("error"))
    }

    /// One of the values of a measurement, each of which is returned once.
    fn value(&self, field: &Field, metric: &'static str, window: Duration) -> Result<f64> {
        let place = |values: &[(&str, f64)]| values.iter().position(|(name, _)| *name == metric);
        let mut values = self.values.borrow_mut();
        if place(&values).is_none() {
            *values = match self.way {
                Method::Generator => field.generate(self.pps, window)?,
                Method::Socket => field.talk(self.pps, window)?,
            };
        }
        let place = place(&values).context("a metric that was not measured")?;
        Ok(values.swap_remove(place).1)
    }
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Generator => "ours",
            Self::Socket => "socket",
        }
    }
}

impl Field {
    fn build() -> Result<Self> {
        let net = TwoHosts::build(&LinkOptions::default())?;
        let side = |host: &lab::Host| -> Result<Side> {
            Ok(Side { mac: host.mac(LINK)?, ip: host.ipv4(LINK)?.into(), port: PORT })
        };
        let bytes = Flow::new(side(&net.a)?, side(&net.b)?).udp_of_length(FRAME_LEN)?;
        let cpu = *sys::cpu::affinity()?.last().context("no processor may be used")?;
        Ok(Self { net, template: Template::constant("constant", bytes), cpu })
    }

    fn generate(&self, pps: f64, window: Duration) -> Result<Vec<(&'static str, f64)>> {
        let watch = GapCounter::attach(&self.net, pps)?;
        let config = Config {
            profile: Rate::PacketsPerSecond(pps).into(),
            duration: Some(window),
            cpus: vec![self.cpu],
            ..Config::new(LINK, Load::Streams(vec![self.template.clone()]))
        };
        let report = self.net.a.run(|| Generator::start(config))??.wait()?;
        let totals = &report.totals;
        ensure!(totals.blind.is_none(), "{:?}", totals.blind);
        let pacing = report.pacing.context("a paced run reports its pacing")?;
        let quantile = |share| micros(&pacing.error_ns, share);
        let mut values = watch.values()?;
        values.extend([
            ("rate", report.pps),
            ("not-sent", totals.not_sent as f64),
            ("error-p50", quantile(0.5)?),
            ("error-p99", quantile(0.99)?),
            ("error-max", quantile(1.0)?),
        ]);
        Ok(values)
    }

    /// The peer: a thread that reads the clock continuously.
    fn talk(&self, pps: f64, window: Duration) -> Result<Vec<(&'static str, f64)>> {
        let watch = GapCounter::attach(&self.net, pps)?;
        let target = (self.net.b.ipv4(LINK)?, PORT);
        let talk = || -> Result<f64> {
            sys::cpu::set_affinity(&[self.cpu])?;
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.connect(target)?;
            let (start, mut sent) = (Instant::now(), 0u64);
            while start.elapsed() < window {
                if start.elapsed().as_secs_f64() * pps >= sent as f64 {
                    socket.send(&[0; FRAME_LEN - 42])?;
                    sent += 1;
                }
            }
            Ok(sent as f64 / start.elapsed().as_secs_f64())
        };
        let rate = self.net.a.run(talk)??;
        let mut values = watch.values()?;
        values.push(("rate", rate));
        values.push(("not-sent", 0.0));
        Ok(values)
    }
}

/// An XDP program that counts gaps by how far they are from even, and drops.
struct GapCounter {
    gaps: Map,
    _link: Link,
}

impl GapCounter {
    fn attach(net: &TwoHosts, pps: f64) -> Result<Self> {
        let mut object = asm::Object::new("watch", "Dual MIT/GPL");
        for (name, value_size) in [(GAPS, BUCKETS as u32 * 8), (BEFORE, 8)] {
            object.map(MapDef {
                name: name.into(),
                kind: MapKind::ARRAY,
                key_size: 4,
                value_size,
                max_entries: 1,
                ..MapDef::default()
            });
        }
        object.program(watching((1e9 / pps) as i32));
        let object = Object::load(&object.finish()?, &LoadOptions::default())?;
        let ifindex = net.b.ifindex(LINK)?;
        let program = object.program("watch")?;
        let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
        let link = net.b.run(|| kernel::attach(&attach))??;
        Ok(Self { gaps: object.map(GAPS)?.duplicate()?, _link: link })
    }

    fn values(&self) -> Result<Vec<(&'static str, f64)>> {
        let value = self.gaps.lookup(&[0; 4])?.context("an array has its first element")?;
        let words = value.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        let gaps = Histogram::from_counts(words);
        Ok(vec![("gap-p50", micros(&gaps, 0.5)?), ("gap-p99", micros(&gaps, 0.99)?)])
    }
}

fn watching(interval_ns: i32) -> Assembler {
    let mut a = Assembler::new("watch", ProgramKind::XDP);
    let [drop, late, positive] = [(); 3].map(|()| a.label());
    a.call(Helper::KTIME_GET_NS).load_map_value(R6, BEFORE, 0).load64(R1, R6.at(0));
    a.store64(R6.at(0), R0).jump_if(R1, Cond::Eq, 0, drop).sub(R0, R1).mov(R2, interval_ns);
    a.note("the difference").jump_if(R0, Cond::Ge, R2, late);
    a.sub(R2, R0).mov(R0, R2).jump(positive);
    a.bind(late).sub(R0, R2).bind(positive);
    a.load_imm64(R3, u64::from(u32::MAX)).jump_if(R0, Cond::Gt, R3, drop);
    a.note("its bucket, as in traffic::histogram").mov(R1, 0);
    for shift in [16, 8, 4, 2, 1] {
        let small = a.label();
        a.mov(R2, R0).rsh(R2, shift).jump_if(R2, Cond::Lt, 64, small);
        a.mov(R0, R2).add(R1, shift).bind(small);
    }
    a.lsh(R1, 6).add(R0, R1).jump_if(R0, Cond::Gt, BUCKETS as i32 - 1, drop).lsh(R0, 3);
    a.load_map_value(R4, GAPS, 0).add(R4, R0).count(R4.at(0), 1, R5);
    a.bind(drop).verdict(Verdict::Drop);
    a
}

fn micros(histogram: &Histogram, share: f64) -> Result<f64> {
    let ns = histogram.quantile(share).context("nothing was counted")?;
    Ok(f64::from(ns) / 1000.0)
}

const RATES: [(&str, f64); 3] = [("100k", 1e5), ("1m", 1e6), ("4m", 4e6)];
/// Above this a socket cannot keep up anyway.
const SOCKET_MOST: f64 = 1e5;
const METRICS: [(&str, &str); 7] = [
    ("rate", "pps"),
    ("not-sent", "frames"),
    ("error-p50", "µs"),
    ("error-p99", "µs"),
    ("error-max", "µs"),
    ("gap-p50", "µs"),
    ("gap-p99", "µs"),
];
const LINK: &str = "eth0";
const PORT: u16 = 1234;
const FRAME_LEN: usize = 60;
const GAPS: &str = "gaps";
const BEFORE: &str = "before";
