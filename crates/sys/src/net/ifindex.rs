//! `Ifindex`: the number by which the kernel knows an interface.

use std::fmt;

/// Number of an interface inside its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ifindex(pub u32);

impl fmt::Display for Ifindex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Default for Ifindex {
    /// Zero: no interface.
    fn default() -> Self {
        Self(0)
    }
}
