//! Why a turn came to nothing although nothing is wrong with its arm: the sender was held up, a
//! process was given no time.
//!
//! Rule: only for what may be gone at the next try. The harness tries such a turn again; any other
//! fault ends the arm.

use std::fmt;

/// An error to fail a turn with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transient(String);

impl Transient {
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    /// Whether a turn that failed so is worth another try.
    pub fn is_reason_of(fault: &anyhow::Error) -> bool {
        fault.is::<Self>()
    }
}

impl fmt::Display for Transient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Transient {}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn it_is_known_behind_whatever_else_is_said() {
        let fault = anyhow::Error::new(Transient::new("the sender was late"));
        assert!(Transient::is_reason_of(&fault));
        let told: anyhow::Result<()> = Err(fault).context("round trip").context("client");
        assert!(Transient::is_reason_of(&told.unwrap_err()));
        assert!(!Transient::is_reason_of(&anyhow::anyhow!("the sender was late")));
    }
}
