//! Metrics for Prometheus: a page of text, and the HTTP endpoint that serves it.
//!
//! Rule: a page is made from one reading, so that its values are consistent; a scrape never waits
//! for a reading. Not here: the meaning of the values, which the crates that count define.

mod balance;
mod client;
mod connections;
mod endpoint;
mod filter;
mod generator;
mod programs;
mod route;
mod sheet;
mod sink;

pub use endpoint::Endpoint;
pub use sheet::Format;
use sheet::{Labels, Sheet};

pub use programs::{HostReading, LastApply};
use traffic::generator::Snapshot;
use traffic::sink::SinkReport;
use traffic::tcp;

use crate::filter::report::FilterReport;

/// The page of a generator, with the names of its streams, and of a sink.
pub fn page(generator: Option<(&Snapshot, &[String])>, sink: Option<&SinkReport>) -> String {
    let mut sheet = Sheet::new("xway");
    if let Some((snapshot, streams)) = generator {
        generator::add(&mut sheet, snapshot, streams);
    }
    if let Some(report) = sink {
        sink::add(&mut sheet, report);
    }
    sheet.text()
}

/// The page of a run of connections.
pub fn connections(snapshot: &tcp::Snapshot) -> String {
    let mut sheet = Sheet::new("xway");
    connections::add(&mut sheet, snapshot);
    sheet.text()
}

/// The page of all programs, filters, routers and balancers of a namespace, for the daemon.
pub fn host(host: &HostReading<'_>) -> String {
    let mut sheet = Sheet::new("xway");
    programs::add(&mut sheet, host);
    for shown in host.filters {
        filter::add(&mut sheet, shown);
    }
    if let Some(shown) = host.routers {
        route::add(&mut sheet, shown);
    }
    if let Some(shown) = host.balancers {
        balance::add(&mut sheet, shown);
    }
    sheet.text()
}

/// The page of a filter.
pub fn filter(shown: &FilterReport) -> String {
    let mut sheet = Sheet::new("xway");
    filter::add(&mut sheet, shown);
    sheet.text()
}
