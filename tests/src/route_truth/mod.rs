//! The campaign `route-truth`: random routing tables, rules and packets, once through the kernel's
//! own router and once through ours. Both must send the same bytes out of the same port, the same
//! ICMP answer, or nothing.
//!
//! Rule: a run is determined by its seed. A round is one configuration and the packets that are
//! sent to it; case K is packet `K % ROUND` of round `K / ROUND`. Differences are compared with a
//! short list of reasons, and all are counted.

mod packets;
mod plan;
mod reason;
mod report;
mod seen;
mod tables;
mod twin;

use std::time::Duration;

use packet::hex;

use crate::differential::Rng;
use packets::Packet;
use reason::{Difference, signature};
use seen::{Outcome, details};
use tables::Tables;
use twin::Twin;

pub use reason::{REASONS, Reason};
pub use report::{Class, Report};

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub seed: u64,
    /// Number of packets, which is rounded up to whole rounds.
    pub packets: usize,
    /// Only this case.
    pub case: Option<usize>,
}

/// Packets of a round, which share a configuration.
pub const ROUND: usize = 250;

/// Runs the campaign; `progress` is called after each round.
///
/// # Errors
/// The routers cannot be built, or differ in their configuration.
pub fn run(options: &Options, progress: impl Fn(&Report)) -> Result<Report, String> {
    // Frames keep their order where one processor handles all of them.
    let cpus = sys::cpu::affinity().map_err(|error| error.to_string())?;
    sys::cpu::set_affinity(&cpus[..cpus.len().min(1)]).map_err(|error| error.to_string())?;
    let twin = Twin::build()?;
    let mut report = Report::default();
    let rounds = match options.case {
        Some(case) => case / ROUND..case / ROUND + 1,
        None => 0..options.packets.div_ceil(ROUND),
    };
    for number in rounds {
        let round = Round::random(options.seed, number, options.case);
        round.run(&twin, &mut report)?;
        progress(&report);
    }
    drop(twin);
    sys::cpu::set_affinity(&cpus).map_err(|error| error.to_string())?;
    Ok(report)
}

/// One configuration and its packets.
#[derive(Debug)]
struct Round {
    seed: u64,
    number: usize,
    tables: Tables,
    packets: Vec<Packet>,
}

impl Round {
    /// All packets, or those of one case alone.
    fn random(seed: u64, number: usize, case: Option<usize>) -> Self {
        let mut rng = Rng::new(seed ^ (number as u64) << 32);
        let tables = Tables::random(&mut rng);
        let first = number * ROUND;
        let packet = |tag| Packet::random(&mut rng, &tables, tag, first + usize::from(tag) - 1);
        let mut packets: Vec<_> = (1..=ROUND as u16).map(packet).collect();
        if let Some(case) = case {
            packets = vec![packets.swap_remove(case % ROUND)];
        }
        Self { seed, number, tables, packets }
    }

    /// Sends what differs again, because a difference is what a second time confirms. What has no
    /// listed reason is sent alone in the end: an ICMP error that waits for the neighbor for which
    /// other packets wait makes the kernel drop these silently.
    fn run(&self, twin: &Twin, report: &mut Report) -> Result<(), String> {
        twin.configure(&self.tables)?;
        report.packets += self.packets.len();
        let is_final = |reason: Option<&Reason>| reason.is_some_and(|one| one.is_by_nature);
        let all: Vec<&Packet> = self.packets.iter().collect();
        let again = self.attempt(twin, &all, SHORT, is_final, report)?;
        let alone = self.attempt(twin, &again, SHORT, |reason| reason.is_some(), report)?;
        for packet in alone {
            self.attempt(twin, &[packet], LONG, |_| true, report)?;
        }
        Ok(())
    }

    /// Sends packets and counts those that are the same, and differences that are final. Returns
    /// the others.
    fn attempt<'p>(
        &self,
        twin: &Twin,
        packets: &[&'p Packet],
        grace: Duration,
        is_final: impl Fn(Option<&Reason>) -> bool,
        report: &mut Report,
    ) -> Result<Vec<&'p Packet>, String> {
        if packets.is_empty() {
            return Ok(Vec::new());
        }
        let seen = twin.exchange(packets, grace)?;
        let (nothing, mut others) = (Outcome::new(), Vec::new());
        for packet in packets.iter().copied() {
            let kernel = seen.kernel.get(&packet.tag).unwrap_or(&nothing);
            let ours = seen.ours.get(&packet.tag).unwrap_or(&nothing);
            let case = self.number * ROUND + usize::from(packet.tag) - 1;
            let one = Difference { case, packet, tables: &self.tables, kernel, ours };
            let reason = reason::reason(&one);
            if kernel == ours {
                report.same += 1;
            } else if is_final(reason) {
                let name = reason.map_or_else(|| signature(&one), |one| one.name.to_owned());
                report.add(&name, case, || self.example(&one));
            } else {
                others.push(packet);
            }
        }
        Ok(others)
    }

    /// Everything that is needed to repeat a case by hand.
    fn example(&self, one: &Difference<'_>) -> String {
        let mut lines = vec![format!("--seed {} --case {}", self.seed, one.case)];
        lines.push(format!("fib_multipath_hash_policy {}", self.tables.hash_policy));
        let is_ipv6 = one.packet.frame.get(12..14) == Some(&[0x86, 0xdd]);
        let (option, commands) = self.tables.commands()[usize::from(is_ipv6)];
        lines.extend(commands.iter().map(|command| format!("ip {option} {command}")));
        lines.push(format!("packet to p0: {}", hex(&one.packet.frame)));
        for (name, outcome) in [("kernel", one.kernel), ("ours", one.ours)] {
            lines.push(format!("{name}: {}", if outcome.is_empty() { "silence" } else { "" }));
            lines.extend(details(outcome).into_iter().map(|line| format!("  {line}")));
        }
        lines.join("\n")
    }
}

/// How long an attempt waits for what only one router did, after the markers arrived.
const SHORT: Duration = Duration::from_millis(30);
const LONG: Duration = Duration::from_millis(300);
