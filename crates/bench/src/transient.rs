//! Why a turn has no value although its arm works: the sender or another process was delayed.
//!
//! Rule: only for causes that may be gone at the next try. The harness repeats such a turn; any
//! other error ends the arm.

use std::time::Duration;

/// The cause of a failed turn that is worth repeating.
#[derive(Debug, thiserror::Error)]
pub enum Transient {
    #[error("no frame arrived in the window")]
    NoFrames,
    #[error("the sender was to send {wanted} a second and sent {sent:.0}")]
    Rate { wanted: u64, sent: f64 },
    #[error("{percent:.0} % are lost")]
    Loss { percent: f64 },
    #[error("{arrived} packets arrived in {waited:?}, and no more")]
    Stalled { arrived: u64, waited: Duration },
    #[error("too few packets in {waited:.1?}")]
    TooFew { waited: Duration },
    #[error("no packet ended at the hook: is another program attached?")]
    NoneEnded,
    #[error("the flood was delayed: {packets} packets in {seconds:.2} s")]
    FloodDelayed { packets: u64, seconds: f64 },
    #[error("the sender's counters are not available: {reason}")]
    NoCounters { reason: String },
    /// A condition was not met in time.
    #[error(transparent)]
    Timeout(#[from] lab::Error),
}

impl Transient {
    /// Whether a turn that failed with this error is worth repeating.
    pub fn is_reason_of(error: &anyhow::Error) -> bool {
        error.is::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn it_is_known_behind_whatever_else_is_said() {
        let fault = anyhow::Error::new(Transient::NoFrames);
        assert!(Transient::is_reason_of(&fault));
        let told: anyhow::Result<()> = Err(fault).context("round trip").context("client");
        assert!(Transient::is_reason_of(&told.unwrap_err()));
        assert!(!Transient::is_reason_of(&anyhow::anyhow!("the sender was late")));
    }
}
