//! The files of a run: one HTML page, its figure, its samples.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use bench::hook::filter::LIMIT_RULES;
use control::filter::report::FilterReport;
use control::folder::Folder;
use report::number::human;
use report::timeline::Means;
use report::{Host, Page, Timeline};
use serde::Serialize;

use super::meter::{Measured, Meter};
use super::phase::Phase;
use crate::args::DemoArgs;
use crate::view::demo::{Answer, Row};
use crate::view::filter::show;

/// All measured values, for other figures.
#[derive(Debug, Serialize)]
struct Raw<'a> {
    host: &'a Host,
    rate_pps: u64,
    method: &'a str,
    phases: Vec<Row>,
    samples: Vec<&'a [report::timeline::Sample]>,
}

/// Writes all files and returns their summary.
pub fn write(meter: &Meter, args: &DemoArgs, method: &str) -> Result<Answer> {
    let host = Host::read();
    let timeline = timeline(meter, args);
    let rows: Vec<Row> = meter.phases.iter().map(row).collect();
    let folder = Folder::make(&args.out)?;
    let raw = Raw {
        host: &host,
        rate_pps: args.rate,
        method,
        phases: rows.clone(),
        samples: meter.phases.iter().map(|phase| phase.samples.as_slice()).collect(),
    };
    let json = serde_json::to_string_pretty(&raw).context("cannot write the samples as JSON")?;
    folder.put("samples.json", &json)?;
    folder.put("rules.toml", LIMIT_RULES)?;
    let figure = folder.put("figure.svg", timeline.figure().as_str())?;
    let filter = meter.phases.iter().rev().find_map(|phase| phase.filter.as_ref());
    let rules = filter.map(|filter| filter.rules.clone()).unwrap_or_default();
    let report = PathBuf::new();
    let mut answer = Answer { phases: rows, rate_pps: args.rate, rules, report, figure };
    let page = page(&answer, (&timeline, filter), &raw)?;
    answer.report = folder.put("report.html", &page)?;
    Ok(answer)
}

fn timeline(meter: &Meter, args: &DemoArgs) -> Timeline {
    let subtitle =
        format!("TCP request/response beside {} of 60-byte UDP", human(args.rate as f64, "pps"));
    let mut timeline = Timeline::new("A service under a flood", subtitle);
    for phase in &meter.phases {
        timeline.phase(phase.phase.title(), phase.start_s, phase.end_s, phase.phase.tone());
        let Measured { tps, offered_pps, dropped_pps, .. } = *phase;
        timeline.means_of_phase(Means { tps, offered_pps, dropped_pps });
        for sample in &phase.samples {
            timeline.sample(*sample);
        }
    }
    timeline
}

fn row(measured: &Measured) -> Row {
    Row {
        name: measured.phase.name(),
        title: measured.phase.title(),
        tps: measured.tps,
        offered_pps: measured.offered_pps,
        dropped_pps: measured.dropped_pps,
        cpu: measured.cpu,
        reconnects: measured.reconnects,
    }
}

fn page(
    answer: &Answer,
    (timeline, filter): (&Timeline, Option<&FilterReport>),
    raw: &Raw<'_>,
) -> Result<String> {
    let kept = |phase: Phase| format!("{:.0} %", 100.0 * answer.share(phase.name()));
    let mut page = Page::new("A service under a flood of packets");
    page.highlight(&kept(Phase::FloodNative), "of the quiet transactions are kept with native XDP")
        .highlight(&kept(Phase::Flood), "are left without it")
        .highlight(
            &human(answer.rate(Phase::FloodNative.name()), "pps"),
            "of the attack dropped in the driver",
        )
        .paragraph(
            "Clients ask a service over TCP, each one request at a time. An attacker \
             on the same link floods the server with small UDP frames, each from another \
             one of ten million invented addresses. The filter's rules let a little of them \
             through and discard the rest before the network stack spends anything on it: in \
             generic mode after the kernel has made a socket buffer of each, in native mode \
             before.",
        )
        .figure(&timeline.figure(), "Transactions above, attack packets below, on one time axis.")
        .table(&answer.table());
    if let Some(filter) = filter {
        rules(&mut page, filter);
    }
    page.method(raw.method)
        .method(&format!("Machine: {}.", raw.host.summary()))
        .method("Rates are means over each phase; the first moments of a phase are left out.")
        .method(
            "veth pairs in network namespaces stand in for a cable, so ratios carry over to \
             other machines better than absolute numbers.",
        )
        .footnote(
            "After figure 7 of \"The eXpress Data Path\" (CoNEXT 2018), where on other hardware \
             a service without XDP died at 3.5 Mpps and one with XDP lived up to 19.5 Mpps.",
        )
        .raw("samples.json", raw);
    Ok(page.to_html())
}

/// The rules of the last phase and what they counted.
fn rules(page: &mut Page, filter: &FilterReport) {
    page.section("The rules, and what they counted")
        .paragraph(
            "As `xway filter show` reports it for the native phase: packets that met each rule. \
             Packets over a limit are dropped, the others continue with the next rule.",
        )
        .table(&show::decisions(filter, 0..filter.rules.len()))
        .table(&show::why(filter));
}
