//! Which processor does what.

use anyhow::{Context, Result};

/// Of those that this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// Of a flood, and on veth of all kernels that it passes.
    pub sender: usize,
    /// Of processes and threads that handle packets: another one, if there is any.
    pub process: usize,
}

impl Cpus {
    /// The last and the first.
    pub fn here() -> Result<Self> {
        let cpus = sys::cpu::affinity()?;
        let sender = *cpus.last().context("no processor may be used")?;
        let process = *cpus.first().context("no processor may be used")?;
        Ok(Self { sender, process })
    }
}
