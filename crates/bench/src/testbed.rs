//! Where a scenario is measured: in a lab of its own, or on network cards that somebody named.

use anyhow::{Result, bail};

/// The default is a lab: namespaces and veth pairs that are made for it and removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Testbed {
    #[default]
    Lab,
    /// Interfaces of the caller's namespace; no other is touched.
    Nic { iface: String, peer: String },
}

impl Testbed {
    /// For scenarios that know only the lab.
    ///
    /// # Errors
    /// On anything else.
    pub fn lab_only(&self) -> Result<()> {
        match self {
            Self::Lab => Ok(()),
            Self::Nic { iface, .. } => {
                bail!("this scenario is measured in a lab alone, not on {iface}: leave --iface out")
            }
        }
    }
}
