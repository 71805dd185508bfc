//! FRR in a host: zebra, and the daemons of protocols that speak to it.

use std::fs;
use std::path::Path;

use lab::{Host, until};

use super::daemon::{Daemon, Folder, output, word};
use crate::stage::PATIENCE;

/// Running daemons of FRR; dropped, they are killed.
#[derive(Debug)]
pub struct Frr {
    host: Host,
    daemons: Vec<(String, Daemon)>,
    folder: Folder,
}

impl Frr {
    /// Starts zebra, then the daemons of these names, all with the same configuration, and waits
    /// until each answers.
    pub fn start(host: &Host, daemons: &[&str], config: &str) -> Self {
        super::require(&format!("{}/zebra", super::FRR), "frr");
        let mut this = Self { host: host.clone(), daemons: Vec::new(), folder: Folder::new("frr") };
        this.folder.write("frr.conf", config);
        // They give up the rights of root after their start.
        let mut owner = std::process::Command::new("chown");
        assert!(owner.args(["frr:frr", word(&this.folder.path(""))]).status().unwrap().success());
        for name in ["zebra"].iter().chain(daemons) {
            this.start_one(name);
        }
        this
    }

    fn start_one(&mut self, name: &str) {
        let folder = &self.folder;
        let mut command = self.host.command(&format!("{}/{name}", super::FRR)).unwrap();
        command.args(["-f", word(&folder.path("frr.conf"))]);
        command.args(["-i", word(&folder.path(&format!("{name}.pid")))]);
        command.args(["-z", word(&folder.path("zserv.api"))]);
        command.args(["--vty_socket", word(&folder.path(""))]);
        // No TCP port for the console.
        command.args(["-P", "0"]);
        let mut daemon = Daemon::start(&self.host, command, folder.path(&format!("{name}.log")));
        let socket = folder.path(&format!("{name}.vty"));
        let ready = until(&format!("the socket of {name}"), PATIENCE, || {
            daemon.assert_running();
            Ok(socket.exists().then_some(()))
        });
        ready.unwrap_or_else(|error| panic!("{error}: {}", daemon.log()));
        self.daemons.push((name.to_owned(), daemon));
    }

    /// Names and process numbers of the daemons.
    pub fn pids(&self) -> impl Iterator<Item = (&str, u32)> {
        self.daemons.iter().map(|(name, daemon)| (name.as_str(), daemon.pid()))
    }

    /// Runs commands of `vtysh`, one after another; returns their output.
    pub fn run(&self, commands: &[&str]) -> String {
        let mut command = self.host.command("/usr/bin/vtysh").unwrap();
        command.args(["--vty_socket", word(&self.folder.path(""))]);
        command.args(commands.iter().flat_map(|one| ["-c", one]));
        output(command)
    }
}

impl Drop for Frr {
    fn drop(&mut self) {
        for (name, daemon) in self.daemons.drain(..).rev() {
            let left = format!("/var/tmp/frr/{name}.{}", daemon.pid());
            drop(daemon);
            // FRR makes this folder for messages of a crash, wherever its other files are.
            let _ = fs::remove_dir_all(Path::new(&left));
        }
    }
}
