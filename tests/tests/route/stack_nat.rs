//! NAT that the stack has established, and the stack's firewall: real connections through nft's
//! masquerading and dnat rules, with and without the program.
//!
//! `c` has no route to the client, so nothing works without translation.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use functions::route::Config;
use kernel::KernelRuntime;
use lab::frame::{Flow, TcpFlags, check};
use lab::{Capture, LinkOptions, Router, until};
use packet::Mac;
use spec::Verdict;
use sys::net::TrackedConnection;
use vm::VmRuntime;
use xway_tests::bpf::router::{A, B0, B1, C, Change, Forward, Port, Routed, from_a, side};
use xway_tests::nft;
use xway_tests::stage::PATIENCE;
use xway_tests::xway::{Answer, Xway};

/// Masquerading towards `c`, and two services on the router's own addresses that `c` provides.
pub const RULES: &str = "\
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
pub const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
const PAYLOAD: &[u8] = b"echo request";
pub const LIBERAL: &str = "netfilter/nf_conntrack_tcp_be_liberal";
/// The router by its address towards the client, and the server.
pub const PAIRS: [(&str, &str); 2] =
    [("10.0.1.1", "10.0.2.2"), ("[fd00:0:0:1::1]", "[fd00:0:0:2::2]")];

pub struct Net {
    pub net: Router,
    xway: Xway,
}

impl Net {
    pub fn new(rules: &str) -> Self {
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
    pub fn translating(rules: &str) -> Self {
        let this = Self::new(rules);
        this.net.b.set_sysctl(LIBERAL, "1").unwrap();
        this.forward(&["--conntrack"]).ended(0);
        this
    }

    pub fn forward(&self, words: &[&str]) -> Answer {
        self.xway.run_in(&self.net.b, &[&["forward", "eth0", "eth1"], words].concat())
    }

    /// Packets with a reason, of both interfaces.
    pub fn packets(&self, reason: &str) -> u64 {
        let packets = |interface| {
            let words = ["--json", "status", interface, "--interval", "1ms"];
            let status = self.xway.run_in(&self.net.b, &words).json(0);
            let reasons = &status["interfaces"][0]["programs"][0]["rates"]["reasons"];
            let counts = reasons.as_array().unwrap().iter().filter(|one| one["reason"] == reason);
            counts.map(|one| one["packets"].as_u64().unwrap()).sum::<u64>()
        };
        ["eth0", "eth1"].map(packets).iter().sum()
    }

    pub fn entries(&self) -> Vec<TrackedConnection> {
        self.net.b.run(|| sys::net::tracked_connections().unwrap()).unwrap()
    }

    fn entry(&self, is: impl Fn(&TrackedConnection) -> bool) -> Option<TrackedConnection> {
        self.entries().into_iter().find(is)
    }
}

/// Connects the client to `to` and returns both ends.
pub fn connect(net: &Router, to: SocketAddr, at: SocketAddr) -> (TcpStream, TcpStream) {
    let listener = net.c.run(|| TcpListener::bind(at)).unwrap().unwrap();
    let connect = || TcpStream::connect_timeout(&to, PATIENCE);
    let client = net.a.run(connect).unwrap().unwrap();
    let (server, _) = listener.accept().unwrap();
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
    }
    (client, server)
}

pub fn address(host: &str, port: u16) -> SocketAddr {
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
        let (client, server) = connect(&net.net, to, at);
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

#[test]
fn udp_is_translated_when_assured_and_kept_alive() {
    let net = Net::new(RULES);
    net.net.b.set_sysctl(LIBERAL, "1").unwrap();
    net.net.b.set_sysctl("netfilter/nf_conntrack_udp_timeout_stream", "8").unwrap();
    net.forward(&["--conntrack"]).ended(0);
    for (router, server, any) in
        [(PAIRS[0].0, PAIRS[0].1, "0.0.0.0:0"), (PAIRS[1].0, PAIRS[1].1, "[::]:0")]
    {
        let client = net.net.a.run(|| UdpSocket::bind(any)).unwrap().unwrap();
        let service = net.net.c.run(|| UdpSocket::bind(address(server, 5353))).unwrap().unwrap();
        for socket in [&client, &service] {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let mut buffer = [0; 64];
        let mut ask = |text: &[u8]| {
            client.send_to(text, address(router, 53)).unwrap();
            let (length, from) = service.recv_from(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], text);
            service.send_to(text, from).unwrap();
            let (length, from) = client.recv_from(&mut buffer).unwrap();
            assert_eq!((&buffer[..length], from), (text, address(router, 53)));
        };
        let before = net.packets("forwarded");
        // The stack assures an entry after two seconds.
        until("the entry to be assured", PATIENCE, || {
            ask(b"first");
            Ok((net.packets("forwarded") > before).then_some(()))
        })
        .unwrap();
        let (before, stack) = (net.packets("forwarded"), net.packets("not-established"));
        (0..100_u8).for_each(|number| ask(&[number; 20]));
        assert_eq!(net.packets("forwarded") - before, 200);
        assert_eq!(net.packets("not-established"), stack);

        let port = client.local_addr().unwrap().port();
        let left = || {
            let is = |entry: &TrackedConnection| entry.tuples[0].0.port() == port;
            net.entry(is).expect("the entry").timeout_s
        };
        until("the entry to age", PATIENCE, || Ok((left() <= 5).then_some(()))).unwrap();
        ask(b"again");
        assert!((6..=8).contains(&left()), "{}", left());
        assert_eq!(net.packets("not-established"), stack, "the stack saw none of these");
    }
}

#[test]
fn connections_with_a_helper_or_timeout_stay_in_the_stack() {
    let helper = "\
table inet helpers {
  ct helper ftp { type \"ftp\" protocol tcp; }
  ct timeout long {
    protocol tcp;
    l3proto ip
    policy = { established : 900000 }
  }
  chain assign {
    type filter hook prerouting priority filter;
    tcp dport 2121 ct helper set \"ftp\"
    tcp dport 2123 ct timeout set \"long\"
  }
}
";
    let net = Net::new(RULES);
    net.net.b.set_sysctl(LIBERAL, "1").unwrap();
    if let Err(error) = nft::run(&net.net.b, &["-f", "-"], helper) {
        assert!(error.contains("No such file"), "{error}");
        eprintln!("skipped: this kernel has no helper for FTP: {error}");
        return;
    }
    net.forward(&["--conntrack", "--past-firewall"]).ended(0);
    for (port, reason) in
        [(2121, "conntrack-extension"), (2122, "forwarded"), (2123, "conntrack-extension")]
    {
        let to = address("10.0.2.2", port);
        let (client, server) = connect(&net.net, to, to);
        let before = net.packets(reason);
        exchange(&client, &server, 100_000);
        assert!(net.packets(reason) > before, "{port}");
    }
}

/// What the program is not for goes to the stack, which answers as without the program.
#[test]
fn what_has_no_entry_goes_to_the_stack() {
    let net = Net::translating(RULES);
    let wire = Capture::open(&net.net.a, "eth0").unwrap();
    for to in ["10.0.2.2", "fd00:0:0:2::2"] {
        wire.send(&from_a(to, 7).ping(1, 2, PAYLOAD).unwrap()).unwrap();
        let is_answer = |frame: &[u8]| {
            frame.starts_with(&"02:78:77:00:01:02".parse::<Mac>().unwrap().0)
                && frame.ends_with(PAYLOAD)
        };
        wire.next(PATIENCE, is_answer).expect("the stack masquerades");
    }
    assert_eq!(net.packets("forwarded"), 0);
    let refused = || TcpStream::connect_timeout(&address("10.0.1.1", 80), PATIENCE);
    let error = net.net.a.run(refused).unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

// ---- packet in, packet out ------------------------------------------------------------------

/// An established connection of the client with the router's port 80, and how it leaves.
#[derive(Clone, Copy)]
struct Connection {
    client: u16,
    masqueraded: u16,
}

impl Connection {
    fn request(self) -> Flow {
        Flow::new(side(A, "10.0.1.2", self.client), side(B0, "10.0.1.1", 80))
    }

    fn reply(self) -> Flow {
        Flow::new(side(C, "10.0.2.2", 8080), side(B1, "10.0.2.1", self.masqueraded))
    }

    /// Packets of both directions, and how they leave.
    fn translated(self) -> [(Port, Flow, Flow); 2] {
        let sent = Flow::new(side(B1, "10.0.2.1", self.masqueraded), side(C, "10.0.2.2", 8080));
        let replied = Flow::new(side(B0, "10.0.1.1", 80), side(A, "10.0.1.2", self.client));
        [(Port::Eth0, self.request(), sent.ttl(63)), (Port::Eth1, self.reply(), replied.ttl(63))]
    }
}

/// Both directions leave as the stack would send them; what the stack must see is unchanged.
fn translates_and_leaves_the_rest<R: Routed>(forward: &mut Forward<R>, connection: Connection) {
    for (port, before, after) in connection.translated() {
        let [packet, sent] = [before, after].map(|flow| flow.tcp(ACK, 7, b"text").unwrap());
        let judgement = forward.judge(port, &packet);
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Redirect, "forwarded"));
        assert_eq!(check(&judgement.packet), Ok(()));
        assert_eq!(judgement.packet, sent, "{port:?}");
    }
    let request = connection.request();
    let other = Connection { client: connection.client ^ 1, ..connection }.request();
    for (reason, packet) in [
        ("handshake", request.tcp(TcpFlags { fin: true, ..ACK }, 7, b"")),
        ("handshake", request.tcp(TcpFlags { rst: true, ack: false, ..ACK }, 7, b"")),
        ("handshake", request.tcp(TcpFlags { syn: true, ack: false, ..ACK }, 7, b"")),
        ("not-established", other.tcp(ACK, 7, b"")),
        ("not-established", request.udp(b"another protocol")),
        ("not-established", request.ping(1, 2, b"ping")),
        ("not-established", other.ttl(1).tcp(ACK, 7, b"")),
    ] {
        let packet = packet.unwrap();
        let judgement = forward.judge(Port::Eth0, &packet);
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Pass, reason));
        assert_eq!(judgement.packet, packet, "{reason}: unchanged");
    }
}

/// Errors quote packets as their senders know them: before the translation, in both directions.
fn errors_quote_what_was_sent<R: Routed>(forward: &mut Forward<R>, connection: Connection) {
    let [request, reply] = [connection.request(), connection.reply()];
    for (port, reason, kind, packet) in [
        (Port::Eth0, "sent-time-exceeded", [11, 0], request.clone().ttl(1).tcp(ACK, 7, b"text")),
        (Port::Eth1, "sent-time-exceeded", [11, 0], reply.ttl(1).tcp(ACK, 7, b"text")),
        (Port::Eth0, "sent-too-big", [3, 4], request.tcp(ACK, 7, &[0; 1400])),
    ] {
        let packet = packet.unwrap();
        let judgement = forward.judge(port, &packet);
        let found = (judgement.verdict, &*judgement.reason);
        assert_eq!(found, (Verdict::Redirect, reason), "{port:?}");
        let error = judgement.packet;
        assert_eq!(check(&error), Ok(()), "{port:?}");
        assert_eq!((&error[..6], &error[34..36]), (&packet[6..12], &kind[..]), "{port:?}");
        assert_eq!(error[30..34], packet[26..30], "{port:?}: to the sender");
        assert!(packet[14..].starts_with(&error[42..]), "{port:?}: {error:02x?}");
    }
}

pub fn tracking() -> Config {
    let icmp_errors = functions::route::IcmpErrors::UNLIMITED;
    Config { conntrack: true, icmp_errors, ..Config::default() }
}

#[test]
fn packets_are_translated_as_the_kernel_tracks_them() {
    let mut forward = Forward::<KernelRuntime>::configured(&tracking(), &[Change::Mtu(1000)]);
    nft::run(&forward.site.net.b, &["-f", "-"], RULES).unwrap();
    let (client, server) =
        connect(&forward.site.net, address("10.0.1.1", 80), address("10.0.2.2", 8080));
    let connection = Connection {
        client: client.local_addr().unwrap().port(),
        masqueraded: server.peer_addr().unwrap().port(),
    };
    translates_and_leaves_the_rest(&mut forward, connection);
    errors_quote_what_was_sent(&mut forward, connection);
}

#[test]
fn packets_are_translated_as_the_engine_tracks_them() {
    let connections = r#"
[[connections]]
protocol = "tcp"
original = { from = "10.0.1.2:4000", to = "10.0.1.1:80" }
reply = { from = "10.0.2.2:8080", to = "10.0.2.1:4001" }
status = ["confirmed", "seen_reply", "assured", "source_nat", "destination_nat"]
"#;
    let changes = [Change::Mtu(1000), Change::Connections(connections)];
    let mut forward = Forward::<VmRuntime>::configured(&tracking(), &changes);
    let connection = Connection { client: 4000, masqueraded: 4001 };
    translates_and_leaves_the_rest(&mut forward, connection);
    errors_quote_what_was_sent(&mut forward, connection);
}

// ---- the firewall ---------------------------------------------------------------------------

#[test]
fn start_shows_the_rules_that_packets_would_not_meet() {
    let rules = "\
table ip filter {
  chain inner { accept; }
  chain forward {
    type filter hook forward priority 0; policy drop;
    ip saddr 10.0.1.2 accept
    jump inner
  }
  chain input { type filter hook input priority 0; policy drop; }
}
table inet nothing {
  chain forward { type filter hook forward priority 5; }
}
table ip6 marks {
  chain pre { type filter hook prerouting priority mangle; meta mark set 1; }
}
table ip translations {
  chain out { type nat hook postrouting priority 100; masquerade; }
}
";
    let net = Net::new(rules);
    let chains = [
        "ip filter forward: type filter, hook forward, priority 0, policy drop, 2 rules",
        "ip6 marks pre: type filter, hook prerouting, priority -150, policy accept, 1 rule",
        "ip translations out: type nat, hook postrouting, priority 100, policy accept, 1 rule",
    ];
    let text = net.forward(&[]).error();
    for chain in chains {
        assert!(text.contains(chain), "{chain}: {text}");
    }
    assert!(text.contains("--past-firewall"), "{text}");
    assert!(!text.contains("nothing") && !text.contains("input"), "{text}");
    assert_eq!(net.net.b.netlink().unwrap().link("eth0").unwrap().xdp.programs().count(), 0);

    net.net.b.set_sysctl(LIBERAL, "1").unwrap();
    let text = net.forward(&["--conntrack"]).error();
    assert!(text.contains(chains[0]) && !text.contains("translations"), "{text}");
    net.forward(&["--past-firewall"]).ended(0);
    assert!(net.forward(&[]).error().contains(chains[0]), "a change of what runs, too");

    let text = net.forward(&["--past-firewall", "--conntrack"]).error();
    assert!(text.contains("without --conntrack; --replace"), "{text}");
    net.forward(&["--past-firewall", "--conntrack", "--replace"]).ended(0);
    net.forward(&["--past-firewall", "--conntrack"]).ended(0);
    assert!(net.forward(&["--past-firewall"]).error().contains("with --conntrack"));
}

#[test]
fn connection_tracking_must_not_check_windows() {
    let net = Net::new(RULES);
    net.net.b.set_sysctl(LIBERAL, "0").unwrap();
    let text = net.forward(&["--conntrack"]).error();
    assert!(text.contains("nf_conntrack_tcp_be_liberal=1"), "{text}");
    let text = net.forward(&["--conntrack", "--nat", "10.1.0.2 -> 10.0.2.2"]).error();
    assert!(text.contains("cannot be used with"), "{text}");
}

#[test]
fn start_shows_rules_of_the_older_tools() {
    let net = Net::new("");
    for (tool, source) in [("iptables", "10.0.1.2"), ("ip6tables", "fd00:0:0:1::2")] {
        let run = |words: &str| {
            let mut command = net.net.b.command(&format!("{tool}-legacy")).unwrap();
            let output = command.args(words.split(' ')).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        run("-S FORWARD");
        net.forward(&[]).ended(0);
        run(&format!("-A FORWARD -s {source} -j ACCEPT"));
        run("-t mangle -A PREROUTING -j ACCEPT");
        run("-t mangle -A INPUT -j ACCEPT");
        run("-P FORWARD DROP");
        let text = net.forward(&[]).error();
        let chains = [
            "filter FORWARD: type filter, hook forward, priority 0, policy drop, 1 rule\n",
            "mangle PREROUTING: type filter, hook prerouting, priority -150, policy accept, 1 rule",
        ];
        for chain in chains {
            assert!(text.contains(&format!("{tool} {chain}")), "{text}");
        }
        assert!(!text.contains("INPUT"), "{text}");
        run("-P FORWARD ACCEPT");
        run("-F FORWARD");
        run("-t mangle -F");
    }
    net.forward(&[]).ended(0);
}
