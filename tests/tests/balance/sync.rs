//! Two balancers on two hosts: connections continue on the other one, also after a restart, and
//! nothing that is not authentic and fresh changes anything.

use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use functions::balancer::sync::{Key, Refused, open};
use lab::frame::{Flow, Side, TcpFlags};
use lab::{Capture, Host, LinkOptions, TwoHosts, until};
use serde_json::{Value, json};
use xway_tests::stage::PATIENCE;
use xway_tests::xway::{Answer, Xway, interrupt};

const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };
const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
const SERVICE: &str = "192.0.2.1";
const KEY: &str = "a secret of both balancers";
const PORT: u16 = 7946;
/// Last numbers of the addresses of all backends.
const BACKENDS: [u8; 5] = [200, 201, 202, 203, 204];
/// Ports of connections that began before the change, and after it.
const OLD: std::ops::Range<u16> = 1000..1100;
const YOUNG: std::ops::Range<u16> = 2000..2100;

/// Two hosts, each with a balancer and a state directory.
struct Pair {
    net: TwoHosts,
    xway: [Xway; 2],
}

const A: usize = 0;
const B: usize = 1;

impl Pair {
    fn new() -> Self {
        let net = TwoHosts::build(&LinkOptions::default()).unwrap();
        let pair = Self { net, xway: [Xway::new(), Xway::new()] };
        for which in [A, B] {
            let host = pair.host(which);
            host.set_sysctl("ipv4/conf/eth0/forwarding", "1").unwrap();
            host.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1").unwrap();
            for number in BACKENDS {
                let (address, mac) = (address(number), format!("02:78:77:00:0b:{number:02x}"));
                let words = ["neigh", "replace", &address, "lladdr", &mac, "dev", "eth0"];
                assert!(host.command("ip").unwrap().args(words).status().unwrap().success());
            }
        }
        pair
    }

    fn host(&self, which: usize) -> &Host {
        if which == A { &self.net.a } else { &self.net.b }
    }

    /// A file with these backends, and a key file beside it.
    fn file(&self, which: usize, backends: &[u8], more: &str) -> String {
        let backends: Vec<_> =
            backends.iter().map(|one| format!("{{ address = '{}' }}", address(*one))).collect();
        let text = format!(
            "key = 'seed'\n{more}\n[sync]\npeers = ['10.0.0.1:{PORT}', '10.0.0.2:{PORT}']\n\
             key_file = 'sync.key'\n[[service]]\nname = 'web'\naddress = '{SERVICE}'\n\
             protocol = 'tcp'\nport = 80\nbackend = [{}]\n",
            backends.join(", ")
        );
        let path = self.xway[which].state().join("services.toml");
        fs::write(&path, text).unwrap();
        self.key_file(which, KEY);
        path.to_str().unwrap().to_owned()
    }

    fn key_file(&self, which: usize, key: &str) -> PathBuf {
        let path = self.xway[which].state().join("sync.key");
        fs::write(&path, key).unwrap();
        path
    }

    fn run(&self, which: usize, words: &[&str]) -> Answer {
        self.xway[which].run_in(self.host(which), words)
    }

    /// Loads these backends; the rest of the words follow.
    #[track_caller]
    fn load(&self, which: usize, backends: &[u8], more: &[&str]) -> Value {
        let file = self.file(which, backends, "");
        let words = [&["--json", "balance", "load", "eth0", &file], more].concat();
        self.run(which, &words).json(0)
    }

    /// Sends a segment of each connection to a balancer.
    fn send(&self, to: usize, ports: std::ops::Range<u16>, flags: TcpFlags, sequence: u32) {
        let mac = |host: &Host| host.mac("eth0").unwrap();
        let (from, host) = (self.host(1 - to), self.host(to));
        let wire = Capture::open(from, "eth0").unwrap();
        for port in ports {
            let client = Side { mac: mac(from), ip: "198.51.100.9".parse().unwrap(), port };
            let service = Side { mac: mac(host), ip: SERVICE.parse().unwrap(), port: 80 };
            let flow = Flow::new(client, service);
            wire.send(&flow.tcp(flags, sequence, b"").unwrap()).unwrap();
        }
    }

    fn shown(&self, which: usize) -> Value {
        self.run(which, &["--json", "balance", "show"]).json(0)["balancers"][0].clone()
    }

    /// Number of remembered flows.
    fn flows(&self, which: usize) -> u64 {
        self.column(which, "flows").iter().sum()
    }

    fn column(&self, which: usize, name: &str) -> Vec<u64> {
        let shown = self.shown(which);
        let backends = shown["services"][0]["backends"].as_array().unwrap().clone();
        BACKENDS
            .iter()
            .map(|number| {
                let is_own = |one: &&Value| one["address"] == json!(address(*number));
                backends.iter().find(is_own).map_or(0, |one| one[name].as_u64().unwrap())
            })
            .collect()
    }

    /// Packets that each backend gets of segments of these connections.
    fn spread(&self, which: usize, ports: std::ops::Range<u16>, sequence: u32) -> Vec<u64> {
        let before = self.column(which, "packets");
        let mut spread = Vec::new();
        self.send(which, ports.clone(), ACK, sequence);
        until("all packets", PATIENCE, || {
            let now = self.column(which, "packets");
            spread = now.iter().zip(&before).map(|(now, before)| now - before).collect();
            Ok((spread.iter().sum::<u64>() == ports.len() as u64).then_some(()))
        })
        .unwrap();
        spread
    }

    /// Opens the young connections on a balancer; returns the spread of their packets.
    fn open(&self, which: usize) -> Vec<u64> {
        self.send(which, YOUNG, SYN, 5_000_000);
        self.send(which, YOUNG, ACK, 5_000_001);
        self.spread(which, YOUNG, 5_000_002)
    }

    fn sync(&self, which: usize) -> Sync {
        let words = ["--json", "balance", "sync", "eth0"];
        let mut command = self.xway[which].command_in(self.host(which), &words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Sync(Some(child))
    }

    fn until_flows(&self, which: usize, flows: u64) {
        let mut last = 0;
        let found = until("flows", PATIENCE, || {
            last = self.flows(which);
            Ok((last == flows).then_some(()))
        });
        assert!(found.is_ok(), "{last} flows are remembered, not {flows}");
    }
}

fn address(number: u8) -> String {
    format!("10.0.0.{number}")
}

/// A process that synchronizes.
struct Sync(Option<Child>);

impl Sync {
    /// Ends it; its report.
    fn report(mut self) -> Value {
        let child = self.0.take().unwrap();
        interrupt(&child);
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Sync {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

const FOUR: &[u8] = &[200, 201, 202, 203];
const THREE: &[u8] = &[200, 201, 202];
const NO_WAIT: &[&str] = &["--wait-sync", "1ms"];

#[test]
fn a_connection_continues_on_the_other_balancer() {
    let pair = Pair::new();
    for which in [A, B] {
        pair.load(which, FOUR, NO_WAIT);
    }
    let old = pair.spread(A, OLD, 1);
    assert_eq!(pair.spread(B, OLD, 1), old);
    for which in [A, B] {
        pair.load(which, THREE, NO_WAIT);
    }
    let sync = pair.shown(B)["sync"].clone();
    assert_eq!(sync, json!({ "running": false, "age_s": null, "report": null }));
    let running = [pair.sync(A), pair.sync(B)];
    let young = pair.open(A);
    let flows = pair.flows(A);
    assert!(flows > 0);
    let mut last = Value::Null;
    let shown = until("a report", PATIENCE, || {
        last = pair.shown(B)["sync"].clone();
        let report = &last["report"];
        let inserted = report["flows"]["inserted"].as_u64();
        let is_shown = last["running"] == true && inserted >= Some(flows);
        Ok((is_shown && report["peers"][0]["in_step"] == true).then_some(()))
    });
    assert!(shown.is_ok(), "{last:#}");
    pair.until_flows(B, flows);
    assert_eq!(pair.spread(B, YOUNG, 5_000_003), young);
    assert_eq!(pair.spread(B, OLD, 2), old);
    let [a, b] = running.map(Sync::report);
    assert!(b["flows"]["inserted"].as_u64().unwrap() >= flows, "{b}");
    assert_eq!((&a["refused"], &a["peers"][0]["in_step"]), (&json!({}), &json!(true)), "{a}");
}

/// One balancer has the new file, the other one the old one.
#[test]
fn a_connection_continues_on_a_balancer_that_did_not_change_yet() {
    let pair = Pair::new();
    for which in [A, B] {
        pair.load(which, FOUR, NO_WAIT);
    }
    let _running = [pair.sync(A), pair.sync(B)];
    let old = pair.spread(B, OLD, 1);
    pair.load(A, &[200, 201, 202, 203, 204], NO_WAIT);
    // The new backend is unknown to B: its connections cannot continue there.
    pair.load(A, &[200, 201, 202, 203], NO_WAIT);
    pair.load(A, THREE, NO_WAIT);
    let young = pair.open(A);
    let flows = pair.flows(A);
    pair.until_flows(B, flows);
    assert_eq!(pair.spread(B, YOUNG, 5_000_003), young, "before B changes");
    assert_eq!(pair.spread(B, OLD, 2), old);
    pair.load(B, THREE, NO_WAIT);
    assert_eq!(pair.spread(B, YOUNG, 5_000_004), young, "after it");
    assert_eq!(pair.spread(B, OLD, 3), old);
}

#[test]
fn a_balancer_that_begins_again_gets_history_and_flows() {
    let pair = Pair::new();
    for which in [A, B] {
        pair.load(which, FOUR, NO_WAIT);
    }
    let old = pair.spread(B, OLD, 1);
    for which in [A, B] {
        pair.load(which, THREE, NO_WAIT);
    }
    let _running = pair.sync(A);
    let young = pair.open(A);
    pair.run(B, &["detach", "eth0"]).ended(0);
    // How long it may take is of no interest here, but whether it arrives.
    pair.load(B, THREE, &["--wait-sync", "20s"]);
    assert_eq!(pair.flows(B), pair.flows(A));
    assert_eq!(pair.spread(B, YOUNG, 5_000_003), young);
    assert_eq!(pair.spread(B, OLD, 2), old, "the former backend is in no file of B");
    // The peer has another table: its connections are older than the change here.
    pair.run(B, &["detach", "eth0"]).ended(0);
    pair.load(B, &[200, 201], &["--wait-sync", "20s"]);
    assert_eq!(pair.spread(B, YOUNG, 5_000_004), young);
    assert_eq!(pair.spread(B, OLD, 3), old);
}

#[test]
fn a_balancer_starts_without_a_peer() {
    let pair = Pair::new();
    let file = pair.file(B, FOUR, "");
    let loaded = pair.run(B, &["balance", "load", "eth0", &file, "--wait-sync", "100ms"]);
    loaded.clone().ended(0);
    assert!(loaded.stderr.contains("no peer sent all of its state"), "{}", loaded.stderr);
    assert_eq!(pair.spread(B, OLD, 1).iter().sum::<u64>(), 100);
}

#[test]
fn a_replaced_balancer_keeps_history_and_flows() {
    let pair = Pair::new();
    pair.load(B, FOUR, NO_WAIT);
    let old = pair.spread(B, OLD, 1);
    pair.load(B, THREE, NO_WAIT);
    let young = pair.open(B);
    let flows = pair.flows(B);
    for (number, size) in ["flows = 65536", "flows = 262144", "flows = 1024"].iter().enumerate() {
        let file = pair.file(B, THREE, size);
        let words = ["balance", "load", "eth0", &file, "--replace", "--wait-sync", "1ms"];
        pair.run(B, &words).ended(0);
        let sequence = number as u32;
        assert_eq!(pair.spread(B, YOUNG, 5_000_003 + sequence), young, "{size}");
        assert_eq!(pair.spread(B, OLD, 2 + sequence), old, "{size}");
        assert!(pair.flows(B) >= flows, "{size}");
    }
    // A change and a replacement together.
    let file = pair.file(B, &[200, 201], "");
    pair.run(B, &["balance", "load", "eth0", &file, "--replace"]).ended(0);
    assert_eq!(pair.spread(B, YOUNG, 5_000_009), young);
    assert_eq!(pair.spread(B, OLD, 9), old);
}

/// Datagrams from A to B that are wanted, as frames.
fn datagrams(wire: &Capture, count: usize, wanted: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let is_sync = |frame: &[u8]| {
        let is_own = frame.len() > 42 && frame[23] == 17 && frame[26..30] == [10, 0, 0, 1];
        is_own && frame[36..38] == PORT.to_be_bytes() && wanted(&frame[42..])
    };
    (0..count).map(|_| wire.next(PATIENCE, is_sync).unwrap()).collect()
}

#[test]
fn what_is_forged_replayed_or_cut_changes_nothing_and_is_counted() {
    let pair = Pair::new();
    for backends in [FOUR, THREE] {
        for which in [A, B] {
            pair.load(which, backends, NO_WAIT);
        }
    }
    let (a, b) = (pair.sync(A), pair.sync(B));
    pair.open(A);
    let flows = pair.flows(A);
    pair.until_flows(B, flows);
    // From here on B receives everything: one that was lost would be accepted.
    let wire = Capture::open(&pair.net.b, "eth0").unwrap();
    let frames = datagrams(&wire, 4, |_| true);
    a.kill();
    let refused = |report: &Value, reason: &str| report["refused"][reason].as_u64().unwrap_or(0);
    let replay = Capture::open(&pair.net.a, "eth0").unwrap();
    frames.iter().for_each(|frame| replay.send(frame).unwrap());
    let forge = |datagram: Vec<u8>, port: u16| {
        let send = || {
            let socket = UdpSocket::bind(("10.0.0.1", port))?;
            socket.send_to(&datagram, ("10.0.0.2", PORT))
        };
        pair.net.a.run(send).unwrap().unwrap();
    };
    let payload = frames[0][42..].to_vec();
    forge(payload[..30].to_vec(), PORT);
    forge(payload[..payload.len() - 1].to_vec(), PORT);
    let mut changed = payload.clone();
    changed[20] ^= 1;
    forge(changed, PORT);
    let mut version = payload;
    version[0] = 9;
    forge(version, PORT);
    forge(vec![0; 1400], PORT);
    // A process with another key begins on A.
    pair.key_file(A, "another secret of that length");
    let stranger = pair.sync(A);
    // The changed datagram, and two hellos of the other key.
    let key = Key::new(KEY.as_bytes()).unwrap();
    datagrams(&wire, 3, |datagram| open(&key, datagram) == Err(Refused::Tag));
    let stranger = stranger.report();
    assert_eq!(stranger["peers"][0]["up"], false, "{stranger}");
    assert!(refused(&stranger, "tag") > 0, "{stranger}");
    let b = b.report();
    assert!(refused(&b, "replayed") + refused(&b, "session") >= 4, "{b}");
    assert!(refused(&b, "length") >= 3 && refused(&b, "version") == 1, "{b}");
    assert!(refused(&b, "tag") >= 2, "{b}");
    assert_eq!(pair.flows(B), flows);
}

#[test]
fn a_process_that_is_killed_leaves_the_balancer_whole() {
    let pair = Pair::new();
    for backends in [FOUR, THREE] {
        for which in [A, B] {
            pair.load(which, backends, NO_WAIT);
        }
    }
    let old = pair.spread(B, OLD, 1);
    let _running = pair.sync(A);
    let young = pair.open(A);
    let flows = pair.flows(A);
    for delay in 0..12 {
        let words = ["balance", "sync", "eth0"];
        let delay = std::time::Duration::from_millis(delay * 7);
        pair.xway[B].kill_after(pair.host(B), &words, delay);
        assert_eq!(pair.spread(B, OLD, 2 + delay.as_millis() as u32), old);
    }
    let _last = pair.sync(B);
    pair.until_flows(B, flows);
    assert_eq!(pair.spread(B, YOUNG, 5_000_003), young);
}
