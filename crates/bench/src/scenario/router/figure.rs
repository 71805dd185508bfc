//! The pictures and ratios of the router.

use report::figure::{Series, XAxis};
use report::{Bench, Figure};

use super::{Family, Memory, Plan, Routes, Tracking, Variant, Way, connected, row, varied};

/// Adds ratios, figures, and the additional cost of the full table.
pub fn conclude(bench: &mut Bench, plan: &Plan) {
    for (family, _) in &plan.routes {
        ratios(bench, *family, plan);
        costs(bench, *family, plan.usual());
        variants(bench, *family, plan.few());
        bench.figure(bars(bench, *family, plan.usual()));
        bench.figure(curves(bench, *family, plan));
    }
}

/// Ratios of `ours` to the others, in every cell.
fn ratios(bench: &mut Bench, family: Family, plan: &Plan) {
    for routes in Routes::ALL {
        for count in &plan.destinations {
            let row = |way| row(way, family, routes, *count);
            for other in Way::ALL.into_iter().filter(|way| *way != OURS) {
                if has(bench, &row(OURS)) && has(bench, &row(other)) {
                    bench.ratio(&row(OURS), &row(other));
                }
            }
        }
    }
    let usual = plan.usual();
    let (full, one) =
        (row(OURS, family, Routes::Full, usual), row(OURS, family, Routes::One, usual));
    if has(bench, &full) && has(bench, &one) {
        bench.ratio(&full, &one);
    }
}

fn costs(bench: &mut Bench, family: Family, usual: usize) {
    for way in Way::ALL {
        let median = |routes| bench.median(&row(way, family, routes, usual));
        let (Some(one), Some(full)) = (median(Routes::One), median(Routes::Full)) else { continue };
        let published =
            PUBLISHED_COSTS.iter().find(|(known, _)| (*known, Family::V4) == (way, family));
        let published = published.map(|(_, ns)| format!(" ({ns} ns in the paper)"));
        bench.note(format!(
            "The full {} table costs {} {:.0} ns a packet, by the medians{}.",
            family.name(),
            way.name(),
            1e9 / full - 1e9 / one,
            published.unwrap_or_default(),
        ));
    }
}

/// Adds what each variant costs more, and how its rate compares.
fn variants(bench: &mut Bench, family: Family, few: usize) {
    let plain = row(OURS, family, Routes::One, few);
    let live = |variant| varied(family, few, variant);
    let alone = |variant| format!("alone/{}", live(variant));
    for variant in Variant::ALONE {
        let base = match variant {
            Variant::SourceLoose | Variant::SourceStrict => alone(Variant::SourceUnchecked),
            Variant::Answered => alone(Variant::Limited),
            Variant::SourceUnchecked | Variant::Blackhole => continue,
            _ => format!("alone/{plain}"),
        };
        extra(bench, &alone(variant), &base);
    }
    for tracking in [Tracking::Plain, Tracking::Translated] {
        extra(bench, &connected(family, tracking), &connected(family, Tracking::Off));
    }
    let tagged = [Variant::TagAdded, Variant::TagRemoved, Variant::TagReplaced];
    let ratios = tagged.map(|variant| (live(variant), plain.clone())).into_iter().chain([
        (live(Variant::Answered), live(Variant::Limited)),
        (live(Variant::Answered), live(Variant::Dropped)),
        (live(Variant::MixedLimited), live(Variant::MixedBlackhole)),
        (alone(Variant::Limited), format!("alone/{plain}")),
    ]);
    for (a, b) in ratios.filter(|(a, b)| has(bench, a) && has(bench, b)).collect::<Vec<_>>() {
        bench.ratio(&a, &b);
    }
}

/// Adds a row with the nanoseconds that one row has more than another one of the same round.
fn extra(bench: &mut Bench, row: &str, base: &str) {
    let find = |name: &str| bench.rounds().iter().find(|rounds| rounds.name == name);
    let (Some(more), Some(base)) = (find(row), find(base)) else { return };
    for (round, more, base) in more.pairs(base) {
        bench.round_at(round, &format!("extra/{row}"), "ns", more - base);
    }
}

fn bars(bench: &Bench, family: Family, usual: usize) -> Figure {
    let rows = Way::ALL
        .into_iter()
        .flat_map(|way| Routes::ALL.map(|routes| row(way, family, routes, usual)));
    let rows = rows.filter(|row| has(bench, row));
    let name = family.name();
    let bars = Figure::bars(
        &format!("router-{name}"),
        &format!("Packets a second that one core routes, {name}"),
        rows,
    )
    .subtitle("one route, one with four next hops, and as many as the Internet has");
    if family == Family::V6 {
        return bars;
    }
    PUBLISHED.iter().fold(bars, |bars, (way, routes, pps)| {
        bars.reference(&row(*way, family, *routes, usual), *pps, PAPER)
    })
}

/// A curve for each router and set of routes, by the number of destinations.
fn curves(bench: &Bench, family: Family, plan: &Plan) -> Figure {
    let mut series = Vec::new();
    for way in Way::ALL {
        for routes in [Routes::One, Routes::Full] {
            let point = |count: &usize| (*count as f64, row(way, family, routes, *count));
            let points: Vec<_> = plan.destinations.iter().map(point).collect();
            let points: Vec<_> = points.into_iter().filter(|(_, row)| has(bench, row)).collect();
            if !points.is_empty() {
                series.push(Series { name: format!("{}/{}", way.name(), routes.name()), points });
            }
        }
    }
    let x = XAxis { label: "destinations".into(), unit: String::new(), is_logarithmic: true };
    let name = family.name();
    let figure = Figure::curves(
        &format!("router-{name}-destinations"),
        &format!("Packets a second, by destinations, {name}"),
        x,
        series,
    )
    .subtitle("that the packets go to in turn");
    match family {
        Family::V4 => figure.reference_curve("xdp", PUBLISHED_CURVE.to_vec(), PAPER_DATA),
        Family::V6 => figure,
    }
}

fn has(bench: &Bench, row: &str) -> bool {
    bench.median(row).is_some()
}

const OURS: Way = Way::Ours(Memory::Followed);
/// Nanoseconds that the full table cost in the paper.
const PUBLISHED_COSTS: [(Way, u32); 2] = [(Way::Linux, 153), (Way::Ours(Memory::Off), 104)];
/// Source of published values: figure 6 of the paper.
const PUBLISHED: [(Way, Routes, f64); 4] = [
    (Way::Linux, Routes::One, 1_739_672.0),
    (Way::Linux, Routes::Full, 1_373_550.0),
    (Way::Ours(Memory::Off), Routes::One, 5_355_583.0),
    (Way::Ours(Memory::Off), Routes::Full, 3_446_336.0),
];
const PAPER: &str = "The eXpress Data Path (CoNEXT 2018): one core of a Xeon E5-1650 v4 at 3.6 \
    GHz, ConnectX-5 Ex 100G, Linux 4.18-pre, 752,138 routes";
const PUBLISHED_CURVE: [(f64, f64); 6] = [
    (1.0, 5.77e6),
    (10.0, 5.28e6),
    (100.0, 4.73e6),
    (1_000.0, 4.06e6),
    (5_000.0, 3.89e6),
    (20_000.0, 3.85e6),
];
const PAPER_DATA: &str = "raw data of The eXpress Data Path (CoNEXT 2018): one core of a Xeon \
    E5-1650 v4 at 3.6 GHz, ConnectX-5 Ex 100G with a ring of 512, Linux 4.18-pre; the table's \
    size is not stated";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_compared_by_round() {
        let mut bench = Bench::new("router");
        let plain = row(OURS, Family::V4, Routes::One, 1000);
        let tagged = format!("alone/{}", varied(Family::V4, 1000, Variant::TagAdded));
        for (round, [one, other]) in (1..).zip([[40.0, 46.0], [80.0, 89.0], [41.0, 48.0]]) {
            bench.round_at(round, &format!("alone/{plain}"), "ns", one);
            bench.round_at(round, &tagged, "ns", other);
        }
        variants(&mut bench, Family::V4, 1000);
        assert_eq!(bench.median(&format!("extra/{tagged}")), Some(7.0));
        assert_eq!(bench.rounds().len(), 3, "nothing of rows without values");
        assert_eq!(bench.finish(report::Host::default()).unwrap().ratios, []);
    }
}
