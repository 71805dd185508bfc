//! `xdp-trafficgen` of xdp-tools, where there is one.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use lab::TwoHosts;

/// Where the program is.
pub struct Peer {
    path: PathBuf,
}

/// A running sender, which is ended when dropped.
pub struct Sender {
    child: Child,
}

/// The reason when there is none.
pub const ABSENT: &str =
    "xdp-trafficgen is left out: it is not on the path, nor named by XDP_TRAFFICGEN";

impl Peer {
    /// Finds xdp-trafficgen in PATH.
    pub fn find() -> Option<Self> {
        let named = std::env::var_os("XDP_TRAFFICGEN").map(PathBuf::from);
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&folders).map(|folder| folder.join("xdp-trafficgen"));
        let path = named.into_iter().chain(found).find(|path| path.is_file())?;
        Some(Self { path })
    }

    /// Sends from this processor, to one port or to `ports` of them.
    pub fn start(&self, net: &TwoHosts, cpu: usize, ports: Option<u32>) -> Result<Sender> {
        let mut command = net.a.command(&self.path.to_string_lossy())?;
        let [own, other] = [&net.a, &net.b].map(|host| host.mac(super::LINK));
        let [source, target] = [&net.a, &net.b].map(|host| host.ipv6(super::LINK));
        command.args(["udp", super::LINK, "-p", "5000", "-n", "2000000000"]);
        command.args(["-M", &own?.to_string(), "-m", &other?.to_string()]);
        command.args(["-A", &source?.to_string(), "-a", &target?.to_string()]);
        if let Some(ports) = ports {
            command.args(["-d", &ports.to_string()]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The thread inside the host passes its processor to the process that it starts.
        let child = net.a.run(|| {
            sys::cpu::set_affinity(&[cpu])?;
            Ok::<Child, anyhow::Error>(net.a.start(command)?)
        })??;
        Ok(Sender { child })
    }
}

impl Sender {
    /// Whether the process has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // It takes its own program off the interface when it is interrupted.
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let begin = Instant::now();
        while self.is_running() && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const PATIENCE: Duration = Duration::from_secs(3);
