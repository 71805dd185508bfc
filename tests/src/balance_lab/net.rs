//! The hosts of the campaign, the balancer's commands, and the flood.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Stdio};
use std::time::Duration;

use lab::{Host, Lab};
use serde_json::Value;
use sys::net::NewAddress;

use super::{PORT, SERVICE};
use crate::routing::{connect, default_route};
use crate::xway::{Answer, Xway, interrupt};

#[derive(Debug)]
pub struct Net {
    pub client: Host,
    pub balancer: Host,
    pub servers: Vec<Host>,
    _lab: Lab,
}

/// A flood that runs.
#[derive(Debug)]
pub struct Flood {
    generator: Child,
    /// The state of the generator, and of the filters before the backends.
    _states: Vec<Xway>,
}

impl Net {
    pub fn build(backends: usize) -> Self {
        let mut lab = Lab::new().unwrap();
        let [client, balancer] = ["client", "balancer"].map(|name| lab.add_host(name).unwrap());
        balancer.set_sysctl("ipv4/ip_forward", "1").unwrap();
        let (near, far) = (Ipv4Addr::new(10, 1, 0, 2), Ipv4Addr::new(10, 1, 0, 1));
        connect((&client, "eth0", near), (&balancer, "left", far));
        default_route(&client, far);
        let mut servers = Vec::new();
        for number in 0..backends {
            let server = lab.add_host(&format!("s{number}")).unwrap();
            let at = |last| Ipv4Addr::new(10, 2, number as u8, last);
            connect((&balancer, &interface(number), at(1)), (&server, "eth0", at(2)));
            default_route(&server, at(1));
            let mut netlink = server.netlink().unwrap();
            let lo = netlink.link("lo").unwrap().ifindex;
            let service: IpAddr = SERVICE.parse().unwrap();
            netlink.add_address(lo, NewAddress { ip: service, prefix: 32 }).unwrap();
            servers.push(server);
        }
        Self { client, balancer, servers, _lab: lab }
    }

    /// Where packets for a backend are delivered to.
    pub fn address(&self, number: usize) -> Ipv4Addr {
        self.servers[number].ipv4("eth0").unwrap()
    }

    /// Loads services, or changes those that run.
    pub fn load(&self, xway: &Xway, services: &str) -> Answer {
        let words = self.words(xway, services);
        xway.run_in(&self.balancer, &words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// As above, but killed after a time; whether it was killed before its end.
    pub fn load_and_kill(&self, xway: &Xway, services: &str, delay: Duration) -> bool {
        let words = self.words(xway, services);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        xway.kill_after(&self.balancer, &words, delay)
    }

    fn words(&self, xway: &Xway, services: &str) -> Vec<String> {
        fs::create_dir_all(xway.state()).unwrap();
        let file = xway.state().join("services.toml");
        fs::write(&file, services).unwrap();
        let mut words =
            ["balance", "load", "left", file.to_str().unwrap()].map(str::to_owned).to_vec();
        for number in 0..self.servers.len() {
            words.extend(["--out".to_owned(), interface(number)]);
        }
        words
    }

    /// What the memory of flows did.
    pub fn events(&self, xway: &Xway) -> Value {
        let shown = xway.run_in(&self.balancer, &["--json", "balance", "show"]).json(0);
        shown["balancers"][0]["events"].clone()
    }

    /// Starts a flood, which the backends drop.
    pub fn flood(&self, rate_pps: u64) -> Flood {
        let mut states = Vec::new();
        for server in &self.servers {
            let xway = Xway::new();
            fs::create_dir_all(xway.state()).unwrap();
            let rules = xway.state().join("rules.toml");
            fs::write(&rules, format!("rules = ['flood: drop from {FLOODERS}']\n")).unwrap();
            xway.run_in(server, &["filter", "load", "eth0", rules.to_str().unwrap()]).ended(0);
            states.push(xway);
        }
        let xway = Xway::new();
        let (to, rate) = (format!("{SERVICE}:{PORT}"), format!("{rate_pps}pps"));
        let words =
            ["--json", "gen", "syn", &to, "--src", FLOODERS, "--sport", "random:1024..65535"];
        let bounds = ["--dev", "eth0", "--rate", &rate, "--time", "30m"];
        let mut command = xway.command_in(&self.client, &[&words[..], &bounds].concat());
        let generator = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        states.push(xway);
        Flood { generator, _states: states }
    }
}

impl Flood {
    /// Ends it; returns the number of its packets.
    pub fn end(self) -> u64 {
        interrupt(&self.generator);
        let output = self.generator.wait_with_output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        report["sent"].as_u64().unwrap_or_default()
    }
}

fn interface(number: usize) -> String {
    format!("to{number}")
}

/// Sources of the flood: a network for measurements (RFC 2544).
const FLOODERS: &str = "198.18.0.0/16";
