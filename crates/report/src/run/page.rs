//! A run as one page.
//!
//! Rule: doubts come first, then each scenario in the same order: what it shows, the pictures,
//! the numbers, what is missing, how it was measured. The machine and the data come last.

use super::{Measured, Run};
use crate::number::human;
use crate::{Drawing, Host, Page};

impl Run {
    /// Self-contained: it needs no network and no script.
    pub fn page(&self) -> Page {
        let mut page = Page::new(format!("xway bench: {}", self.names()));
        if let Some(host) = self.host() {
            page.paragraph(&format!("{}: {}", self.command, host.summary()));
        }
        for measured in &self.scenarios {
            if let Some(ratio) = measured.report.ratios.first() {
                let meaning = format!("{}: {} over {}", measured.report.scenario, ratio.a, ratio.b);
                page.highlight(&human(ratio.median, "x"), &meaning);
            }
        }
        for noise in self.noise() {
            page.banner(&format!("This machine was noisy: {noise}."));
        }
        for measured in &self.scenarios {
            measured.tell(&mut page);
        }
        if let Some(host) = self.host() {
            page.section("The machine").list("", host.facts());
        }
        page.raw("Every value (JSON)", self);
        page
    }
}

impl Measured {
    fn tell(&self, page: &mut Page) {
        let (report, notes) = (&self.report, &self.report.notes);
        page.section(&report.scenario);
        if let Some(about) = &notes.about {
            page.paragraph(about);
        }
        if let Some(why) = &notes.cut {
            page.banner(&format!("This run was cut off, so there are fewer rounds: {why}."));
        }
        for (Drawing { picture, title, .. }, finding) in self.drawings() {
            page.figure(&picture, finding.as_deref().unwrap_or(&title));
        }
        report.curve_tables().iter().for_each(|table| _ = page.table(table));
        self.tables(page);
        let absent = notes.absent.iter().map(|gone| format!("{}: {}", gone.name, gone.reason));
        let marks = notes.marks.iter().map(|mark| format!("{}: {}", mark.row, mark.text));
        page.list("Not here", absent);
        page.list("To keep in mind", marks);
        page.list("Of this run", notes.notes.iter().cloned());
        page.list("How it was measured", notes.method.iter().cloned());
    }

    /// Rows of curves are in tables of their own; what is a detail is folded away.
    fn tables(&self, page: &mut Page) {
        let report = &self.report;
        let is_told = |name: &str| report.is_main(name) && !report.is_of_curve(name);
        if report.rows.iter().any(|row| is_told(&row.name)) {
            page.table(&report.table_of(is_told));
        }
        if let Some(ratios) = report.ratio_table() {
            page.table(&ratios);
        }
        if report.rows.iter().any(|row| !is_told(&row.name)) {
            page.folded("More rows", &report.table_of(|name| !is_told(name)));
        }
    }
}

impl Host {
    /// What is known of the machine, each with its name.
    pub fn facts(&self) -> Vec<String> {
        let machine = self.virtual_machine.map(|is| if is { "yes" } else { "no" }.to_owned());
        let load = self.load.map(|load| load.map(|load| format!("{load:.2}")).join(", "));
        let memory = self.memory_bytes.map(|bytes| format!("{} GiB", (bytes + (1 << 29)) >> 30));
        let facts = [
            ("processor", self.cpu.clone()),
            ("cores", self.cores.map(|cores| cores.to_string())),
            ("clock", self.clock_mhz.map(|mhz| format!("{mhz:.0} MHz when it was read"))),
            ("governor", self.governor.clone()),
            ("virtual machine", machine),
            ("memory", memory),
            ("kernel", self.kernel.clone()),
            ("net.core.bpf_jit_enable", self.bpf_jit.map(|jit| jit.to_string())),
            ("load over 1, 5 and 15 minutes, before", load),
            ("date", self.date.clone()),
        ];
        let facts = facts.map(|(name, value)| {
            format!("{name}: {}", value.as_deref().unwrap_or("not reported by this machine"))
        });
        let mitigations = self.mitigations.iter();
        facts
            .into_iter()
            .chain(mitigations.map(|(name, state)| format!("{name}: {state}")))
            .collect()
    }
}
