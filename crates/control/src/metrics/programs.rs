//! Programs of all interfaces as metrics, and what the daemon knows.

use super::{Labels, Sheet};
use crate::balance::BalanceReport;
use crate::filter::auto_detection::AutoCounts;
use crate::filter::report::FilterReport;
use crate::rates::{Rate, Rates};
use crate::route::RouteReport;
use crate::status::{Interface, Running, Status};

/// One reading of a namespace.
#[derive(Clone, Copy, Debug)]
pub struct HostReading<'a> {
    /// Everything could be read.
    pub is_complete: bool,
    pub status: &'a Status,
    pub filters: &'a [FilterReport],
    /// Routers, if there are any.
    pub routers: Option<&'a RouteReport>,
    /// Balancers, if there are any.
    pub balancers: Option<&'a BalanceReport>,
    /// Declared interfaces and their last application.
    pub applied: &'a [LastApply],
    /// Detection of floods, by interface.
    pub detections: &'a [(String, AutoCounts)],
    /// Seconds that the reading took.
    pub seconds: f64,
}

/// The last application of a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastApply {
    /// Name of the interface, or of the file if it is not valid.
    pub name: String,
    /// The interface is as declared.
    pub is_applied: bool,
}

pub(super) fn add(sheet: &mut Sheet, host: &HostReading<'_>) {
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    sheet.levels("build_info", "Version of xway", [(version, 1.0)]);
    let up = f64::from(u8::from(host.is_complete));
    sheet.level("reading_complete", "Whether interfaces and programs could be read", up);
    sheet.level("reading_seconds", "Time that this reading took", host.seconds);
    let running =
        host.status.interfaces.iter().flat_map(|interface| {
            interface.programs.iter().map(move |program| (interface, program))
        });
    let running: Vec<_> = running.collect();
    let attached = running.iter().map(|(interface, program)| {
        let mut labels = labels(interface, program);
        labels.push(("mode", program.mode.to_owned()));
        labels.push(("owner", program.owner.clone().unwrap_or_default()));
        (labels, 1.0)
    });
    sheet.levels("program_info", "Programs that run on interfaces", attached);
    let up = host.status.interfaces.iter();
    let up = up.map(|one| (vec![("interface", one.name.clone())], f64::from(u8::from(one.up))));
    sheet.levels("interface_up", "Whether the interface is enabled", up);
    verdicts(sheet, &running);
    let left = running.iter().filter_map(|(interface, program)| {
        Some((labels(interface, program), program.unconfirmed_s?))
    });
    let help = "Time until a change is undone unless it is confirmed";
    sheet.levels("unconfirmed_seconds", help, left);
    let applied = host
        .applied
        .iter()
        .map(|one| (vec![("declared", one.name.clone())], f64::from(u8::from(one.is_applied))));
    sheet.levels("declaration_applied", "Whether the interface is as declared", applied);
    detections(sheet, host.detections);
}

fn detections(sheet: &mut Sheet, detections: &[(String, AutoCounts)]) {
    let label = |interface: &String| vec![("interface", interface.clone())];
    let of = |value: fn(&AutoCounts) -> u64| {
        detections.iter().map(|(name, counts)| (label(name), value(counts))).collect::<Vec<_>>()
    };
    let help = "Observations of traffic over the threshold of a flood";
    sheet.totals("detect_observations", help, of(|counts| counts.observations));
    sheet.totals("detect_rules", "Rules loaded against floods", of(|counts| counts.rules));
    let active = detections.iter().map(|(name, counts)| (label(name), counts.active as f64));
    sheet.levels("detect_active_rules", "Rules against floods that drop packets now", active);
}

fn verdicts(sheet: &mut Sheet, running: &[(&Interface, &Running)]) {
    let rows: Vec<(Labels, Rate)> = running
        .iter()
        .filter_map(|(interface, program)| {
            Some((labels(interface, program), program.rates.as_ref()?))
        })
        .flat_map(|(labels, rates)| by_verdict(&labels, rates))
        .collect();
    let of = |value: fn(&Rate) -> u64| {
        rows.iter().map(|(labels, rate)| (labels.clone(), value(rate))).collect::<Vec<_>>()
    };
    sheet.totals("program_packets", "Packets by verdict", of(|rate| rate.packets));
    sheet.totals("program_bytes", "Bytes of packets by verdict", of(|rate| rate.bytes));
}

fn by_verdict(labels: &Labels, rates: &Rates) -> Vec<(Labels, Rate)> {
    let invalid = (rates.invalid.packets > 0).then_some(("invalid", rates.invalid));
    let all = rates.verdicts.iter().map(|(verdict, rate)| (*verdict, *rate)).chain(invalid);
    let with = |verdict: &str| {
        labels.iter().cloned().chain([("verdict", verdict.to_owned())]).collect::<Labels>()
    };
    all.map(|(verdict, rate)| (with(verdict), rate)).collect()
}

fn labels(interface: &Interface, program: &Running) -> Labels {
    let name = program.name.clone().unwrap_or_default();
    vec![("interface", interface.name.clone()), ("program", name)]
}
