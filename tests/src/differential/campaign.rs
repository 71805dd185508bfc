//! Many cases in a row, by consecutive seeds.

use spec::disasm::{Listing, SpecNames};
use spec::{Input, Spec};

use super::arms::Arms;
use super::case::Case;
use super::compare::{Judgement, hex};
use super::shrink::shrink;
use super::tally::Tally;

/// What a campaign has seen so far.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub cases: u64,
    pub refused: u64,
    /// Programs of the cases that were compared.
    pub programs: u64,
    pub packets: u64,
    pub tally: Tally,
    pub findings: Vec<Finding>,
}

/// A case on which the arms differ, made small.
#[derive(Clone, Debug)]
pub struct Finding {
    pub seed: u64,
    pub difference: String,
    /// The small case as assembly and packets.
    pub text: String,
}

impl Report {
    /// Runs the case of a seed.
    pub fn add(&mut self, arms: &Arms, seed: u64) {
        let case = Case::random(seed);
        self.cases += 1;
        match arms.judge(&case) {
            Judgement::Refused(why) => {
                self.refused += 1;
                self.tally.refused(&why, seed);
                return;
            }
            Judgement::Differs(_) => self.findings.push(Finding::new(arms, case.clone())),
            Judgement::Same => {}
        }
        self.programs += case.spec.programs.len() as u64;
        self.packets += case.packets.len() as u64;
        self.tally.add(&case.spec);
    }

    /// Percentage of cases that the kernel's verifier accepted.
    pub fn acceptance(&self) -> f64 {
        100.0 * (self.cases - self.refused) as f64 / self.cases.max(1) as f64
    }
}

impl Finding {
    /// Shrinks a case on which the arms differ.
    pub fn new(arms: &Arms, case: Case) -> Self {
        let seed = case.seed;
        let differs = |case: &Case| matches!(arms.judge(case), Judgement::Differs(_));
        let small = shrink(case, differs);
        let difference = match arms.judge(&small) {
            Judgement::Differs(difference) => difference,
            _ => "it does not differ each time".to_owned(),
        };
        Self { seed, difference, text: text(&small) }
    }
}

/// Maps, listings and packets.
pub fn text(case: &Case) -> String {
    let mut lines = Vec::new();
    for map in &case.spec.maps {
        let kind = map.kind.name().unwrap_or("?");
        let (key, value, entries) = (map.key_size, map.value_size, map.max_entries);
        let flags = map.flags;
        lines.push(format!("map {}: {kind} {key} {value} {entries} flags {flags:#x}", map.name));
    }
    for number in 0..case.spec.programs.len() {
        lines.push(listing(&case.spec, number));
    }
    lines.extend(case.packets.iter().map(packet));
    lines.extend(case.touches.iter().map(|touch| format!("after each packet {touch:?}")));
    lines.join("\n")
}

fn listing(spec: &Spec, number: usize) -> String {
    let program = &spec.programs[number];
    let names = SpecNames { spec, program };
    Listing::new(program, &names).labels(true).to_string()
}

fn packet(input: &Input) -> String {
    format!("packet {} metadata {}", hex(&input.packet), hex(&input.metadata))
}
