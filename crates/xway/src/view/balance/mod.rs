//! Text of `balance`: services and backends, what a change moved or would move.

mod fixtures;
mod top;
mod why;

use std::collections::BTreeMap;

use control::balance::health::HealthEvent;
use control::balance::sync::{PeerReport, SyncReport};
use control::balance::{
    BackendReport, BalanceReport, Balanced, BalancerReport, Checked, HealthReport, MovedService,
    PlanReport, ServicePlan, Settled,
};
use report::number::human;
use report::table::{Column, Table};

use super::{Paint, View};

impl View for Checked {
    fn text(&self, _paint: Paint) -> String {
        format!("{} services with {} backends", self.services, self.backends)
    }
}

impl View for Balanced {
    fn text(&self, _paint: Paint) -> String {
        let Self { interface, mode, updated, services, moved } = self;
        let what = if *updated { "changed" } else { "attached" };
        let head = format!("{interface}: balance {what} in {mode} mode, {services} services");
        let moved = moved.iter().map(|one| {
            let MovedService { service, slots, kept } = one;
            let share = share(*slots);
            let older = match (kept, slots - kept) {
                (_, 0) => "older connections remain".to_owned(),
                (0, _) => "older connections move".to_owned(),
                (_, lost) => format!("older connections of {} move", self::share(lost)),
            };
            format!("  {service}: {share} of new connections have another backend; {older}")
        });
        std::iter::once(head).chain(moved).collect::<Vec<_>>().join("\n")
    }
}

impl View for Settled {
    fn text(&self, _paint: Paint) -> String {
        let Self { interface, remembered } = self;
        format!("{interface}: settled; {remembered} connections are remembered for another backend")
    }
}

impl View for HealthEvent {
    fn text(&self, _paint: Paint) -> String {
        self.to_string()
    }
}

impl View for PlanReport {
    fn text(&self, _paint: Paint) -> String {
        let numbers = ["moved", "required", "most loaded"].map(Column::number);
        let texts = ["service", "change"].map(Column::text);
        let mut table = Table::new(texts.into_iter().chain(numbers));
        for one in &self.services {
            let ServicePlan { name, change, moved, required, even } = one;
            table.row([
                name.clone(),
                (*change).to_owned(),
                share(*moved as usize),
                share(*required as usize),
                format!("{even:.3}"),
            ]);
        }
        format!("{table}\n{:.3} % of all slots move", 100.0 * self.moved)
    }
}

impl View for BalanceReport {
    fn text(&self, _paint: Paint) -> String {
        if self.balancers.is_empty() {
            return "no balancer runs in this network namespace".to_owned();
        }
        self.balancers.iter().map(balancer).collect::<Vec<_>>().join("\n\n")
    }
}

fn balancer(report: &BalancerReport) -> String {
    let texts = ["service", "to", "backend", "state", "health"].map(Column::text);
    let numbers = ["weight", "packets", "bytes", "flows"].map(Column::number);
    let mut table = Table::new(texts.into_iter().chain(numbers));
    for service in &report.services {
        for backend in &service.backends {
            let BackendReport { address, weight, state, health, packets, bytes, flows } = backend;
            table.row([
                service.name.clone(),
                format!("{} {} {}", service.address, service.protocol, service.port),
                address.to_string(),
                (*state).to_owned(),
                health.as_ref().map_or_else(|| "-".to_owned(), self::health),
                weight.to_string(),
                human(*packets as f64, ""),
                human(*bytes as f64, "B"),
                flows.to_string(),
            ]);
        }
    }
    let events = report.events.iter().filter(|(_, count)| **count > 0);
    let events: Vec<_> = events.map(|(event, count)| format!("{event} {count}")).collect();
    let memory = if events.is_empty() {
        "nothing is remembered: no slot moved".to_owned()
    } else {
        format!("memory of flows: {}", events.join(", "))
    };
    let sync = report.sync.as_ref().map(|status| match &status.report {
        Some(report) if status.running => format!("\n{}", sync(report)),
        _ => "\nno process synchronizes it: run `xway daemon`, or `xway balance sync`".to_owned(),
    });
    let (announced, sync) = (announced(report), sync.unwrap_or_default());
    format!("{}\n{table}\n{memory}{announced}{sync}", report.interface)
}

/// A line with the services that are announced, and one with those that are not; empty if the file
/// announces none.
fn announced(report: &BalancerReport) -> String {
    let line = |is: bool, head: &str| {
        let services = report.services.iter().filter(|one| one.announced == Some(is));
        let names: Vec<_> = services.map(|one| one.name.as_str()).collect();
        if names.is_empty() { String::new() } else { format!("\n{head}: {}", names.join(", ")) }
    };
    line(true, "announced") + &line(false, "not announced")
}

impl View for SyncReport {
    fn text(&self, _paint: Paint) -> String {
        sync(self)
    }
}

fn sync(report: &SyncReport) -> String {
    let peers = report.peers.iter().map(|peer| {
        let PeerReport { address, up, in_step, lost, .. } = peer;
        let state = match (up, in_step) {
            (true, true) => "in step",
            (true, false) => "receiving its flows",
            (false, _) => "down",
        };
        format!("  {address}: {state}, {lost} datagrams lost")
    });
    let counts = |all: &BTreeMap<String, u64>| {
        all.iter().map(|(what, count)| format!("{what} {count}")).collect::<Vec<_>>().join(", ")
    };
    let mut lines = vec![format!("synchronizing as {}", report.listen)];
    lines.extend(peers);
    lines.push(format!("  flows sent {}; received: {}", report.sent, counts(&report.flows)));
    if !report.refused.is_empty() {
        lines.push(format!("  datagrams refused: {}", counts(&report.refused)));
    }
    lines.join("\n")
}

fn health(report: &HealthReport) -> String {
    let HealthReport { state, for_s, reason } = report;
    let since = for_s.map_or_else(String::new, |time| format!(" for {time:.0} s"));
    let has_reason = !reason.is_empty() && matches!(&**state, "down" | "failing");
    let reason = if has_reason { format!(": {reason}") } else { String::new() };
    format!("{state}{since}{reason}")
}

/// Slots of 65,536 as a share.
fn share(slots: usize) -> String {
    format!("{:.2} %", 100.0 * slots as f64 / 65536.0)
}
