//! Where a scenario is measured: in a lab of its own, or on network cards named by the user.

use anyhow::{Result, bail};

/// The interfaces to measure on. The default is a lab of namespaces and veth pairs, which is
/// removed afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Testbed {
    #[default]
    Lab,
    /// Interfaces of the caller's namespace; no other is touched.
    Nic { iface: String, peer: String },
}

impl Testbed {
    /// Checks the testbed for a scenario that requires a lab.
    ///
    /// # Errors
    /// When it is not a lab.
    pub fn lab_only(&self) -> Result<()> {
        match self {
            Self::Lab => Ok(()),
            Self::Nic { iface, .. } => {
                bail!("this scenario requires a lab and cannot run on {iface}: omit --dev")
            }
        }
    }
}
