//! The programs that are measured: names, paths, and how they are started.
//!
//! Rule: each is a process of its own that speaks one protocol (`bench/peers/xsk/src/options.rs`,
//! `report.rs`), ours too.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use lab::Host;
use serde::Deserialize;
use sys::priority::Priority;

/// One implementation.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Name of the implementation in rows.
    pub name: &'static str,
    /// The program, with the arguments before the role.
    pub command: Vec<String>,
    /// How frames reach its socket.
    pub steering: Steer,
    /// Frames at a time.
    pub batch: u32,
}

/// How frames reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// It receives a map and adds its socket.
    Map,
    /// It attaches a program of its own.
    Own,
    /// It receives frames from the kernel's stack.
    Stack,
}

/// A process that has reported that it is ready.
pub struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

/// What it prints at its end; see `report.rs` of the peers.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// Frames that it sent.
    pub sent: u64,
    /// Frames that it received.
    pub received: u64,
    /// Numbers between the first and the last that did not arrive.
    pub missing: u64,
    /// Numbers that arrived more than once.
    pub duplicated: u64,
    /// Counted by the kernel for its socket.
    pub dropped: u64,
    /// Frames of these that found the peer's receive ring full.
    #[serde(default)]
    pub ring_full: u64,
    /// Length of its run.
    pub seconds: f64,
    pub user_ns: f64,
    /// System time of its process.
    pub system_ns: f64,
    /// Median of its round trips.
    #[serde(default)]
    pub p50_ns: f64,
    /// 99th percentile of its round trips.
    #[serde(default)]
    pub p99_ns: f64,
}

impl Peer {
    /// Starts it on a processor; returns when it is ready.
    pub fn start(&self, host: &Host, cpu: usize, words: &[String]) -> Result<Running> {
        let (program, before) = self.command.split_first().context("a peer without a program")?;
        let mut command = host.command(program)?;
        command.args(before).args(words);
        command.args(["--size", "60", "--batch", &self.batch.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = host.run(|| {
            sys::cpu::set_affinity(&[cpu])?;
            // As the generator's threads; refused without CAP_SYS_NICE.
            let _unsteady = Priority::Nice(-20).give(0);
            Ok::<Child, anyhow::Error>(host.start(command)?)
        })??;
        let lines = BufReader::new(child.stdout.take().context("a child without its stdout")?);
        let mut running = Running { child, lines };
        let line = running.line()?;
        ensure!(line.contains("\"ready\""), "{} is not ready, but printed {line:?}", self.name);
        Ok(running)
    }
}

impl Running {
    /// Waits for its end.
    pub fn finish(mut self) -> Result<Answer> {
        let line = self.line()?;
        Ok(serde_json::from_str(&line)?)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.lines.read_line(&mut line)? == 0 {
            let status = self.child.wait()?;
            bail!("it ended without an answer: {status}");
        }
        Ok(line)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After its answer it only has to close what it opened.
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const PATIENCE: Duration = Duration::from_secs(2);
