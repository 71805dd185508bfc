//! `router`: packets per second that are routed between two interfaces on one core, by Linux and by
//! XDP that looks up Linux's tables, with one route and with a full Internet table.
//!
//! Rule: all arms have the same flood, to the same destinations; they differ in the router and the
//! number of routes. Both routers are built once, because a table takes seconds, and their arms
//! take turns.

mod net;
mod sweep;
mod table;

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};
use functions::stats::Stats;
use kernel::Link;
use report::{Bench, Figure};
use spec::Verdict;
use traffic::Template;

use crate::harness::{Arm, Harness, Value};
use crate::hook::{ActiveHook, Span};
use crate::{Effort, Kind, Scenario, Testbed};
pub use net::{Inserted, Memory, Net, statistics};
pub use table::Table;

/// The scenario `router`.
pub const SCENARIO: Scenario = Scenario {
    name: "router",
    kind: Kind::Picture,
    about: "packets routed a second on one core: Linux and XDP, 1 route and a full table",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
    testbed.lab_only()?;
    measure(harness, FULL)
}

/// Measures with a full table of `routes` routes.
///
/// # Errors
/// As [`Scenario::run`]; a full table that cannot be loaded is reported as absent.
pub fn measure(harness: &mut Harness, routes: usize) -> Result<Bench> {
    let mut bench = Bench::new("router");
    tell(&mut bench);
    let table = Table::of(routes)?;
    let mut routers = vec![Router::with_one_route()?];
    harness.say(&format!("{routes} routes are given to the kernel"));
    match Router::with(&table) {
        Ok((router, inserted)) => {
            bench.note(inserted.to_string());
            routers.push(router);
        }
        Err(fault) => MODES.iter().for_each(|mode| {
            bench.absent(&mode.row(FULL_TABLE), format!("{fault:#}"));
        }),
    }
    let destinations = table.destinations(net::LISTED)?;
    let mut arms = Vec::new();
    for mode in MODES {
        for router in &routers {
            let stream = router.net.stream(&destinations[..DESTINATIONS])?;
            arms.push(mode.arm(router, mode.row(router.name), stream));
        }
    }
    arms.extend(sweep::arms(&routers, &destinations)?);
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    conclude(&mut bench);
    if let Some(Router { net, .. }) = routers.get(1) {
        let took = net.remove_routes()?;
        bench.note(format!("The table was taken away in {:.1} s.", took.as_secs_f64()));
    }
    Ok(bench)
}

/// Adds the notes of every run.
fn tell(bench: &mut Bench) {
    bench
        .method(
            "Three hosts in a line: one floods, one routes, and the last one's driver ends and \
            counts all that arrives. The sender, the router and the sink share one processor.",
        )
        .method(&format!(
            "UDP frames of 60 bytes go to {DESTINATIONS} destinations in turn, the same for all \
             arms; making them costs the same whatever the number of destinations."
        ))
        .method(
            "linux: Linux's own forwarding. xdp: `forward` in the driver, which asks \
            bpf_fib_lookup, remembers and redirects, as while `xway daemon` follows the routes. \
            xdp-unfollowed: without the daemon, so that it asks again at each tick. \
            xdp-no-memory: it asks for each packet.",
        )
        .method(
            "1-route: a default route. full: a table made up with a fixed seed, prefixes of \
            each length as often as in the Internet's, at random places of the unicast space, \
            with four next hops.",
        )
        .method(&format!("The lengths are those of {}.", table::SOURCE))
        .method("The sweep floods other numbers of destinations.");
}

/// Adds ratios, figures, and the additional cost of a lookup in the full table.
fn conclude(bench: &mut Bench) {
    for size in [ONE_ROUTE, FULL_TABLE] {
        bench.ratio(&XDP.row(size), &LINUX.row(size));
        bench.ratio(&XDP.row(size), &FORGETFUL.row(size));
        bench.ratio(&UNFOLLOWED.row(size), &FORGETFUL.row(size));
    }
    for mode in MODES {
        let (one, full) = (mode.row(ONE_ROUTE), mode.row(FULL_TABLE));
        bench.ratio(&full, &one);
        if let (Some(one), Some(full)) = (bench.median(&one), bench.median(&full)) {
            let published = mode.published.map(|ns| format!(" ({ns} ns in the paper)"));
            bench.note(format!(
                "The full table costs {} {:.0} ns a packet, by the medians{}.",
                mode.name,
                1e9 / full - 1e9 / one,
                published.unwrap_or_default(),
            ));
        }
    }
    let rows = MODES.iter().flat_map(|mode| [mode.row(ONE_ROUTE), mode.row(FULL_TABLE)]);
    let bars = Figure::bars("router", "Packets a second that one core routes", rows)
        .subtitle("one route, and as many as the Internet has");
    let bars = PUBLISHED.iter().fold(bars, |bars, (row, pps)| bars.reference(row, *pps, PAPER));
    bench.figure(bars).figure(sweep::figure());
}

/// A router and its routes.
struct Router {
    name: &'static str,
    net: Net,
    _ending: Link,
}

impl Router {
    fn with_one_route() -> Result<Self> {
        let net = Net::build()?;
        net.add_default()?;
        Ok(Self { name: ONE_ROUTE, _ending: net.end_frames()?, net })
    }

    fn with(table: &Table) -> Result<(Self, Inserted)> {
        let net = Net::build()?;
        let inserted = net.add_table(table)?;
        Ok((Self { name: FULL_TABLE, _ending: net.end_frames()?, net }, inserted))
    }
}

/// The router: Linux, or XDP.
struct RoutingMode {
    name: &'static str,
    /// The memory of routes of the XDP program; `None` for Linux's own forwarding.
    memory: Option<Memory>,
    /// Nanoseconds that the full table cost this router in the paper.
    published: Option<u32>,
}

impl RoutingMode {
    fn row(&self, size: &str) -> String {
        format!("{}/{size}", self.name)
    }

    fn arm<'a>(&'a self, router: &'a Router, row: String, stream: Template) -> Arm<'a> {
        Arm::wide(&row.clone(), move |window| {
            let span = self.measure(&router.net, &stream, window)?;
            Ok(vec![
                Value::new(&row, "pps", span.rate()),
                Value::new(format!("lost/{row}"), "%", span.lost()),
            ])
        })
    }

    fn measure(&self, net: &Net, stream: &Template, window: Duration) -> Result<Span> {
        let program = self.memory.map(|memory| net.program(memory)).transpose()?;
        let statistics = || program.map_or_else(|| Ok(Stats::default()), net::statistics);
        let before = statistics()?;
        let link = program.map(|program| net.attach(program)).transpose()?;
        let routing = Routing { net, _link: link };
        let flood = net.flood(stream, None, window)?;
        let start = routing.ended()?;
        lab::until("packets after the router", PATIENCE, || {
            Ok(routing.ended().is_ok_and(|ended| ended > start + WARM_UP).then_some(()))
        })?;
        let span = Span::of(&flood, &routing, || sleep(window))?;
        let passed = statistics()?.since(&before).verdict(Verdict::Pass).packets;
        ensure!(passed < span.ended / 100, "{passed} packets went to Linux instead");
        Ok(span)
    }
}

/// Measures packets that arrive at the sink.
struct Routing<'a> {
    net: &'a Net,
    _link: Option<Link>,
}

impl ActiveHook for Routing<'_> {
    fn ended(&self) -> Result<u64> {
        self.net.arrived()
    }
}

const LINUX: RoutingMode = RoutingMode { name: "linux", memory: None, published: Some(153) };
const XDP: RoutingMode =
    RoutingMode { name: "xdp", memory: Some(Memory::Followed), published: Some(104) };
const UNFOLLOWED: RoutingMode =
    RoutingMode { name: "xdp-unfollowed", memory: Some(Memory::Unfollowed), published: None };
const FORGETFUL: RoutingMode =
    RoutingMode { name: "xdp-no-memory", memory: Some(Memory::Off), published: None };
const MODES: &[RoutingMode] = &[LINUX, XDP, UNFOLLOWED, FORGETFUL];
const ONE_ROUTE: &str = "1-route";
const FULL_TABLE: &str = "full";
/// Routes of the full table: about those that the paper had.
const FULL: usize = 750_000;
/// Destinations of the flood, as in the paper.
const DESTINATIONS: usize = 4_000;
const PATIENCE: Duration = Duration::from_secs(5);
/// Packets that arrive before the clock starts.
const WARM_UP: u64 = 1000;
/// Source of published values: figure 6 of the paper.
const PUBLISHED: [(&str, f64); 4] = [
    ("linux/1-route", 1_739_672.0),
    ("linux/full", 1_373_550.0),
    ("xdp/1-route", 5_355_583.0),
    ("xdp/full", 3_446_336.0),
];
const PAPER: &str = "The eXpress Data Path (CoNEXT 2018): one core of a Xeon E5-1650 v4 at 3.6 \
    GHz, ConnectX-5 Ex 100G, Linux 4.18-pre, 752,138 routes";
