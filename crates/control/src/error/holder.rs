//! `Holder`: the process that holds a lock.

use std::fmt;
use std::path::Path;

/// The process that holds a lock, as far as the lock file names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process id and command; `None` if the file names none, or a process that has ended.
    process: Option<(u32, String)>,
}

impl Holder {
    /// Reads the text of a lock file: process id and command in its first line.
    pub(crate) fn parse(text: &str) -> Self {
        Self { process: running_process(text) }
    }

    /// Whether the process is known.
    pub(crate) fn is_known(&self) -> bool {
        self.process.is_some()
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.process {
            Some((pid, command)) => write!(f, "process {pid} (`{command}`)"),
            None => f.write_str("another xway"),
        }
    }
}

fn running_process(text: &str) -> Option<(u32, String)> {
    let (pid, command) = text.lines().next()?.split_once(' ')?;
    let pid = pid.parse().ok()?;
    Path::new("/proc").join(format!("{pid}")).exists().then(|| (pid, command.to_owned()))
}
