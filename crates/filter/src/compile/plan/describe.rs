//! `Description`: a plan as text for people.
//!
//! ```text
//! Ipv4: 10000 rules in 3 tables, 2 one by one, otherwise rule 12000
//!   table from rule 0: 8120 rules, 403 kB
//!     Source4: 9210 ranges searched in at most 1 + 3 loads, 172 kB
//!     DestPort: searched by state in at most 4 loads; 5000 states, 14000 ranges, 228 kB
//! ```

use std::fmt;

use super::{Classifier, Effects, FamilyPlan, NO_RULE, Plan, Residual, Step, Table, Transition};

/// A plan as text: [`Plan::describe`].
#[derive(Debug)]
pub struct Description<'a>(&'a Plan);

impl Plan {
    /// Describes the plan: one line per family, table and field, with rules by number.
    pub fn describe(&self) -> Description<'_> {
        Description(self)
    }
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.families.iter().try_for_each(|plan| family(out, plan))
    }
}

fn family(out: &mut fmt::Formatter<'_>, plan: &FamilyPlan) -> fmt::Result {
    let tables = plan.tables.iter().chain(plan.effects.iter().map(|effects| &effects.table));
    let listed: u32 = tables.clone().map(|table| table.rules).sum();
    write!(out, "{:?}: ", plan.family)?;
    match tables.count() {
        0 => write!(out, "no tables")?,
        count => write!(out, "{listed} rules in {}", many(count, "table"))?,
    }
    write!(out, ", {} one by one", plan.straight.len())?;
    match plan.otherwise {
        NO_RULE => writeln!(out)?,
        rule => writeln!(out, ", otherwise rule {rule}")?,
    }
    plan.tables.iter().try_for_each(|one| table(out, one))?;
    plan.effects.iter().try_for_each(|one| effects(out, one))
}

fn table(out: &mut fmt::Formatter<'_>, table: &Table) -> fmt::Result {
    let rules = many(table.rules as usize, "rule");
    writeln!(out, "  table from rule {}: {rules}, {}", table.least, Bytes(table.bytes()))?;
    table.steps.iter().try_for_each(|one| step(out, one))?;
    if !table.residual.is_empty() {
        let Residual { fields, rules } = &table.residual;
        let bytes = Bytes(table.residual.bytes());
        writeln!(out, "    residual: {} rules compared in {fields:?}, {bytes}", rules.len())?;
    }
    Ok(())
}

fn effects(out: &mut fmt::Formatter<'_>, effects: &Effects) -> fmt::Result {
    let lists = many(effects.starts.len() - 1, "list");
    writeln!(out, "  rules that continue, {lists}, the longest of {}:", effects.longest)?;
    table(out, &effects.table)
}

fn step(out: &mut fmt::Formatter<'_>, step: &Step) -> fmt::Result {
    write!(out, "    {:?}: ", step.field)?;
    let (states, entries) = match &step.transition {
        Transition::First { classifier: one, .. } => {
            classifier(out, one)?;
            return writeln!(out, ", {}", Bytes(step.bytes()));
        }
        Transition::Comb { classifier: one, comb, .. } => {
            classifier(out, one)?;
            (comb.rows.len(), many(comb.entries.len(), "entry"))
        }
        Transition::Runs { ranks, runs } => {
            if let Some(ranks) = ranks {
                classifier(out, ranks)?;
                write!(out, " for ranks; ")?;
            }
            write!(out, "searched by state in at most {} loads", runs.probes)?;
            (runs.rows.len(), many(runs.keys.len(), "range"))
        }
    };
    writeln!(out, "; {}, {entries}, {}", many(states, "state"), Bytes(step.bytes()))
}

fn classifier(out: &mut fmt::Formatter<'_>, classifier: &Classifier) -> fmt::Result {
    match classifier {
        Classifier::Branches(all) => write!(out, "{} compared", many(all.len(), "range")),
        Classifier::Direct(all) => write!(out, "{} looked up", many(all.len(), "value")),
        Classifier::Ranges(ranges) => {
            let levels = ranges.levels.len();
            let probes = ranges.short.max(ranges.long);
            write!(out, "{} searched", many(ranges.entries.len(), "range"))?;
            write!(out, " in at most {levels} + {probes} loads")
        }
    }
}

fn many(count: usize, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        _ => format!("{count} {noun}s"),
    }
}

/// A number of bytes, written in bytes, kB or MB.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(out, "no memory"),
            few @ ..10_000 => write!(out, "{few} bytes"),
            some @ ..10_000_000 => write!(out, "{} kB", some / 1_000),
            many => write!(out, "{} MB", many / 1_000_000),
        }
    }
}
