//! The flood of SYNs, and the filters before the backends that drop it.

use std::fs;
use std::process::{Child, Stdio};

use lab::Host;
use serde_json::Value;

use super::net::{Net, client_interface, server_interface};
use super::{PORT, SERVICE};
use crate::xway::{Xway, interrupt};

/// The flood, spread over the balancers that live.
#[derive(Debug)]
pub struct Flood {
    client: Host,
    rate_pps: u64,
    /// MAC addresses of the balancers.
    macs: Vec<String>,
    generators: Vec<(Child, Xway)>,
    /// Packets that were sent before the generators that run now.
    pub sent: u64,
    /// Packets that arrived at the backends' filters.
    pub arrived: u64,
}

impl Flood {
    pub fn start(net: &Net, rate_pps: u64) -> Self {
        let macs = net.balancers.iter().map(|one| one.host.mac("left").unwrap().to_string());
        let mut flood = Self {
            client: net.client.clone(),
            rate_pps,
            macs: macs.collect(),
            generators: Vec::new(),
            sent: 0,
            arrived: 0,
        };
        if rate_pps > 0 {
            add_filters(net);
            flood.spread(&(0..net.balancers.len()).collect::<Vec<_>>());
        }
        flood
    }

    /// Sends it to these balancers from now on.
    pub fn spread(&mut self, balancers: &[usize]) {
        self.stop();
        if self.rate_pps == 0 {
            return;
        }
        for number in balancers {
            let xway = Xway::new();
            let rate = format!("{}pps", self.rate_pps.div_ceil(balancers.len() as u64));
            let (to, interface) = (format!("{SERVICE}:{PORT}"), client_interface(*number));
            let words =
                ["--json", "gen", "syn", &to, "--src", FLOODERS, "--sport", "random:1024..65535"];
            let bounds = ["--dev", &interface, "--rate", &rate, "--time", "30m"];
            let mac = ["--dst-mac", &self.macs[*number], "--batch", "64"];
            let all = [&words[..], &bounds, &mac].concat();
            let mut command = xway.command_in(&self.client, &all);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            self.generators.push((child, xway));
        }
    }

    fn stop(&mut self) {
        for (generator, _state) in self.generators.drain(..) {
            interrupt(&generator);
            let output = generator.wait_with_output().unwrap();
            let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            self.sent += report["sent"].as_u64().unwrap_or_default();
        }
    }

    /// Ends it, and counts what arrived.
    pub fn end(&mut self, net: &Net) {
        self.stop();
        if self.rate_pps == 0 {
            return;
        }
        for (server, xway) in net.servers.iter().zip(&net.states) {
            for balancer in 0..net.balancers.len() {
                let words = ["--json", "filter", "show", &server_interface(balancer)];
                self.arrived += dropped(&xway.run_in(server, &words).json(0));
            }
        }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        for (generator, _state) in &mut self.generators {
            // One that has ended cannot be killed.
            let _ = generator.kill();
            let _ = generator.wait();
        }
    }
}

/// Backends drop the flood on all interfaces towards balancers, in tunnels and out of them.
fn add_filters(net: &Net) {
    for (server, xway) in net.servers.iter().zip(&net.states) {
        let rules = xway.state().join("rules.toml");
        fs::write(&rules, format!("rules = ['flood: drop from {FLOODERS}']\n")).unwrap();
        for balancer in 0..net.balancers.len() {
            let words = ["filter", "load", &server_interface(balancer), rules.to_str().unwrap()];
            xway.run_in(server, &words).ended(0);
        }
    }
}

/// Packets of the rule `flood` in all filters that are shown.
fn dropped(shown: &Value) -> u64 {
    match shown {
        Value::Array(all) => all.iter().map(dropped).sum(),
        Value::Object(fields) if fields.get("name").is_some_and(|name| name == "flood") => {
            fields.get("packets").and_then(Value::as_u64).unwrap_or_default()
        }
        Value::Object(fields) => fields.values().map(dropped).sum(),
        _ => 0,
    }
}

/// Sources of the flood: a network for measurements (RFC 2544).
const FLOODERS: &str = "198.18.0.0/16";
