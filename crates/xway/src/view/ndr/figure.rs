//! Figures of a measurement, and the page that holds them.

use report::number::human;
use report::plot::{Bars, Chart, Panel};
use report::{Host, Page, Stats, Svg};

use traffic::ndr::{Purpose, Row};

use super::Measured;
use crate::view;

/// The rate by frame size.
pub fn throughput(measured: &Measured) -> Svg {
    let mut bars = Bars::new("Throughput by frame size", "pps");
    bars.subtitle(format!(
        "highest rate with a loss of at most {} %",
        100.0 * measured.report.loss
    ));
    for row in &measured.report.rows {
        let name = format!("{} bytes", row.size).replace("imix bytes", "IMIX");
        match row.pps {
            Some(pps) => bars.bar(&name, Stats::single(pps)),
            None => bars.missing(&name),
        };
    }
    bars.to_svg()
}

/// Loss over the rate that was offered, a line for each size.
pub fn loss(measured: &Measured) -> Svg {
    let line = |panel: Panel, (index, row): (usize, &Row)| {
        let trials = row.trials.iter().filter(|trial| trial.purpose == Purpose::Rate);
        let mut points: Vec<_> =
            trials.map(|trial| (trial.offered_pps / 1e6, 100.0 * trial.loss)).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        panel.line(&row.size.to_string(), index, points)
    };
    let panel = measured.report.rows.iter().enumerate().fold(Panel::new("Frames lost", "%"), line);
    let chart = Chart::new("Loss by offered rate", "Mpps").subtitle("every trial of the search");
    chart.panel(panel).to_svg()
}

/// Latencies at shares of the rate, a curve for each size and share; `None` if none was measured.
pub fn latency(measured: &Measured) -> Option<Svg> {
    let rows = measured.report.rows.iter();
    let all = rows.flat_map(|row| row.latencies.iter().map(move |one| (row, one)));
    let named = all
        .filter(|(_, one)| !one.latency_ns.is_empty())
        .map(|(row, one)| (format!("{} at {:.0} %", row.size, 100.0 * one.share), &one.latency_ns));
    let named: Vec<_> = named.collect();
    (!named.is_empty()).then(|| view::latency::figure(named))
}

/// The page; `method` describes the measurement, one step each.
pub fn page(measured: &Measured, host: &Host, method: &[String]) -> String {
    let mut page = Page::new("Throughput, bursts and latency");
    for row in measured.report.rows.iter().filter(|row| row.pps.is_some()).take(3) {
        let rate = human(row.pps.unwrap_or_default(), "pps");
        page.highlight(&rate, &format!("with frames of {}", row.size));
    }
    page.table(&measured.table());
    page.figure(&throughput(measured), "The highest rate that lost no more than was accepted.");
    page.figure(&loss(measured), "What each trial lost.");
    if let Some(figure) = latency(measured) {
        page.figure(&figure, "Latency of frames at shares of the rate.");
    }
    for step in method {
        page.method(step);
    }
    page.method(&format!("Machine: {}.", host.summary()));
    page.footnote(
        "After RFC 2544, section 26. Frame sizes are with the four bytes of the Ethernet \
         checksum; rates in bits count the frames' own bytes without it. Where the rate is bound \
         by the generator, the device may do more.",
    );
    page.raw("measurement", measured);
    page.to_html()
}
