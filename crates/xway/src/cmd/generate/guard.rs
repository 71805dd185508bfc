//! Protects the user's own SSH session: traffic that could flood the interface that carries it is
//! refused without `--force`.

use anyhow::{Result, bail};
use control::session;
use traffic::Rate;

/// Refuses a rate above [`GENTLE_PPS`] or [`GENTLE_BPS`] on the interface that carries this
/// process's session. `bytes` is the mean length of a frame.
pub fn check(dev: &str, peak: Rate, bytes: f64) -> Result<()> {
    if is_gentle(peak, bytes) {
        return Ok(());
    }
    if let Some(client) = session::client_on(dev)? {
        bail!(
            "{dev} carries your own SSH session (from {client}): a rate above {GENTLE_PPS} frames \
             or {} Mbit per second could interrupt it; choose a lower --rate or another --dev, or \
             add --force",
            GENTLE_BPS / 1e6,
        );
    }
    Ok(())
}

fn is_gentle(peak: Rate, bytes: f64) -> bool {
    let (pps, bps) = match peak {
        Rate::PacketsPerSecond(pps) => (pps, pps * bytes * 8.0),
        Rate::BitsPerSecond(bps) => (bps / (bytes.max(1.0) * 8.0), bps),
        Rate::Max => return false,
    };
    pps <= GENTLE_PPS && bps <= GENTLE_BPS
}

/// Frames per second that do not disturb a session.
const GENTLE_PPS: f64 = 10_000.0;
/// Bits per second that do not disturb a session.
const GENTLE_BPS: f64 = 10e6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_rates_are_allowed() {
        for (rate, bytes, gentle) in [
            (Rate::Max, 60.0, false),
            (Rate::PacketsPerSecond(10_000.0), 60.0, true),
            (Rate::PacketsPerSecond(10_001.0), 60.0, false),
            (Rate::PacketsPerSecond(10_000.0), 1514.0, false),
            (Rate::BitsPerSecond(1e6), 60.0, true),
            (Rate::BitsPerSecond(1e9), 1514.0, false),
        ] {
            assert_eq!(is_gentle(rate, bytes), gentle, "{rate:?} of {bytes} bytes");
        }
    }
}
