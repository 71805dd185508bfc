//! What a plan reports about a scan before it begins.

use std::net::{IpAddr, SocketAddr};

use serde::{Serialize, Serializer};

use super::answer::{Answer, Reason};
use super::{Counts, Plan};

/// What a scan would send.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// Addresses that are probed, by all shards.
    #[serde(serialize_with = "number")]
    pub targets: u128,
    /// Addresses that were named and are excluded.
    #[serde(serialize_with = "number")]
    pub blocked: u128,
    /// Probes of this shard in one pass.
    #[serde(serialize_with = "number")]
    pub packets: u128,
    /// Time for these at the rate, in seconds.
    pub seconds: f64,
    /// Bytes of the tables of targets.
    pub memory: u64,
    /// Expected probes a second to the /24 of IPv4 or the /48 of IPv6 that has the most targets.
    pub per_prefix: f64,
}

impl PlanReport {
    /// A plan at a rate in probes a second.
    pub fn new(plan: &Plan, rate_pps: f64) -> Self {
        Self {
            targets: plan.space().len(),
            blocked: plan.space().blocked(),
            packets: plan.len(),
            seconds: plan.time(rate_pps).as_secs_f64(),
            memory: plan.space().memory(),
            per_prefix: plan.rate_in_network(rate_pps),
        }
    }
}

/// A target as a line of a list.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TargetLine {
    /// The address.
    pub ip: IpAddr,
    /// `null` for scans without ports.
    pub port: Option<u16>,
}

impl From<SocketAddr> for TargetLine {
    fn from(target: SocketAddr) -> Self {
        Self { ip: target.ip(), port: Some(target.port()).filter(|port| *port > 0) }
    }
}

/// An answer as a line.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerLine {
    /// The target.
    pub ip: IpAddr,
    /// `null` for scans without ports.
    pub port: Option<u16>,
    /// `open`, `closed` or `unreachable`.
    pub state: &'static str,
    /// Sender of the answer, if it is not the target.
    pub from: Option<IpAddr>,
    /// Type and code of an ICMP error.
    pub icmp: Option<(u8, u8)>,
    /// Number of the pass.
    pub pass: u64,
}

impl AnswerLine {
    pub fn new(answer: &Answer, pass: u64) -> Self {
        let TargetLine { ip, port } = answer.target.into();
        Self {
            ip,
            port,
            state: answer.state.label(),
            from: Some(answer.from).filter(|from| *from != ip),
            icmp: answer.icmp,
            pass,
        }
    }
}

/// The result of a scan.
#[derive(Clone, Debug, Serialize)]
pub struct ScanReport {
    /// Probes that were planned.
    pub targets: u64,
    /// Probes that the interface accepted.
    pub sent: u64,
    /// Probes that it rejected, or that were not made because the scan was interrupted.
    pub not_sent: u64,
    /// Genuine answers, one of each target.
    pub answers: u64,
    /// Answers of open ports, and of hosts that answered UDP or echo requests.
    pub open: u64,
    /// Answers of closed ports.
    pub closed: u64,
    /// ICMP errors about probes.
    pub unreachable: u64,
    /// Packets in the form of an answer, but without the cookie.
    #[serde(rename = "false")]
    pub forged: u64,
    /// Further answers of targets that had answered.
    pub doubled: u64,
    /// Answers that were lost on this host, because they were not read in time.
    pub lost_here: u64,
    /// Time from the start to the end, with the wait for answers.
    pub seconds: f64,
}

impl ScanReport {
    /// The result of a scan of a number of probes.
    pub fn new(targets: u64, counts: &Counts, seconds: f64) -> Self {
        let of = |reason: Reason| counts.arrived.get(reason.label()).copied().unwrap_or(0);
        let (open, closed) = (of(Reason::Open), of(Reason::Closed));
        let unreachable = of(Reason::Unreachable);
        Self {
            targets,
            sent: counts.sent,
            not_sent: targets.saturating_sub(counts.sent),
            answers: open + closed + unreachable,
            open,
            closed,
            unreachable,
            forged: of(Reason::False),
            doubled: of(Reason::Doubled),
            lost_here: of(Reason::RingFull),
            seconds,
        }
    }
}

/// JSON has no integers above 64 bits, so larger numbers are rounded.
fn number<S: Serializer>(number: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    match u64::try_from(*number) {
        Ok(number) => serializer.serialize_u64(number),
        Err(_) => serializer.serialize_f64(*number as f64),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Key, Reach, Shard, Targets};
    use super::*;

    fn report(text: &str, ports: &[u16], rate_pps: f64) -> serde_json::Value {
        let mut targets = Targets::default();
        targets.set_reach(Reach::Public);
        targets.add(text).unwrap();
        targets.exclude("2600:1::/32").unwrap();
        let (space, key) = (targets.build().unwrap(), Key::from_seed(1));
        let plan = Plan::new(space, ports.to_vec(), key, 0, Shard::ALL).unwrap();
        serde_json::to_value(PlanReport::new(&plan, rate_pps)).unwrap()
    }

    #[test]
    fn numbers_and_their_units() {
        let found = report("11.0.0.0/16", &[80, 443], 25_600.0);
        let memory = found["memory"].as_u64().unwrap();
        let want = json!({
            "targets": 65536, "blocked": 0, "packets": 131_072, "seconds": 5.12, "memory": memory,
            "per_prefix": 100.0,
        });
        assert!(found == want && memory < 200, "{found}");
    }

    #[test]
    fn large_numbers_are_rounded() {
        let found = report("2600::/31", &[], 1.0);
        assert_eq!(found["targets"], json!(2_f64.powi(96)));
        assert_eq!(found["blocked"], json!(2_f64.powi(96)));
    }
}
