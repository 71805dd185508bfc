//! `xdp-trafficgen tcp`: one flow over IPv6, without congestion control.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use lab::TwoHosts;

use super::LINK;
use super::judge::{self, Judge};

/// Payload that arrives, in bits a second.
pub fn measure(program: &Path, net: &TwoHosts, window: Duration) -> Result<f64> {
    let ip = net.b.ipv6(LINK)?;
    let judge = Judge::start(&net.b, ip.into(), 1)?;
    let mut command = net.a.command(&program.to_string_lossy())?;
    command.args(["tcp", "-i", LINK, &ip.to_string(), "-p", &judge::PORT.to_string()]);
    // It asks for a dispatcher of several programs otherwise, which not every kernel loads.
    command.env("LIBXDP_SKIP_DISPATCHER", "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = net.a.start(command)?;
    let goodput = judge.goodput(window, || child.try_wait().is_ok_and(|ended| ended.is_none()));
    end(&mut child)?;
    judge.join()?;
    goodput
}

/// Asks it to go, so that it takes its program off the interface.
fn end(child: &mut Child) -> Result<()> {
    let stopped = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    ensure!(stopped.success(), "xdp-trafficgen ended early");
    let deadline = Instant::now() + judge::START;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    ensure!(Instant::now() <= deadline, "xdp-trafficgen did not end when interrupted");
    Ok(())
}
