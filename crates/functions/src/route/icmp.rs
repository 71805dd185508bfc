//! ICMP errors that the program sends itself, and their limits.

use serde::{Deserialize, Serialize};
use spec::Spec;

use super::extension;

/// The limits of ICMP errors. A message over a limit is not sent, and its packet is dropped, as by
/// the kernel's own router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IcmpErrors {
    /// Off: packets whose senders must get an error go to the stack, which sends it.
    pub send: bool,
    /// To each network of receivers: IPv4 /24, IPv6 /48.
    pub prefix: IcmpRate,
    /// To all receivers.
    pub total: IcmpRate,
    /// Errors name the interface that the packet came in from (RFC 5837), in an extension of
    /// RFC 4884.
    pub extensions: bool,
}

/// A token bucket of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IcmpRate {
    /// Messages a second; 0 for no limit.
    pub rate_pps: u32,
    /// Messages that may follow each other immediately, after a pause.
    pub burst: u32,
}

impl Default for IcmpErrors {
    fn default() -> Self {
        Self {
            send: true,
            prefix: IcmpRate { rate_pps: 100, burst: 100 },
            total: IcmpRate { rate_pps: 10_000, burst: 1000 },
            extensions: false,
        }
    }
}

impl IcmpErrors {
    /// All errors are sent.
    pub const UNLIMITED: Self = {
        let unlimited = IcmpRate { rate_pps: 0, burst: 0 };
        Self { send: true, prefix: unlimited, total: unlimited, extensions: false }
    };

    /// Sets the program's globals.
    pub(super) fn apply(self, spec: &mut Spec) -> Result<(), spec::Error> {
        spec.set_global("route_icmp_errors", &u32::from(self.send).to_le_bytes())?;
        let extensions = u32::from(self.extensions).to_le_bytes();
        spec.set_global("route_icmp_extensions", &extensions)?;
        if self.extensions {
            extension::size(spec);
        }
        for (name, rate) in [("prefix", self.prefix), ("total", self.total)] {
            let (cost, burst) = rate.times();
            spec.set_global(&format!("route_icmp_{name}_cost"), &cost.to_le_bytes())?;
            spec.set_global(&format!("route_icmp_{name}_burst"), &burst.to_le_bytes())?;
        }
        Ok(())
    }
}

impl IcmpRate {
    /// Nanoseconds that a message costs, and that a full bucket has: at least one message.
    fn times(self) -> (u64, u64) {
        let cost = SECOND.checked_div(u64::from(self.rate_pps)).unwrap_or(0);
        (cost, cost * u64::from(self.burst.max(1)))
    }
}

const SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_become_times() {
        let times = |rate_pps, burst| IcmpRate { rate_pps, burst }.times();
        assert_eq!(times(100, 50), (10_000_000, 500_000_000));
        assert_eq!(times(1, 0), (SECOND, SECOND));
        assert_eq!(times(0, 50), (0, 0));
        assert_eq!(times(u32::MAX, u32::MAX).0, 0, "a rate above the clock's is not limited");
    }

    #[test]
    fn files_state_only_what_differs() {
        let text = r#"{"total": {"rate_pps": 5, "burst": 6}}"#;
        let errors: IcmpErrors = serde_json::from_str(text).unwrap();
        let total = IcmpRate { rate_pps: 5, burst: 6 };
        assert_eq!(errors, IcmpErrors { total, ..IcmpErrors::default() });
        assert!(serde_json::from_str::<IcmpErrors>(r#"{"rate": 1}"#).is_err());
    }
}
