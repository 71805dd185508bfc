//! BIRD 2 in a host.

use lab::{Host, until};

use super::daemon::{Daemon, Folder, output, word};

/// A running BIRD; dropped, it is killed.
#[derive(Debug)]
pub struct Bird {
    host: Host,
    daemon: Daemon,
    folder: Folder,
}

impl Bird {
    /// Starts BIRD with this configuration, and waits until it answers. Names of files that are
    /// included are relative to the folder of the configuration.
    pub fn start(host: &Host, config: &str, included: &[(&str, &str)]) -> Self {
        super::require(super::BIRD, "bird2");
        let folder = Folder::new("bird");
        for (name, text) in included {
            folder.write(name, text);
        }
        let config = folder.write("bird.conf", config);
        let (socket, pid) = (folder.path("bird.ctl"), folder.path("bird.pid"));
        let mut command = host.command(super::BIRD).unwrap();
        command.args(["-f", "-c", word(&config), "-s", word(&socket), "-P", word(&pid)]);
        let mut daemon = Daemon::start(host, command, folder.path("log"));
        let ready = until("an answer of BIRD", START, || {
            daemon.assert_running();
            let mut status = host.command("/usr/sbin/birdc")?;
            status.args(["-s", word(&socket), "show", "status"]);
            Ok(output(status).contains("Daemon is up").then_some(()))
        });
        ready.unwrap_or_else(|error| panic!("{error}: {}", daemon.log()));
        Self { host: host.clone(), daemon, folder }
    }

    /// Runs a command of `birdc`; returns its output.
    pub fn run(&self, words: &str) -> String {
        let mut command = self.host.command("/usr/sbin/birdc").unwrap();
        command.args(["-s", word(&self.folder.path("bird.ctl"))]).args(words.split(' '));
        output(command)
    }

    pub fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// Withdraws the routes of a protocol.
    pub fn disable(&self, protocol: &str) {
        let answer = self.run(&format!("disable {protocol}"));
        assert!(answer.contains("disabled"), "{answer}");
    }

    /// Announces the routes of a protocol again.
    pub fn enable(&self, protocol: &str) {
        let answer = self.run(&format!("enable {protocol}"));
        assert!(answer.contains("enabled"), "{answer}");
    }
}

/// How long BIRD may take to read its configuration, which may have a million routes.
const START: std::time::Duration = std::time::Duration::from_secs(60);
