//! Findings: what is over the threshold, each with the rule that would stop it.
//!
//! Patterns overlap: a flood to a port is one of its protocol, too. So the one that takes most of
//! what is likely no client's, and little else, is found first; of several that take about as much,
//! the one that says most; then what it takes is left out, and so on, until nothing that is left
//! is over the threshold. Rule: packets that a rule passes, that are dropped already, or that come
//! from an address that is allowed, are in no finding.

use std::time::Duration;

use super::clients::Clients;
use super::heavy::{Busy, Heavy, heaviest};
use super::sample::{NINETEEN_OF_TWENTY, Rate};
use super::{Address, Evidence, Outcome, Packet, Pattern, Shape};
use crate::language::text;
use crate::{Action, Addresses, Rule, Scope, Test};

/// What is too much, and what may be proposed.
#[derive(Clone, Debug)]
pub struct Settings {
    pub threshold: Threshold,
    /// That suggested rules hold.
    pub hold: Duration,
    /// Findings at most.
    pub most: usize,
    /// Rows in each list of the busiest.
    pub top: usize,
    /// Never touched: `@set`, or an address or prefix, with what it stands for.
    pub allowed: Vec<(String, Addresses)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Packets a second.
    Pps(u64),
    /// A part of all traffic, from 0 to 1; and no less than [`Threshold::LEAST`].
    Share(f64),
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    pub seconds: f64,
    /// All packets, and what became of them: dropped already, passed by a rule or from an allowed
    /// address, and open.
    pub all: Rate,
    pub dropped: Rate,
    pub chosen: Rate,
    pub open: Rate,
    /// Of what is open.
    pub busy: Vec<Busy>,
    /// In the order in which they were found: what stops most comes first.
    pub findings: Vec<Finding>,
}

/// One flood, or what looks like one.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub pattern: Pattern,
    pub shape: &'static str,
    /// The rule that would stop it, without a name.
    pub rule: String,
    /// What that would take.
    pub takes: Rate,
    /// Of all that is likely no client's, from 0 to 1.
    pub of_flood: f64,
    /// The part of what it takes that is likely clients', and how high that may be for all that so
    /// few packets can tell.
    pub collateral: f64,
    pub collateral_most: f64,
    pub evidence: Evidence,
}

/// Looks through packets that were seen within a time, each with how many it stands for.
pub fn detect(packets: &[(Packet, f64)], seconds: f64, settings: &Settings) -> Detection {
    let outcome = |packet: &Packet| match packet.outcome {
        Outcome::Undecided if settings.is_allowed(packet) => Outcome::Accepted,
        outcome => outcome,
    };
    let sum = |wanted: Option<Outcome>| {
        let of =
            packets.iter().filter(|(one, _)| wanted.is_none_or(|wanted| outcome(one) == wanted));
        total(of)
    };
    let open: Vec<_> =
        packets.iter().filter(|(one, _)| outcome(one) == Outcome::Undecided).copied().collect();
    let busy = |(number, shape): (usize, &Shape)| Busy {
        shape: shape.name,
        most: heaviest(open.iter(), number, settings.top),
    };
    let all = sum(None);
    let search = Search { clients: Clients::of(packets), settings, all, seconds };
    Detection {
        seconds,
        all,
        dropped: sum(Some(Outcome::Dropped)),
        chosen: sum(Some(Outcome::Accepted)),
        open: sum(Some(Outcome::Undecided)),
        busy: Shape::ALL.iter().enumerate().map(busy).collect(),
        findings: search.findings(&open),
    }
}

struct Search<'a> {
    clients: Clients,
    settings: &'a Settings,
    all: Rate,
    seconds: f64,
}

/// A pattern that could be proposed.
struct Candidate {
    heavy: Heavy,
    evidence: Evidence,
}

impl Search<'_> {
    fn findings(&self, open: &[(Packet, f64)]) -> Vec<Finding> {
        let of_all = self.clients.among(open.iter(), |_| true, |_| true);
        let flood = total(open.iter()).packets * (1.0 - of_all.clients);
        let mut rest = open.to_vec();
        let mut findings = Vec::new();
        while findings.len() < self.settings.most {
            let Some(best) = self.best(&rest) else { break };
            let pattern = best.heavy.pattern;
            rest.retain(|(packet, _)| !pattern.holds(packet));
            findings.push(self.finding(&best, open, flood));
        }
        findings
    }

    fn best(&self, rest: &[(Packet, f64)]) -> Option<Candidate> {
        let shapes = Shape::ALL.iter().enumerate().filter(|(_, shape)| !shape.is_broad);
        let heavy = shapes.flat_map(|(number, _)| heaviest(rest.iter(), number, CANDIDATES));
        let heavy = heavy.filter(|one| self.is_too_much(&one.rate));
        let candidates: Vec<_> = heavy.map(|heavy| self.candidate(heavy, rest)).collect();
        let most = candidates.iter().map(Candidate::worth).fold(f64::NEG_INFINITY, f64::max);
        // What is worth nothing is clients' for the most part: it is told as what it is.
        let good = |one: &Candidate| match most > 0.0 {
            true => one.worth() >= ALIKE * most,
            false => true,
        };
        let widest = candidates.iter().filter(|one| good(one)).map(|one| one.heavy.rate.packets);
        let widest = widest.fold(0.0, f64::max);
        let telling =
            |one: &Candidate| good(one) && (most > 0.0 || one.heavy.rate.packets >= ALIKE * widest);
        candidates.into_iter().filter(telling).max_by(|a, b| {
            let by_shape = a.heavy.shape.cmp(&b.heavy.shape);
            by_shape.then(a.heavy.rate.packets.total_cmp(&b.heavy.rate.packets))
        })
    }

    fn candidate(&self, heavy: Heavy, packets: &[(Packet, f64)]) -> Candidate {
        let connections = heavy.pattern.of_whole_connections();
        let evidence = self.clients.among(
            packets.iter(),
            |packet| heavy.pattern.holds(packet),
            |packet| connections.holds(packet),
        );
        Candidate { heavy, evidence }
    }

    fn is_too_much(&self, rate: &Rate) -> bool {
        let pps = rate.packets / self.seconds;
        let enough = match self.settings.threshold {
            Threshold::Pps(least) => pps >= least as f64,
            Threshold::Share(part) => {
                rate.packets >= part * self.all.packets && pps >= Threshold::LEAST
            }
        };
        enough && rate.kept >= FEWEST
    }

    /// With all that its rule would take, also what is in other findings.
    fn finding(&self, best: &Candidate, open: &[(Packet, f64)], flood: f64) -> Finding {
        let Heavy { pattern, shape, .. } = best.heavy;
        let takes = total(open.iter().filter(|(packet, _)| pattern.holds(packet)));
        let Candidate { evidence, .. } = self.candidate(Heavy { rate: takes, ..best.heavy }, open);
        let collateral = evidence.part();
        let kept = takes.kept as f64;
        let spread = NINETEEN_OF_TWENTY * (collateral * (1.0 - collateral) / kept).sqrt();
        let of_flood = takes.packets * (1.0 - evidence.clients) / flood.max(1.0);
        Finding {
            pattern,
            shape: Shape::ALL[shape].name,
            rule: self.settings.rule(&pattern),
            takes,
            of_flood: of_flood.min(1.0),
            collateral,
            // None of n seen: less than 3/n, 19 times out of 20.
            collateral_most: (collateral + spread + 3.0 / kept).min(1.0),
            evidence,
        }
    }
}

impl Candidate {
    /// Packets of a flood that it takes; each of a client's counts against many of them.
    fn worth(&self) -> f64 {
        let clients = self.evidence.part();
        self.heavy.rate.packets * ((1.0 - clients) - clients * WORTH_OF_A_CLIENT)
    }
}

impl Settings {
    /// What `--allow` names: `@set`, an address or a prefix.
    ///
    /// # Errors
    /// It is none of these, or there is no such set.
    pub fn allow(&mut self, what: &str, scope: &Scope) -> Result<(), text::Error> {
        let rule = Rule::parse(&format!("drop from {what}"), scope)?;
        if let [Test::Address { addresses, negated: false, .. }] = &rule.tests[..] {
            self.allowed.push((what.to_owned(), (**addresses).clone()));
        }
        Ok(())
    }

    fn is_allowed(&self, packet: &Packet) -> bool {
        let Some(source) = packet.source else { return false };
        self.allowed.iter().any(|(_, addresses)| values(addresses, source).contains(source.bits))
    }

    /// Drops what a pattern holds for, but from nobody who is allowed.
    fn rule(&self, pattern: &Pattern) -> String {
        let action =
            Rule { name: String::new(), tests: Vec::new(), action: Action::DropFor(self.hold) };
        let touched = self.allowed.iter().filter(|(_, addresses)| touches(pattern, addresses));
        let but: String = touched.map(|(name, _)| format!(" from not {name}")).collect();
        format!("{} {}{but}", action.body(), pattern.words())
    }
}

impl Threshold {
    /// Packets a second: less is no flood, whatever its share.
    pub const LEAST: f64 = 1000.0;
}

fn values(addresses: &Addresses, of: Address) -> &crate::Values {
    if of.is_ipv6 { &addresses.v6 } else { &addresses.v4 }
}

/// Whether a packet from one of these could be among those of the pattern.
fn touches(pattern: &Pattern, addresses: &Addresses) -> bool {
    pattern.source.is_none_or(|(prefix, length)| {
        let width = if prefix.is_ipv6 { 128 } else { 32 };
        let rest = u128::MAX.checked_shr(128 - (width - u32::from(length))).unwrap_or(0);
        let block = crate::Values::new([(prefix.bits, prefix.bits | rest)]);
        !values(addresses, prefix).intersection(&block).is_empty()
    })
}

fn total<'p>(packets: impl Iterator<Item = &'p (Packet, f64)>) -> Rate {
    packets.fold(Rate::default(), |mut rate, (packet, weight)| {
        rate.add(packet, *weight);
        rate
    })
}

/// Patterns of a shape that are looked at more closely.
const CANDIDATES: usize = 4;
/// Packets that must have been kept for a finding.
const FEWEST: usize = 20;
/// So much of the best counts as the same.
const ALIKE: f64 = 0.9;
/// A packet of a client's counts against so many of a flood.
const WORTH_OF_A_CLIENT: f64 = 10.0;
