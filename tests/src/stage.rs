//! Two hosts, of which `b` runs `xway` on its eth0 and `a` sends it frames.
//!
//! Rule: there is no other sender, so `status` counts exactly what the test sent.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::frame::{Flow, Side};
use lab::{Capture, Host, LinkOptions, TwoHosts, until};
use serde_json::Value;

use crate::xway::{Answer, Xway};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Stage {
    pub net: TwoHosts,
    pub xway: Xway,
}

/// Packets and bytes by verdict, those that were given.
pub type Verdicts = BTreeMap<String, (u64, u64)>;

impl Stage {
    pub fn new() -> Self {
        Self::with(&LinkOptions::default())
    }

    pub fn with(options: &LinkOptions) -> Self {
        let net = TwoHosts::build(options).unwrap();
        // It would report its multicast groups now and then.
        net.a.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        Self { net, xway: Xway::new() }
    }

    /// `xway ARGUMENTS` inside `b`.
    pub fn run(&self, arguments: &[&str]) -> Answer {
        self.xway.run_in(&self.net.b, arguments)
    }

    /// Starts a command and kills it after `delay`; whether it was killed.
    pub fn kill_after(&self, arguments: &[&str], delay: Duration) -> bool {
        self.xway.kill_after(&self.net.b, arguments, delay)
    }

    /// Runs with `--json`, which must succeed.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[&["--json"], arguments].concat()).json(0)
    }

    /// UDP from `a` to the first address of `b`'s eth0.
    pub fn flow(&self, port: u16) -> Flow {
        let address = |host: &Host| host.ipv4("eth0").unwrap().into();
        self.flow_between(address(&self.net.a), address(&self.net.b), port)
    }

    pub fn flow_between(&self, from: IpAddr, to: IpAddr, port: u16) -> Flow {
        let mac = |host: &Host| host.mac("eth0").unwrap();
        let side = |host, ip, port| Side { mac: mac(host), ip, port };
        Flow::new(side(&self.net.a, from, 4000), side(&self.net.b, to, port))
    }

    /// Sends `count` copies out of `a`'s eth0.
    pub fn send(&self, frame: &[u8], count: usize) {
        let wire = Capture::open(&self.net.a, "eth0").unwrap();
        (0..count).for_each(|_| wire.send(frame).unwrap());
    }

    /// What `status` reports for `b`'s eth0.
    #[track_caller]
    pub fn status(&self) -> Value {
        let status = self.json(&["status", "eth0", "--interval", "1ms"]);
        status["interfaces"][0].clone()
    }

    /// The only program's counters, once they hold `total` packets.
    #[track_caller]
    pub fn counted(&self, total: u64) -> Verdicts {
        let mut last = Verdicts::new();
        let found = until("all packets counted", PATIENCE, || {
            last = verdicts(&self.status()["programs"][0]["rates"]["verdicts"]);
            let sum: u64 = last.values().map(|(packets, _)| packets).sum();
            Ok((sum >= total).then_some(()))
        });
        assert!(found.is_ok(), "{total} packets were sent, counted are {last:?}");
        last
    }

    /// Programs on `b`'s eth0 as the kernel has them: mode and number.
    pub fn attached(&self) -> Vec<(&'static str, u32)> {
        let xdp = self.net.b.netlink().unwrap().link("eth0").unwrap().xdp;
        xdp.programs().map(|(mode, id)| (mode.name(), id)).collect()
    }

    /// Whether an attachment was given a name under which it outlives its maker.
    pub fn link_is_pinned(&self) -> bool {
        self.pins().iter().any(|pin| pin.ends_with("link"))
    }

    /// Programs that are kept with their maps.
    pub fn kept(&self) -> usize {
        self.pins().iter().filter(|pin| pin.ends_with("program")).count()
    }

    /// Everything that is pinned, relative to the file system's root.
    pub fn pins(&self) -> Vec<PathBuf> {
        let root = self.xway.state().join("bpf");
        let mut found = Vec::new();
        walk(&root, &mut found);
        // A name with a dot cannot be pinned, so these are the kernel's own.
        found.retain(|path| path.extension().is_none());
        found.iter().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect()
    }
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

/// `[("drop", 3, 180)]` as [`Stage::counted`] answers it.
pub fn counts(expected: &[(&str, u64, u64)]) -> Verdicts {
    expected.iter().map(|(verdict, p, b)| ((*verdict).to_owned(), (*p, *b))).collect()
}

fn verdicts(rates: &Value) -> Verdicts {
    let number = |rate: &Value, field: &str| rate[field].as_u64().unwrap();
    let all = rates.as_object().into_iter().flatten();
    let all = all
        .map(|(verdict, rate)| (verdict.clone(), (number(rate, "packets"), number(rate, "bytes"))));
    all.filter(|(_, count)| *count != (0, 0)).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, found);
        }
        found.push(path);
    }
}
