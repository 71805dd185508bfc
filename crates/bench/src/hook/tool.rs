//! External programs for settings that this project has no code for (`nft`, `iptables`), and `xway`
//! as users run it.
//!
//! Rule: they are searched for when they are needed, run where the rules are to be, and their error
//! messages are reported.

use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::process::{Child, Command, Stdio};
use std::thread::ScopedJoinHandle;

use anyhow::{Context, Result, bail, ensure};
use sys::priority::Priority;

use crate::field::{Field, Place};

/// A program, and where it runs.
pub struct Tool {
    program: String,
    place: Place,
    cpu: usize,
}

impl Tool {
    /// A tool for the receiver of a field.
    pub fn new(field: &Field, program: impl Into<String>) -> Self {
        Self::at(field.receiver.clone(), field.receiver_cpu, program)
    }

    /// A tool of the given place, processor and name.
    pub fn at(place: Place, cpu: usize, program: impl Into<String>) -> Self {
        Self { program: program.into(), place, cpu }
    }

    /// Runs it to its end; returns its output.
    ///
    /// # Errors
    /// There is no such program, or it fails; with the first lines that it printed.
    pub fn run<A: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = A>,
        input: &str,
    ) -> Result<String> {
        let program = &self.program;
        let mut command = self.place.command(program)?;
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.start(command)?;
        // It may end before it has read everything: then it prints the reason.
        let _unread = child.stdin.take().map(|mut pipe| pipe.write_all(input.as_bytes()));
        let output = child.wait_with_output().with_context(|| format!("waiting for {program}"))?;
        let printed = complaint(&String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{program}: {printed}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs on another processor than the sender and with high priority, because counters are read
    /// under a flood and packets that pass meanwhile are not known.
    fn start(&self, mut command: Command) -> Result<Child> {
        let spawn = || {
            sys::cpu::set_affinity(&[self.cpu])?;
            // Refused without CAP_SYS_NICE.
            let _unsteady = Priority::Nice(-20).give(0);
            Ok::<_, sys::Error>(command.spawn())
        };
        // A process has the processor and the priority of the thread that starts it.
        let started = std::thread::scope(|scope| {
            sys::thread::spawn_scoped(scope, "starter", spawn).map(ScopedJoinHandle::join)
        });
        let Ok(started) = started? else { bail!("{} could not be started", self.program) };
        match started? {
            Ok(child) => Ok(child),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("there is no {} in PATH: install it", self.program)
            }
            Err(error) => Err(error).with_context(|| format!("{} does not start", self.program)),
        }
    }
}

/// The relevant lines of an error message, without those that quote the input.
fn complaint(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<_> = lines.filter(|line| !line.starts_with('#')).collect();
    let errors = lines.iter().filter(|line| line.contains("rror"));
    let errors: Vec<_> = errors.copied().take(MOST).collect();
    let told = if errors.is_empty() { &lines[..lines.len().min(MOST)] } else { &errors[..] };
    told.join("; ")
}

/// Maximum number of lines of an error message.
const MOST: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_its_errors_or_its_first_lines() {
        let nft = "/dev/stdin:3:5-9: Error: Could not process rule: Operation not supported\n\
                   chain drop {\n      ^^^^\n";
        let legacy = "# Warning: tables present\n\
                      iptables v1.8.9 (legacy): can't initialize iptables table `raw': no table\n\
                      Perhaps iptables or your kernel needs to be upgraded.\n";
        let table = [
            (nft, "/dev/stdin:3:5-9: Error: Could not process rule: Operation not supported"),
            (
                legacy,
                "iptables v1.8.9 (legacy): can't initialize iptables table `raw': no table; \
                 Perhaps iptables or your kernel needs to be upgraded.",
            ),
            ("", ""),
        ];
        for (said, want) in table {
            assert_eq!(complaint(said), want);
        }
    }
}
