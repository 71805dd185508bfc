//! What sockets make of errors through translations: hop limits, the path MTU, closed ports. The
//! services' addresses are nowhere, and only the program answers.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};

use kernel::KernelRuntime;
use lab::{Capture, Host, until};
use xway_tests::bpf::router::{B1, C, Change, Forward, side};
use xway_tests::stage::PATIENCE;

use super::{FAMILIES, Family, translating};
use crate::quote::message;

fn router() -> Forward<KernelRuntime> {
    let forward =
        Forward::<KernelRuntime>::configured(&translating(true, true), &[Change::Mtu(1300)]);
    for family in FAMILIES {
        ip(&forward.site.net.a, &format!("route add {} via {}", family.service, gateway(family)));
    }
    forward
}

fn gateway(family: Family) -> &'static str {
    if family.is_ipv6() { "fd00:0:0:1::1" } else { "10.0.1.1" }
}

fn address(host: &str, port: u16) -> SocketAddr {
    SocketAddr::new(host.parse().unwrap(), port)
}

fn ip(host: &Host, words: &str) -> String {
    let output = host.command("ip").unwrap().args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}");
    String::from_utf8(output.stdout).unwrap()
}

fn udp(host: &Host, at: SocketAddr, to: SocketAddr) -> UdpSocket {
    let socket = host.run(|| UdpSocket::bind(at)).unwrap().unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

#[test]
fn the_path_is_traced_and_its_mtu_found() {
    let forward = router();
    let (client, server) = (&forward.site.net.a, &forward.site.net.c);
    for family in FAMILIES {
        let (to, via) = (address(family.service, 80), gateway(family));
        let listener = server.run(|| TcpListener::bind(address(family.server, 8080)));
        let listener = listener.unwrap().unwrap();
        let connect = || client.run(|| TcpStream::connect_timeout(&to, PATIENCE)).unwrap();
        let route = |rest| ip(client, &format!("route replace {} via {via}{rest}", family.service));
        route(" hoplimit 1");
        let before = forward.site.count("sent-time-exceeded");
        assert_eq!(connect().map(|_| ()).unwrap_err().kind(), ErrorKind::HostUnreachable, "{to}");
        assert!(forward.site.count("sent-time-exceeded") > before, "{to}");
        route("");

        let before = forward.site.count("sent-too-big");
        let mut stream = connect().unwrap();
        let (mut heard, _) = listener.accept().unwrap();
        heard.set_read_timeout(Some(PATIENCE)).unwrap();
        let said = vec![7; 20_000];
        stream.write_all(&said).unwrap();
        let mut found = vec![0; said.len()];
        heard.read_exact(&mut found).expect("segments fit after the path MTU is known");
        assert_eq!(found, said, "{to}");
        assert!(forward.site.count("sent-too-big") > before, "{to}");
    }
}

/// The hosts themselves report closed ports, in both directions.
#[test]
fn closed_ports_are_reported_to_sockets() {
    let forward = router();
    let (client, server) = (&forward.site.net.a, &forward.site.net.c);
    for family in FAMILIES {
        let (service, at) = (address(family.service, 1234), address(family.server, 5678));
        let own = address(family.client, 4000);
        let asking = udp(client, own, service);
        asking.send(b"question").unwrap();
        let error = asking.recv(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{service}");

        let serving = udp(server, at, own);
        asking.send(b"question").unwrap();
        serving.recv(&mut [0; 8]).unwrap();
        drop(asking);
        serving.send(b"answer").unwrap();
        let error = serving.recv(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{at}");
    }
}

/// A hop beyond the router reports its MTU.
#[test]
fn the_mtu_beyond_the_router_is_learned() {
    let forward = router();
    let (client, server) = (&forward.site.net.a, &forward.site.net.c);
    let wire = Capture::open(server, "eth0").unwrap();
    for family in FAMILIES {
        let own = address(family.client, 4000);
        let asking = udp(client, own, address(family.service, 1234));
        asking.send(&[7; 1200]).unwrap();
        let sent = wire.next(PATIENCE, |frame| frame.ends_with(&[7; 1200])).unwrap();
        let hop = lab::frame::Flow::new(side(C, family.hop_c, 0), side(B1, family.client, 0));
        let (kind, code, mtu) = if family.is_ipv6() { (2, 0, 1280) } else { (3, 4, 1000) };
        wire.send(&message(&hop, kind, code, mtu, &sent[14..14 + 500])).unwrap();
        let words = format!("route get {}", family.service);
        let learned = format!("mtu {mtu}");
        until("the path MTU to be learned", PATIENCE, || {
            Ok(ip(client, &words).contains(&learned).then_some(()))
        })
        .unwrap();
    }
}
