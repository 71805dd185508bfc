//! Routers as metrics: `xway_route_*`.
//!
//! Rule: everything that `route show` counts is here. States of neighbors are not, because they
//! belong to the kernel.

use super::{Labels, Sheet};
use crate::route::{NextHopReport, PortReport, RouteReport};

/// One reading.
pub(super) fn add(sheet: &mut Sheet, shown: &RouteReport) {
    let reasons = shown.ports.iter().flat_map(|one| {
        let with = |reason: &String| {
            port(one).into_iter().chain([("reason", reason.clone())]).collect::<Labels>()
        };
        one.reasons.iter().map(move |(reason, packets)| (with(reason), *packets))
    });
    let help = "Packets that a router received on a port, by reason";
    sheet.totals("route_received_packets", help, reasons.collect::<Vec<_>>());
    let of = |value: fn(&PortReport) -> u64| {
        shown.ports.iter().map(|one| (port(one), value(one))).collect::<Vec<_>>()
    };
    let received = |is_vlan: bool, value: fn(&PortReport) -> u64| {
        let ports = shown.ports.iter().filter(|one| one.vlan.is_some() == is_vlan);
        ports.map(|one| (port(one), value(one))).collect::<Vec<_>>()
    };
    let bytes = "Bytes of these packets";
    sheet.totals("route_received_bytes", bytes, received(false, |one| one.bytes));
    let help = "Packets among those above that a router received with the tags of a VLAN";
    sheet.totals("route_vlan_received_packets", help, received(true, |one| one.packets));
    sheet.totals("route_vlan_received_bytes", bytes, received(true, |one| one.bytes));
    let help = "Packets that routers sent out of a port";
    sheet.totals("route_sent_packets", help, of(|one| one.sent_packets));
    sheet.totals("route_sent_bytes", "Bytes of these packets", of(|one| one.sent_bytes));
    let of = |value: fn(&NextHopReport) -> u64| {
        shown.next_hops.iter().map(|one| (next_hop(one), value(one))).collect::<Vec<_>>()
    };
    let help = "Packets sent to a next hop; without labels, those that are not counted one by one";
    sheet.totals("route_next_hop_packets", help, of(|one| one.packets));
    sheet.totals("route_next_hop_bytes", "Bytes of these packets", of(|one| one.bytes));
    let help = "Lookups that the memory of routes answered";
    sheet.total("route_memory_hits", help, shown.memory.hits);
    let help = "Lookups of the memory of routes that the kernel answered";
    sheet.total("route_memory_misses", help, shown.memory.misses);
}

fn port(port: &PortReport) -> Labels {
    let vlan = port.vlan.map(|vlan| ("vlan", vlan.to_string()));
    std::iter::once(("interface", port.name.clone())).chain(vlan).collect()
}

fn next_hop(hop: &NextHopReport) -> Labels {
    let mac = hop.mac.map(|mac| ("mac", mac.to_string()));
    let dev = hop.dev.clone().map(|dev| ("interface", dev));
    let via = hop.via.map(|via| ("via", via.to_string()));
    dev.into_iter().chain(mac).chain(via).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::MemoryReport;

    #[test]
    fn ports_and_next_hops_have_labels() {
        let port = PortReport {
            name: "eth1".to_owned(),
            vlan: Some(5),
            packets: 12,
            bytes: 1200,
            sent_packets: 3,
            sent_bytes: 300,
            reasons: [("forwarded".to_owned(), 11), ("no-neighbour".to_owned(), 1)].into(),
        };
        let hop = NextHopReport {
            via: Some([10, 0, 0, 2].into()),
            dev: Some("eth2".to_owned()),
            mac: Some(packet::Mac([2, 0, 0, 0, 0, 9])),
            state: Some("stale"),
            packets: 11,
            bytes: 1100,
            also: Vec::new(),
        };
        let memory = MemoryReport { hits: 3, misses: 1 };
        let mut sheet = Sheet::new("xway");
        add(&mut sheet, &RouteReport { ports: vec![port], next_hops: vec![hop], memory });
        let text = sheet.text();
        for line in [
            "xway_route_received_packets_total\
             {interface=\"eth1\",vlan=\"5\",reason=\"forwarded\"} 11",
            "xway_route_vlan_received_bytes_total{interface=\"eth1\",vlan=\"5\"} 1200",
            "xway_route_sent_packets_total{interface=\"eth1\",vlan=\"5\"} 3",
            "xway_route_next_hop_packets_total\
             {interface=\"eth2\",mac=\"02:00:00:00:00:09\",via=\"10.0.0.2\"} 11",
            "xway_route_memory_hits_total 3",
            "xway_route_memory_misses_total 1",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
