//! `Sheet`: a page of metrics under construction, and its two formats.
//!
//! Rule: families are merged by name, so that several objects of the same kind (filters, programs)
//! are on one page with their labels.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Labels of one value, in the order of the page.
pub(super) type Labels = Vec<(&'static str, String)>;
/// A number that only increases.
type Total = Counter<u64, std::sync::atomic::AtomicU64>;
/// A number that increases and decreases.
type Level = Gauge<f64, std::sync::atomic::AtomicU64>;

/// The format of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text format 0.0.4 of Prometheus.
    #[default]
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

/// A page under construction.
#[derive(Debug)]
pub(super) struct Sheet {
    prefix: &'static str,
    families: Vec<Metric>,
}

#[derive(Debug)]
struct Metric {
    name: String,
    help: String,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Totals(Family<Labels, Total>),
    Levels(Family<Labels, Level>),
}

impl Sheet {
    pub(super) fn new(prefix: &'static str) -> Self {
        Self { prefix, families: Vec::new() }
    }

    /// Adds one total for each set of labels. Its name on the page is `NAME_total`.
    pub(super) fn totals(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, u64)>,
    ) {
        let new = || Values::Totals(Family::default());
        if let Values::Totals(family) = self.family(name, help, new) {
            for (labels, value) in values {
                family.get_or_create(&labels).inc_by(value);
            }
        }
    }

    pub(super) fn total(&mut self, name: &str, help: &str, value: u64) {
        self.totals(name, help, [(Vec::new(), value)]);
    }

    /// Adds one level for each set of labels.
    pub(super) fn levels(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        let new = || Values::Levels(Family::default());
        if let Values::Levels(family) = self.family(name, help, new) {
            for (labels, value) in values {
                family.get_or_create(&labels).set(value);
            }
        }
    }

    pub(super) fn level(&mut self, name: &str, help: &str, value: f64) {
        self.levels(name, help, [(Vec::new(), value)]);
    }

    /// The family of this name, which is made if it is missing.
    fn family(&mut self, name: &str, help: &str, new: impl FnOnce() -> Values) -> &Values {
        let known = self.families.iter().position(|one| one.name == name);
        let place = known.unwrap_or_else(|| {
            let (name, help) = (name.to_owned(), help.to_owned());
            self.families.push(Metric { name, help, values: new() });
            self.families.len() - 1
        });
        &self.families[place].values
    }

    /// The page as OpenMetrics. Writing to a string does not fail.
    pub(super) fn text(self) -> String {
        let mut registry = Registry::with_prefix(self.prefix);
        for Metric { name, help, values } in self.families {
            match values {
                Values::Totals(family) => registry.register(name, help, family),
                Values::Levels(family) => registry.register(name, help, family),
            }
        }
        let mut text = String::new();
        let _infallible = encode(&mut text, &registry);
        // A family without labels writes an empty list of them.
        let without = |line: &str| match line.split_once("{} ") {
            Some((name, value)) if !name.contains('"') => format!("{name} {value}\n"),
            _ => format!("{line}\n"),
        };
        text.lines().map(without).collect()
    }
}

/// A page of OpenMetrics in another format. In the text format of Prometheus, the name of a counter
/// has its suffix in all lines, and the page has no mark at its end.
pub(super) fn converted(page: &str, format: Format) -> String {
    if format == Format::OpenMetrics {
        return page.to_owned();
    }
    let counters: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(page.len());
    for line in page.lines().filter(|line| *line != "# EOF" && !line.starts_with("# UNIT ")) {
        let comment = ["# HELP ", "# TYPE "].into_iter().find(|head| line.starts_with(head));
        let named = comment.and_then(|head| Some((head, line[head.len()..].split_once(' ')?)));
        match named {
            Some((head, (name, rest))) if counters.contains(&name) => {
                text.push_str(&format!("{head}{name}_total {rest}\n"));
            }
            _ => text.push_str(&format!("{line}\n")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(interface: &str) -> Labels {
        vec![("interface", interface.to_owned())]
    }

    #[test]
    fn families_of_several_objects_are_merged() {
        let mut sheet = Sheet::new("x");
        sheet.totals("packets", "Packets", [(labels("a"), 1)]);
        sheet.levels("level", "Level", [(labels("a"), 0.5)]);
        sheet.totals("packets", "Packets", [(labels("b"), 2)]);
        let text = sheet.text();
        assert_eq!(text.matches("# TYPE x_packets counter").count(), 1, "{text}");
        assert!(text.contains("x_packets_total{interface=\"b\"} 2\n"), "{text}");
        let plain = converted(&text, Format::Prometheus);
        assert!(plain.contains("# TYPE x_packets_total counter\n"), "{plain}");
        assert!(plain.contains("# HELP x_packets_total Packets"), "{plain}");
        assert!(plain.contains("# TYPE x_level gauge\n") && !plain.contains("# EOF"), "{plain}");
        assert_eq!(converted(&text, Format::OpenMetrics), text);
    }
}
