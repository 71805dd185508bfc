//! Findings: floods over the threshold, each with the rule that would stop it.
//!
//! Patterns overlap: a flood to a port is also one of its protocol. So the pattern that matches the
//! most packets of the flood and the fewest of clients is found first; of several that are similar,
//! the most specific. Its packets are removed, and the search repeats until the rest is below the
//! threshold. Rule: no finding has packets that a rule passes, that are already dropped, or that
//! come from an allowed address.

use std::time::Duration;

use packet::quantity;

use super::clients::Clients;
use super::heavy::{Busy, Heavy, heaviest};
use super::sample::{CONFIDENCE, Rate};
use super::{Address, Evidence, Outcome, Packet, Pattern, Shape};
use crate::language::text;
use crate::{Action, Addresses, Rule, Scope, Test};

/// Settings of a detection.
#[derive(Clone, Debug)]
pub struct Settings {
    pub threshold: Threshold,
    /// The duration of suggested rules.
    pub hold: Duration,
    /// The most findings.
    pub most: usize,
    /// The rows of each list of busiest patterns.
    pub top: usize,
    /// Addresses that rules must not drop: `@set`, an address or a prefix, with its addresses.
    pub allowed: Vec<(String, Addresses)>,
}

/// The rate above which traffic is a flood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Packets per second.
    Pps(u64),
    /// A share of all traffic, from 0 to 1, and at least [`Threshold::LEAST`].
    Share(f64),
}

/// The result of a detection.
#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    /// Duration of the sample.
    pub seconds: f64,
    /// All packets.
    pub all: Rate,
    /// Packets that the active rules drop.
    pub dropped: Rate,
    /// Packets that a rule passes, or from an allowed address.
    pub chosen: Rate,
    /// All other packets.
    pub open: Rate,
    /// The busiest patterns of `open`.
    pub busy: Vec<Busy>,
    /// The findings, with the most effective rule first.
    pub findings: Vec<Finding>,
}

/// A probable flood.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub pattern: Pattern,
    pub shape: &'static str,
    /// The rule that would stop it, without a name.
    pub rule: String,
    /// The packets that the rule would drop.
    pub takes: Rate,
    /// The share of all flood packets that the rule would drop, from 0 to 1.
    pub of_flood: f64,
    /// The share of client packets among the dropped ones.
    pub collateral: f64,
    /// The upper bound of `collateral`, with a confidence of 95 %.
    pub collateral_most: f64,
    /// The evidence for clients among the packets.
    pub evidence: Evidence,
}

/// Detects floods in packets with weights that were sampled within a time.
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

/// A pattern that may become a finding.
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
        let heavy = heavy.filter(|one| self.is_over_threshold(&one.rate));
        let candidates: Vec<_> = heavy.map(|heavy| self.candidate(heavy, rest)).collect();
        let most = candidates.iter().map(Candidate::worth).fold(f64::NEG_INFINITY, f64::max);
        // Without a pattern of positive worth, most packets are of clients; such findings are
        // listed too, with their collateral.
        let good = |one: &Candidate| match most > 0.0 {
            true => one.worth() >= ALIKE * most,
            false => true,
        };
        let widest = candidates.iter().filter(|one| good(one)).map(|one| one.heavy.rate.packets);
        let widest = widest.fold(0.0, f64::max);
        let specific =
            |one: &Candidate| good(one) && (most > 0.0 || one.heavy.rate.packets >= ALIKE * widest);
        candidates.into_iter().filter(specific).max_by(|a, b| {
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

    fn is_over_threshold(&self, rate: &Rate) -> bool {
        let pps = rate.packets / self.seconds;
        let enough = match self.settings.threshold {
            Threshold::Pps(least) => pps >= least as f64,
            Threshold::Share(part) => {
                rate.packets >= part * self.all.packets && pps >= Threshold::LEAST
            }
        };
        enough && rate.kept >= FEWEST
    }

    /// The finding, with all packets that its rule would drop, including those of other findings.
    fn finding(&self, best: &Candidate, open: &[(Packet, f64)], flood: f64) -> Finding {
        let Heavy { pattern, shape, .. } = best.heavy;
        let takes = total(open.iter().filter(|(packet, _)| pattern.holds(packet)));
        let Candidate { evidence, .. } = self.candidate(Heavy { rate: takes, ..best.heavy }, open);
        let collateral = evidence.part();
        let kept = takes.kept as f64;
        let spread = CONFIDENCE * (collateral * (1.0 - collateral) / kept).sqrt();
        let of_flood = takes.packets * (1.0 - evidence.clients) / flood.max(1.0);
        Finding {
            pattern,
            shape: Shape::ALL[shape].name,
            rule: self.settings.rule(&pattern),
            takes,
            of_flood: of_flood.min(1.0),
            collateral,
            // With no client among n packets, the share is below 3/n with a confidence of 95 %.
            collateral_most: (collateral + spread + 3.0 / kept).min(1.0),
            evidence,
        }
    }
}

impl Candidate {
    /// The number of flood packets that the rule drops, less a multiple of the client packets.
    fn worth(&self) -> f64 {
        let clients = self.evidence.part();
        self.heavy.rate.packets * ((1.0 - clients) - clients * WORTH_OF_A_CLIENT)
    }
}

impl Settings {
    /// Adds allowed addresses: `@set`, an address or a prefix.
    ///
    /// # Errors
    /// The text is none of these, or the set is unknown.
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

    /// The rule that drops the packets of a pattern, except those from allowed addresses.
    fn rule(&self, pattern: &Pattern) -> String {
        let action =
            Rule { name: String::new(), tests: Vec::new(), action: Action::DropFor(self.hold) };
        let overlapping = self.allowed.iter().filter(|(_, addresses)| overlaps(pattern, addresses));
        let except: String = overlapping.map(|(name, _)| format!(" from not {name}")).collect();
        format!("{} {}{except}", action.body(), pattern.words())
    }
}

impl Threshold {
    /// The lowest rate of a flood in packets per second, for any share.
    pub const LEAST: f64 = 1000.0;

    /// Parses a packet rate such as `50kpps`, or a share such as `20%`; neither can be zero.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(share) = quantity::share(text) {
            return (share > 0.0).then_some(Self::Share(share));
        }
        quantity::packet_rate(text)?.whole().filter(|pps| *pps > 0).map(Self::Pps)
    }

    /// The lowest rate, in packets per second, that can be over the threshold.
    pub fn least_pps(self) -> f64 {
        match self {
            Self::Pps(pps) => pps as f64,
            Self::Share(_) => Self::LEAST,
        }
    }
}

fn values(addresses: &Addresses, of: Address) -> &crate::Values {
    if of.is_ipv6 { &addresses.v6 } else { &addresses.v4 }
}

/// Whether packets from these addresses may have the pattern.
fn overlaps(pattern: &Pattern, addresses: &Addresses) -> bool {
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

/// Patterns per shape that become candidates.
const CANDIDATES: usize = 4;
/// The least sampled packets of a finding.
const FEWEST: usize = 20;
/// The share of the best value that counts as similar.
const ALIKE: f64 = 0.9;
/// The number of flood packets that outweigh one packet of a client.
const WORTH_OF_A_CLIENT: f64 = 10.0;
