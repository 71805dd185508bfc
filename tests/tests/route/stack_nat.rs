//! NAT that the stack has established, and the stack's firewall: real connections through nft's
//! masquerading and dnat rules, with and without the program.
//!
//! `c` has no route to the client, so nothing works without translation.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use lab::{LinkOptions, Router, until};
use serde_json::Value;
use sys::net::TrackedConnection;
use xway_tests::nft;
use xway_tests::stage::PATIENCE;
use xway_tests::xway::{Answer, Xway};

/// Masquerading towards `c`, and two services on the router's own addresses that `c` provides.
const RULES: &str = "\
table inet translations {
  chain out { type nat hook postrouting priority srcnat; oifname \"eth1\" masquerade; }
  chain in {
    type nat hook prerouting priority dstnat;
    iifname \"eth0\" tcp dport 80 dnat ip to 10.0.2.2:8080
    iifname \"eth0\" udp dport 53 dnat ip to 10.0.2.2:5353
    iifname \"eth0\" tcp dport 80 dnat ip6 to [fd00:0:0:2::2]:8080
    iifname \"eth0\" udp dport 53 dnat ip6 to [fd00:0:0:2::2]:5353
  }
}
";
const LIBERAL: &str = "netfilter/nf_conntrack_tcp_be_liberal";
/// The router by its address towards the client, and the server.
const PAIRS: [(&str, &str); 2] =
    [("10.0.1.1", "10.0.2.2"), ("[fd00:0:0:1::1]", "[fd00:0:0:2::2]")];

struct Net {
    net: Router,
    xway: Xway,
}

impl Net {
    fn new(rules: &str) -> Self {
        let net = Router::build(&LinkOptions::default()).unwrap();
        let this = Self { net, xway: Xway::new() };
        for words in ["route del 10.0.1.0/24", "-6 route del fd00:0:0:1::/64"] {
            let mut ip = this.net.c.command("ip").unwrap();
            assert!(ip.args(words.split(' ')).status().unwrap().success(), "ip {words}");
        }
        nft::run(&this.net.b, &["-f", "-"], rules).unwrap();
        this
    }

    /// The router with the program.
    fn translating(rules: &str) -> Self {
        let this = Self::new(rules);
        this.net.b.set_sysctl(LIBERAL, "1").unwrap();
        this.forward(&["--conntrack"]).ended(0);
        this
    }

    fn forward(&self, words: &[&str]) -> Answer {
        self.xway.run_in(&self.net.b, &[&["forward", "eth0", "eth1"], words].concat())
    }

    /// Packets with a reason, of both ports.
    fn packets(&self, reason: &str) -> u64 {
        let words = ["--json", "status", "--interval", "1ms"];
        let status = self.xway.run_in(&self.net.b, &words).json(0);
        let all = status["interfaces"].as_array().unwrap().iter();
        let rates = all.filter_map(|one| one["programs"].get(0).map(|one| one["rates"].clone()));
        rates.map(|rates| packets(&rates, reason)).sum()
    }

    fn entries(&self) -> Vec<TrackedConnection> {
        self.net.b.run(|| sys::net::tracked_connections().unwrap()).unwrap()
    }

    fn entry(&self, is: impl Fn(&TrackedConnection) -> bool) -> Option<TrackedConnection> {
        self.entries().into_iter().find(is)
    }

    /// Connects the client to `to` and returns both ends.
    fn connect(&self, to: SocketAddr, at: SocketAddr) -> (TcpStream, TcpStream) {
        let listener = self.net.c.run(|| TcpListener::bind(at)).unwrap().unwrap();
        let connect = || TcpStream::connect_timeout(&to, PATIENCE);
        let client = self.net.a.run(connect).unwrap().unwrap();
        let (server, _) = listener.accept().unwrap();
        for stream in [&client, &server] {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        (client, server)
    }
}

fn packets(rates: &Value, reason: &str) -> u64 {
    let reasons = rates["reasons"].as_array().into_iter().flatten();
    let counts = reasons.filter(|one| one["reason"] == reason);
    counts.map(|one| one["packets"].as_u64().unwrap()).sum()
}

fn address(host: &str, port: u16) -> SocketAddr {
    format!("{host}:{port}").parse().unwrap()
}

/// Both ends send, and receive what the other sent.
fn exchange(one: &TcpStream, other: &TcpStream, bytes: usize) {
    let data: Vec<u8> = (0..bytes as u32).map(|n| (n / 251 + n) as u8).collect();
    thread::scope(|scope| {
        for (mut from, mut to) in [(one, other), (other, one)] {
            let data = &data;
            scope.spawn(move || from.write_all(data).unwrap());
            scope.spawn(move || {
                let mut seen = vec![0; data.len()];
                to.read_exact(&mut seen).unwrap();
                assert!(seen == *data, "bytes have changed");
            });
        }
    });
}

fn is_tcp(entry: &TrackedConnection) -> bool {
    entry.protocol == 6
}

#[test]
fn established_tcp_is_translated_and_ends_in_the_stack() {
    let net = Net::translating(RULES);
    let services = PAIRS.map(|(router, server)| (address(router, 80), address(server, 8080)));
    let direct = PAIRS.map(|(_, server)| (address(server, 8080), address(server, 8080)));
    for (to, at) in services.into_iter().chain(direct) {
        let (client, server) = net.connect(to, at);
        assert_ne!(server.peer_addr().unwrap().ip(), client.local_addr().unwrap().ip());
        let (before, stack) = (net.packets("forwarded"), net.packets("not-established"));
        // More than any window, so that the stack's idea of it is long outdated.
        exchange(&client, &server, 4 << 20);
        let forwarded = net.packets("forwarded") - before;
        assert!(forwarded > 100, "{to}: {forwarded}");
        assert!(net.packets("not-established") - stack < 20, "{to}");
        let own = client.local_addr().unwrap();
        let of_client = |entry: &TrackedConnection| is_tcp(entry) && entry.tuples[0].0 == own;
        assert!(net.entry(of_client).unwrap().timeout_s > 400_000);

        // The client ends first, and the stack sees both ends.
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!((&server).read(&mut [0; 8]).unwrap(), 0);
        (&server).write_all(b"last words").unwrap();
        server.shutdown(Shutdown::Write).unwrap();
        let mut last = String::new();
        (&client).read_to_string(&mut last).unwrap();
        assert_eq!(last, "last words");
        until("the entry to close", PATIENCE, || {
            Ok((net.entry(of_client).is_none_or(|entry| entry.timeout_s <= 120)).then_some(()))
        })
        .unwrap();
    }
    assert!(net.packets("handshake") >= 4 * 4, "SYN and FIN of both ends");
}
