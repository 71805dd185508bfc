//! `Moment`: when connections moved from one balancer to another.

use std::time::{Duration, Instant};

/// When connections moved from one balancer to another, because it died or returned.
///
/// Balancers send each other the flows that they remember, not the notes of handshakes that are in
/// progress, and not before they know them. So a connection that began shortly before the moment
/// may be unknown to the balancer that has it afterwards, which takes it for an older one. It is
/// reset, unless its backend gives it a second chance. Only another packet on the path of each
/// handshake could prevent that.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub at: Instant,
    /// What happened.
    pub what: &'static str,
}

impl Moment {
    pub fn now(what: &'static str) -> Self {
        Self { at: Instant::now(), what }
    }

    /// Why a connection that began then may be unknown after the moment; `None` for an earlier or a
    /// later one.
    pub fn excuse(&self, began: Instant) -> Option<String> {
        let before = self.at.checked_duration_since(began)?;
        let is_known = before > INTERVAL;
        (!is_known).then(|| format!("began {} ms before {}", before.as_millis(), self.what))
    }
}

/// The longest time between two readings of flows, and as much for what they wait for.
const INTERVAL: Duration = Duration::from_millis(1000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_interval_is_excused() {
        let moment = Moment::now("a death");
        let before = |ms| moment.at.checked_sub(Duration::from_millis(ms)).unwrap();
        assert_eq!(moment.excuse(before(40)).unwrap(), "began 40 ms before a death");
        assert_eq!(moment.excuse(before(1001)), None);
        assert_eq!(moment.excuse(moment.at + Duration::from_millis(1)), None);
    }
}
