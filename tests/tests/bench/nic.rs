//! `xway bench run --dev --peer`: named interfaces of the caller's namespace, which here is one
//! of a lab. The values are not tested; that nothing remains on them, and nothing else is touched,
//! is.

use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use lab::{Host, Lab, until};
use serde_json::Value;
use sys::net::ethtool::Feature;
use sys::net::{Address, Link, NewAddress, NewRoute, NewVeth, Statistics, VethEnd};
use xway_tests::stage::PATIENCE;
use xway_tests::xway::{Answer, Xway};

/// Three cables: `card` and `peer`, `other` and `way-out` with the default route, and `far` to a
/// host of its own.
struct Net {
    _lab: Lab,
    here: Host,
    there: Host,
    xway: Xway,
}

/// All that a run could have changed of an interface, counters left out.
#[derive(Debug, PartialEq)]
struct State {
    link: Link,
    addresses: Vec<Address>,
    features: Vec<Feature>,
    qdiscs: String,
}

impl Net {
    fn new() -> Self {
        let mut lab = Lab::new().unwrap();
        let (here, there) = (lab.add_host("here").unwrap(), lab.add_host("there").unwrap());
        cable(&here, "card", (&here, "peer"));
        cable(&here, "other", (&here, "way-out"));
        cable(&here, "far", (&there, "far"));
        let mut netlink = here.netlink().unwrap();
        let out = netlink.link("way-out").unwrap().ifindex;
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        netlink.add_address(out, NewAddress { ip: ip("10.9.0.1"), prefix: 24 }).unwrap();
        let route = NewRoute::new(ip("0.0.0.0"), 0, out).via(ip("10.9.0.2"));
        netlink.add_route(route).unwrap();
        Self { _lab: lab, here, there, xway: Xway::new() }
    }

    /// `xway bench run drop WORDS --rounds 5`; the SSH session of the tests' user is elsewhere.
    fn command(&self, words: &str) -> Command {
        let run = ["bench", "run", "--rounds", "5"];
        let words: Vec<&str> = run.into_iter().chain(words.split_whitespace()).collect();
        let mut command = self.xway.command_in(&self.here, &words);
        command.env("SSH_CONNECTION", "").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &str) -> Answer {
        Answer::of(self.command(words).output().unwrap())
    }

    fn states(&self) -> Vec<State> {
        ["card", "peer", "other", "way-out", "far"].map(|name| self.state(name)).into()
    }

    fn state(&self, name: &str) -> State {
        let mut netlink = self.here.netlink().unwrap();
        let link = netlink.link(name).unwrap();
        let mut addresses = netlink.addresses().unwrap();
        addresses.retain(|address| address.ifindex == link.ifindex);
        let features = self.here.ethtool().unwrap().features(name).unwrap();
        let qdiscs = output(&self.here, "tc", &["qdisc", "show", "dev", name]);
        let link = Link { statistics: Statistics::default(), ..link };
        State { link, addresses, features, qdiscs }
    }

    /// Names of nft's tables.
    fn tables(&self) -> String {
        output(&self.here, "nft", &["list", "tables"])
    }

    fn wait_for_program(&self) {
        let is_there = || {
            let link = self.here.netlink()?.link("card")?;
            Ok((!link.xdp.is_empty()).then_some(()))
        };
        until("a program on the card", PATIENCE, is_there).unwrap();
    }
}

/// Both ends up, and listening.
fn cable(here: &Host, name: &str, (there, far): (&Host, &str)) {
    let ends = [
        VethEnd { name, mac: None, netns: None },
        VethEnd { name: far, mac: None, netns: Some(there.netns().as_fd()) },
    ];
    here.netlink().unwrap().create_veth(&NewVeth { ends, queues: 1, mtu: 1500 }).unwrap();
    for (host, name) in [(here, name), (there, far)] {
        let mut netlink = host.netlink().unwrap();
        let ifindex = netlink.link(name).unwrap().ifindex;
        netlink.set_up(ifindex, true).unwrap();
        host.ethtool().unwrap().set_feature(name, "gro", true).unwrap();
    }
    let carrier = || Ok(here.netlink()?.link(name)?.running.then_some(()));
    until("a carrier", PATIENCE, carrier).unwrap();
}

fn output(host: &Host, program: &str, words: &[&str]) -> String {
    let output = host.command(program).unwrap().args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
}

fn rows(report: &Value) -> Vec<String> {
    let rows = report["rows"].as_array().unwrap_or_else(|| panic!("{report}"));
    rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn hooks_are_measured_between_two_cards_and_nothing_remains() {
    let net = Net::new();
    let before = net.states();
    let others = ["other", "way-out", "far"].map(|name| counted(&net, name));
    // A table that a killed run left, one of a run that lives, and somebody's.
    let own = format!("xway-bench-{}", owner());
    for table in ["xway-bench-4194304-1", &own, "somebody"] {
        output(&net.here, "nft", &["add", "table", "ip", table]);
    }
    let answer = net.run("drop --time 0.05 --dev card --peer peer --json").json(0);
    let report = if answer.is_array() { &answer[0] } else { &answer };
    let rows = rows(report);
    for row in ["xdp-native", "xdp-generic", "nft-netdev", "limit", "lost/xdp-native"] {
        assert!(rows.iter().any(|one| one == row), "no {row} in {rows:?}");
    }
    for absent in ["socket", "nft-input", "iptables-input"] {
        assert!(!rows.iter().any(|one| one == absent), "{absent} needs what is not here: {rows:?}");
    }
    let text = report.to_string();
    for note in ["198.18.0.1 to 198.18.0.2", "native XDP of card", "irqbalance", "GRO: on"] {
        assert!(text.contains(note), "nothing of {note}: {text}");
    }
    assert_eq!(net.states(), before);
    assert_eq!(net.tables(), format!("table ip {own}\ntable ip somebody\n"));
    assert_eq!(["other", "way-out", "far"].map(|name| counted(&net, name)), others);
}

/// Few packets: neighbor discovery. A flood would be thousands.
fn counted(net: &Net, name: &str) -> bool {
    let statistics = net.here.netlink().unwrap().link(name).unwrap().statistics;
    statistics.rx_packets + statistics.tx_packets > 1000
}

#[test]
fn a_run_that_is_interrupted_or_killed_leaves_nothing() {
    let net = Net::new();
    let before = net.states();
    for name in ["INT", "KILL"] {
        let mut child = net.command("drop --time 2 --dev card --peer peer").spawn().unwrap();
        net.wait_for_program();
        signal(&child, name);
        child.wait().unwrap();
        // The resources of a process are released shortly after its end.
        let is_clean = || Ok((net.state("card") == before[0]).then_some(()));
        until("the card as it was", PATIENCE, is_clean).unwrap();
        assert_eq!(net.states(), before, "after SIG{name}");
    }
}

/// This process, as names of tables have it.
fn owner() -> String {
    let process = sys::process::Process::of(std::process::id()).unwrap();
    format!("{}-{}", process.pid, process.started)
}

#[test]
fn what_may_not_be_used_is_refused_with_the_reason() {
    let net = Net::new();
    let before = net.states();
    for (words, reason) in [
        ("drop --dev card --peer card", "--dev and --peer are both card"),
        ("drop --dev nothing --peer peer", "there is no interface nothing"),
        ("drop --dev card --peer nothing", "there is no interface nothing"),
        ("drop --dev way-out --peer other", "carries the default route"),
        ("drop --dev other --peer way-out", "carries the default route"),
        ("drop --dev lo --peer peer", "loopback"),
        ("noise --dev card --peer peer", "cannot run on card"),
        ("scale --dev card --peer peer", "cannot run on card"),
        ("drop --dev card", "--peer"),
    ] {
        let said = net.run(words).error();
        assert!(said.contains(reason), "{words}: {said}");
    }
    assert_eq!(net.states(), before);
}

#[test]
fn another_host_runs_the_printed_command() {
    let net = Net::new();
    let mac = net.there.mac("far").unwrap();
    let words = format!("drop --time 0.05 --dev far --peer {mac} --json");
    let mut child = net.command(&words).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = lines.find_map(|line| Some(line.ok()?.split_once("xway gen ")?.1.to_owned()));
    let told = told.expect("what to type there").replace("DEV", "far");
    let words: Vec<&str> = ["gen"].into_iter().chain(told.split_whitespace()).collect();
    let mut sender = net.xway.command_in(&net.there, &words);
    let sender = sender.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut sender = Ended(sender);
    let drain = std::thread::spawn(move || lines.for_each(drop));
    let output = child.wait_with_output().unwrap();
    drain.join().unwrap();
    signal(&sender.0, "INT");
    sender.0.wait().unwrap();
    let answer = Answer::of(output).json(0);
    let rows = rows(if answer.is_array() { &answer[0] } else { &answer });
    assert!(rows.iter().any(|row| row == "xdp-native"), "{rows:?}");
    assert!(
        !rows.iter().any(|row| row.starts_with("lost/")),
        "what was sent is not known: {rows:?}"
    );
    assert!(answer.to_string().contains("neither are losses"), "{answer}");
}

/// Killed with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
