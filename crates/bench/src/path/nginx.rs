//! nginx as a proxy for UDP: a widely used proxy with its defaults.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path as FilePath, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{ActivePath, Journey, Path};
use crate::field::{Line, PORT};

/// nginx as a UDP proxy.
pub const NGINX: Path = Path {
    name: "nginx",
    about: "user space: nginx with its stream module, one worker",
    journey: Journey::Translated,
    set: |line| Ok(Box::new(Server::start(line)?)),
};

/// Killed when dropped, with its folder.
struct Server {
    folder: PathBuf,
    child: Child,
}

impl Server {
    fn start(line: &Line) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("{}-nginx", line.forwarder.netns().name()));
        // Fails on a directory that another user prepared; no other user can enter this one.
        let created = fs::DirBuilder::new().mode(0o700).create(&folder);
        created.with_context(|| folder.display().to_string())?;
        let started = Self::spawn(line, &folder);
        let child = started.inspect_err(|_| remove(&folder))?;
        sys::cpu::set_affinity_of(child.id(), &[line.cpus.process])?;
        let mut server = Self { folder, child };
        let pid = server.folder.join(PID);
        lab::until("nginx", PATIENCE, || {
            let is_up = fs::read(&pid).is_ok_and(|text| !text.is_empty());
            Ok((is_up || server.has_ended()).then_some(()))
        })?;
        server.check()?;
        Ok(server)
    }

    fn spawn(line: &Line, folder: &FilePath) -> Result<Child> {
        let file = folder.join("nginx.conf");
        fs::write(&file, configuration(line, folder)?)?;
        let mut command = line.forwarder.command("nginx")?;
        command.arg("-p").arg(folder).arg("-c").arg(file).arg("-e").arg(folder.join(LOG));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let packages = "nginx does not start: install nginx-light and libnginx-mod-stream";
        line.forwarder.start(command).context(packages)
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

/// One process in the foreground; the module is a separate file in Debian.
fn configuration(line: &Line, folder: &FilePath) -> Result<String> {
    let load = match FilePath::new(MODULE).exists() {
        true => format!("load_module {MODULE};"),
        false => String::new(),
    };
    let (own, sink) = (line.near.ipv4()?, line.sink.ipv4()?);
    let (pid, log) = (folder.join(PID), folder.join(LOG));
    Ok(format!(
        "{load} daemon off; master_process off; pid {}; error_log {} crit;\n\
         events {{ worker_connections 64; }}\n\
         stream {{ server {{ listen {own}:{PORT} udp; proxy_pass {sink}:{PORT}; }} }}\n",
        pid.display(),
        log.display()
    ))
}

impl ActivePath for Server {
    fn check(&mut self) -> Result<()> {
        if !self.has_ended() {
            return Ok(());
        }
        let log = fs::read_to_string(self.folder.join(LOG)).unwrap_or_default();
        bail!("nginx ended: {}", log.lines().next().unwrap_or("without a message"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; the lab kills the rest.
        let _ = self.child.kill();
        let _ = self.child.wait();
        remove(&self.folder);
    }
}

fn remove(folder: &FilePath) {
    // It is in the directory for temporary files, which the system cleans.
    let _ = fs::remove_dir_all(folder);
}

const MODULE: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";
const PID: &str = "pid";
const LOG: &str = "log";
const PATIENCE: Duration = Duration::from_secs(5);
