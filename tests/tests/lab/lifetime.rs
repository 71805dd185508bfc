//! The end of a lab: dropped, kept, killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lab::{Host, Lab, LinkOptions, TwoHosts};
use sys::netns;

fn namespaces_of(id: &str) -> Vec<String> {
    let prefix = format!("xw-{id}-");
    netns::names().unwrap().into_iter().filter(|name| name.starts_with(&prefix)).collect()
}

fn exists(id: &str) -> bool {
    lab::list().unwrap().iter().any(|state| state.id == id)
}

#[test]
fn dropping_removes_everything() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let id = net.lab.id().to_owned();
    assert_eq!(namespaces_of(&id).len(), 2);
    let state = lab::list().unwrap().into_iter().find(|state| state.id == id).unwrap();
    assert!(state.running && !state.kept);
    assert_eq!(state.hosts, ["a", "b"]);
    assert_eq!(state.topology.as_deref(), Some("two-hosts"));
    lab::gc(false).unwrap();
    assert_eq!(namespaces_of(&id).len(), 2, "a running lab is nobody's leftover");
    drop(net);
    assert!(namespaces_of(&id).is_empty() && !exists(&id));
}

fn sleeping(host: &Host) -> Command {
    let mut command = host.command("sleep").unwrap();
    command.arg("60");
    command
}

#[test]
fn programs_die_with_their_lab() {
    let mut lab = Lab::new().unwrap();
    let host = lab.add_host("a").unwrap();
    let mut child = host.start(sleeping(&host)).unwrap();
    lab.remove().unwrap();
    assert!(!child.wait().unwrap().success());
}

#[test]
fn kept_labs_remain_until_they_are_removed() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let id = net.lab.keep().unwrap();
    lab::gc(false).unwrap();
    let again = Lab::open(&id).unwrap();
    assert_eq!(again.host("b").unwrap().ipv4("eth0").unwrap().to_string(), "10.0.0.2");
    drop(again);
    assert!(exists(&id));
    Lab::open(&id).unwrap().remove().unwrap();
    assert!(namespaces_of(&id).is_empty() && !exists(&id));
    assert!(Lab::open(&id).is_err());
}

#[test]
fn wrong_names_are_refused() {
    let mut lab = Lab::new().unwrap();
    for name in ["", "Server", "a/b", "..", "a-name-that-is-too-long"] {
        assert!(matches!(lab.add_host(name).unwrap_err(), lab::Error::Name { .. }), "{name}");
    }
    lab.add_host("a").unwrap();
    assert!(lab.add_host("a").is_err(), "twice the same host");
    assert!(matches!(lab.host("b").unwrap_err(), lab::Error::NoHost { .. }));
    for id in ["", "../x", "none"] {
        assert!(matches!(Lab::open(id).unwrap_err(), lab::Error::NoLab(_)), "{id}");
    }
}

#[test]
fn a_killed_run_is_collected_by_the_next() {
    let mut run = KilledRun::start();
    assert!(exists(&run.id));
    assert_eq!(namespaces_of(&run.id).len(), 2);
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    let _next = Lab::new().unwrap();
    // Another test's lab may be collecting at this moment.
    let gone = || Ok((!exists(&run.id) && namespaces_of(&run.id).is_empty()).then_some(()));
    lab::until("collection of the killed run", Duration::from_secs(10), gone).unwrap();
    let sleeper = format!("/proc/{}/cmdline", run.sleeper);
    let dead = || Ok(std::fs::read(&sleeper).unwrap_or_default().is_empty().then_some(()));
    lab::until("death of its program", Duration::from_secs(10), dead).unwrap();
}

/// This test program again, as a process that creates a lab and never cleans up.
struct KilledRun {
    child: Child,
    id: String,
    sleeper: u32,
}

impl KilledRun {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "lifetime::victim", "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let line = output
            .lines()
            .map(Result::unwrap)
            .find_map(|line| Some(line.split_once("made ")?.1.to_owned()))
            .expect("the victim says what it made");
        let (id, sleeper) = line.split_once(' ').unwrap();
        Self { child, id: id.to_owned(), sleeper: sleeper.parse().unwrap() }
    }
}

#[test]
#[ignore = "started by `a_killed_run_is_collected_by_the_next`"]
fn victim() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let mut sleeper = net.a.start(sleeping(&net.a)).unwrap();
    println!("made {} {}", net.lab.id(), sleeper.id());
    sleeper.wait().unwrap();
}
