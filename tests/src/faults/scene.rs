//! Where a scenario takes place, how its state is observed, and what repairs it.
//!
//! Rule: the data path is observed with packets. Each probe is sent before a packet that every
//! state passes; when that one arrives without the probe, the probe was dropped.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use lab::Capture;
use lab::frame::{Flow, Side};
use serde_json::Value;

use super::created::Created;
use super::scenario::{Place, Scenario};
use super::trace::{self, GATE, Point, Trace};
use super::{labs, snapshot};
use crate::stage::{PATIENCE, Stage};
use crate::xway::{Answer, Xway};

#[derive(Debug)]
pub struct Scene {
    scenario: Scenario,
    host: Option<HostScene>,
    home: Xway,
    files: PathBuf,
    /// Labs that this scene has to do with, those that are gone included.
    labs: BTreeSet<String>,
}

#[derive(Debug)]
struct HostScene {
    stage: Stage,
    sender: Capture,
    receiver: Capture,
    /// Packets whose verdicts distinguish the states, with their names.
    probes: Vec<(String, Vec<u8>)>,
    /// A packet that every state passes.
    passing: Vec<u8>,
}

/// A state as it looks from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// What happens to packets.
    pub path: Vec<String>,
    /// Everything else: pins, files, settings, labs.
    pub rest: Vec<String>,
}

impl Scene {
    /// In the old state of the scenario.
    pub fn new(scenario: &Scenario) -> Result<Self, String> {
        let host = match scenario.place {
            Place::Host => Some(HostScene::new()),
            Place::Home => None,
        };
        let home = Xway::new();
        let files = home.state().with_extension("files");
        fs::create_dir_all(&files).map_err(|error| error.to_string())?;
        for (name, rules) in FILES {
            fs::write(files.join(name), rules).map_err(|error| error.to_string())?;
        }
        let mut scene = Self { scenario: *scenario, host, home, files, labs: BTreeSet::new() };
        scene.repair()?;
        scene.run_all(scenario.setup)?;
        Ok(scene)
    }

    /// The scenario's command, with a fault.
    pub fn trace(&mut self, point: Option<Point>) -> Result<Trace, String> {
        let _ = fs::remove_dir_all(self.files.join(OUT));
        let command = self.gated(self.scenario.command);
        let traced = match self.host.as_ref().filter(|_| self.scenario.has_traffic) {
            Some(host) => host.under_traffic(|| trace::run(command, point, &self.files, LIMIT)),
            None => trace::run(command, point, &self.files, LIMIT),
        };
        let trace = traced.map_err(|error| format!("cannot trace: {error}"))?;
        self.labs.extend(trace.created.labs());
        Ok(trace)
    }

    /// From the new state into the old one.
    pub fn back(&mut self) -> Result<(), String> {
        self.run_all(self.scenario.back)
    }

    /// A command that changes something elsewhere, and repairs on its way.
    pub fn repair(&mut self) -> Result<(), String> {
        let (words, code): (&[&str], _) = match self.scenario.place {
            Place::Host => (&["detach", "lo"], 1),
            Place::Home => (&["lab", "gc"], 0),
        };
        let answer = self.run(words);
        let said = answer.stderr.trim_end().to_owned();
        (answer.code == code).then_some(()).ok_or_else(|| {
            format!("the next command (`{}`) ended with {}: {said}", words.join(" "), answer.code)
        })
    }

    pub fn observe(&self) -> Observed {
        let path = self.host.as_ref().map(HostScene::path).unwrap_or_default();
        let mut rest = match &self.host {
            Some(host) => host.rest(),
            None => labs::describe(&self.labs),
        };
        rest.sort();
        Observed { path, rest }
    }

    /// The data path alone.
    pub fn path(&self) -> Vec<String> {
        self.host.as_ref().map(HostScene::path).unwrap_or_default()
    }

    /// Objects that a process created, that still exist, and that no known holder has.
    pub fn leaked(&self, created: &Created) -> Vec<String> {
        let held = self.host.as_ref().map(HostScene::held).unwrap_or_default();
        let objects = created.objects.difference(&held).filter(|object| object.exists());
        let objects = objects.map(|object| format!("{} {}", object.kind, object.id));
        let paths = created.paths.iter().filter(|path| !self.is_expected(path) && path.exists());
        let paths = paths.map(|path| format!("file {}", path.display()));
        objects.chain(paths).chain(self.leaked_namespaces(created)).collect()
    }

    fn leaked_namespaces(&self, created: &Created) -> Vec<String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let is_named = |inode: &u64, id: &str| {
            let (number, name) = (format!("net:[{inode}]"), format!("/run/netns/xw-{id}-"));
            // Numbers are used again, so the name must be one of this process's labs.
            mounts.lines().any(|line| line.contains(&number) && line.contains(&name))
        };
        let gone = created.labs().filter(|id| lab::Lab::open(id).is_err());
        let named = gone.flat_map(|id| {
            let left = created.namespaces.iter().filter(move |inode| is_named(inode, &id));
            left.map(|inode| format!("network namespace {inode}")).collect::<Vec<_>>()
        });
        named.collect()
    }

    /// Output of the command, and the record of a lab that belongs to the old state.
    fn is_expected(&self, path: &Path) -> bool {
        let is_of_lab = |id: &String| {
            let [record, name] = [format!("/run/xway/lab/{id}"), format!("/run/netns/xw-{id}-")];
            path.starts_with(record) || path.to_string_lossy().starts_with(&name)
        };
        let mut kept = self.labs.iter().filter(|id| lab::Lab::open(id).is_ok());
        path.starts_with(&self.files) || kept.any(is_of_lab)
    }

    fn run_all(&mut self, commands: &[&[&str]]) -> Result<(), String> {
        for words in commands {
            let answer = self.run(words);
            if answer.code != 0 {
                let (words, said) = (words.join(" "), answer.stderr.trim_end());
                return Err(format!("`{words}` ended with {}: {said}", answer.code));
            }
            if words.starts_with(&["lab", "up"]) {
                let output: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
                self.labs.clear();
                self.labs.extend(output["id"].as_str().map(str::to_owned));
            }
        }
        Ok(())
    }

    fn run(&self, words: &[&str]) -> Answer {
        let words = self.placed(words);
        let words: Vec<&str> =
            std::iter::once("--json").chain(words.iter().map(String::as_str)).collect();
        match &self.host {
            Some(host) => host.stage.run(&words),
            None => self.home.run(&words),
        }
    }

    /// A command that starts after the tracer's gate.
    fn gated(&self, words: &[&str]) -> Command {
        let words = self.placed(words);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (inner, mut command) = match &self.host {
            Some(host) => {
                let shell = host.stage.net.b.command("sh").unwrap();
                (host.stage.xway.command(&words), shell)
            }
            None => (self.home.command(&words), Command::new("sh")),
        };
        command.args(GATE).arg(inner.get_program()).args(inner.get_args());
        command
    }

    fn placed(&self, words: &[&str]) -> Vec<String> {
        let file = |name: &str| self.files.join(name).to_string_lossy().into_owned();
        let kept = |id: &&String| lab::Lab::open(id).is_ok();
        let lab = || self.labs.iter().find(kept).cloned().unwrap_or_default();
        let place = |word: &&str| match *word {
            "{old}" => file(FILES[0].0),
            "{new}" => file(FILES[1].0),
            "{old-services}" => file(FILES[2].0),
            "{new-services}" => file(FILES[3].0),
            "{out}" => file(OUT),
            "{object}" => crate::xway::prebuilt("test/talk_drop.o").to_string_lossy().into_owned(),
            "{lab}" => lab(),
            other => other.to_owned(),
        };
        words.iter().map(place).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // A destructor cannot report errors; what remains was reported as a finding.
        self.labs.iter().for_each(|id| labs::remove(id));
        let _ = fs::remove_dir_all(&self.files);
    }
}

impl HostScene {
    fn new() -> Self {
        let stage = Stage::new();
        let sender = Capture::open(&stage.net.a, "eth0").unwrap();
        let receiver = Capture::open(&stage.net.b, "eth0").unwrap();
        let named = |(source, port): &(&str, u16)| {
            (format!("{source} udp {port}"), probe(&stage, source, *port))
        };
        let probes = PROBES.iter().map(named).collect();
        let passing = probe(&stage, PASSING.0, PASSING.1);
        Self { stage, sender, receiver, probes, passing }
    }

    /// Sends packets until `work` is done.
    fn under_traffic<T>(&self, work: impl FnOnce() -> T) -> T {
        let frame = probe(&self.stage, TRAFFIC.0, TRAFFIC.1);
        std::thread::scope(|scope| {
            let (over, ended) = mpsc::channel::<()>();
            scope.spawn(move || {
                while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                    self.sender.send(&frame).unwrap();
                }
            });
            let outcome = work();
            drop(over);
            outcome
        })
    }

    /// Two rounds must agree: while programs change, frames may overtake each other.
    fn path(&self) -> Vec<String> {
        let mut last = self.round();
        for _ in 0..ROUNDS {
            let next = self.round();
            if next == last {
                break;
            }
            last = next;
        }
        last
    }

    fn round(&self) -> Vec<String> {
        let host = &self.stage.net.b;
        let modes = host.netlink().and_then(|mut netlink| Ok(netlink.link("eth0")?));
        let modes = modes.map(|link| link.xdp.programs().map(|(mode, _)| mode.name()).collect());
        let modes: Vec<&str> = modes.unwrap_or_default();
        let mut lines = vec![format!("modes {modes:?}")];
        for (name, frame) in &self.probes {
            let fate = if self.passes(frame) { "passes" } else { "is dropped" };
            lines.push(format!("{name} {fate}"));
        }
        lines
    }

    fn passes(&self, probe: &[u8]) -> bool {
        // What an earlier round left is not this one's.
        let _ = self.receiver.all(Duration::ZERO, usize::MAX, |_| true);
        self.sender.send(probe).unwrap();
        self.sender.send(&self.passing).unwrap();
        let wanted = |seen: &[u8]| seen == probe || seen == self.passing;
        self.receiver.next(PATIENCE, wanted).is_ok_and(|seen| seen == probe)
    }

    fn rest(&self) -> Vec<String> {
        let stage = &self.stage;
        let mut lines = Vec::new();
        for host in [&stage.net.a, &stage.net.b] {
            lines.extend(snapshot::host(host).unwrap_or_else(|error| vec![error.to_string()]));
        }
        let pins = stage.pins();
        lines.extend(pins.iter().map(|pin| format!("pin {}", snapshot::without_numbers(pin))));
        let files = fs::read_dir(stage.xway.state()).into_iter().flatten().flatten();
        let names = files.map(|file| PathBuf::from(file.file_name()));
        lines.extend(names.map(|name| format!("file {}", snapshot::without_numbers(&name))));
        lines
    }

    /// Objects that the state holds.
    fn held(&self) -> BTreeSet<super::created::Object> {
        let root = self.stage.xway.state().join("bpf");
        let pins: Vec<_> = self.stage.pins().iter().map(|pin| root.join(pin)).collect();
        snapshot::reachable(&pins)
    }
}

fn probe(stage: &Stage, source: &str, port: u16) -> Vec<u8> {
    let (a, b) = (&stage.net.a, &stage.net.b);
    let from = Side { mac: a.mac("eth0").unwrap(), ip: source.parse().unwrap(), port: 4000 };
    let to = Side { mac: b.mac("eth0").unwrap(), ip: "10.0.0.2".parse().unwrap(), port };
    Flow::new(from, to).udp(b"probe").unwrap()
}

/// Old and new rules of the filter.
const FILES: [(&str, &str); 4] = [
    ("old.toml", "rules = ['seven: drop udp dport 7', 'all: count']\n"),
    ("new.toml", "rules = ['eight: drop udp dport 8', 'all: count']\n"),
    // Packets for services without a backend are dropped.
    (
        "old-services.toml",
        "[[service]]\nname = 'seven'\naddress = '0.0.0.0/0'\nprotocol = 'udp'\nport = 7\n",
    ),
    (
        "new-services.toml",
        "[[service]]\nname = 'eight'\naddress = '0.0.0.0/0'\nprotocol = 'udp'\nport = 8\n",
    ),
];
/// Where a command writes its results.
const OUT: &str = "out";
/// Source and port.
const PROBES: &[(&str, u16)] =
    &[("10.0.0.1", 7), ("10.0.0.1", 8), ("10.0.0.1", 1234), ("192.0.2.1", 9)];
const PASSING: (&str, u16) = ("10.0.0.3", 10);
/// Source and port of packets that a command receives, and the time between them. No probe has this
/// source, so a rule against it changes the path of no probe.
const TRAFFIC: (&str, u16) = ("10.0.0.4", 5000);
const PAUSE: Duration = Duration::from_millis(2);
const ROUNDS: usize = 5;
/// A command that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(180);
