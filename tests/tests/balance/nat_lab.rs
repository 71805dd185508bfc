//! Full translation between hosts: TCP and UDP of the kernel on both sides. Backends are on another
//! interface than the clients, and on the same one.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};

use lab::{Host, LinkOptions, Router};
use serde_json::json;
use xway_tests::stage::PATIENCE;
use xway_tests::xway::Xway;

pub const SERVICES: [&str; 2] = ["192.0.2.1", "2001:db8::1"];
const PORT: u16 = 8080;

pub fn ip(host: &Host, words: &str) {
    let status = host.command("ip").unwrap().args(words.split(' ')).status().unwrap();
    assert!(status.success(), "ip {words}");
}

/// The router whose clients know the way to the services.
pub fn site() -> (Router, Xway) {
    let net = Router::build(&LinkOptions::default()).unwrap();
    ip(&net.a, "route add 192.0.2.0/24 via 10.0.1.1");
    ip(&net.a, "route add 2001:db8::/32 via fd00:0:0:1::1");
    (net, Xway::new())
}

/// A file of services with these backends and pools, one of each family.
pub fn file(xway: &Xway, backends: [&str; 2], pools: [&str; 2]) -> String {
    let mut text = format!("nat = {{ source = ['{}', '{}'] }}\n", pools[0], pools[1]);
    for protocol in ["tcp", "udp"] {
        for (service, backend) in SERVICES.iter().zip(backends) {
            text += &format!(
                "[[service]]\nname = '{protocol} {service}'\naddress = '{service}'\n\
                 protocol = '{protocol}'\nport = 80\ndelivery = 'nat'\n\
                 backend = [{{ address = '{backend}', port = {PORT} }}]\n"
            );
        }
    }
    let path = xway.state().join("nat.toml");
    fs::create_dir_all(xway.state()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Bytes there and back over TCP and UDP; the server sees an address of the pool.
pub fn talk(client: &Host, server: &Host, service: &str, backend: &str, pool: &str) {
    let address = |text: &str, port| SocketAddr::new(text.parse::<IpAddr>().unwrap(), port);
    let listener = server.run(|| TcpListener::bind(address(backend, PORT))).unwrap().unwrap();
    let echo = std::thread::spawn(move || {
        let (mut stream, from) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        stream.write_all(&heard).unwrap();
        from.ip()
    });
    let to = address(service, 80);
    let mut stream = client.run(|| TcpStream::connect_timeout(&to, PATIENCE)).unwrap().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let said: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
    stream.write_all(&said).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).unwrap();
    assert_eq!(heard, said);
    assert_eq!(echo.join().unwrap(), pool.parse::<IpAddr>().unwrap());

    let udp = server.run(|| UdpSocket::bind(address(backend, PORT))).unwrap().unwrap();
    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let asking = client.run(|| UdpSocket::bind(any)).unwrap().unwrap();
    for socket in [&udp, &asking] {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    let mut buffer = [0; 64];
    asking.send_to(b"question", to).unwrap();
    let (_, from) = udp.recv_from(&mut buffer).expect("the question arrives");
    udp.send_to(b"answer", from).unwrap();
    let (length, from) = asking.recv_from(&mut buffer).expect("the answer arrives");
    assert_eq!((&buffer[..length], from), (&b"answer"[..], to));
    // No process listens now: the ICMP error is translated.
    drop(udp);
    asking.connect(to).unwrap();
    asking.send(b"question").unwrap();
    let refused = asking.recv(&mut buffer).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn backends_on_another_interface() {
    let (net, xway) = site();
    let (backends, pools) = (["10.0.2.2", "fd00:0:0:2::2"], ["10.0.2.250", "fd00:0:0:2::fa"]);
    let services = file(&xway, backends, pools);
    let load = ["balance", "load", "eth0", &services, "--out", "eth1"];
    let error = xway.run_in(&net.b, &load).error();
    assert!(error.contains("10.0.2.250") && error.contains("ip address add"), "{error}");
    ip(&net.b, "address add 10.0.2.250/32 dev eth1");
    ip(&net.b, "address add fd00:0:0:2::fa/128 dev eth1 nodad");
    xway.run_in(&net.b, &load).ended(0);
    for family in 0..2 {
        talk(&net.a, &net.c, SERVICES[family], backends[family], pools[family]);
    }
    let again = xway.run_in(&net.b, &[&["--json"], &load[..]].concat()).json(0);
    assert_eq!(again["updated"], true);
    let shown = xway.run_in(&net.b, &["--json", "balance", "show"]).json(0);
    let backend = &shown["balancers"][1]["services"][2]["backends"][0];
    assert_eq!(backend["flows"], 1, "{shown}");
    let alone = ["balance", "load", "eth0", &services, "--replace"];
    let error = xway.run_in(&net.b, &alone).error();
    assert!(error.contains("name eth1 with `--out`"), "{error}");
    xway.run_in(&net.b, &["detach", "eth1"]).ended(0);
    let shown = xway.run_in(&net.b, &["--json", "balance", "show"]).json(0);
    assert_eq!(shown["balancers"], json!([]), "from all interfaces");
}

/// The backend is the client's host itself, so that packets leave by the interface they came in at.
#[test]
fn backends_on_the_interface_of_the_clients() {
    let (net, xway) = site();
    let (backends, pools) = (["10.0.1.2", "fd00:0:0:1::2"], ["10.0.1.250", "fd00:0:0:1::fa"]);
    let services = file(&xway, backends, pools);
    ip(&net.b, "address add 10.0.1.250/32 dev eth0");
    ip(&net.b, "address add fd00:0:0:1::fa/128 dev eth0 nodad");
    // A veth gets what its peer transmits by XDP only while it has an XDP program.
    let rules = xway.state().join("rules.toml");
    fs::write(&rules, "rules = ['one: drop tcp sport 1']\n").unwrap();
    xway.run_in(&net.a, &["filter", "load", "eth0", rules.to_str().unwrap()]).ended(0);
    let load = ["balance", "load", "eth0", &services];
    xway.run_in(&net.b, &load).ended(0);
    for family in 0..2 {
        talk(&net.a, &net.a, SERVICES[family], backends[family], pools[family]);
    }
    let other = fs::read_to_string(&services).unwrap().replace("10.0.1.250", "10.0.1.1");
    fs::write(&services, other).unwrap();
    let error = xway.run_in(&net.b, &load).error();
    assert!(error.contains("--replace"), "{error}");
}

/// What would get in the way of translation is reported when a balancer is loaded.
#[test]
fn sockets_and_settings_that_are_in_the_way_are_reported() {
    let (net, xway) = site();
    let (backends, pools) = (["10.0.2.2", "fd00:0:0:2::2"], ["10.0.2.250", "fd00:0:0:2::fa"]);
    ip(&net.b, "address add 10.0.2.250/32 dev eth1");
    ip(&net.b, "address add fd00:0:0:2::fa/128 dev eth1 nodad");
    for interface in ["all", "eth0", "eth1"] {
        net.b.set_sysctl(&format!("ipv4/conf/{interface}/rp_filter"), "0").unwrap();
    }
    let services = file(&xway, backends, pools);
    let load = || {
        let answer = xway
            .run_in(&net.b, &["balance", "load", "eth0", &services, "--out", "eth1", "--replace"]);
        let text = answer.stderr.clone();
        answer.ended(0);
        text
    };
    let quiet = load();
    assert!(!quiet.contains("is used by a socket") && !quiet.contains("sysctl"), "{quiet}");
    let bound = |text: &str| {
        let address = SocketAddr::new(text.parse::<IpAddr>().unwrap(), 4000);
        net.b.run(|| UdpSocket::bind(address)).unwrap().unwrap()
    };
    let sockets = pools.map(bound);
    net.b.set_sysctl("ipv4/conf/eth1/rp_filter", "1").unwrap();
    ip(&net.b, "address add 192.0.2.1/32 dev lo");
    let loud = load();
    for text in [
        "UDP port 4000 of 10.0.2.250",
        "UDP port 4000 of fd00:0:0:2::fa",
        "sysctl -w net.ipv4.conf.eth1.rp_filter=2",
        "sysctl -w net.ipv4.conf.eth1.accept_local=1",
    ] {
        assert!(loud.contains(text), "{text}: {loud}");
    }
    assert!(!loud.contains("eth0.rp_filter"), "{loud}");
    drop(sockets);
    assert!(!load().contains("is used by a socket"));
}
