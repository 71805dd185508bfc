//! Balancers as metrics: `xway_balance_*`.

use super::{Labels, Sheet};
use crate::balance::{BackendReport, BalanceReport, BalancerReport, ServiceReport};

/// One reading.
pub(super) fn add(sheet: &mut Sheet, shown: &BalanceReport) {
    let of = |value: fn(&BackendReport) -> u64| rows(shown, value);
    let help = "Packets that a balancer sent to a backend";
    sheet.totals("balance_backend_packets", help, of(|one| one.packets));
    let help = "Bytes of these packets as they came in";
    sheet.totals("balance_backend_bytes", help, of(|one| one.bytes));
    let level = |value: fn(&BackendReport) -> u64| {
        rows(shown, value).into_iter().map(|(labels, value)| (labels, value as f64))
    };
    let help = "Flows that are remembered for a backend, because its slots moved";
    sheet.levels("balance_backend_flows", help, level(|one| one.flows));
    let help = "Share of new connections of a backend, relative to those of others";
    sheet.levels("balance_backend_weight", help, level(|one| u64::from(one.weight)));
    let healthy = shown.balancers.iter().flat_map(|balancer| {
        let of_service = |service: &ServiceReport| {
            let checked =
                service.backends.iter().filter_map(|one| Some((one, one.health.as_ref()?)));
            let rows = checked.map(|(one, health)| {
                let is_up = f64::from(u8::from(health.state == "up"));
                (labels(balancer, service, one), is_up)
            });
            rows.collect::<Vec<_>>()
        };
        balancer.services.iter().flat_map(of_service)
    });
    let help = "Whether a backend that is checked was found up";
    sheet.levels("balance_backend_healthy", help, healthy.collect::<Vec<_>>());
    let open = shown.balancers.iter().flat_map(|balancer| {
        let services = balancer.services.iter().filter(|one| one.check.is_some());
        services.map(|one| {
            let labels =
                vec![("interface", balancer.interface.clone()), ("service", one.name.clone())];
            (labels, f64::from(u8::from(one.fails_open)))
        })
    });
    let help = "Whether backends that fail are in use because too many do";
    sheet.levels("balance_service_fails_open", help, open.collect::<Vec<_>>());
    let announced = shown.balancers.iter().flat_map(|balancer| {
        let services = balancer.services.iter();
        services.filter_map(|one| {
            let labels =
                vec![("interface", balancer.interface.clone()), ("service", one.name.clone())];
            Some((labels, f64::from(u8::from(one.announced?))))
        })
    });
    let help = "Whether the network of a service is announced to routing daemons";
    sheet.levels("balance_service_announced", help, announced.collect::<Vec<_>>());
    let help = "Whether a backend gets new connections";
    sheet.levels("balance_backend_up", help, level(|one| u64::from(one.state == "up")));
    let events = shown.balancers.iter().flat_map(|balancer| {
        let with = |event: &str| -> Labels {
            vec![("interface", balancer.interface.clone()), ("event", event.to_owned())]
        };
        balancer.events.iter().map(move |(event, count)| (with(event), *count))
    });
    let help = "What the memory of flows did, by event";
    sheet.totals("balance_flow_events", help, events.collect::<Vec<_>>());
}

/// A value of each backend, with its labels.
fn rows(shown: &BalanceReport, value: fn(&BackendReport) -> u64) -> Vec<(Labels, u64)> {
    let mut rows = Vec::new();
    for balancer in &shown.balancers {
        for service in &balancer.services {
            for backend in &service.backends {
                rows.push((labels(balancer, service, backend), value(backend)));
            }
        }
    }
    rows
}

fn labels(balancer: &BalancerReport, service: &ServiceReport, backend: &BackendReport) -> Labels {
    vec![
        ("interface", balancer.interface.clone()),
        ("service", service.name.clone()),
        ("backend", backend.address.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::HealthReport;

    #[test]
    fn backends_and_events_have_labels() {
        let backend = BackendReport {
            address: [10, 0, 1, 7].into(),
            weight: 2,
            state: "drain",
            health: Some(HealthReport {
                state: "down".to_owned(),
                for_s: Some(1.0),
                reason: "connection refused".to_owned(),
            }),
            packets: 12,
            bytes: 1200,
            flows: 3,
        };
        let service = ServiceReport {
            name: "web".to_owned(),
            address: "192.0.2.1/32".to_owned(),
            protocol: "tcp".to_owned(),
            port: "80".to_owned(),
            check: Some("tcp"),
            fails_open: false,
            announced: Some(true),
            backends: vec![backend],
        };
        let balancer = BalancerReport {
            interface: "eth0".to_owned(),
            services: vec![service],
            events: [("evicted", 5)].into(),
            sync: None,
        };
        let mut sheet = Sheet::new("xway");
        add(&mut sheet, &BalanceReport { balancers: vec![balancer] });
        let text = sheet.text();
        let labels = "{interface=\"eth0\",service=\"web\",backend=\"10.0.1.7\"}";
        for line in [
            format!("xway_balance_backend_packets_total{labels} 12"),
            format!("xway_balance_backend_bytes_total{labels} 1200"),
            format!("xway_balance_backend_flows{labels} 3"),
            format!("xway_balance_backend_weight{labels} 2"),
            format!("xway_balance_backend_up{labels} 0"),
            format!("xway_balance_backend_healthy{labels} 0"),
            "xway_balance_service_fails_open{interface=\"eth0\",service=\"web\"} 0".to_owned(),
            "xway_balance_service_announced{interface=\"eth0\",service=\"web\"} 1".to_owned(),
            "xway_balance_flow_events_total{interface=\"eth0\",event=\"evicted\"} 5".to_owned(),
        ] {
            assert!(text.contains(&line), "{line}\n{text}");
        }
    }
}
