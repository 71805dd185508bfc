//! A filter's counters as metrics: `xway_filter_*`.

use super::{Labels, Sheet};
use crate::view::filter::show::Shown;
use crate::view::status::Rate;

/// One reading.
pub(super) fn add(sheet: &mut Sheet, shown: &Shown) {
    let interface = || ("interface", shown.interface.clone());
    let rules: Vec<(Labels, &Rate)> = shown
        .rules
        .iter()
        .map(|rule| (vec![interface(), ("rule", rule.name.clone())], &rule.rate))
        .collect();
    let reasons: Vec<(Labels, &Rate)> = shown
        .reasons
        .iter()
        .map(|one| {
            let (verdict, reason) = (one.verdict.to_owned(), one.reason.clone());
            (vec![interface(), ("verdict", verdict), ("reason", reason)], &one.rate)
        })
        .collect();
    let packets = |rows: &[(Labels, &Rate)]| {
        rows.iter().map(|(labels, rate)| (labels.clone(), rate.packets)).collect::<Vec<_>>()
    };
    let bytes = |rows: &[(Labels, &Rate)]| {
        rows.iter().map(|(labels, rate)| (labels.clone(), rate.bytes)).collect::<Vec<_>>()
    };
    sheet.totals("filter_rule_packets", "Packets that a rule matched", packets(&rules));
    sheet.totals("filter_rule_bytes", "Bytes of packets that a rule matched", bytes(&rules));
    sheet.totals("filter_packets", "Packets by verdict, and why", packets(&reasons));
    sheet.totals("filter_bytes", "Bytes of packets by verdict, and why", bytes(&reasons));
}
