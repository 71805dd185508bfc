//! A filter's counters as metrics: `xway_filter_*`.
//!
//! Rule: everything that `filter show` prints is here, except rates, which a scraper computes from
//! totals.

use super::{Labels, Sheet};
use crate::filter::limits::Level;
use crate::filter::report::FilterReport;
use crate::rates::Rate;

/// One reading.
pub(super) fn add(sheet: &mut Sheet, shown: &FilterReport) {
    rules(sheet, shown);
    reasons(sheet, shown);
    limits(sheet, shown);
    rest(sheet, shown);
}

/// The label of the interface, and further labels.
fn labels<const N: usize>(shown: &FilterReport, more: [(&'static str, &str); N]) -> Labels {
    let more = more.into_iter().map(|(name, value)| (name, value.to_owned()));
    std::iter::once(("interface", shown.interface.clone())).chain(more).collect()
}

fn rules(sheet: &mut Sheet, shown: &FilterReport) {
    let rules = || shown.rules.iter().map(|rule| (labels(shown, [("rule", &rule.name)]), rule));
    let packets = rules().map(|(labels, rule)| (labels, rule.rate.packets)).collect::<Vec<_>>();
    let bytes = rules().map(|(labels, rule)| (labels, rule.rate.bytes)).collect::<Vec<_>>();
    let taken = rules().map(|(labels, rule)| (labels, rule.taken)).collect::<Vec<_>>();
    let gone = [(labels(shown, []), shown.gone.packets)];
    let gone_bytes = [(labels(shown, []), shown.gone.bytes)];
    sheet.totals("filter_rule_packets", "Packets that a rule matched", packets);
    sheet.totals("filter_rule_bytes", "Bytes of packets that a rule matched", bytes);
    let help = "Matched packets to which the action applied: over the limit, sampled, answered";
    sheet.totals("filter_rule_taken_packets", help, taken);
    let help = "Packets matched by rules that are no longer loaded";
    sheet.totals("filter_gone_packets", help, gone);
    let help = "Bytes of packets matched by rules that are no longer loaded";
    sheet.totals("filter_gone_bytes", help, gone_bytes);
}

fn reasons(sheet: &mut Sheet, shown: &FilterReport) {
    let reasons = shown
        .reasons
        .iter()
        .map(|one| (labels(shown, [("verdict", one.verdict), ("reason", &one.reason)]), one.rate));
    let reasons: Vec<_> = reasons.collect();
    let odd = shown
        .anomalies
        .iter()
        .map(|one| (labels(shown, [("oddity", one.name), ("policy", one.policy)]), one.rate));
    let odd: Vec<_> = odd.collect();
    let default = [(labels(shown, [("verdict", shown.default.verdict)]), shown.default.rate)];
    pair(sheet, "filter", "by verdict and reason", &reasons);
    pair(sheet, "filter_odd", "that were malformed, decided by policy", &odd);
    pair(sheet, "filter_default", "that no rule decided", &default);
}

/// Two families with the same labels, for packets and bytes.
fn pair(sheet: &mut Sheet, name: &str, what: &str, rows: &[(Labels, Rate)]) {
    let of = |value: fn(&Rate) -> u64| {
        rows.iter().map(|(labels, rate)| (labels.clone(), value(rate))).collect::<Vec<_>>()
    };
    let (packets, bytes) = (of(|rate| rate.packets), of(|rate| rate.bytes));
    sheet.totals(&format!("{name}_packets"), &format!("Packets {what}"), packets);
    sheet.totals(&format!("{name}_bytes"), &format!("Bytes of packets {what}"), bytes);
}

fn limits(sheet: &mut Sheet, shown: &FilterReport) {
    let levels = shown.limits.iter().flat_map(|limit| {
        let labels = |per| labels(shown, [("rule", &limit.rule), ("per", per)]);
        limit.levels.iter().map(move |level| (labels(&level.per), level))
    });
    let levels: Vec<_> = levels.collect();
    let loads = shown.limits.iter().filter_map(|limit| {
        Some((labels(shown, [("rule", &limit.rule)]), limit.load?, limit.loss?))
    });
    let loads: Vec<_> = loads.collect();
    let rows = |value: &dyn Fn(&Level) -> f64| {
        levels.iter().map(|(labels, level)| (labels.clone(), value(level))).collect::<Vec<_>>()
    };
    let help = "Buckets of a limit: senders that it can remember";
    sheet.levels("filter_limit_buckets", help, rows(&|level| level.buckets as f64));
    let help = "Buckets that are not full: senders that are remembered";
    sheet.levels("filter_limit_used_buckets", help, rows(&|level| level.used as f64));
    let help = "Buckets that have not enough for a packet: senders over the limit";
    sheet.levels("filter_limit_empty_buckets", help, rows(&|level| level.empty as f64));
    let help = "Remaining part of the burst of used buckets on average, from 0 to 1";
    sheet.levels("filter_limit_left_ratio", help, rows(&|level| level.left));
    let help = "Traffic that meets a limit, relative to what all its buckets earn";
    let load = loads.iter().map(|(labels, load, _)| (labels.clone(), *load));
    sheet.levels("filter_limit_load_ratio", help, load);
    let help = "Largest probability that a sender below half of its burst loses a packet";
    let loss = loads.iter().map(|(labels, _, loss)| (labels.clone(), *loss));
    sheet.levels("filter_limit_loss_ratio", help, loss);
}

fn rest(sheet: &mut Sheet, shown: &FilterReport) {
    let events = shown.events.iter().map(|one| (labels(shown, [("event", one.name)]), one.count));
    let events: Vec<_> = events.collect();
    let sets = shown.sets.iter().flat_map(|set| {
        [("ipv4", set.v4_ranges), ("ipv6", set.v6_ranges)].map(|(family, ranges)| {
            (labels(shown, [("set", &set.name), ("family", family)]), ranges as f64)
        })
    });
    let sets: Vec<_> = sets.collect();
    let program = shown.program_id.to_string();
    let info = [(labels(shown, [("mode", shown.mode), ("program", &program)]), 1.0)];
    let bans = [(labels(shown, []), shown.bans.number as f64)];
    let most = [(labels(shown, []), shown.bans.most as f64)];
    let help = "Actions that failed, and actions of a SYN proxy";
    sheet.totals("filter_events", help, events);
    sheet.levels("filter_bans", "Sources that are banned", bans);
    sheet.levels("filter_bans_most", "Largest number of banned sources", most);
    sheet.levels("filter_set_ranges", "Ranges of addresses in a named set", sets);
    sheet.levels("filter_info", "The active program; always 1", info);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::filter::limits::Limit;
    use crate::filter::report::{Anomaly, Bans, DefaultReport, Event, RuleReport, Set};
    use crate::metrics;
    use crate::rates::Reason;

    fn rate(packets: u64) -> Rate {
        Rate { packets, bytes: 60 * packets, ..Rate::default() }
    }

    fn shown() -> FilterReport {
        let level = Level { per: "source".into(), buckets: 256, used: 3, empty: 1, left: 0.5 };
        let limit = Limit {
            rule: "flood".into(),
            over: 4,
            over_pps: 0.0,
            levels: vec![level],
            load: Some(0.25),
            loss: Some(0.001),
        };
        let rule = |number, name: &str, taken| RuleReport {
            number,
            name: name.into(),
            text: String::new(),
            rate: rate(10),
            taken,
            taken_pps: 0.0,
            left_s: None,
        };
        FilterReport {
            interface: "eth0".into(),
            mode: "native",
            program_id: 7,
            interval_s: 1.0,
            rules: vec![rule(0, "flood", 4), rule(1, "a \"quoted\" one", 0)],
            default: DefaultReport { verdict: "pass", rate: rate(5) },
            anomalies: vec![Anomaly { name: "truncated", policy: "drop", rate: rate(1) }],
            reasons: vec![Reason { verdict: "drop", reason: "rule".into(), rate: rate(10) }],
            sets: vec![Set { name: "bad".into(), v4_ranges: 9, v6_ranges: 0 }],
            gone: rate(2),
            limits: vec![limit],
            events: vec![Event { name: "sample-lost", count: 6, pps: 0.0 }],
            bans: Bans { number: 3, most: 65_536 },
        }
    }

    /// Samples by name with labels; each must have a name that was described before.
    fn parsed(page: &str) -> BTreeMap<String, f64> {
        let mut described = Vec::new();
        let mut samples = BTreeMap::new();
        for line in page.lines() {
            if let Some(meta) = line.strip_prefix("# ") {
                let words: Vec<_> = meta.splitn(3, ' ').collect();
                match words[..] {
                    ["HELP", name, help] => {
                        assert!(help.ends_with('.') && help.len() > 10, "{line}");
                        described.push(name.to_owned());
                    }
                    ["TYPE", name, kind] => {
                        assert!(kind == "counter" || kind == "gauge", "{line}");
                        assert_eq!(described.last().map(String::as_str), Some(name), "{line}");
                    }
                    ["EOF"] => (),
                    _ => panic!("{line}"),
                }
                continue;
            }
            let (name, value) = line.rsplit_once(' ').unwrap();
            let family = name.split("{").next().unwrap();
            let family = family.strip_suffix("_total").unwrap_or(family);
            assert!(described.iter().any(|known| known == family), "{line}");
            assert!(name.contains("interface=\"eth0\""), "{line}");
            samples.insert(name.to_owned(), value.parse().unwrap());
        }
        samples
    }

    #[test]
    fn all_that_is_shown_is_on_the_page() {
        let page = metrics::filter(&shown());
        let samples = parsed(&page);
        let all = |name: &str, labels: &str| {
            let comma = if labels.is_empty() { "" } else { "," };
            let name = format!("xway_filter_{name}{{interface=\"eth0\"{comma}{labels}}}");
            *samples.get(&name).unwrap_or_else(|| panic!("{name} is not on the page:\n{page}"))
        };
        for (name, labels, value) in [
            ("rule_packets_total", "rule=\"flood\"", 10.0),
            ("rule_bytes_total", "rule=\"a \\\"quoted\\\" one\"", 600.0),
            ("rule_taken_packets_total", "rule=\"flood\"", 4.0),
            ("gone_packets_total", "", 2.0),
            ("gone_bytes_total", "", 120.0),
            ("packets_total", "verdict=\"drop\",reason=\"rule\"", 10.0),
            ("bytes_total", "verdict=\"drop\",reason=\"rule\"", 600.0),
            ("default_packets_total", "verdict=\"pass\"", 5.0),
            ("default_bytes_total", "verdict=\"pass\"", 300.0),
            ("odd_packets_total", "oddity=\"truncated\",policy=\"drop\"", 1.0),
            ("odd_bytes_total", "oddity=\"truncated\",policy=\"drop\"", 60.0),
            ("events_total", "event=\"sample-lost\"", 6.0),
            ("bans", "", 3.0),
            ("bans_most", "", 65_536.0),
            ("set_ranges", "set=\"bad\",family=\"ipv4\"", 9.0),
            ("limit_buckets", "rule=\"flood\",per=\"source\"", 256.0),
            ("limit_used_buckets", "rule=\"flood\",per=\"source\"", 3.0),
            ("limit_empty_buckets", "rule=\"flood\",per=\"source\"", 1.0),
            ("limit_left_ratio", "rule=\"flood\",per=\"source\"", 0.5),
            ("limit_load_ratio", "rule=\"flood\"", 0.25),
            ("limit_loss_ratio", "rule=\"flood\"", 0.001),
            ("info", "mode=\"native\",program=\"7\"", 1.0),
        ] {
            assert_eq!(all(name, labels), value, "{name}");
        }
    }
}
