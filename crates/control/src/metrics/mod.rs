//! Metrics for Prometheus: a page of text, and the HTTP endpoint that serves it.
//!
//! Rule: a page is made from one reading, so that its values are consistent; a scrape never waits
//! for a reading. Not here: the meaning of the values, which the crates that count define.

mod client;
mod connections;
mod endpoint;
mod filter;
mod generator;
mod sink;

pub use endpoint::Endpoint;
pub use generator::error_name;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
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

/// The page of a filter.
pub fn filter(shown: &FilterReport) -> String {
    let mut sheet = Sheet::new("xway");
    filter::add(&mut sheet, shown);
    sheet.text()
}

/// Labels of one value, in the order of the page.
type Labels = Vec<(&'static str, String)>;
/// A number that only increases.
type Total = Counter<u64, std::sync::atomic::AtomicU64>;
/// A number that increases and decreases.
type Level = Gauge<f64, std::sync::atomic::AtomicU64>;

/// A page under construction.
#[derive(Debug)]
struct Sheet(Registry);

impl Sheet {
    fn new(prefix: &str) -> Self {
        Self(Registry::with_prefix(prefix))
    }

    /// Adds one total for each set of labels. Its name on the page is `NAME_total`.
    fn totals(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, Total>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).inc_by(value);
        }
        self.0.register(name, help, family);
    }

    fn total(&mut self, name: &str, help: &str, value: u64) {
        let total = Total::default();
        total.inc_by(value);
        self.0.register(name, help, total);
    }

    fn levels(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Level>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(value);
        }
        self.0.register(name, help, family);
    }

    fn level(&mut self, name: &str, help: &str, value: f64) {
        let level = Level::default();
        level.set(value);
        self.0.register(name, help, level);
    }

    /// The page. Writing to a string does not fail.
    fn text(&self) -> String {
        let mut text = String::new();
        let _infallible = encode(&mut text, &self.0);
        text
    }
}
