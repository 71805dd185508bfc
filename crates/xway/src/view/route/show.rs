//! Text of `route show`: ports with reasons, next hops, the memory of routes.

use control::route::{MemoryReport, NextHopReport, PortReport, RouteReport};
use report::number::human;
use report::table::{Column, Table};

use crate::view::{Paint, View};

fn ports(report: &RouteReport) -> Table {
    let numbers = ["received", "bytes", "sent", "bytes sent"].map(Column::number);
    let names = [Column::text("port"), Column::number("vlan")];
    let mut table =
        Table::new(names.into_iter().chain(numbers).chain([Column::text("reasons of received")]));
    for port in &report.ports {
        let PortReport { name, vlan, packets, bytes, sent_packets, sent_bytes, reasons } = port;
        let vlan = vlan.map_or_else(|| "-".to_owned(), |vlan| vlan.to_string());
        let mut reasons: Vec<_> = reasons.iter().collect();
        reasons.sort_by_key(|(_, packets)| std::cmp::Reverse(**packets));
        let reasons = reasons.iter().map(|(reason, n)| format!("{reason} {}", count(**n)));
        table.row([
            name.clone(),
            vlan,
            count(*packets),
            count(*bytes),
            count(*sent_packets),
            count(*sent_bytes),
            reasons.collect::<Vec<_>>().join(", "),
        ]);
    }
    table
}

fn next_hops(report: &RouteReport) -> Table {
    let texts = ["next hop", "port", "mac", "state"].map(Column::text);
    let numbers = ["sent", "bytes"].map(Column::number);
    let mut table = Table::new(texts.into_iter().chain(numbers));
    for hop in &report.next_hops {
        let NextHopReport { via, dev, mac, state, packets, bytes, also } = hop;
        let unknown = || "-".to_owned();
        let via = match (via, mac) {
            (_, None) => "others".to_owned(),
            (None, _) => unknown(),
            (Some(via), _) if also.is_empty() => via.to_string(),
            (Some(via), _) => format!("{via} and {} more", also.len()),
        };
        table.row([
            via,
            dev.clone().unwrap_or_else(unknown),
            mac.map_or_else(unknown, |mac| mac.to_string()),
            state.map_or_else(unknown, str::to_owned),
            count(*packets),
            count(*bytes),
        ]);
    }
    table
}

fn count(number: u64) -> String {
    human(number as f64, "")
}

impl View for RouteReport {
    fn text(&self, _paint: Paint) -> String {
        if self.ports.is_empty() {
            return "no router runs in this network namespace".to_owned();
        }
        let mut text = ports(self).to_string();
        if !self.next_hops.is_empty() {
            text.push_str(&format!("\n{}", next_hops(self)));
        }
        let MemoryReport { hits, misses } = self.memory;
        let all = hits + misses;
        let share = if all == 0 { 0.0 } else { 100.0 * hits as f64 / all as f64 };
        text.push_str(&format!(
            "\nmemory of routes: {} lookups, {share:.1} % answered from it",
            count(all)
        ));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Paint = Paint { colour: false };

    #[test]
    fn ports_and_next_hops_are_rows() {
        let port = PortReport {
            name: "eth1".to_owned(),
            vlan: Some(5),
            packets: 12,
            bytes: 1200,
            sent_packets: 3,
            sent_bytes: 300,
            reasons: [("forwarded".to_owned(), 11), ("no-neighbour".to_owned(), 1)].into(),
        };
        let others = NextHopReport {
            via: None,
            dev: None,
            mac: None,
            state: None,
            packets: 11,
            bytes: 1100,
            also: vec![],
        };
        let hop = NextHopReport {
            via: Some([10, 0, 0, 2].into()),
            dev: Some("eth2".to_owned()),
            mac: Some(packet::Mac([2, 0, 0, 0, 0, 9])),
            state: Some("stale"),
            also: vec![[10, 0, 0, 3].into()],
            ..others.clone()
        };
        let memory = MemoryReport { hits: 3, misses: 1 };
        let report = RouteReport { ports: vec![port], next_hops: vec![hop, others], memory };
        let text = report.text(PLAIN);
        for part in [
            "forwarded 11, no-neighbour 1",
            "10.0.0.2 and 1 more",
            "02:00:00:00:00:09",
            "stale",
            "others",
            "4 lookups, 75.0 % answered from it",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let none = RouteReport { ports: vec![], next_hops: vec![], memory };
        assert_eq!(none.text(PLAIN), "no router runs in this network namespace");
    }
}
