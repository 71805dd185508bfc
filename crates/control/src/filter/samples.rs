//! `SampleReport`: packets that sampling rules chose, with the rules that decided them.

use filter::Ruleset;
use filter::runtime::samples::Sample;
use serde::Serialize;

use super::comparison::rule_or_reason;

/// Samples of an interface.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SampleReport {
    /// Name of the interface.
    pub interface: String,
    /// Time of the sampling, in seconds.
    pub seconds: f64,
    /// Samples.
    pub packets: u64,
    /// Packets that were to be sampled and found no room.
    pub lost: u64,
    /// Some of the samples.
    pub samples: Vec<SampledPacket>,
}

/// One packet.
#[derive(Clone, Debug, Serialize)]
pub struct SampledPacket {
    /// Seconds from the beginning.
    pub t: f64,
    /// The packet in a line, for people.
    pub packet: String,
    /// Length of the frame, in bytes.
    pub length: u32,
    /// Name of the rule that sampled it; `null` when it is not loaded any more.
    pub sampled_by: Option<String>,
    /// The verdict.
    pub verdict: &'static str,
    /// Name of the rule that decided; `null` when none did.
    pub rule: Option<String>,
    /// Reason for the verdict; `null` for one that is unknown here.
    pub reason: Option<&'static str>,
    /// Receive queue.
    pub queue: u32,
}

impl SampledPacket {
    /// Names the rules of a sample, which was read `t` seconds after the beginning; `packet` is the
    /// packet in a line.
    pub fn new(sample: &Sample, rules: &Ruleset, t: f64, packet: String) -> Self {
        let name = |number: u32| rules.rules.get(number as usize).map(|rule| rule.name.clone());
        Self {
            t,
            packet,
            length: sample.length,
            sampled_by: name(sample.rule),
            verdict: sample.verdict.name(),
            rule: sample.decided_by.and_then(name),
            reason: sample.reason.map(|reason| reason.label()),
            queue: sample.queue,
        }
    }

    /// Verdict and rules in a sentence.
    pub fn comment(&self) -> String {
        let by = rule_or_reason(self.rule.as_deref(), self.reason);
        let sampled_by = self.sampled_by.as_deref().unwrap_or("a removed rule");
        format!("{} by {by}, sampled by {sampled_by}", self.verdict)
    }
}
