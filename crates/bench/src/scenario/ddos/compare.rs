//! Evaluation of the rows: marks, ratios, shares of the quiet rate, and figures beside the
//! published curves.

use report::figure::{Series, XAxis};
use report::number::human;
use report::{Bench, Figure};

use super::{
    ASKED, DEADLY, Defense, FILTER, FILTERED, INVENTED, LIMITS, NONE, RATES, SYN_NONE, SYN_PROXY,
    XDP, XDP_INVENTED, defenses, point,
};
use crate::field::Attack;

/// Adds the ratios of the points that were measured.
pub fn add(bench: &mut Bench) {
    mark(bench);
    keep(bench);
    for (with, without, rates) in [
        (XDP, NONE, RATES),
        (LIMITS, INVENTED, DEADLY),
        (FILTER, XDP, FILTERED),
        (LIMITS, XDP_INVENTED, DEADLY),
        (SYN_PROXY, SYN_NONE, ASKED),
    ] {
        rates.iter().for_each(|rate| ratio(bench, with, without, Some(*rate)));
    }
    ratio(bench, FILTER, XDP, None);
    for figure in [absolute(bench), shares(bench), connections(bench)] {
        bench.figure(figure);
    }
}

/// Adds the ratio of two defenses; it is inverted if a service did not answer in a round, because
/// zero cannot be a base.
fn ratio(bench: &mut Bench, with: &str, without: &str, rate: Option<u64>) {
    let (with, without) = (point(with, rate), point(without, rate));
    let is_alive = |row: &str| values(bench, row).map(|all| all.iter().all(|value| *value > 0.0));
    match (is_alive(&with), is_alive(&without)) {
        (Some(_), Some(true)) => _ = bench.ratio(&with, &without),
        (Some(true), Some(false)) => {
            bench.ratio(&without, &with);
            bench.mark(&without, "no client got an answer in some rounds");
        }
        _ => (),
    }
}

/// Marks a point whose flood did not have the rate in its name.
fn mark(bench: &mut Bench) {
    for (row, rate) in points().filter_map(|(_, row, rate)| Some((row, rate?))) {
        let offered = bench.median(&format!("offered/{row}"));
        if let Some(offered) = offered.filter(|offered| *offered < NEAR * rate as f64) {
            bench.mark(&row, format!("the attacker came to {} only", human(offered, "pps")));
        }
    }
}

/// Adds each defense's share of what the service does without an attack, round by round.
fn keep(bench: &mut Bench) {
    for (defense, row, _) in points().filter(|(_, _, rate)| *rate != Some(0)) {
        let quiet = point(if is_of_connections(&defense) { SYN_NONE } else { NONE }, Some(0));
        let of = |name: &str| bench.rounds().iter().find(|rounds| rounds.name == name);
        let pairs = of(&row).zip(of(&quiet)).map(|(row, quiet)| row.pairs(quiet));
        for (round, value, whole) in pairs.unwrap_or_default() {
            if whole > 0.0 {
                bench.round_at(round, &kept(&row), "%", 100.0 * value / whole);
            }
        }
    }
}

fn absolute(bench: &Bench) -> Figure {
    let title = "Transactions a second beside a flood";
    let figure = curves(bench, ("ddos", title), transactions(), |row| row.into());
    let figure = figure.reference_curve("with XDP", up_to_ours(WITH), SOURCE);
    figure.reference_curve("without XDP", up_to_ours(WITHOUT), SOURCE)
}

fn shares(bench: &Bench) -> Figure {
    let share = |curve: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let (_, whole) = curve[0];
        up_to_ours(curve).into_iter().map(|(x, y)| (x, 100.0 * y / whole)).collect()
    };
    let title = "Share of the transactions that a flood leaves";
    curves(bench, ("ddos-kept", title), transactions(), kept)
        .reference_curve("with XDP", share(WITH), SOURCE)
        .reference_curve("without XDP", share(WITHOUT), SOURCE)
}

fn connections(bench: &Bench) -> Figure {
    let title = "New connections a second beside a flood of requests";
    let defenses = defenses().into_iter().filter(is_of_connections);
    curves(bench, ("ddos-connections", title), defenses, |row| row.into())
}

fn transactions() -> impl Iterator<Item = Defense> {
    defenses().into_iter().filter(|defense| !is_of_connections(defense))
}

/// New connections are counted for `syn-…`, transactions over existing ones elsewhere.
fn is_of_connections(defense: &Defense) -> bool {
    defense.attack == Attack::Syn
}

/// A curve for each defense, over the rate of the flood as it was sent.
fn curves(
    bench: &Bench,
    (name, title): (&str, &str),
    defenses: impl Iterator<Item = Defense>,
    row: impl Fn(&str) -> String,
) -> Figure {
    let curve = |defense: Defense| {
        let points = defense.rates().filter_map(|rate| {
            let point = point(defense.name, rate);
            let offered = bench.median(&format!("offered/{point}"));
            let row = row(&point);
            let x = offered.or(rate.map(|rate| rate as f64))?;
            bench.median(&row).map(|_| (x, row))
        });
        let mut points: Vec<_> = points.collect();
        points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        Series { name: defense.name.into(), points }
    };
    let series = defenses.map(curve).filter(|series| !series.points.is_empty());
    let x = XAxis { label: "Flood".into(), unit: "pps".into(), is_logarithmic: false };
    Figure::curves(name, title, x, series.collect())
        .subtitle("clients, service and receive thread share a processor; the attacker has another")
}

/// Every possible point, with its defense and rate.
fn points() -> impl Iterator<Item = (Defense, String, Option<u64>)> {
    let rates = |defense: Defense| defense.rates().map(move |rate| (defense, rate));
    let points = defenses().into_iter().flat_map(rates);
    points.map(|(defense, rate)| (defense, point(defense.name, rate), rate))
}

fn values(bench: &Bench, row: &str) -> Option<Vec<f64>> {
    bench.rounds().iter().find(|rounds| rounds.name == row).map(|rounds| rounds.values.clone())
}

fn kept(point: &str) -> String {
    format!("kept/{point}")
}

fn up_to_ours(curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let most = RATES.iter().max().map_or(0.0, |rate| *rate as f64);
    curve.iter().copied().filter(|(pps, _)| *pps <= most).collect()
}

/// Share of the rate in a point's name that the flood must reach.
const NEAR: f64 = 0.95;

const SOURCE: &str = "\"The eXpress Data Path\", CoNEXT 2018, figure 7, of which this is the \
                      beginning: with XDP it continues to 19.5 Mpps and fails at 23; TCP_RR of \
                      netperf, Xeon E5-1650 v4, ConnectX-5 Ex at 100 Gbit/s, one receive queue, \
                      Linux 4.18-pre";
/// Frames of the flood and transactions, both a second; the first is without a flood.
const WITH: &[(f64, f64)] = &[
    (0.0, 34_525.0),
    (256e3, 34_006.0),
    (500e3, 33_873.0),
    (1e6, 32_235.0),
    (2e6, 31_547.0),
    (3e6, 30_630.0),
    (5e6, 28_665.0),
];
const WITHOUT: &[(f64, f64)] = &[
    (0.0, 34_016.0),
    (256e3, 32_811.0),
    (500e3, 32_262.0),
    (768e3, 29_587.0),
    (1e6, 26_294.0),
    (2e6, 26_027.0),
    (2.5e6, 25_773.0),
    (3e6, 20_036.0),
    (3.4e6, 15_821.0),
    (3.5e6, 0.0),
    (4e6, 0.0),
];

#[cfg(test)]
mod tests {
    use report::Host;

    use super::*;

    #[test]
    fn a_failed_service_is_not_the_base_of_a_ratio() {
        let mut bench = Bench::new("ddos");
        for (quiet, with, without) in [(10.0, 8.0, 4.0), (20.0, 8.0, 0.0)] {
            bench.round("none@0", "/s", quiet).round("xdp-drop@0", "/s", quiet);
            bench.round("none@500000", "/s", without).round("xdp-drop@500000", "/s", with);
            for point in ["none@500000", "xdp-drop@500000"] {
                bench.round(&format!("offered/{point}"), "pps", 500_000.0);
            }
            bench.round("none@1000000", "/s", 0.0).round("xdp-drop@1000000", "/s", 0.0);
            bench.round("offered/none@1000000", "pps", 700_000.0);
        }
        for (quiet, flooded) in [(40.0, 10.0), (20.0, 10.0)] {
            bench.round("syn-none@0", "/s", quiet).round("syn-proxy@250000", "/s", flooded);
        }
        bench.round("xdp-drop@max", "/s", 4.0).round("filter-drop@max", "/s", 8.0);
        add(&mut bench);
        let report = bench.finish(Host::default()).unwrap();
        let ratios: Vec<_> = report.ratios.iter().map(|it| (it.a.as_str(), it.max)).collect();
        assert_eq!(ratios, [("xdp-drop@0", 1.0), ("none@500000", 0.5), ("filter-drop@max", 2.0)]);
        let marks: Vec<_> = report.notes.marks.iter().map(|it| it.row.as_str()).collect();
        assert_eq!(marks, ["none@1000000", "none@500000"]);
        for (point, min, max) in [("none@500000", 0.0, 40.0), ("syn-proxy@250000", 25.0, 50.0)] {
            let kept = report.rows.iter().find(|row| row.name == kept(point)).unwrap();
            assert_eq!((kept.stats.min, kept.stats.max), (min, max), "{point}");
        }
    }
}
