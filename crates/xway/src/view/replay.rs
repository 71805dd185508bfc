//! Text of `demo` without root: what the filter leaves for the network stack.

use std::path::PathBuf;

use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;

use super::{Paint, View, wrapped};

/// The result of the replay, which exists in this command alone.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Always `vm`.
    pub runtime: &'static str,
    /// Phases in order.
    pub phases: Vec<Row>,
    /// Frames per second of the attacker.
    pub rate_pps: u64,
    /// Frames per second of the attack that the limits of the rules admit, from rate and burst.
    pub allowed_pps: f64,
    /// Packets that the program ran on.
    pub packets: u64,
    /// Mean time of the program per packet, in nanoseconds.
    pub ns_per_packet: f64,
    /// Path of the rules.
    pub rules: PathBuf,
    /// Path of the capture.
    pub capture: PathBuf,
    /// Path of the figure.
    pub figure: PathBuf,
    /// Path of the report.
    pub report: PathBuf,
}

/// Means over one phase.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the phase.
    pub name: &'static str,
    #[serde(skip)]
    pub title: &'static str,
    /// Packets per second of the attack that arrive.
    pub offered_pps: f64,
    /// Packets per second that the filter drops.
    pub dropped_pps: f64,
    /// Packets per second of the attack that are left for the network stack.
    pub attack_pps: f64,
    /// Packets per second of the service that are left for the network stack.
    pub service_pps: f64,
}

/// Rates around one point in time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Seconds from the start.
    pub t: f64,
    pub attack_pps: f64,
    pub service_pps: f64,
    pub dropped_pps: f64,
    offered_pps: f64,
}

impl Sample {
    pub fn at(t: f64) -> Self {
        Self { t, ..Self::default() }
    }

    /// One packet within `seconds`.
    pub fn count(&mut self, attack: bool, dropped: bool, seconds: f64) {
        let rate = match (attack, dropped) {
            (_, true) => &mut self.dropped_pps,
            (true, false) => &mut self.attack_pps,
            (false, false) => &mut self.service_pps,
        };
        *rate += 1.0 / seconds;
        self.offered_pps += if attack { 1.0 / seconds } else { 0.0 };
    }
}

impl Row {
    pub fn mean(name: &'static str, title: &'static str, samples: &[Sample]) -> Self {
        let mean = |value: fn(&Sample) -> f64| {
            samples.iter().map(value).sum::<f64>() / samples.len().max(1) as f64
        };
        Self {
            name,
            title,
            offered_pps: mean(|sample| sample.offered_pps),
            dropped_pps: mean(|sample| sample.dropped_pps),
            attack_pps: mean(|sample| sample.attack_pps),
            service_pps: mean(|sample| sample.service_pps),
        }
    }
}

impl Answer {
    /// The program let no more of the attack through than the rules allow, and all of the service.
    pub fn kept(&self) -> bool {
        let left = self.phases.last().map_or(f64::INFINITY, |row| row.attack_pps);
        // The clock of the replay advances in ticks.
        left <= 1.05 * self.allowed_pps && self.service_share() > 0.99
    }

    /// Share of the attack that the program dropped.
    pub fn dropped_share(&self) -> f64 {
        let last = self.phases.last();
        last.map_or(0.0, |row| row.dropped_pps / row.offered_pps.max(f64::MIN_POSITIVE))
    }

    /// The service's packets that come through, as a share of the quiet ones.
    pub fn service_share(&self) -> f64 {
        let (Some(quiet), Some(last)) = (self.phases.first(), self.phases.last()) else {
            return 0.0;
        };
        last.service_pps / quiet.service_pps.max(f64::MIN_POSITIVE)
    }

    pub fn table(&self) -> Table {
        let numbers = ["attack", "dropped", "attack to the stack", "service to the stack"];
        let columns = numbers.map(Column::number);
        let mut table = Table::new([Column::text("phase")].into_iter().chain(columns));
        for row in &self.phases {
            table.row([
                row.title.to_owned(),
                human(row.offered_pps, "pps"),
                human(row.dropped_pps, "pps"),
                human(row.attack_pps, "pps"),
                human(row.service_pps, "pps"),
            ]);
        }
        table
    }
}

impl View for Answer {
    fn text(&self, paint: Paint) -> String {
        let result = format!(
            "The program dropped {:.1} % of the attack and let {:.0} % of the service's packets \
             through, {:.0} ns per packet in user space.",
            100.0 * self.dropped_share(),
            100.0 * self.service_share(),
            self.ns_per_packet,
        );
        let result = if self.kept() { paint.good(&result) } else { paint.bad(&result) };
        let again = format!(
            "The rules are in {}: `xway filter check` explains them, `xway filter load` \
             loads them on an interface. The packets are in {}. In the kernel: `sudo xway demo`.",
            self.rules.display(),
            self.capture.display()
        );
        let report = self.report.display();
        format!("\n{}\n{result}\n{}\nreport: {report}\n", self.table(), wrapped(&again, 90))
    }
}
