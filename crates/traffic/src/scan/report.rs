//! What a plan reports about a scan before it begins.

use std::net::{IpAddr, SocketAddr};

use serde::{Serialize, Serializer};

use super::Plan;

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
    pub ip: IpAddr,
    /// `null` for scans without ports.
    pub port: Option<u16>,
}

impl From<SocketAddr> for TargetLine {
    fn from(target: SocketAddr) -> Self {
        Self { ip: target.ip(), port: Some(target.port()).filter(|port| *port > 0) }
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
