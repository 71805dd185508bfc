//! The program under test, run from outside as users run it.
//!
//! Rule: each test has a state folder of its own, so that tests neither see nor sweep each
//! other's attachments; it goes with its bpffs when the test ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lab::Host;
use serde_json::Value;

use crate::built;

/// `xway --state FOLDER`.
#[derive(Debug)]
pub struct Xway {
    state: PathBuf,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Answer {
    /// -1 for a program that was killed.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Xway {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("xway-cli-{}-{number}", std::process::id());
        let state = std::env::temp_dir().join(name);
        fs::create_dir(&state).unwrap();
        Self { state }
    }

    /// With a state folder of the caller's choice, which is removed in the same way.
    pub fn at(state: PathBuf) -> Self {
        Self { state }
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.arg("--state").arg(&self.state).args(arguments);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command(arguments).output().unwrap())
    }

    /// Inside a host of a lab, not started yet.
    pub fn command_in(&self, host: &Host, arguments: &[&str]) -> Command {
        let mut command = host.command(program().to_str().unwrap()).unwrap();
        command.arg("--state").arg(&self.state).args(arguments);
        command
    }

    /// Runs a command in a host, to its end.
    pub fn run_in(&self, host: &Host, arguments: &[&str]) -> Answer {
        Answer::of(self.command_in(host, arguments).output().unwrap())
    }

    /// Starts a command in a host and kills it after `delay`; whether it was killed.
    pub fn kill_after(&self, host: &Host, arguments: &[&str], delay: Duration) -> bool {
        let mut command = self.command_in(host, arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        while start.elapsed() < delay && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        // One that has ended cannot be killed.
        let _ = child.kill();
        !child.wait().unwrap().success()
    }

    /// Runs a command to its end, as another user with exactly these capabilities.
    pub fn run_as(
        &self,
        host: &Host,
        user: u32,
        capabilities: &[&str],
        arguments: &[&str],
    ) -> Answer {
        let mut command = host.command("setpriv").unwrap();
        command.args([format!("--reuid={user}"), format!("--regid={user}")]);
        command.arg("--clear-groups");
        let listed: String = capabilities.iter().map(|name| format!(",+{name}")).collect();
        for set in ["--inh-caps", "--ambient-caps", "--bounding-set"] {
            command.arg(format!("{set}=-all{listed}"));
        }
        command.arg(program()).arg("--state").arg(&self.state).args(arguments);
        Answer::of(command.output().unwrap())
    }

    /// Runs a command to its end, as another user without capabilities, in this group alone.
    pub fn run_with_group(
        &self,
        host: &Host,
        user: u32,
        group: Option<u32>,
        arguments: &[&str],
    ) -> Answer {
        let mut command = host.command("setpriv").unwrap();
        command.args([format!("--reuid={user}"), format!("--regid={user}")]);
        match group {
            Some(group) => command.arg(format!("--groups={group}")),
            None => command.arg("--clear-groups"),
        };
        command.args(["--inh-caps=-all", "--bounding-set=-all"]);
        command.arg(program()).arg("--state").arg(&self.state).args(arguments);
        Answer::of(command.output().unwrap())
    }

    /// Runs a command without any capability, though as root.
    pub fn run_powerless(&self, arguments: &[&str]) -> Answer {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(program());
        command.arg("--state").arg(&self.state).args(arguments);
        Answer::of(command.output().unwrap())
    }
}

impl Default for Xway {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Xway {
    fn drop(&mut self) {
        let bpffs = self.state.join("bpf");
        if sys::mount::is_bpffs(&bpffs) {
            // A destructor cannot report, and the rest is in the temporary directory.
            let _ = sys::mount::unmount(&bpffs);
        }
        let _ = fs::remove_dir_all(&self.state);
    }
}

impl Answer {
    pub fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap_or(-1);
        Self { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// What it printed; it must have ended with `code`.
    #[track_caller]
    pub fn ended(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// Runs with `--json`.
    #[track_caller]
    pub fn json(self, code: i32) -> Value {
        let text = self.ended(code);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What it complained of: an error, exit code 2 and nothing on standard output.
    #[track_caller]
    pub fn error(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        self.stderr
    }
}

/// Ends a process as Ctrl-C does.
pub fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
}

/// A committed object, such as `drop.o` or `test/maps.o`.
pub fn prebuilt(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf/prebuilt").join(name)
}

fn program() -> PathBuf {
    built::program("xway", "xway")
}
