//! Who can run a case.

use anyhow::{Result, bail};

use super::case::Case;
use super::interp::Interp;
use super::kernel::Kernel;

/// Something that runs programs. `Err` is the reason why it did not, or did not to the end.
pub trait Engine {
    /// Runs with r1 at the memory and r2 its number of bytes, and tells what r0 then holds.
    fn run(&mut self, case: &Case) -> Result<u64, String>;
}

pub fn named(name: &str) -> Result<Box<dyn Engine>> {
    match name {
        "interp" => Ok(Box::new(Interp)),
        "kernel" => Ok(Box::new(Kernel)),
        _ => bail!("`{name}` is no engine: interp or kernel"),
    }
}
