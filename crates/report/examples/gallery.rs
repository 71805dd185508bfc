//! Every kind of figure with made-up values, as SVG files and one page: `cargo run -p xway-report
//! --example gallery -- FOLDER`. Check it after each change of the design.

use std::path::Path;

use report::plot::{Bars, Grouped, Tone};
use report::timeline::Sample;
use report::{Bench, Host, Page, Stats, Timeline};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: gallery FOLDER")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;

    let timeline = attack();
    let (line, bars, grouped) = (timeline.figure(), drop_rates(), by_cores());
    for (name, figure) in [("timeline", &line), ("bars", &bars), ("grouped", &grouped)] {
        std::fs::write(folder.join(name).with_extension("svg"), figure.as_str())?;
    }

    let mut page = Page::new("A service under a flood of packets");
    page.highlight("97 %", "of the transactions are kept with native XDP")
        .highlight("3.1 %", "are left without it")
        .highlight("2.00 Mpps", "of attack traffic, dropped in the driver")
        .paragraph("These values are made up; this page shows only how a report looks.")
        .figure(&line, "Transactions above, attack packets below, on one time axis.")
        .section("Bars")
        .figure(&bars, "One value per bar.")
        .figure(&grouped, "The same series under several conditions.")
        .method("The client and the attacker are at the far end of the server's one link.")
        .method("The server's NAPI thread and the service share one CPU.")
        .footnote("Reference values were measured by others on other hardware.")
        .footnote(&Host::read().summary())
        .raw("Samples (JSON)", &timeline.samples())
        .raw("Benchmark (JSON)", &bench().finish(Host::read())?);
    std::fs::write(folder.join("index.html"), page.to_html())?;
    Ok(())
}

/// Repeatable noise between -1 and 1.
fn noise(step: usize) -> f64 {
    (step as f64 * 12.9898).sin() * (step as f64 * 4.1414).cos()
}

fn attack() -> Timeline {
    let subtitle = "TCP request/response beside a flood of 60-byte UDP frames, 2 Mpps offered";
    let mut timeline = Timeline::new("Native XDP keeps the service alive", subtitle);
    let phases = [
        ("quiet", Tone::Plain, 21_300.0, 0.0, 0.0),
        ("flood, no XDP", Tone::Danger, 650.0, 2.0e6, 0.0),
        ("flood, generic XDP", Tone::Plain, 9_800.0, 2.0e6, 1.71e6),
        ("flood, native XDP", Tone::Safe, 20_700.0, 2.0e6, 1.995e6),
    ];
    for (index, (name, tone, tps, offered, dropped)) in phases.into_iter().enumerate() {
        let start = index as f64 * 7.5;
        timeline.phase(name, start, start + 7.5, tone);
        for step in 0..30 {
            let wobble = 1.0 + 0.035 * noise(index * 30 + step);
            timeline.sample(Sample {
                t: start + step as f64 * 0.25,
                tps: tps * wobble,
                offered_pps: offered * (1.0 + (wobble - 1.0) / 4.0),
                dropped_pps: dropped * (1.0 + (wobble - 1.0) / 4.0),
            });
        }
    }
    timeline
}

fn bench() -> Bench {
    let mut bench = Bench::new("drop");
    for step in 0..7 {
        let drift = 1.0 + 0.04 * noise(step);
        bench.round("native", "pps", 11.9e6 * drift).round("generic", "pps", 2.31e6 * drift);
    }
    bench.ratio("native", "generic");
    bench
}

fn drop_rates() -> report::Svg {
    let mut bars = Bars::new("Dropping 60-byte UDP frames on one core", "pps");
    bars.subtitle("Seven interleaved rounds of ten seconds");
    let rate = |median: f64| Stats { min: median * 0.94, median, max: median * 1.03, rounds: 7 };
    bars.bar("XDP, native", rate(11.9e6))
        .bar("XDP, generic", rate(2.31e6))
        .missing("XDP, offload")
        .reference("XDP, native", 9.94e6, "SOSCON 2019, ConnectX-4")
        .reference("netfilter", 1.27e6, "SOSCON 2019, ConnectX-4");
    bars.to_svg()
}

fn by_cores() -> report::Svg {
    let mut grouped = Grouped::new("Drop rate by the number of cores", "pps");
    grouped.series("XDP").series("Linux, raw table").reference("DPDK", "paper, ConnectX-5");
    let values =
        [(1, 12.1e6, 4.8e6, 43.5e6), (2, 23.5e6, 9.7e6, 74.4e6), (4, 41.0e6, 18.9e6, 113.9e6)];
    for (cores, xdp, raw, dpdk) in values {
        let ours = |median: f64| Stats { min: median * 0.9, median, max: median * 1.05, rounds: 5 };
        let name = if cores == 1 { "1 core".into() } else { format!("{cores} cores") };
        grouped.group(&name, [Some(ours(xdp)), Some(ours(raw)), Some(Stats::single(dpdk))]);
    }
    grouped.to_svg()
}
