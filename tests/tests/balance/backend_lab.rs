//! Real connections through a balancer and two backends, all of them `xway`: a client on the
//! switch, the balancer on host `a`, backends on `b` and `c`, which answer the client themselves.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use kernel::{Link, Map};
use lab::{Capture, Host, LinkOptions, ThreeHosts, until};
use serde_json::{Value, json};
use spec::{Expect, Map as _};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::Xway;

pub const SERVICES: [&str; 2] = ["192.0.2.1", "2001:db8::1"];
/// The balancer, the backends and the client.
pub const HOSTS: [[&str; 2]; 4] =
    [["10.0.0.1", "fd00::1"], ["10.0.0.2", "fd00::2"], ["10.0.0.3", "fd00::3"], CLIENT];
const CLIENT: [&str; 2] = ["10.0.0.100", "fd00::100"];

pub struct Site {
    pub net: ThreeHosts,
    pub xway: Xway,
    listeners: Vec<[TcpListener; 2]>,
}

fn ip(host: &Host, words: &str) {
    let output = host.command("ip").unwrap().args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {output:?}");
}

impl Site {
    pub fn new() -> Self {
        let net = ThreeHosts::build(&LinkOptions::default()).unwrap();
        for (address, bits) in CLIENT.into_iter().zip([24, 64]) {
            let nodad = if bits == 64 { " nodad" } else { "" };
            ip(&net.switch, &format!("addr add {address}/{bits} dev br0{nodad}"));
        }
        for (service, via) in SERVICES.into_iter().zip(HOSTS[0]) {
            ip(&net.switch, &format!("route add {service} via {via}"));
        }
        let ethtool = net.switch.ethtool().unwrap();
        ethtool.set_feature("br0", "tx-checksum", false).unwrap();
        for host in [&net.a, &net.b, &net.c] {
            host.set_sysctl("ipv4/conf/eth0/forwarding", "1").unwrap();
            host.set_sysctl("ipv6/conf/all/forwarding", "1").unwrap();
        }
        for host in [&net.b, &net.c] {
            let mac = net.switch.mac("br0").unwrap();
            ip(host, &format!("neigh replace {} lladdr {mac} dev eth0", CLIENT[1]));
        }
        let listeners = [&net.b, &net.c].map(|host| {
            SERVICES.map(|service| {
                let nodad = if service.contains(':') { " nodad" } else { "" };
                ip(host, &format!("addr add {service} dev lo{nodad}"));
                let listener = host.run(|| TcpListener::bind(to(service))).unwrap().unwrap();
                listener.set_nonblocking(true).unwrap();
                listener
            })
        });
        let site = Self { net, xway: Xway::new(), listeners: listeners.into() };
        // A veth accepts frames that XDP sends where its peer has a program.
        for port in ["port-a", "port-b", "port-c"] {
            site.json(&site.net.switch, &["drop", port, "any udp 7"]);
        }
        site
    }

    pub fn json(&self, host: &Host, words: &[&str]) -> Value {
        self.xway.run_in(host, &[&["--json"], words].concat()).json(0)
    }

    /// Opens tunnels on both backends.
    pub fn open(&self) {
        for host in [&self.net.b, &self.net.c] {
            let words = "balance backend eth0 --from 10.0.0.1 --from fd00::1 --service 192.0.2.1 \
                         --service 2001:db8::1";
            let words: Vec<_> = words.split_whitespace().collect();
            let shown = self.json(host, &words);
            assert_eq!(shown["mss"], json!([1384, 1364]), "{shown}");
        }
    }

    /// Balances over the first `backends`, which tunnels reach over a family.
    fn load(&self, delivery: &str, family: usize, backends: usize) -> Value {
        let all: Vec<_> = HOSTS[1..=backends]
            .iter()
            .map(|one| format!("{{ address = '{}' }}", one[family]))
            .collect();
        let service = |name: &str, address: &str| {
            format!(
                "[[service]]\nname = '{name}'\naddress = '{address}'\nprotocol = 'tcp'\nport = 80\n\
                 delivery = {delivery}\nbackend = [{}]\n",
                all.join(", ")
            )
        };
        self.load_text(&(service("four", SERVICES[0]) + &service("six", SERVICES[1])))
    }

    /// Balances over the services of a file.
    pub fn load_text(&self, text: &str) -> Value {
        fs::create_dir_all(self.xway.state()).unwrap();
        let file = self.xway.state().join("services.toml");
        fs::write(&file, text).unwrap();
        self.json(&self.net.a, &["balance", "load", "eth0", file.to_str().unwrap()])
    }

    /// A connection of the client, its other end, and the number of the backend that has it.
    fn connect(&self, family: usize) -> (TcpStream, TcpStream, usize) {
        let to = to(SERVICES[family]);
        let client = self.net.switch.run(|| TcpStream::connect_timeout(&to, PATIENCE));
        let client = client.unwrap().unwrap_or_else(|error| panic!("{error}: {}", self.counted()));
        let own = client.local_addr().unwrap();
        let mut found = None;
        until("the other end", PATIENCE, || {
            for (number, listeners) in self.listeners.iter().enumerate() {
                if let Ok((stream, from)) = listeners[family].accept() {
                    assert_eq!(from, own);
                    found = Some((stream, number));
                }
            }
            Ok(found.is_some().then_some(()))
        })
        .unwrap();
        let (server, number) = found.unwrap();
        for one in [&client, &server] {
            one.set_read_timeout(Some(PATIENCE)).unwrap();
            one.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        server.set_nonblocking(false).unwrap();
        (client, server, number)
    }

    /// What programs counted, for a connection that failed.
    fn counted(&self) -> String {
        let hosts = [&self.net.a, &self.net.b, &self.net.c, &self.net.switch];
        hosts.map(|host| self.xway.run_in(host, &["status"]).stdout).join("\n")
    }

    pub fn packets(&self, host: &Host, reason: &str) -> u64 {
        let shown = self.json(host, &["balance", "backend", "eth0"]);
        shown["packets"][reason].as_u64().unwrap_or_default()
    }
}

fn to(service: &str) -> SocketAddr {
    SocketAddr::new(service.parse().unwrap(), 80)
}

/// Data in both directions.
fn exchange(client: &mut TcpStream, server: &mut TcpStream) {
    let sent: Vec<u8> = (0..50_000).map(|n| (n * 7) as u8).collect();
    let mut received = vec![0; sent.len()];
    client.write_all(&sent).unwrap();
    server.read_exact(&mut received).unwrap();
    assert_eq!(received, sent);
    server.write_all(&sent).unwrap();
    client.read_exact(&mut received).unwrap();
    assert_eq!(received, sent);
}

/// The MSS option of a SYN-ACK of the service in a frame.
fn announced(frame: &[u8]) -> Option<u16> {
    let (tcp, is_from) = match frame.get(12..14)? {
        [8, 0] => (34, frame.get(26..30)? == [192, 0, 2, 1]),
        [0x86, 0xdd] => (54, frame.get(22..26)? == [0x20, 1, 0xd, 0xb8]),
        _ => return None,
    };
    let is_syn_ack = is_from && frame.get(tcp + 13)? & 0x12 == 0x12;
    let mss = frame.get(tcp + 20..tcp + 24)?;
    (is_syn_ack && mss[..2] == [2, 4]).then(|| u16::from_be_bytes([mss[2], mss[3]]))
}

#[test]
fn connections_by_each_delivery() {
    let site = Site::new();
    site.open();
    let wire = Capture::open(&site.net.switch, "br0").unwrap();
    for delivery in ["'ipip'", "{ gue = {} }", "{ geneve = {} }"] {
        for outer in [0, 1] {
            site.load(delivery, outer, 2);
            let mut used = [0; 2];
            for family in [0, 1] {
                for _ in 0..6 {
                    let (mut client, mut server, number) = site.connect(family);
                    exchange(&mut client, &mut server);
                    used[number] += 1;
                }
                let seen = wire.next(PATIENCE, |frame| announced(frame).is_some()).unwrap();
                assert!([1384, 1364].contains(&announced(&seen).unwrap()), "{seen:x?}");
            }
            assert!(used.iter().all(|used| *used > 0), "{delivery}: {used:?}");
        }
    }
    for host in [&site.net.b, &site.net.c] {
        let shown = site.json(host, &["balance", "backend", "eth0"]);
        assert!(shown["packets"]["opened"].as_u64() > Some(100), "{shown}");
        assert!(shown["lowered"].as_u64() > Some(0), "{shown}");
    }
}

/// Pins of this name below a folder.
fn pins(folder: &Path, name: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => pins(&entry.path(), name, found),
            _ if entry.file_name() == name => found.push(entry.path()),
            _ => {}
        }
    }
}

#[test]
fn a_connection_that_the_balancer_forgot_remains() {
    let site = Site::new();
    site.open();
    for outer in [0, 1] {
        site.load("{ geneve = {} }", outer, 1);
        let mut older: Vec<_> = (0..8).map(|_| site.connect(0)).collect();
        site.load("{ geneve = {} }", outer, 2);
        // A connection on a slot that moved, of which the balancer forgets that it is younger.
        let mut younger: Vec<_> = (0..8).map(|_| site.connect(0)).collect();
        assert!(younger.iter().any(|(.., number)| *number == 1), "none to the second backend");
        let mut found = Vec::new();
        pins(&site.xway.state().join("bpf"), "balancer_flows", &mut found);
        let [pin] = &found[..] else { panic!("{found:?}") };
        let flows = Map::from_pin(pin).unwrap();
        for line in 0..flows.info().max_entries {
            flows.update(&line.to_le_bytes(), &[0; 64], Expect::Any).unwrap();
        }
        let before = site.packets(&site.net.b, "second-chance");
        for (client, server, _) in older.iter_mut().chain(&mut younger) {
            exchange(client, server);
        }
        assert!(site.packets(&site.net.b, "second-chance") > before);
        site.xway.run_in(&site.net.a, &["detach", "eth0"]).ended(0);
    }
}

/// The link of the program that lowers the MSS, which is pinned while it is there.
fn lowering(stage: &Stage) -> Option<u32> {
    let mut found = Vec::new();
    pins(&stage.xway.state().join("bpf"), "egress-backend", &mut found);
    assert!(found.len() <= 1, "{found:?}");
    let link = Link::from_pin(found.first()?).unwrap();
    Some(link.info().unwrap().unwrap().id)
}

fn exists(link: u32) -> bool {
    kernel::list::links().unwrap().iter().any(|one| one.id == link)
}

const START: [&str; 7] =
    ["balance", "backend", "eth0", "--from", "10.9.0.1", "--service", "192.0.2.1"];

#[test]
fn both_programs_start_change_and_end_together() {
    let stage = Stage::new();
    let shown = stage.json(&["balance", "backend", "eth0"]);
    assert_eq!((&shown["mode"], lowering(&stage)), (&Value::Null, None));
    let started = stage.json(&START);
    assert_eq!((&started["mode"], &started["mss"]), (&json!("native"), &json!([1384, 1364])));
    let own = stage.net.b.ipv4("eth0").unwrap().to_string();
    assert!(started["address"].as_array().unwrap().contains(&json!(own)), "{started}");
    let (program, link) = (stage.attached(), lowering(&stage).unwrap());

    let changed = stage.json(&[&START[..], &["--from", "10.9.0.2", "--mtu", "1400"]].concat());
    assert_eq!(changed["from"], json!(["10.9.0.1", "10.9.0.2"]));
    assert_eq!(changed["mss"], json!([1360, 1340]));
    assert_eq!((stage.attached(), lowering(&stage)), (program.clone(), Some(link)));

    let rules = stage.xway.state().join("rules.toml");
    fs::write(&rules, "rules = ['one: drop tcp sport 1000']\n").unwrap();
    stage.run(&["filter", "load", "eth0", rules.to_str().unwrap()]).ended(0);
    let chain = stage.json(&["chain", "eth0", "show"]);
    let names: Vec<_> =
        chain["members"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["filter", "backend"]);
    assert_eq!(lowering(&stage), Some(link));
    let again = stage.json(&[&START[..], &["--gue-port", "7000"]].concat());
    assert_eq!((&again["gue_port"], lowering(&stage)), (&json!(7000), Some(link)));

    let stopped = stage.json(&["balance", "backend", "eth0", "--stop"]);
    assert_eq!((&stopped["mode"], lowering(&stage), exists(link)), (&Value::Null, None, false));
    assert_eq!(stage.attached().len(), 1, "the filter continues");
    stage.run(&["detach", "eth0"]).ended(0);

    let kept = stage.json(&[&START[..], &["--keep-mss"]].concat());
    assert_eq!((&kept["mss"], lowering(&stage)), (&Value::Null, None));
    stage.json(&START);
    let link = lowering(&stage).unwrap();
    stage.run(&["detach", "eth0"]).ended(0);
    assert_eq!((lowering(&stage), exists(link)), (None, false));
}

/// As if a process had been killed after it detached the program.
#[test]
fn what_is_left_is_removed_by_the_next_change() {
    let stage = Stage::new();
    stage.json(&START);
    let link = lowering(&stage).unwrap();
    let mut found = Vec::new();
    pins(&stage.xway.state().join("bpf"), "link", &mut found);
    let [pin] = &found[..] else { panic!("{found:?}") };
    Link::from_pin(pin).unwrap().detach().unwrap();
    assert!(exists(link));
    stage.run(&["drop", "eth0", "any udp 7"]).ended(0);
    assert_eq!((lowering(&stage), exists(link)), (None, false));
}

#[test]
fn requests_that_cannot_be_are_refused() {
    let stage = Stage::new();
    let error = stage.run(&["balance", "backend", "eth0", "--stop"]).error();
    assert!(error.contains("no tunnels are opened at eth0"), "{error}");
    let error = stage.run(&[&START[..], &["--gue-port", "6081"]].concat()).error();
    assert!(error.contains("cannot both be at UDP port 6081"), "{error}");
    let error = stage.run(&[&START[..], &["--mtu", "1000"]].concat()).error();
    assert!(error.contains("IPv6 requires 1280"), "{error}");
    let error = stage.run(&["balance", "backend", "eth0", "--from", "10.9.0.1"]).error();
    assert!(error.contains("--service"), "{error}");
    assert!(stage.attached().is_empty());
}
