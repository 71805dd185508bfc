//! Text of `status`: interfaces, programs, rates by verdict.

use control::rates::{Rate, Rates};
use control::status::{Interface, Running, Status};
use report::number::human;
use report::table::{Column, Table};

use super::browser::{Browsable, Cell, Heading, Sheet};
use super::{Paint, View};

/// Packets, packets per second, bits per second.
pub fn rate_cells(rate: &Rate) -> [String; 3] {
    [human(rate.packets as f64, ""), human(rate.pps, "pps"), human(rate.bps, "bit/s")]
}

/// One row for each interface, and one for each further program.
fn overview(status: &Status) -> Table {
    let columns = ["interface", "state", "mode", "program", "owner"];
    let mut table = Table::new(columns.map(Column::text));
    for one in &status.interfaces {
        let state = if one.up { "up" } else { "down" };
        if one.programs.is_empty() {
            table.row([one.name.as_str(), state, "-", "-", ""]);
        }
        for running in &one.programs {
            let program = format!("{} {}", running.id, name(running));
            let owner = running.owner.as_deref().unwrap_or("unknown");
            table.row([one.name.as_str(), state, running.mode, &program, owner]);
        }
    }
    table
}

/// Counters of the programs that count, by verdict and reason.
fn rates(status: &Status) -> Option<Table> {
    let texts = ["interface", "program", "verdict", "reason"].map(Column::text);
    let numbers = ["packets", "rate", "bits"].map(Column::number);
    let mut table = Table::new(texts.into_iter().chain(numbers));
    let mut count = 0;
    for one in &status.interfaces {
        for running in &one.programs {
            for (verdict, reason, rate) in rows(running) {
                let [packets, pps, bps] = rate_cells(rate);
                let texts = [&one.name, name(running), verdict, reason].map(str::to_owned);
                table.row(texts.into_iter().chain([packets, pps, bps]));
                count += 1;
            }
        }
    }
    (count > 0).then_some(table)
}

fn name(running: &Running) -> &str {
    running.name.as_deref().unwrap_or("(not permitted)")
}

/// Verdict, reason and rate of the packets of a program.
fn rows(running: &Running) -> Vec<(&str, &str, &Rate)> {
    let Some(rates) = &running.rates else { return Vec::new() };
    if !rates.reasons.is_empty() {
        return rates.reasons.iter().map(|one| (one.verdict, &*one.reason, &one.rate)).collect();
    }
    let seen = rates.verdicts.iter().filter(|(_, rate)| rate.packets > 0);
    let mut rows: Vec<_> = seen.map(|(verdict, rate)| (*verdict, "", rate)).collect();
    if rates.invalid.packets > 0 {
        rows.push(("no verdict", "", &rates.invalid));
    }
    rows
}

impl View for Status {
    fn text(&self, _paint: Paint) -> String {
        let mut text = overview(self).to_string();
        if let Some(rates) = rates(self) {
            text.push_str(&format!("\n{rates}"));
        }
        text.extend(self.interfaces.iter().flat_map(of_interface));
        if self.interfaces.iter().flat_map(|one| &one.programs).any(|one| !one.permitted) {
            text.push_str(NOT_PERMITTED);
        }
        text
    }
}

fn of_interface(interface: &Interface) -> Vec<String> {
    unconfirmed(&interface.name, interface.programs.iter())
}

/// Lines for programs of an interface that run only until a deadline.
pub fn unconfirmed<'a>(name: &str, programs: impl Iterator<Item = &'a Running>) -> Vec<String> {
    let line = |left: f64| {
        format!("\n{name}: the change is undone in {left:.0} s; `xway confirm {name}` keeps it\n")
    };
    programs.filter_map(|one| one.unconfirmed_s).map(line).collect()
}

/// Advice for programs that may not be read.
const NOT_PERMITTED: &str = "\nnot permitted: the program is not one that xway keeps in this state \
                             directory, and reading others takes CAP_SYS_ADMIN; run as root\n";

impl Browsable for Status {
    fn line(&self) -> String {
        self.text(Paint { colour: false })
    }

    fn head(&self) -> String {
        let up = self.interfaces.iter().filter(|one| one.up).count();
        let programs = self.interfaces.iter().map(|one| one.programs.len()).sum::<usize>();
        let mut head = format!(
            "{} interfaces, {up} up; {programs} programs; rates over {:.1} s",
            self.interfaces.len(),
            self.interval_s
        );
        let unconfirmed = self.interfaces.iter().flat_map(of_interface);
        unconfirmed.for_each(|line| head.push_str(line.trim_end()));
        head
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![interface_sheet(self), verdict_sheet(self), program_sheet(self)]
    }
}

/// Each interface with what its programs receive together.
fn interface_sheet(status: &Status) -> Sheet {
    let texts = ["interface", "state"].map(Heading::text);
    let numbers = ["MTU", "programs", "in", "dropped", "bits"].map(Heading::number);
    let mut sheet = Sheet::new("interfaces", texts.into_iter().chain(numbers));
    for one in &status.interfaces {
        let rates: Vec<_> = one.programs.iter().filter_map(|one| one.rates.as_ref()).collect();
        let sum = |rate: fn(&Rates) -> f64| match rates.is_empty() {
            true => None,
            false => Some(rates.iter().map(|one| rate(one)).sum()),
        };
        let cell = |number: Option<f64>, unit| {
            number.map_or_else(Cell::unknown, |number| Cell::number(number, unit))
        };
        sheet.row([
            Cell::text(&one.name),
            Cell::text(if one.up { "up" } else { "down" }),
            Cell::count(one.mtu as usize),
            Cell::count(one.programs.len()),
            cell(sum(|rates| rates.verdicts.values().map(|rate| rate.pps).sum()), "pps"),
            cell(sum(|rates| rates.verdicts.get("drop").map_or(0.0, |rate| rate.pps)), "pps"),
            cell(sum(|rates| rates.verdicts.values().map(|rate| rate.bps).sum()), "bit/s"),
        ]);
    }
    sheet
}

fn verdict_sheet(status: &Status) -> Sheet {
    let texts = ["interface", "program", "verdict", "reason"].map(Heading::text);
    let numbers = ["packets", "rate", "bits"].map(Heading::number);
    let mut sheet = Sheet::new("verdicts", texts.into_iter().chain(numbers));
    for one in &status.interfaces {
        for running in &one.programs {
            for (verdict, reason, Rate { packets, pps, bps, .. }) in rows(running) {
                let texts = [&one.name, name(running), verdict, reason].map(Cell::text);
                let numbers = [(*packets as f64, ""), (*pps, "pps"), (*bps, "bit/s")];
                let numbers = numbers.map(|(number, unit)| Cell::number(number, unit));
                sheet.row(texts.into_iter().chain(numbers));
            }
        }
    }
    sheet.empty = "no program counts packets, or none has received one".to_owned();
    sheet
}

/// Each program with the time of its runs.
fn program_sheet(status: &Status) -> Sheet {
    let texts = ["program", "interface", "mode", "owner"].map(Heading::text);
    let numbers = ["id", "runs", "time/run", "CPU"].map(Heading::number);
    let mut sheet = Sheet::new("programs", texts.into_iter().chain(numbers));
    for one in &status.interfaces {
        for running in &one.programs {
            let owner = running.owner.as_deref().unwrap_or("unknown");
            let texts = [name(running), &one.name, running.mode, owner].map(Cell::text);
            let time = running.run_time;
            let cell = |number: Option<f64>, unit| {
                number.map_or_else(Cell::unknown, |number| Cell::number(number, unit))
            };
            let numbers = [
                Cell::count(running.id as usize),
                cell(time.map(|time| time.runs_per_s), "/s"),
                cell(time.and_then(|time| time.ns_per_run), "ns"),
                cell(time.map(|time| time.cpu_percent), "%"),
            ];
            sheet.row(texts.into_iter().chain(numbers));
        }
    }
    sheet.empty = "no program runs".to_owned();
    sheet
}
