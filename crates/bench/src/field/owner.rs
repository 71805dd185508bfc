//! Names for objects that other programs create for a run; they identify the owning process.

use anyhow::Result;
use sys::process::Process;

/// The name of this process: `xway-bench-PID-START`.
pub fn name() -> Result<String> {
    let Process { pid, started } = Process::of(std::process::id())?;
    Ok(format!("{PREFIX}{pid}-{started}"))
}

/// The prefix of all of these names.
pub(super) const PREFIX: &str = "xway-bench-";
