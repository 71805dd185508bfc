//! The demo without root: the same story as a generated capture, played through the engine.
//!
//! Shown is what the filter decides, packet for packet, and so what is left for the network
//! stack. How a service dies of the rest only the kernel can show; nothing here pretends to.

use std::fs::File;
use std::time::{Duration, Instant};

use anyhow::Result;
use bench::hook::filter::{LIMIT_RULES, parsed};
use control::folder::{Folder, NewFile};
use filter::{Action, Environment, Limit, PROGRAM, Per, Ruleset, Total, compile};
use pcap::{LinkType, Packet, Writer};
use report::plot::{Chart, Panel, Phase as Band, Tone};
use report::{Host, Page, Svg};
use spec::{Input, Verdict};
use vm::{Errno, Machine, MapError, Options, Worker};

use super::traffic::{Arrival, Traffic};
use super::{Context, Exit};
use crate::args::DemoArgs;
use crate::view::replay::{Answer, Row, Sample};
use crate::view::{say, wrapped};

pub fn run(args: &DemoArgs, context: &Context) -> Result<Exit> {
    say(&wrapped(WHAT, super::TEXT_WIDTH));
    let time = args.phase.unwrap_or(PHASE).min(LONGEST);
    let folder = Folder::make(&args.out)?;
    let file = folder.file(CAPTURE)?;
    let mut replay = Replay::new(time, Shield::load()?, capture(&file)?);
    for (number, act) in ACTS.iter().enumerate() {
        replay.play(act, time * number as u32, args.rate)?;
    }
    replay.capture.finish()?;
    let capture = file.keep()?;
    let answer = Answer {
        runtime: "vm",
        phases: replay.rows,
        rate_pps: args.rate,
        allowed_pps: allowed_pps(&parsed(LIMIT_RULES)?.ruleset, time),
        packets: replay.shield.packets,
        ns_per_packet: replay.shield.ns_per_packet(),
        rules: folder.put("rules.toml", LIMIT_RULES)?,
        capture,
        figure: folder.path_of(FIGURE),
        report: folder.path_of("report.html"),
    };
    let chart = figure(&replay.samples, time);
    folder.put(FIGURE, chart.as_str())?;
    folder.put("report.html", &page(&answer, &chart).to_html())?;
    context.show(&answer)?;
    Ok(if answer.kept() { Exit::Done } else { Exit::No })
}

/// One phase of the story.
struct Act {
    name: &'static str,
    title: &'static str,
    flooded: bool,
    shielded: bool,
    tone: Tone,
}

const ACTS: [Act; 3] = [
    Act { name: "quiet", title: "quiet", flooded: false, shielded: false, tone: Tone::Plain },
    Act {
        name: "flood",
        title: "flood, no XDP",
        flooded: true,
        shielded: false,
        tone: Tone::Danger,
    },
    Act {
        name: "flood-vm",
        title: "flood, filter",
        flooded: true,
        shielded: true,
        tone: Tone::Safe,
    },
];

struct Replay {
    shield: Shield,
    capture: Writer<File>,
    phase: Duration,
    rows: Vec<Row>,
    samples: Vec<Sample>,
}

impl Replay {
    fn new(phase: Duration, shield: Shield, capture: Writer<File>) -> Self {
        Self { shield, capture, phase, rows: Vec::new(), samples: Vec::new() }
    }

    fn play(&mut self, act: &Act, start: Duration, rate_pps: u64) -> Result<()> {
        let first = self.samples.len();
        let bin = (self.phase / BINS).max(Duration::from_nanos(1));
        let blank = |number: u32| Sample::at((start + bin * number + bin / 2).as_secs_f64());
        self.samples.extend((0..BINS).map(blank));
        for arrival in Traffic::new(start, self.phase, act.flooded.then_some(rate_pps))? {
            let arrival = arrival?;
            self.record(&arrival)?;
            let Arrival { at_ns, attack, .. } = arrival;
            let dropped = act.shielded && self.shield.drops(arrival)?;
            let since = at_ns - start.as_nanos() as u64;
            let place = (since / bin.as_nanos() as u64).min(u64::from(BINS) - 1) as usize;
            self.samples[first + place].count(attack, dropped, bin.as_secs_f64());
        }
        self.rows.push(Row::mean(act.name, act.title, &self.samples[first..]));
        Ok(())
    }

    fn record(&mut self, arrival: &Arrival) -> Result<()> {
        let packet = Packet {
            timestamp_ns: EPOCH_NS + arrival.at_ns,
            data: arrival.frame.clone(),
            ..Packet::default()
        };
        Ok(self.capture.write(&packet)?)
    }
}

/// What the rules let through of the flood, over a phase: the limit of all together.
fn allowed_pps(rules: &Ruleset, phase: Duration) -> f64 {
    let limits = rules.rules.iter().filter_map(|rule| match &rule.action {
        Action::Limit(Limit { total: Some(Total { rate, burst }), .. })
        | Action::Limit(Limit { rate, burst, per: Per::Rule, .. }) => {
            Some(*rate as f64 + *burst as f64 / phase.as_secs_f64())
        }
        _ => None,
    });
    limits.fold(f64::INFINITY, f64::min)
}

/// The filter in the engine, with the demo's rules.
struct Shield {
    worker: Worker,
    program: usize,
    packets: u64,
    time: Duration,
}

impl Shield {
    fn load() -> Result<Self> {
        let compiled = compile(&parsed(LIMIT_RULES)?.ruleset, &Environment::default())?;
        let machine = Machine::load(&compiled.spec, &Options::default())?;
        let maps = machine.maps();
        compiled.actions.fill(|name| {
            let found = maps.iter().find(|map| map.attributes().name == name);
            let gone = || MapError { map: name.into(), operation: "open", errno: Errno::ENOENT };
            found.map(|map| &**map).ok_or_else(gone)
        })?;
        let program = machine.program(PROGRAM)?;
        Ok(Self { worker: machine.worker(0), program, packets: 0, time: Duration::ZERO })
    }

    fn drops(&mut self, arrival: Arrival) -> Result<bool> {
        // The limits' buckets are full at the beginning, as on a machine that has been up.
        self.worker.set_clock_ns(UP_NS + arrival.at_ns);
        self.worker.put(&Input { packet: arrival.frame, ..Input::default() })?;
        let start = Instant::now();
        let code = self.worker.execute(self.program)?;
        self.time += start.elapsed();
        self.packets += 1;
        Ok(Verdict::from_code(code) == Verdict::Drop)
    }

    fn ns_per_packet(&self) -> f64 {
        self.time.as_nanos() as f64 / self.packets.max(1) as f64
    }
}

fn capture(file: &NewFile) -> Result<Writer<File>> {
    let mut writer = Writer::pcapng(file.writer()?, &pcap::Options::default())?;
    writer.interface("server", LinkType::ETHERNET)?;
    Ok(writer)
}

fn figure(samples: &[Sample], phase: Duration) -> Svg {
    let line = |value: fn(&Sample) -> f64| samples.iter().map(|s| (s.t, value(s))).collect();
    let stack = Panel::new("what the network stack must take", "pps")
        .area("attack", 1, line(|sample| sample.attack_pps))
        .line("the service's", 0, line(|sample| sample.service_pps));
    let dropped = Panel::new("what the filter drops", "pps").area(
        "dropped",
        2,
        line(|sample| sample.dropped_pps),
    );
    let mut chart = Chart::new("A service under a flood, replayed", "s");
    for (number, act) in ACTS.iter().enumerate() {
        let start = phase.as_secs_f64() * number as f64;
        let end = start + phase.as_secs_f64();
        chart = chart.phase(Band { name: act.title.to_owned(), start, end, tone: act.tone });
    }
    chart.panel(stack).panel(dropped).to_svg()
}

fn page(answer: &Answer, figure: &Svg) -> Page {
    let mut page = Page::new("A service under a flood, replayed");
    page.highlight(&format!("{:.1} %", 100.0 * answer.dropped_share()), "of the attack dropped")
        .highlight(&format!("{:.0} %", 100.0 * answer.service_share()), "of requests let through")
        .paragraph(WHAT)
        .figure(figure, "What is left for the network stack, and what the program drops.")
        .table(&answer.table())
        .method(&format!("Machine: {}.", Host::read().summary()))
        .method("Arrival times are generated; the verdicts are the program's own.");
    page
}

const WHAT: &str = "Played without the kernel, as any user may: a \
    generated capture of clients that ask and an attacker that floods, each frame from another \
    invented address, played through the same filter by the engine in user space. A service \
    that dies and lives is for the kernel to show, as root: `sudo xway demo`.";
const CAPTURE: &str = "flood.pcapng";
const FIGURE: &str = "figure.svg";
/// Long enough for a hundred thousand frames of attack at the usual rate.
const PHASE: Duration = Duration::from_millis(100);
/// A bound on the capture: a minute of the usual rate is gigabytes.
const LONGEST: Duration = Duration::from_secs(10);
/// Points of the figure in each phase.
const BINS: u32 = 40;
/// Time of the first packet of the capture, 2026-01-01.
const EPOCH_NS: u64 = 1_767_225_600_000_000_000;
/// How long the machine has been up.
const UP_NS: u64 = 3_600_000_000_000;
