//! The processors of a measurement.

use anyhow::{Context, Result};

/// Two of the processors that this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// For the flood, and on veth for the kernels that it passes.
    pub sender: usize,
    /// For processes and threads that handle packets: another one, if there is any.
    pub process: usize,
}

impl Cpus {
    /// Selects the last and the first.
    pub fn here() -> Result<Self> {
        let cpus = sys::cpu::affinity()?;
        let sender = *cpus.last().context("no processor may be used")?;
        let process = *cpus.first().context("no processor may be used")?;
        Ok(Self { sender, process })
    }
}
