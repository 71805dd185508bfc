//! Rules under a flood: the filter in the driver, xdp-filter there, nft and iptables.
//!
//! Rule: the flood is one for all turns, and paused between them; a filter is set up for one turn
//! only. The device counts what arrives; packets that pass end in a chain of nft after table raw,
//! which counts too, so a turn whose rules do not do what they should fails.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use filter::Ruleset;
use kernel::{Mode, Object};
use report::Bench;
use sys::net::{Netlink, NftFamily, Nftables};

use super::iptables::{self, Chain};
use super::line::{self, End, Line};
use super::nft::{Body, Table};
use super::xdp_filter::{self, Peer};
use super::{Cell, SET, other};
use crate::field::{self, Field, Flood};
use crate::harness::Arm;
use crate::hook::limit;
use crate::hook::tool::Tool;
use crate::transient::Transient;

/// The field that all filters are measured on.
pub struct Fixture<'a> {
    field: &'a Field,
    /// The flood, which starts with the first turn: even when it is paused, it keeps a processor
    /// busy.
    flood: OnceCell<Flood>,
    netlink: RefCell<Netlink>,
    counters: RefCell<Nftables>,
    /// Table of the chain that drops packets that pass.
    sink: String,
    /// The peer, or the reason why it is missing.
    raw: Result<Chain>,
}

/// A running flood, which is paused when dropped.
struct ActiveFlood<'a>(&'a Flood);

/// Packets so far.
#[derive(Clone, Copy)]
struct Reading {
    time: Instant,
    came: u64,
    passed: u64,
}

impl<'a> Fixture<'a> {
    /// Starts the flood, paused, and adds the chain that counts.
    pub fn build(field: &'a Field) -> Result<Self> {
        let sink = field::name()?;
        let chain = "type filter hook prerouting priority -299; policy accept;";
        let rule = format!("iif {} counter drop", field.receiver.ifindex()?);
        let script = format!("table ip {sink} {{\nchain {CHAIN} {{\n{chain}\n{rule}\n}}\n}}\n");
        Tool::new(field, "nft").run(["-f", "-"], &script)?;
        Ok(Self {
            field,
            flood: OnceCell::new(),
            netlink: RefCell::new(field.receiver.netlink()?),
            counters: RefCell::new(field.receiver.run(Nftables::open)??),
            sink,
            raw: Chain::new(field),
        })
    }

    /// Mean nanoseconds between packets, all of which must pass, or none.
    fn measure(&self, window: Duration, passes: bool) -> Result<f64> {
        if self.flood.get().is_none() {
            let _first = self.flood.set(self.field.held_flood(LONGEST)?);
        }
        let going = self.flood.get().map(ActiveFlood::start);
        let start = self.until(self.look()?, WARM_UP, Duration::ZERO)?;
        let end = self.until(start, LEAST, window)?;
        drop(going);
        let (came, passed) = (end.came - start.came, end.passed - start.passed);
        let wrong = if passes { came.saturating_sub(passed) } else { passed };
        // Some are between the two counters.
        ensure!(wrong <= came / 4 + WARM_UP, "{passed} of {came} packets got through");
        Ok((end.time - start.time).as_secs_f64() * 1e9 / came as f64)
    }

    /// Waits for the window and for `packets` packets.
    fn until(&self, start: Reading, packets: u64, window: Duration) -> Result<Reading> {
        loop {
            sleep(window.saturating_sub(start.time.elapsed()).max(STEP));
            let look = self.look()?;
            if look.came - start.came >= packets && start.time.elapsed() >= window {
                return Ok(look);
            }
            let waited = start.time.elapsed();
            ensure!(waited < PATIENCE, Transient::TooFew { waited });
        }
    }

    fn look(&self) -> Result<Reading> {
        let passed = self.counters.borrow_mut().counted(NftFamily::Ipv4, &self.sink, CHAIN)?;
        let device = self.field.receiver.device();
        let (before, link) = (Instant::now(), self.netlink.borrow_mut().link(device)?);
        let time = before + before.elapsed() / 2;
        Ok(Reading { time, came: link.statistics.rx_packets, passed })
    }

    /// Attaches a program in the driver until the link is dropped.
    fn attach(&self, object: &Object, program: &str) -> Result<kernel::Link> {
        self.field.receiver.attach(object.program(program)?, Mode::Native)
    }
}

impl<'a> ActiveFlood<'a> {
    fn start(flood: &'a Flood) -> Self {
        flood.go();
        Self(flood)
    }
}

impl Drop for ActiveFlood<'_> {
    fn drop(&mut self) {
        self.0.hold();
    }
}

/// An arm of every cell for every filter; missing filters are reported.
pub fn arms<'a>(
    fixture: &'a Fixture<'a>,
    cells: &[(Cell, Rc<Object>)],
    peers: &[Peer],
    end: End,
    bench: &mut Bench,
) -> Result<Vec<Arm<'a>>> {
    let mut arms = Arms { fixture, arms: Vec::new(), tables: 0 };
    arms.nothing()?;
    for (cell, object) in cells {
        for passes in [false, true] {
            arms.ours(*cell, object, passes, end)?;
            arms.nft(*cell, passes, end, bench)?;
            arms.iptables(*cell, passes, end, bench);
        }
    }
    for Peer { cell, object, transient } in peers {
        let name = format!("live-xdp-filter-{}", cell.name());
        arms.driver(&name, object, xdp_filter::PROGRAM, false);
        arms.driver(&name, transient, xdp_filter::PROGRAM, true);
    }
    Ok(arms.arms)
}

/// The arms so far.
struct Arms<'a> {
    fixture: &'a Fixture<'a>,
    arms: Vec<Arm<'a>>,
    /// Number of nft tables created so far.
    tables: usize,
}

impl<'a> Arms<'a> {
    /// Adds an arm; the filter that `set` sets up is active until its guard is dropped.
    fn add<T>(&mut self, name: &str, passes: bool, set: impl Fn() -> Result<T> + 'a) {
        let (fixture, pass) = (self.fixture, if passes { "-pass" } else { "" });
        self.arms.push(Arm::new(&format!("{name}{pass}"), "ns", move |window| {
            let _guard = set()?;
            fixture.measure(window, passes)
        }));
    }

    fn driver(&mut self, name: &str, object: &Rc<Object>, program: &'static str, passes: bool) {
        let (fixture, object) = (self.fixture, Rc::clone(object));
        self.add(name, passes, move || fixture.attach(&object, program));
    }

    /// The base lines: dropped by the smallest program, and passed without rules.
    fn nothing(&mut self) -> Result<()> {
        self.driver("live-nothing", &Rc::new(limit::object()?), limit::NAME, false);
        self.add("live-nothing", true, || Ok(()));
        Ok(())
    }

    fn ours(&mut self, cell: Cell, object: &Rc<Object>, passes: bool, end: End) -> Result<()> {
        let name = format!("live-{}", cell.name());
        let object = match (cell, passes) {
            (_, false) => Rc::clone(object),
            (Cell::Rules(_), true) => Rc::new(cell.object(other(end))?),
            (Cell::Set, true) => Rc::new(super::object(&asked_for_dest(end))?),
        };
        self.driver(&name, &object, filter::PROGRAM, passes);
        Ok(())
    }

    fn nft(&mut self, cell: Cell, passes: bool, end: End, bench: &mut Bench) -> Result<()> {
        let lines = |count| Line::many(count, if passes { other(end) } else { end });
        let bodies = match cell {
            Cell::Rules(1) => vec![("nft", Body::linear(&lines(1)))],
            Cell::Rules(count) => {
                let lines = lines(count);
                vec![("nft", Body::linear(&lines)), ("nft-map", Body::maps(&lines))]
            }
            Cell::Set => {
                let side = if passes { "daddr" } else { "saddr" };
                vec![("nft", Body::set(&line::addresses(SET, end), side))]
            }
        };
        for (kind, body) in bodies {
            self.tables += 1;
            let name = format!("{kind}-{}", cell.name());
            match Table::new(self.fixture.field, self.tables, &body) {
                Ok(table) => {
                    let table = Rc::new(table);
                    self.add(&name, passes, move || table.on());
                }
                Err(fault) => _ = bench.absent(&name, format!("not here: {fault:#}")),
            }
        }
        Ok(())
    }

    fn iptables(&mut self, cell: Cell, passes: bool, end: End, bench: &mut Bench) {
        let name = format!("iptables-raw-{}", cell.name());
        match self.raw(cell, passes, end) {
            Ok((chain, rules)) => self.add(&name, passes, move || chain.fill(&rules)),
            Err(fault) => _ = bench.absent(&name, format!("not here: {fault:#}")),
        }
    }

    /// The rule of the chain, and the packets that it must count.
    fn raw(&self, cell: Cell, passes: bool, end: End) -> Result<(&'a Chain, String)> {
        let Fixture { field, raw, .. } = self.fixture;
        let chain = raw.as_ref().map_err(|why| anyhow!("{why:#}"))?;
        let rules = match cell {
            Cell::Rules(count) => {
                iptables::rules(&Line::many(count, if passes { other(end) } else { end }))
            }
            Cell::Set => {
                let set = iptables::IpSet::new(field, &line::addresses(SET, end))?;
                set.rule(if passes { "dst" } else { "src" })
            }
        };
        Ok((chain, rules))
    }
}

/// The set, in which no destination of a frame is.
fn asked_for_dest(end: End) -> Ruleset {
    line::set(SET, filter::Side::Dest, end)
}

const CHAIN: &str = "ends";
/// Packets before the clock starts, and the minimum number of measured packets.
const WARM_UP: u64 = 500;
const LEAST: u64 = 2_000;
/// Time between two readings.
const STEP: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest duration of the flood.
const LONGEST: Duration = Duration::from_secs(1800);
