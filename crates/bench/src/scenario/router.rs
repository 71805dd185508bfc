//! `router`: packets per second that are routed between two interfaces on one core, by Linux, by
//! XDP that looks up Linux's tables, and by a program that only redirects; with one route, with
//! several next hops, and with a full Internet table.
//!
//! Rule: all arms of a family have the same flood; they differ in the router, the routes and the
//! number of destinations. Each set of routes is given to the kernel once, because a table takes
//! seconds, and the arms take turns.

mod alone;
mod figure;
mod flood;
mod frames;
mod net;
mod packets;
mod table;
mod tracked;
mod variant;
mod way;

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::Result;
use functions::route::abi::Fields;
use kernel::Link;
use report::Bench;
use traffic::Template;

use crate::harness::{Arm, Harness, Value};
use crate::{Effort, Kind, Scenario, Testbed};
use alone::Alone;
use flood::{Counted, Passage};
pub use net::{Inserted, Net};
use packets::Packets;
pub use table::{Family, Table};
use tracked::{Tracked, Tracking};
use variant::Variant;
use way::Setup;
pub use way::{Loaded, Memory, Way, XDP_FORWARD};

/// The scenario `router`.
pub const SCENARIO: Scenario = Scenario {
    name: "router",
    kind: Kind::Picture,
    about: "packets routed a second on one core: Linux, XDP; 1 route and a full table, IPv4, IPv6",
    effort: Effort::USUAL,
    run,
};

/// What is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of routes in the full tables.
    pub routes: Vec<(Family, usize)>,
    /// Numbers of destinations that packets go to in turn, ascending.
    pub destinations: Vec<usize>,
}

impl Default for Plan {
    /// Tables as large as those of 2026.
    fn default() -> Self {
        Self {
            routes: vec![(Family::V4, 1_000_000), (Family::V6, 220_000)],
            destinations: vec![1, 1_000, USUAL, net::LISTED],
        }
    }
}

impl Plan {
    /// The number of destinations in comparisons of routers.
    fn usual(&self) -> usize {
        let most = self.destinations.last().copied().unwrap_or(USUAL);
        if self.destinations.contains(&USUAL) { USUAL } else { most }
    }

    /// The number of destinations of variants: such that the processor's caches have their routes.
    fn few(&self) -> usize {
        let first = self.destinations.first().copied().unwrap_or(FEW);
        if self.destinations.contains(&FEW) { FEW } else { first }
    }
}

fn run(harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
    testbed.lab_only()?;
    measure(harness, &Plan::default())
}

/// # Errors
/// As [`Scenario::run`]; a full table or a program that cannot be loaded is reported as absent.
pub fn measure(harness: &mut Harness, plan: &Plan) -> Result<Bench> {
    let mut bench = Bench::new("router");
    tell(&mut bench);
    let tables = plan.routes.iter().map(|(family, routes)| Table::of(*family, *routes));
    let tables = tables.collect::<Result<Vec<_>>>()?;
    let mut routers = Vec::new();
    for routes in Routes::ALL {
        if !is_selected(harness, routes, plan) {
            continue;
        }
        match Router::build(harness, &mut bench, routes, &tables) {
            Ok(router) => routers.push(router),
            Err(fault) => {
                bench.absent(routes.name(), format!("{fault:#}"));
            }
        }
    }
    let listed = tables.iter().map(|table| Ok((table.family(), table.destinations(net::LISTED)?)));
    let listed = listed.collect::<Result<BTreeMap<_, _>>>()?;
    let families: Vec<_> = plan.routes.iter().map(|(family, _)| *family).collect();
    let tracked = track(harness, &mut bench, &families);
    let mut arms = Vec::new();
    for table in &tables {
        let destinations = &listed[&table.family()];
        for count in &plan.destinations {
            for router in &routers {
                let is_swept = router.routes != Routes::FourHops || *count == plan.usual();
                let stream = router.net.stream(&destinations[..*count])?;
                let arm = |(way, loaded)| {
                    let row = row(way, table.family(), router.routes, *count);
                    router.arm(loaded, row, stream.clone())
                };
                arms.extend(router.ways().filter(|_| is_swept).map(arm));
                if router.is_measured_alone(*count, plan) {
                    arms.extend(router.alone(table.family(), &destinations[..*count])?);
                }
                if router.routes == Routes::One && *count == plan.few() {
                    arms.extend(router.variants(table.family(), &destinations[..*count])?);
                }
            }
        }
    }
    for family in families {
        arms.extend(connections(tracked.as_ref(), family));
    }
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    figure::conclude(&mut bench, plan);
    if let Some(Router { net, .. }) = routers.iter().find(|router| router.routes == Routes::Full) {
        let took = net.remove_routes()?;
        bench.note(format!("The tables were taken away in {:.1} s.", took.as_secs_f64()));
    }
    Ok(bench)
}

/// Whether any row with these routes is measured.
fn is_selected(harness: &Harness, routes: Routes, plan: &Plan) -> bool {
    let families = plan.routes.iter().map(|(family, _)| *family);
    let plain = families.clone().flat_map(|family| {
        let ways = Way::ALL.into_iter();
        ways.flat_map(move |way| {
            plan.destinations.iter().map(move |n| row(way, family, routes, *n))
        })
    });
    let varied = families.filter(|_| routes == Routes::One).flat_map(|family| {
        let variants = Variant::ALONE.into_iter().chain(Variant::LIVE);
        variants.map(move |variant| varied(family, plan.few(), variant))
    });
    let mut rows = plain.chain(varied);
    rows.any(|row| harness.measures(&row) || harness.measures(&format!("alone/{row}")))
}

/// Adds the notes of every run.
fn tell(bench: &mut Bench) {
    bench
        .method(
            "Three hosts in a line: one floods, one routes, and the last one's driver ends and \
            counts all that arrives. The sender, the router and the sink share one processor.",
        )
        .method(
            "Rows are ROUTER/FAMILY/ROUTES/DESTINATIONS. The shortest UDP frames that the flood \
            has, 60 bytes in IPv4 and 80 in IPv6, go to the destinations in turn; making them \
            costs the same whatever their number.",
        )
        .method(
            "linux: Linux's own forwarding. ours: `route` in the driver, which asks \
            bpf_fib_lookup, remembers and redirects, as while `xway daemon` follows the routes. \
            ours-unfollowed: without the daemon, so that it asks again at each tick. \
            ours-no-memory: it asks for each packet. redirect: a program that writes two fixed \
            hardware addresses and redirects every frame: the limit of veth.",
        )
        .method(&format!(
            "xdp-forward-full, xdp-forward-direct: the programs of xdp-tools' xdp-forward, from \
             the object that the environment variable {XDP_FORWARD} names.",
        ))
        .method(
            "1: a default route. 1x4: one with four next hops. full: tables made up with a fixed \
            seed, at random places of the unicast space, with four next hops; lengths of IPv4 \
            prefixes as often as in the Internet's table.",
        )
        .method(
            "Further parts of a name are variants of the row before them. tagged: frames get a \
            VLAN tag, lose it, or get another one. expired: the TTL of all is used up; each is \
            answered (counted at the sender), or nearly all are dropped by the default limits of \
            answers, or all by a program that does nothing else. mixed: every other packet is one \
            of these (limited) or is dropped by a route (blackhole); the others, which are \
            forwarded, are counted. reverse-path: 250 sources. conntrack: a TCP segment of an \
            established connection, whose entry the stack made. extra/ROW: nanoseconds more than \
            the row without the variant, of the same round; of answers, more than of limited ones.",
        )
        .method(&format!("The lengths in IPv4 are those of {}.", table::SOURCE4))
        .method(&format!("The lengths in IPv6 have the average of {}.", table::SOURCE6));
}

/// The name of a value.
fn row(way: Way, family: Family, routes: Routes, destinations: usize) -> String {
    format!("{}/{}/{}/{destinations}", way.name(), family.name(), routes.name())
}

/// The name of the value of a variant.
fn varied(family: Family, destinations: usize, variant: Variant) -> String {
    let plain = row(Way::Ours(Memory::Followed), family, Routes::One, destinations);
    format!("{plain}/{}", variant.name())
}

/// The name of the value of a connection's packet.
fn connected(family: Family, tracking: Tracking) -> String {
    let plain = row(Way::Ours(Memory::Followed), family, Routes::One, 1);
    format!("alone/{plain}/{}", tracking.name())
}

/// The lab of connections, if a row of them is measured.
fn track(harness: &Harness, bench: &mut Bench, families: &[Family]) -> Option<Tracked> {
    let rows = families.iter().flat_map(|family| Tracking::ALL.map(|one| connected(*family, one)));
    let is_selected = rows.into_iter().any(|row| harness.measures(&row));
    let built = is_selected.then(|| Tracked::build(families));
    match built.transpose() {
        Ok(tracked) => tracked,
        Err(fault) => {
            bench.absent("conntrack", format!("{fault:#}"));
            None
        }
    }
}

/// The rows of connections.
fn connections(tracked: Option<&Tracked>, family: Family) -> impl Iterator<Item = Arm<'_>> {
    let alone =
        move |tracking| Some(tracked?.alone(family, tracking)?.arm(connected(family, tracking)));
    Tracking::ALL.into_iter().filter_map(alone)
}

/// What a router can choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Routes {
    One,
    FourHops,
    Full,
}

impl Routes {
    const ALL: [Self; 3] = [Self::One, Self::FourHops, Self::Full];

    fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::FourHops => "1x4",
            Self::Full => "full",
        }
    }

    /// The fields by which packets differ in where they go, besides the destination.
    fn fields(self) -> Fields {
        match self {
            Self::FourHops => Fields {
                source: u64::MAX,
                label: [u8::MAX; 4],
                protocol: u32::MAX,
                ..Fields::default()
            },
            Self::One | Self::Full => Fields::default(),
        }
    }
}

/// A lab with its routes and all programs that can be loaded.
struct Router {
    routes: Routes,
    net: Net,
    ways: Vec<(Way, Option<Loaded>)>,
    _ending: Link,
}

impl Router {
    fn build(
        harness: &mut Harness,
        bench: &mut Bench,
        routes: Routes,
        tables: &[Table],
    ) -> Result<Self> {
        let net = Net::build()?;
        match routes {
            Routes::One => {
                net.add_default()?;
                net.add_blackholes()?;
            }
            Routes::FourHops => net.add_multipath()?,
            Routes::Full => {
                for table in tables {
                    let count = table.prefixes().len();
                    harness.say(&format!("{count} routes are given to the kernel"));
                    bench.note(net.add_table(table)?.to_string());
                }
            }
        }
        let mut ways = Vec::new();
        for way in Way::ALL {
            match way.load(&net, routes.fields()) {
                Ok(loaded) => ways.push((way, loaded)),
                // Once, not for each lab.
                Err(fault) if routes == Routes::One => {
                    bench.absent(way.name(), format!("{fault:#}"));
                }
                Err(_) => {}
            }
        }
        Ok(Self { routes, _ending: net.end_frames()?, net, ways })
    }

    fn ways(&self) -> impl Iterator<Item = (Way, Option<&Loaded>)> {
        self.ways.iter().map(|(way, loaded)| (*way, loaded.as_ref()))
    }

    fn arm<'a>(&'a self, loaded: Option<&'a Loaded>, row: String, stream: Template) -> Arm<'a> {
        Arm::wide(&row.clone(), move |window| {
            let program = loaded.map(Loaded::program).transpose()?;
            let (net, streams) = (&self.net, std::slice::from_ref(&stream));
            let span = Passage { net, program, streams, counted: Counted::Sink }.measure(window)?;
            Ok(vec![
                Value::new(&row, "pps", span.rate()),
                Value::new(format!("lost/{row}"), "%", span.lost()),
            ])
        })
    }

    /// Programs alone: with one route by the number of destinations, with others once.
    fn is_measured_alone(&self, count: usize, plan: &Plan) -> bool {
        match self.routes {
            Routes::One => count != plan.usual() || plan.destinations.len() == 1,
            Routes::FourHops => false,
            Routes::Full => count == plan.usual(),
        }
    }

    fn alone<'a>(&'a self, family: Family, destinations: &'a [IpAddr]) -> Result<Vec<Arm<'a>>> {
        let ways = self
            .ways()
            .filter(|(way, loaded)| loaded.is_some() && *way != Way::Ours(Memory::Unfollowed));
        let arms = ways.map(move |(way, _)| {
            let row = row(way, family, self.routes, destinations.len());
            let setup = Setup { fields: self.routes.fields(), ..Setup::default() };
            let packets = Packets::to(destinations);
            Ok(Alone::forwarding(&self.net, way, setup, packets)?.arm(format!("alone/{row}")))
        });
        arms.collect()
    }

    /// Rows beside the plain one of `ours`.
    fn variants<'a>(&'a self, family: Family, destinations: &'a [IpAddr]) -> Result<Vec<Arm<'a>>> {
        let row = |variant| varied(family, destinations.len(), variant);
        let mut arms = Vec::new();
        for variant in Variant::ALONE {
            let alone = variant.alone(&self.net, destinations)?;
            arms.push(alone.arm(format!("alone/{}", row(variant))));
        }
        for variant in Variant::LIVE {
            arms.push(variant.live(&self.net, destinations, row(variant)));
        }
        Ok(arms)
    }
}

/// Destinations of the flood, as in the paper.
const USUAL: usize = 4_000;
const FEW: usize = 1_000;
