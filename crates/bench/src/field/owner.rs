//! Names for what other programs set up for a run: they hold the process that owns it.

use anyhow::Result;
use sys::process::Process;

/// The name of this process: `xway-bench-PID-START`.
pub fn name() -> Result<String> {
    let Process { pid, started } = Process::of(std::process::id())?;
    Ok(format!("{PREFIX}{pid}-{started}"))
}

/// How all of these names begin.
pub(super) const PREFIX: &str = "xway-bench-";
