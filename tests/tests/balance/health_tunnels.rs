//! Checks in each tunnel, opened by `xway balance backend`: the balancer is host `a`, backends are
//! `b` and `c`.

use std::fs::File;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use lab::{Host, until};
use serde_json::Value;
use xway_tests::stage::PATIENCE;

use super::backend_lab::{HOSTS, SERVICES, Site};
use super::health::{Running, Served, ip};

/// A check that was late because this host is busy is repeated, and does not count.
const BOUNDS: &str = "interval = '500ms', timeout = '450ms', rise = 1, fall = 2, hold = '10ms'";
/// Ports of services by their check; that of `tcp` is the lab's.
const HTTP: u16 = 81;
const UDP: u16 = 82;
const CHECKS: [(&str, &str, u16, &str); 4] = [
    ("tcp", "tcp", 80, "'tcp'"),
    ("http", "tcp", HTTP, "{ http = { status = '200' } }"),
    ("udp", "udp", UDP, "{ udp = { send = 'ping', expect = 'pong' } }"),
    ("icmp", "udp", 83, "'icmp'"),
];

/// Services of both families with all checks, whose backends are of the same family.
fn services(delivery: &str) -> String {
    let mut text = String::new();
    for (family, address) in SERVICES.into_iter().enumerate() {
        let [b, c] = [1, 2].map(|host| format!("{{ address = '{}' }}", HOSTS[host][family]));
        for (name, protocol, port, check) in CHECKS {
            text += &format!(
                "[[service]]\nname = '{name}{family}'\naddress = '{address}'\n\
                 protocol = '{protocol}'\nport = {port}\ndelivery = {delivery}\n\
                 health = {{ check = {check}, {BOUNDS} }}\nbackend = [{b}, {c}]\n"
            );
        }
    }
    text
}

/// Answers requests and datagrams at both addresses.
fn serve(host: &Host) -> Vec<Served> {
    let to = |address: &str, port| SocketAddr::new(address.parse().unwrap(), port);
    let mut all = Vec::new();
    for address in SERVICES {
        let listener = host.run(|| TcpListener::bind(to(address, HTTP))).unwrap().unwrap();
        all.push(Served::http(listener, |_| "HTTP/1.1 200 OK\r\n\r\n".to_owned()));
        let socket = host.run(|| UdpSocket::bind(to(address, UDP))).unwrap().unwrap();
        all.push(Served::udp(socket));
    }
    all
}

/// Waits until all checks found this of both backends.
#[track_caller]
fn found(site: &Site, expected: [&str; 2]) {
    let mut last = Value::Null;
    let is_found = until("states of backends", 4 * PATIENCE, || {
        last = site.json(&site.net.a, &["balance", "show"])["balancers"][0]["services"].clone();
        let services = last.as_array().unwrap();
        let is_so = |service: &Value| {
            let backends = service["backends"].as_array().unwrap().iter();
            backends.map(|one| &one["health"]["state"]).eq(expected.iter())
        };
        Ok((services.len() == 8 && services.iter().all(is_so)).then_some(()))
    });
    assert!(is_found.is_ok(), "{expected:?} is expected: {last:#}");
}

#[test]
fn checks_go_down_and_up_in_each_tunnel() {
    let site = Site::new();
    site.open();
    let _served = [serve(&site.net.b), serve(&site.net.c)];
    for delivery in ["'ipip'", "{ gue = {} }", "{ geneve = {} }"] {
        site.load_text(&services(delivery));
        let mut command =
            site.xway.command_in(&site.net.a, &["--json", "balance", "health", "eth0"]);
        command.stdout(File::create(site.xway.state().join("events")).unwrap());
        let _checker = Running(command.spawn().unwrap());
        found(&site, ["up", "up"]);
        // Nothing but tunnels reaches the services: their addresses are on `lo`.
        for (address, bits) in SERVICES.into_iter().zip([32, 128]) {
            ip(&site.net.b, &format!("addr del {address}/{bits} dev lo"));
        }
        found(&site, ["down", "up"]);
        for (address, nodad) in SERVICES.into_iter().zip(["", " nodad"]) {
            ip(&site.net.b, &format!("addr add {address} dev lo{nodad}"));
        }
        found(&site, ["up", "up"]);
        let opened = site.packets(&site.net.b, "opened");
        assert!(opened > 0, "no tunnel was opened");
        site.xway.run_in(&site.net.a, &["detach", "eth0"]).ended(0);
    }
}
