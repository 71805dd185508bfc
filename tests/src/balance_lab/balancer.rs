//! A balancer: its host, its commands, and its process that synchronizes.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use lab::Host;
use serde_json::Value;

use crate::xway::{Xway, interrupt};

#[derive(Debug)]
pub struct Balancer {
    pub host: Host,
    /// Interfaces towards the backends.
    pub out: Vec<String>,
    has_peers: bool,
    /// Dropped while the host is dead.
    xway: Option<Xway>,
    sync: Option<Child>,
}

impl Balancer {
    pub fn new(host: Host, backends: usize, has_peers: bool) -> Self {
        let out = (0..backends).map(interface).collect();
        Self { host, out, has_peers, xway: Some(Xway::new()), sync: None }
    }

    pub fn is_alive(&self) -> bool {
        self.xway.is_some()
    }

    fn xway(&self) -> &Xway {
        self.xway.as_ref().expect("a balancer that lives")
    }

    /// Loads services, or changes those that run.
    pub fn load(&self, services: &str, wait_sync: &str) {
        let words = self.words(services, wait_sync);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        self.xway().run_in(&self.host, &words).ended(0);
    }

    /// As above, but killed after a time; whether it was killed before its end.
    pub fn load_and_kill(&self, services: &str, delay: Duration) -> bool {
        let words = self.words(services, super::NO_WAIT);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        self.xway().kill_after(&self.host, &words, delay)
    }

    fn words(&self, services: &str, wait_sync: &str) -> Vec<String> {
        let file = self.write("services.toml", services);
        self.write("sync.key", "a secret of all balancers");
        let file = file.to_str().unwrap();
        let words = ["balance", "load", "left", file, "--wait-sync", wait_sync];
        let mut words = words.map(str::to_owned).to_vec();
        for out in &self.out {
            words.extend(["--out".to_owned(), out.clone()]);
        }
        words
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::create_dir_all(self.xway().state()).unwrap();
        let path = self.xway().state().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Starts the exchange of flows, if there are other balancers.
    pub fn synchronize(&mut self) {
        if self.has_peers {
            let words = ["balance", "sync", "left"];
            let mut command = self.xway().command_in(&self.host, &words);
            let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            self.sync = Some(child);
        }
    }

    /// Its links go down, and what it knew is lost.
    pub fn die(&mut self) {
        if let Some(sync) = &mut self.sync {
            sync.kill().unwrap();
        }
        self.set_links(false);
        self.stop_sync();
        let xway = self.xway.take().expect("a balancer that lives");
        xway.run_in(&self.host, &["detach", "left"]).ended(0);
    }

    /// Its links are up again; nothing runs on it.
    pub fn boot(&mut self) {
        self.xway = Some(Xway::new());
        self.set_links(true);
    }

    fn set_links(&self, up: bool) {
        let mut netlink = self.host.netlink().unwrap();
        for name in ["left", "sync"].into_iter().chain(self.out.iter().map(String::as_str)) {
            let ifindex = netlink.link(name).unwrap().ifindex;
            netlink.set_up(ifindex, up).unwrap();
        }
    }

    fn stop_sync(&mut self) {
        if let Some(mut sync) = self.sync.take() {
            // One that has ended cannot be killed.
            let _ = sync.kill();
            let _ = sync.wait();
        }
    }

    fn shown(&self) -> Value {
        let shown = self.xway().run_in(&self.host, &["--json", "balance", "show"]).json(0);
        shown["balancers"][0].clone()
    }

    /// What the memory of flows did.
    pub fn events(&self) -> Value {
        self.shown()["events"].clone()
    }

    /// Number of remembered flows; those of backends that are down end, and are not sent.
    pub fn flows(&self) -> u64 {
        let shown = self.shown();
        let backends = shown["services"][0]["backends"].as_array().unwrap();
        let used = backends.iter().filter(|one| one["state"] != "down");
        used.map(|one| one["flows"].as_u64().unwrap()).sum()
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        if let Some(sync) = &self.sync {
            interrupt(sync);
        }
        self.stop_sync();
    }
}

/// The interface towards a backend.
pub fn interface(number: usize) -> String {
    format!("to{number}")
}
