//! A process of a lab host with its folder: killed and removed when it is dropped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use lab::Host;

/// A folder below the temporary directory, which is removed with this value.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(purpose: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("xway-{purpose}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file; returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A destructor cannot report, and the rest is in the temporary directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process that runs until this is dropped.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Starts a command in a host; its output goes to a file.
    pub fn start(host: &Host, mut command: Command, log: PathBuf) -> Self {
        let file = File::create(&log).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        Self { child: host.start(command).unwrap(), log }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote, as the cause of a failure.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Fails with its output, if it has ended.
    pub fn assert_running(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            panic!("a routing daemon ended ({status}): {}", self.log());
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processor time that a process has used.
pub fn cpu_seconds(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name, in parentheses, may have spaces. `utime` and `stime` are fields 14 and 15.
    let fields = text.rsplit_once(')').unwrap().1.split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
    ticks as f64 / TICKS
}

/// Output of a command, whatever its exit code.
pub fn output(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The path as an argument.
pub fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// `USER_HZ`, the unit of times in `/proc`.
const TICKS: f64 = 100.0;
