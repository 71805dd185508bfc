//! Text of `scan`: targets and plans.

use std::time::Duration;

use report::number::human;
use traffic::scan::{AnswerLine, PlanReport, ScanReport, TargetLine};

use super::{Paint, View};

impl View for TargetLine {
    fn text(&self, _paint: Paint) -> String {
        match self.port {
            Some(port) => format!("{} {port}", self.ip),
            None => self.ip.to_string(),
        }
    }
}

impl View for AnswerLine {
    fn text(&self, paint: Paint) -> String {
        let target = TargetLine { ip: self.ip, port: self.port }.text(paint);
        let icmp = self.icmp.map(|(kind, code)| format!(" by ICMP {kind}/{code}"));
        let from = self.from.map(|from| format!(" from {from}"));
        let (icmp, from) = (icmp.unwrap_or_default(), from.unwrap_or_default());
        format!("{target} {}{icmp}{from}", self.state)
    }
}

impl View for ScanReport {
    fn text(&self, _paint: Paint) -> String {
        let Self { targets, sent, not_sent, answers, open, closed, unreachable, .. } = self;
        let Self { forged, doubled, lost_here, .. } = self;
        [
            format!("probes    {sent} of {targets} sent, {not_sent} not"),
            format!("answers   {answers}: {open} open, {closed} closed, {unreachable} unreachable"),
            format!("others    {forged} false, {doubled} doubled, {lost_here} lost on this host"),
        ]
        .join("\n")
    }
}

impl View for PlanReport {
    fn text(&self, _paint: Paint) -> String {
        let Self { targets, blocked, packets, seconds, memory, per_prefix } = self;
        let memory = human(*memory as f64, "B");
        [
            format!("targets   {targets} addresses; {blocked} excluded"),
            format!("probes    {packets} in a pass"),
            format!("time      {}", time(*seconds)),
            format!("memory    {memory} for targets"),
            format!("networks  at most {} to a /24 or /48", human(*per_prefix, "pps")),
        ]
        .join("\n")
    }
}

/// Days, hours, minutes and seconds, from the first that is not 0.
fn time(seconds: f64) -> String {
    let Ok(time) = Duration::try_from_secs_f64(seconds) else {
        return "more than can be counted".to_owned();
    };
    let whole = time.as_secs();
    let (days, hours) = (whole / 86_400, whole / 3_600 % 24);
    let (minutes, seconds) = (whole / 60 % 60, whole % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{:.3} s", time.as_secs_f64()),
        (0, 0, _) => format!("{minutes} min {seconds} s"),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        for (seconds, text) in [
            (0.25, "0.250 s"),
            (61.0, "1 min 1 s"),
            (3_600.0 * 5.5, "5 h 30 min"),
            (86_400.0 * 4.5, "4 d 12 h"),
            (1e300, "more than can be counted"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }
}
