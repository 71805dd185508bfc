//! Figures of a measurement, and the page that holds them.

use report::number::human;
use report::plot::{Bars, Chart, Panel};
use report::{Host, Page, Stats, Svg};

use traffic::ndr::{Purpose, Row};

use super::Measured;

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
