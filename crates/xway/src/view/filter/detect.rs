//! What `filter detect` answers: what is too much, the rules that would stop it, and the busiest.

use std::time::Duration;

use control::filter::trial::Ended;
use filter::runtime::detect::{self, Busy, Detection, Rate};
use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;

use crate::view::{Paint, View};

/// How the traffic was watched.
#[derive(Clone, Debug, Serialize)]
pub struct Watched {
    pub seconds: f64,
    pub ended: Ended,
    /// Packets that were looked at, and those that were to be and had no room.
    pub looked_at: u64,
    pub lost: u64,
    /// That suggested rules hold.
    pub hold_s: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Detected {
    pub interface: String,
    #[serde(flatten)]
    pub watched: Watched,
    pub all: Amount,
    /// Not let in by the rules in force.
    pub dropped: Amount,
    /// Passed by a rule, or from an allowed address: in no finding.
    pub passed: Amount,
    /// All else: findings are about these.
    pub open: Amount,
    /// What stops most comes first.
    pub findings: Vec<Finding>,
    pub busiest: Vec<Busiest>,
}

/// Estimated.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Amount {
    pub pps: f64,
    pub bps: f64,
    /// Half of the interval in which the true rate lies 19 times out of 20.
    pub error_pps: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Fields in which packets are alike.
    pub kind: &'static str,
    pub what: String,
    /// What its rule would take.
    #[serde(flatten)]
    pub amount: Amount,
    /// The rule that would stop it.
    pub rule: String,
    /// Of all that is likely no client's, the part that it takes.
    pub of_flood: f64,
    /// Of what it takes, the part that is likely clients', and at most, 19 times out of 20.
    pub collateral: f64,
    pub collateral_most: f64,
    /// Why: the part from sources that talk, and the part that came in the quietest tenth of the
    /// time, `null` without a quiet time.
    pub clients: f64,
    pub quiet: Option<f64>,
    /// Sources that were looked at, and those that talk.
    pub sources: usize,
    pub talking: usize,
    /// The name of the rule that was put in force.
    pub applied: Option<String>,
    #[serde(skip)]
    pub chosen: bool,
}

/// The busiest of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Busiest {
    pub kind: &'static str,
    pub most: Vec<Row>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub what: String,
    #[serde(flatten)]
    pub amount: Amount,
    /// Of what is open.
    pub share: f64,
}

impl Detected {
    pub fn new(interface: &str, detection: &Detection, watched: &Watched) -> Self {
        let amount = |rate: &Rate| Amount::of(rate, detection.seconds);
        let busiest = |busy: &Busy| Busiest {
            kind: busy.shape,
            most: busy
                .most
                .iter()
                .map(|one| Row {
                    what: one.pattern.words(),
                    amount: amount(&one.rate),
                    share: one.rate.packets / detection.open.packets.max(1.0),
                })
                .collect(),
        };
        Self {
            interface: interface.to_owned(),
            watched: watched.clone(),
            all: amount(&detection.all),
            dropped: amount(&detection.dropped),
            passed: amount(&detection.chosen),
            open: amount(&detection.open),
            findings: detection.findings.iter().map(|it| Finding::of(it, detection)).collect(),
            busiest: detection.busy.iter().map(busiest).collect(),
        }
    }

    /// Chooses what is to be put in force: the first ones of which few are clients'.
    pub fn choose(&mut self, most: usize, collateral: f64) {
        let good = self.findings.iter_mut().filter(|one| one.collateral_most <= collateral);
        good.take(most).for_each(|one| one.chosen = true);
    }

    fn table(&self) -> Table {
        let texts = ["kind", "busiest"].map(Column::text);
        let numbers = ["rate", "bits", "share"].map(Column::number);
        let mut table = Table::new(texts.into_iter().chain(numbers));
        for Busiest { kind, most } in &self.busiest {
            let told = most.iter().filter(|row| row.share >= LEAST_TOLD);
            for (place, Row { what, amount, share }) in told.enumerate() {
                let kind = if place == 0 { *kind } else { "" };
                let [pps, bps] = amount.text();
                table.row([kind.to_owned(), what.clone(), pps, bps, percent(*share)]);
            }
        }
        table
    }
}

impl Amount {
    fn of(rate: &Rate, seconds: f64) -> Self {
        let seconds = seconds.max(f64::MIN_POSITIVE);
        Self {
            pps: rate.packets / seconds,
            bps: rate.bytes * 8.0 / seconds,
            error_pps: rate.error() / seconds,
        }
    }

    fn text(&self) -> [String; 2] {
        [human(self.pps, "pps"), human(self.bps, "bit/s")]
    }
}

impl Finding {
    fn of(finding: &detect::Finding, detection: &Detection) -> Self {
        let detect::Evidence { clients, quiet, sources, active: talking } = finding.evidence;
        Self {
            kind: finding.shape,
            what: finding.pattern.words(),
            amount: Amount::of(&finding.takes, detection.seconds),
            rule: finding.rule.clone(),
            of_flood: finding.of_flood,
            collateral: finding.collateral,
            collateral_most: finding.collateral_most,
            clients,
            quiet,
            sources,
            talking,
            applied: None,
            chosen: false,
        }
    }

    fn text(&self, number: usize, paint: Paint) -> String {
        let [pps, bps] = self.amount.text();
        let error = human(self.amount.error_pps, "pps");
        let Self { sources, talking, .. } = self;
        let quiet = match self.quiet {
            Some(quiet) => format!("{} came in the quietest tenth of the time", percent(quiet)),
            None => "no time was quiet".to_owned(),
        };
        let applied = match &self.applied {
            Some(name) => format!("   active as {name}\n"),
            None => String::new(),
        };
        let head = format!("{number}  {}: {pps} ± {error}, {bps}", self.what);
        let [flood, collateral, most, clients] =
            [self.of_flood, self.collateral, self.collateral_most, self.clients].map(percent);
        format!(
            "{}\n   {}\n   takes {flood} of the flood; collateral {collateral} (at most {most})\n\
             \x20  {clients} are clients' by their connections, {quiet}; \
             {talking} of {sources} sources talk\n{applied}",
            paint.bold(&head),
            self.rule,
        )
    }
}

impl View for Detected {
    fn text(&self, paint: Paint) -> String {
        let Watched { seconds, ended, looked_at, lost, hold_s } = &self.watched;
        let [pps, bps] = self.all.text();
        let [dropped, passed] = [self.dropped, self.passed].map(|amount| human(amount.pps, "pps"));
        let looked_at = human(*looked_at as f64, "");
        let head = format!(
            "{}: {pps} ± {} in {seconds:.1} s, {bps}",
            self.interface,
            human(self.all.error_pps, "pps")
        );
        let mut text = format!("{}\n", paint.bold(&head));
        text.push_str(&format!(
            "{dropped} are dropped already, {passed} passed by rules; {looked_at} packets were \
             looked at\n"
        ));
        if *lost > 0 {
            let lost = human(*lost as f64, "");
            text.push_str(&format!("{lost} more were lost: others stand for them\n"));
        }
        if *ended == Ended::RulesChanged {
            text.push_str("other rules were loaded meanwhile, so the observation ended early\n");
        }
        if self.findings.is_empty() {
            text.push_str("no flood was detected\n");
        }
        for (number, finding) in self.findings.iter().enumerate() {
            text.push_str(&format!("\n{}", finding.text(number + 1, paint)));
        }
        if self.findings.iter().any(|finding| finding.applied.is_some()) {
            let hold = Duration::from_secs_f64(*hold_s).as_secs();
            text.push_str(&format!("\nrules active for {hold} s; Ctrl-C removes them now\n"));
        }
        text.push_str(&format!("\n{}", self.table()));
        text
    }
}

/// A share of what is open that is worth a row.
const LEAST_TOLD: f64 = 0.01;

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}
