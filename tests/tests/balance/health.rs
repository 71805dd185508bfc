//! Health checks: services on the backends stop and come back, and the balancer
//! notices. The balancer is host `a`; backends are `b` and `c`, with the service's address on `lo`.
//!
//! The service's address is local on the balancer, too, and its reverse path filter is strict:
//! neither may prevent checks.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd as _;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lab::frame::{Flow, Side, TcpFlags};
use lab::{Capture, Host, LinkOptions, ThreeHosts, until};
use serde_json::Value;
use xway_tests::stage::PATIENCE;
use xway_tests::xway::{Xway, interrupt};

const SERVICE4: &str = "192.0.2.1";
const SERVICE6: &str = "2001:db8::1";
const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
/// Bounds of checks, short but with time for a busy machine.
const FAST: &str = "interval = '150ms', timeout = '150ms', rise = 2, fall = 3, hold = '10ms'";

struct Site {
    net: ThreeHosts,
    xway: Xway,
}

/// A checker that ends with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            interrupt(&self.0);
            let _ = self.0.wait();
        }
    }
}

/// A service in the background, until it is dropped.
pub struct Served {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn by(mut step: impl FnMut() + Send + 'static) -> Self {
        let over = Arc::<AtomicBool>::default();
        let is_over = Arc::clone(&over);
        let body = move || {
            while !is_over.load(Ordering::Acquire) {
                step();
            }
        };
        Self { over, thread: Some(thread::spawn(body)) }
    }

    /// Answers each request.
    pub fn http(listener: TcpListener, answer: impl Fn(&str) -> String + Send + 'static) -> Self {
        listener.set_nonblocking(true).unwrap();
        Self::by(move || {
            if !sys::poll::readable(listener.as_fd(), Duration::from_millis(20)).unwrap() {
                return;
            }
            let Ok((mut stream, _)) = listener.accept() else { return };
            stream.set_nonblocking(false).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut request = [0; 1024];
            // A check that was given up has closed the connection.
            let Ok(length) = stream.read(&mut request) else { return };
            let _ =
                stream.write_all(answer(&String::from_utf8_lossy(&request[..length])).as_bytes());
        })
    }

    /// Answers `ping` with `pong!`.
    pub fn udp(socket: UdpSocket) -> Self {
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        Self::by(move || {
            let mut bytes = [0; 100];
            if let Ok((length, from)) = socket.recv_from(&mut bytes) {
                assert_eq!(&bytes[..length], b"ping");
                // The sender may be unreachable for a time.
                let _ = socket.send_to(b"pong!", from);
            }
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking(), "the service failed");
    }
}

impl Site {
    fn new() -> Self {
        let net = ThreeHosts::build(&LinkOptions::default()).unwrap();
        for host in [&net.a, &net.b, &net.c] {
            for address in [format!("{SERVICE4}/32"), format!("{SERVICE6}/128")] {
                ip(host, &format!("addr add {address} dev lo"));
            }
        }
        for path in ["ipv4/conf/eth0/forwarding", "ipv6/conf/eth0/forwarding"] {
            net.a.set_sysctl(path, "1").unwrap();
        }
        net.a.set_sysctl("ipv4/conf/eth0/rp_filter", "1").unwrap();
        Self { net, xway: Xway::new() }
    }

    fn json(&self, words: &[&str]) -> Value {
        self.xway.run_in(&self.net.a, &[&["--json"], words].concat()).json(0)
    }

    fn load(&self, services: &str) {
        let path = self.xway.state().join("services.toml");
        fs::write(&path, services).unwrap();
        self.json(&["balance", "load", "eth0", path.to_str().unwrap()]);
    }

    /// Checks the backends in the foreground; the file has its output.
    fn check(&self) -> (Running, std::path::PathBuf) {
        let path = self.xway.state().join("events");
        let mut command =
            self.xway.command_in(&self.net.a, &["--json", "balance", "health", "eth0"]);
        command.stdout(File::create(&path).unwrap());
        (Running(command.spawn().unwrap()), path)
    }

    fn service(&self) -> Value {
        self.json(&["balance", "show"])["balancers"][0]["services"][0].clone()
    }

    fn backends(&self) -> Vec<Value> {
        self.service()["backends"].as_array().unwrap().clone()
    }

    /// Waits until the checks found this of both backends.
    #[track_caller]
    fn found(&self, expected: [&str; 2]) {
        let mut last = Value::Null;
        let found = until("states of backends", PATIENCE, || {
            let states = self.backends().into_iter().map(|one| one["health"]["state"].clone());
            let states: Vec<_> = states.collect();
            let is_found = states == expected;
            last = self.service();
            Ok(is_found.then_some(()))
        });
        assert!(found.is_ok(), "{expected:?} is expected: {last:#}");
    }

    /// Sends a segment of each of many connections; how many the program sent to each backend.
    fn send(&self) -> [u64; 2] {
        let packets = || [0, 1].map(|at| self.backends()[at]["packets"].as_u64().unwrap());
        let before = packets();
        let wire = Capture::open(&self.net.switch, "port-a").unwrap();
        let client = Side::new("02:78:77:00:00:09", "198.51.100.1", 1).unwrap();
        let service = Side { mac: self.net.a.mac("eth0").unwrap(), ..side(SERVICE4, 80) };
        let mut flow = Flow::new(client, service);
        for port in 0..CONNECTIONS {
            flow.source.port = 1000 + port as u16;
            wire.send(&flow.tcp(ACK, 1, b"").unwrap()).unwrap();
        }
        let mut sent = [0; 2];
        until("packets to backends", PATIENCE, || {
            let now = packets();
            sent = [0, 1].map(|at| now[at] - before[at]);
            Ok((sent.iter().sum::<u64>() == CONNECTIONS).then_some(()))
        })
        .unwrap();
        sent
    }
}

const CONNECTIONS: u64 = 200;

fn side(ip: &str, port: u16) -> Side {
    Side::new("02:78:77:00:00:01", ip, port).unwrap()
}

pub fn ip(host: &Host, words: &str) {
    let output = host.command("ip").unwrap().args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {output:?}");
}

fn services(address: &str, protocol: &str, check: &str) -> String {
    let backends = if address.contains(':') {
        "{ address = 'fd00::2' }, { address = 'fd00::3' }"
    } else {
        "{ address = '10.0.0.2' }, { address = '10.0.0.3' }"
    };
    format!(
        "[[service]]\nname = 'web'\naddress = '{address}'\nprotocol = '{protocol}'\nport = 80\n\
         delivery = 'mac'\nhealth = {{ check = {check}, {FAST} }}\nbackend = [{backends}]\n"
    )
}

/// Connections are accepted by the kernel alone.
fn listen(host: &Host, address: &str) -> TcpListener {
    host.run(|| TcpListener::bind((address, 80))).unwrap().unwrap()
}

/// Answers each request with a status and headers that never end.
fn http(host: &Host, status: &Arc<AtomicU16>) -> Served {
    let status = Arc::clone(status);
    Served::http(listen(host, SERVICE4), move |request| {
        assert!(request.starts_with("GET /up HTTP/1.1\r\nHost: a.example\r\n"), "{request}");
        let status = status.load(Ordering::Acquire);
        format!("HTTP/1.1 {status} x\r\nX-Long: {}\r\n", "x".repeat(100_000))
    })
}

fn echo(host: &Host) -> Served {
    Served::udp(host.run(|| UdpSocket::bind((SERVICE4, 80))).unwrap().unwrap())
}

#[test]
fn a_service_that_stops_loses_its_flows_until_it_is_back() {
    for address in [SERVICE4, SERVICE6] {
        let site = Site::new();
        site.load(&services(address, "tcp", "'tcp'"));
        let [b, c] = [&site.net.b, &site.net.c].map(|host| listen(host, address));
        assert_eq!(site.service()["check"], "tcp");
        assert_eq!(site.backends()[0]["health"]["state"], "unknown");
        let (mut checker, events) = site.check();
        site.found(["up", "up"]);
        let both = (address == SERVICE4).then(|| site.send());
        assert!(both.is_none_or(|both| both.iter().all(|count| *count > 0)), "{both:?}");

        drop(b);
        site.found(["down", "up"]);
        let backend = &site.backends()[0];
        assert_eq!((&backend["state"], &backend["weight"]), (&"down".into(), &1.into()));
        assert_eq!(backend["health"]["reason"], "connection refused");
        if address == SERVICE4 {
            assert_eq!(site.send(), [0, CONNECTIONS], "also those of the first backend");
        }
        // A changed file, and another state of the other backend, keep what checks found.
        site.load(
            &services(address, "tcp", "'tcp'").replace("port = 80", "port = 80\nby = 'flow'"),
        );
        assert_eq!(site.backends()[0]["state"], "down");

        let _b = listen(&site.net.b, address);
        site.found(["up", "up"]);
        if address == SERVICE4 {
            // Older connections remain where they are; younger ones are on both.
            assert_eq!(site.backends()[0]["state"], "up");
        }
        interrupt(&checker.0);
        assert!(checker.0.wait().unwrap().success());
        let events = fs::read_to_string(events).unwrap();
        let kinds: Vec<Value> =
            events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds: Vec<_> = kinds.iter().map(|one| one["event"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["down", "up"], "{events}");
        drop(c);
    }
}

#[test]
fn if_all_fail_nothing_is_taken_out() {
    let site = Site::new();
    site.load(&services(SERVICE4, "tcp", "'tcp'"));
    let [b, c] = [&site.net.b, &site.net.c].map(|host| listen(host, SERVICE4));
    let _checker = site.check();
    site.found(["up", "up"]);
    ip(&site.net.b, &format!("addr del {SERVICE4}/32 dev lo"));
    ip(&site.net.c, &format!("addr del {SERVICE4}/32 dev lo"));
    site.found(["failing", "failing"]);
    assert_eq!(site.service()["fails_open"], true);
    assert!(site.backends().iter().all(|one| one["state"] == "up"));
    assert!(site.send().iter().all(|count| *count > 0));
    // One is back: the other is within the limit.
    ip(&site.net.c, &format!("addr add {SERVICE4}/32 dev lo"));
    site.found(["down", "up"]);
    assert_eq!(site.service()["fails_open"], false);
    assert_eq!(site.send(), [0, CONNECTIONS]);
    drop((b, c));
}

#[test]
fn http_is_judged_by_its_status() {
    let site = Site::new();
    let check = "{ http = { path = '/up', host = 'a.example', status = '200-299' } }";
    site.load(&services(SERVICE4, "tcp", check));
    let statuses: [Arc<AtomicU16>; 2] = [0; 2].map(|_| Arc::new(AtomicU16::new(204)));
    let _b = http(&site.net.b, &statuses[0]);
    let _c = http(&site.net.c, &statuses[1]);
    let _checker = site.check();
    site.found(["up", "up"]);
    statuses[1].store(503, Ordering::Release);
    site.found(["up", "down"]);
    assert_eq!(site.backends()[1]["health"]["reason"], "HTTP status 503");
    statuses[1].store(200, Ordering::Release);
    site.found(["up", "up"]);
}

#[test]
fn datagrams_are_answered_as_expected() {
    let site = Site::new();
    let check = "{ udp = { send = 'ping', expect = 'pong' } }";
    site.load(&services(SERVICE4, "udp", check));
    let (b, _c) = (echo(&site.net.b), echo(&site.net.c));
    let _checker = site.check();
    site.found(["up", "up"]);
    drop(b);
    site.found(["down", "up"]);
    assert_eq!(site.backends()[0]["health"]["reason"], "unreachable (ICMP)");
}

#[test]
fn echo_requests_are_for_the_address_of_the_service() {
    for (address, path) in
        [(SERVICE4, "ipv4/icmp_echo_ignore_all"), (SERVICE6, "ipv6/icmp/echo_ignore_all")]
    {
        let site = Site::new();
        site.load(&services(address, "tcp", "'icmp'"));
        let _checker = site.check();
        site.found(["up", "up"]);
        site.net.c.set_sysctl(path, "1").unwrap();
        site.found(["up", "down"]);
        assert_eq!(site.backends()[1]["health"]["reason"], "no answer in time");
    }
}

/// The data path remains as it is while no checker runs, and the next one continues from it.
#[test]
fn a_daemon_that_was_killed_forgets_nothing() {
    let site = Site::new();
    site.load(&services(SERVICE4, "tcp", "'tcp'"));
    let _c = listen(&site.net.c, SERVICE4);
    let declared = site.xway.state().join("declared");
    let words = ["daemon", declared.to_str().unwrap(), "--listen", "127.0.0.1:0"];
    let start = || Running(site.xway.command_in(&site.net.a, &words).spawn().unwrap());
    let mut daemon = start();
    site.found(["down", "up"]);
    let error = site.xway.run_in(&site.net.a, &["balance", "health", "eth0"]).error();
    assert!(error.contains("another process checks the backends of eth0"), "{error}");
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    assert_eq!(site.backends()[0]["state"], "down");
    // Another program, with other maps, does not forget it either.
    let services = site.xway.state().join("services.toml");
    let path = services.to_str().unwrap();
    site.json(&["balance", "load", "eth0", path, "--replace"]);
    assert_eq!(site.backends()[0]["state"], "down");
    site.json(&["balance", "load", "eth0", path]);
    assert_eq!(site.backends()[0]["state"], "down");

    let b = listen(&site.net.b, SERVICE4);
    let mut daemon = start();
    site.found(["up", "up"]);
    drop(b);
    site.found(["down", "up"]);
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    assert_eq!(site.send(), [0, CONNECTIONS], "the data path remains as it was");
}

#[test]
fn what_cannot_be_checked_is_named() {
    let site = Site::new();
    let run = |words: &[&str]| site.xway.run_in(&site.net.a, words).error();
    let error = run(&["balance", "health", "eth0"]);
    assert!(error.contains("no balancer runs on eth0"), "{error}");
    let services = services(SERVICE4, "tcp", "'tcp'");
    let health = services.lines().find(|line| line.starts_with("health")).unwrap();
    site.load(&services.replace(health, ""));
    let error = run(&["balance", "health", "eth0"]);
    assert!(error.contains("checks no backends") && error.contains("[service.health]"), "{error}");
    assert_eq!(site.service()["check"], Value::Null);
    assert_eq!(site.backends()[0]["health"], Value::Null);
    let path = site.xway.state().join("wrong.toml");
    fs::write(&path, services.replace("port = 80", "port = 'any'")).unwrap();
    let error = run(&["balance", "load", "eth0", path.to_str().unwrap()]);
    assert!(error.contains("service `web`: health: `port` is required"), "{error}");
}
