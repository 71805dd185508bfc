//! Every topology carries UDP and TCP over IPv4 and IPv6 as soon as it is built.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use lab::{Host, LinkOptions, Router, Service, ThreeHosts, Topology, TwoHosts};
use sys::netns::NetNs;

const PATIENCE: Duration = Duration::from_secs(5);

/// One datagram and one connection from `client` to `server` and back.
fn talk(client: &Host, server: &Host, address: IpAddr) {
    let at = SocketAddr::new(address, 0);
    let udp = server.run(|| UdpSocket::bind(at)).unwrap().unwrap();
    let tcp = server.run(|| TcpListener::bind(at)).unwrap().unwrap();
    let (udp_at, tcp_at) = (udp.local_addr().unwrap(), tcp.local_addr().unwrap());
    let echo = thread::spawn(move || {
        let mut buffer = [0; 64];
        udp.set_read_timeout(Some(PATIENCE)).unwrap();
        let (length, from) = udp.recv_from(&mut buffer).unwrap();
        udp.send_to(&buffer[..length], from).unwrap();
        let (mut stream, _) = tcp.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = stream.read(&mut buffer).unwrap();
        stream.write_all(&buffer[..length]).unwrap();
    });
    let place = format!("{} to {} at {address}", client.name(), server.name());
    let answers = client.run(|| {
        let any: SocketAddr =
            if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse().unwrap();
        let udp = UdpSocket::bind(any).unwrap();
        udp.set_read_timeout(Some(PATIENCE)).unwrap();
        udp.send_to(b"by datagram", udp_at).unwrap();
        let mut buffer = [0; 64];
        let length = udp.recv(&mut buffer).expect(&place);
        assert_eq!(&buffer[..length], b"by datagram", "{place}");
        let mut stream = TcpStream::connect_timeout(&tcp_at, PATIENCE).expect(&place);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"by stream").unwrap();
        let length = stream.read(&mut buffer).expect(&place);
        assert_eq!(&buffer[..length], b"by stream", "{place}");
    });
    answers.unwrap();
    echo.join().unwrap();
}

fn both_families(client: &Host, server: &Host, interface: &str) {
    talk(client, server, server.ipv4(interface).unwrap().into());
    talk(client, server, server.ipv6(interface).unwrap().into());
}

#[test]
fn two_hosts() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    both_families(&net.a, &net.b, "eth0");
    both_families(&net.b, &net.a, "eth0");
}

#[test]
fn router_forwards() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    both_families(&net.a, &net.c, "eth0");
    both_families(&net.c, &net.a, "eth0");
    both_families(&net.a, &net.b, "eth1");
}

#[test]
fn three_hosts_share_a_switch() {
    let net = ThreeHosts::build(&LinkOptions::default()).unwrap();
    for (client, server) in [(&net.a, &net.b), (&net.b, &net.c), (&net.c, &net.a)] {
        both_families(client, server, "eth0");
    }
}

#[test]
fn service_is_reached_through_the_attackers_link() {
    let net = Service::build(&LinkOptions::default()).unwrap();
    both_families(&net.client, &net.server, "eth0");
    both_families(&net.attacker, &net.server, "eth0");
    let up0 = net.attacker.netlink().unwrap().link("up0").unwrap();
    assert_eq!(Some(net.server.ifindex("eth0").unwrap()), up0.peer);
}

#[test]
fn links_are_what_the_options_say() {
    let options = LinkOptions { queues: 3, mtu: 9000, gro: false, checksum_offload: true };
    for (options, label) in [(options, "chosen"), (LinkOptions::default(), "default")] {
        let net = TwoHosts::build(&options).unwrap();
        for host in [&net.a, &net.b] {
            let link = host.netlink().unwrap().link("eth0").unwrap();
            assert_eq!((link.mtu, link.rx_queues), (options.mtu, options.queues), "{label}");
            let ethtool = host.ethtool().unwrap();
            assert_eq!(ethtool.feature("eth0", "gro").unwrap(), options.gro, "{label}");
            let offload = ethtool.feature("eth0", "tx-checksum").unwrap();
            assert_eq!(offload, options.checksum_offload, "{label}");
        }
    }
}

#[test]
fn server_polls_in_pinned_threads() {
    let net = Service::build(&LinkOptions { queues: 2, ..LinkOptions::default() }).unwrap();
    net.server.pin_napi("eth0", 0).unwrap();
    for pid in net.server.threaded_napi("eth0").unwrap() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    }
    both_families(&net.client, &net.server, "eth0");
}

#[test]
fn the_caller_remains_where_it_was() {
    let before = NetNs::current().unwrap().id().unwrap();
    let links_before = names_here();
    for topology in Topology::ALL {
        let lab = topology.build(&LinkOptions::default()).unwrap();
        for host in lab.hosts() {
            let inside = host.run(|| NetNs::current().unwrap().id().unwrap()).unwrap();
            assert_ne!(inside, before);
            assert_eq!(inside, host.netns().id().unwrap());
        }
        assert_eq!(NetNs::current().unwrap().id().unwrap(), before);
    }
    assert_eq!(names_here(), links_before);
}

fn names_here() -> Vec<String> {
    let links = sys::net::Netlink::open().unwrap().links().unwrap();
    links.into_iter().map(|link| link.name).collect()
}

#[test]
fn foreign_interfaces_are_left_alone() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let mut netlink = net.a.netlink().unwrap();
    netlink.create_bridge("other0").unwrap();
    for interface in ["other0", "lo", "eth7"] {
        let error = net.a.set_feature(interface, "gro", true).unwrap_err();
        assert!(matches!(error, lab::Error::NotOurs { .. }), "{error}");
        assert!(net.a.threaded_napi(interface).is_err());
    }
}

#[test]
fn commands_and_threads_run_inside() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let output = net.a.command("ip").unwrap().args(["-br", "address"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("10.0.0.1/24") && text.contains("fd00::1/64"), "{text}");
    let thread = net.b.spawn(|| NetNs::current().unwrap().id().unwrap()).unwrap();
    assert_eq!(thread.join().unwrap(), Some(net.b.netns().id().unwrap()));
}
