//! The filter's SYN proxy before a real listener: connections open through it, floods of requests
//! and of forged acknowledgments do not reach the stack.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use filter::abi::{Action, Event, Rule, Syn};
use filter::runtime::limits;
use filter::{EFFECT, Listeners, MATCH, OBJECT, PROGRAM, maps};
use kernel::{Attach, Link, LoadOptions, Mode, Object, Program, Replace};
use lab::frame::{Flow, Side, TcpFlags};
use lab::{Capture, Host, LinkOptions, TwoHosts};
use packet::{IpPacket, IpProtocol, Limits, Mac};
use spec::asm::Reg::{R0, R3, R6};
use spec::asm::{Assembler, Cond};
use spec::{Expect, Map as _, ProgramKind, Spec, Verdict};
use xway_tests::program::constant_program;
use xway_tests::segment::{Segment, checksum};

/// `b` listens, protected by a filter whose one rule is a SYN proxy; `a` connects.
struct Guarded {
    net: TwoHosts,
    object: Object,
    _links: [Link; 2],
}

impl Guarded {
    fn new(above: u32, timestamps: u8) -> Self {
        let net = TwoHosts::build(&LinkOptions::default()).unwrap();
        net.b.set_sysctl("ipv4/tcp_syncookies", "2").unwrap();
        net.b.set_sysctl("ipv4/tcp_timestamps", &timestamps.to_string()).unwrap();
        net.b.set_sysctl("ipv4/tcp_rmem", "4096 131072 6291456").unwrap();
        let spec = spec(timestamps, net.b.mac("eth0").unwrap());
        let object =
            Object::load(&spec, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let rule = Rule { action: Action::SynProxy as u32, argument: above };
        let rules = object.map("filter_rules").unwrap();
        rules.update(&0_u32.to_le_bytes(), &rule.to_bytes(), Expect::Any).unwrap();
        limits::fill_seed(object.map(maps::SEED).unwrap()).unwrap();
        // veth wakes the receiver of what a program sends back only if it has a program, too.
        let pass = constant_program("pass", Verdict::Pass);
        let links = [attach(&net.b, object.program(PROGRAM).unwrap()), attach(&net.a, &pass)];
        Self { net, object, _links: links }
    }

    fn event(&self, event: Event) -> u64 {
        let events = self.object.map("filter_events").unwrap();
        let values = events.lookup(&(event as u32).to_le_bytes()).unwrap().unwrap();
        values.chunks_exact(8).map(|value| u64::from_le_bytes(value.try_into().unwrap())).sum()
    }

    fn listen(&self, ip: &str) -> TcpListener {
        let ip: IpAddr = ip.parse().unwrap();
        self.net.b.run(|| TcpListener::bind((ip, PORT))).unwrap().unwrap()
    }

    /// Opens a connection, sends `bytes` and has them sent back.
    fn talk(&self, listener: &TcpListener, bytes: usize) -> Talk {
        let to = listener.local_addr().unwrap();
        let mut client = self.net.a.run(|| connect(to)).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut ss = self.net.a.command("ss").unwrap();
        let shown = ss.args(["-tino", "state", "established"]).output().unwrap().stdout;
        let shown = String::from_utf8(shown).unwrap();
        let sent: Vec<u8> = (0..bytes).map(|n| (n * 7) as u8).collect();
        let echo = std::thread::spawn(move || {
            let mut got = Vec::new();
            server.read_to_end(&mut got).unwrap();
            server.write_all(&got).unwrap();
        });
        client.write_all(&sent).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut back = Vec::new();
        client.read_to_end(&mut back).unwrap();
        echo.join().unwrap();
        assert_eq!(back, sent);
        Talk { shown }
    }

    /// A conversation over a connection that the proxy answered.
    fn proxied(&self, listener: &TcpListener, bytes: usize) -> Talk {
        let before = self.event(Event::CookieSent);
        let talk = self.talk(listener, bytes);
        assert_eq!(self.event(Event::CookieSent), before + 1);
        talk
    }

    /// A request from an unused address.
    fn request(&self, from: &str, to: &str) -> Segment {
        let macs = [self.net.b.mac("eth0").unwrap(), self.net.a.mac("eth0").unwrap()];
        Segment::syn(macs, from.parse().unwrap(), to.parse().unwrap())
    }

    /// Sends a frame, which must be counted as this event; only [`Event::CookieSent`] is an answer.
    #[track_caller]
    fn counts(&self, wire: &Capture, frame: &[u8], event: Event, name: &str) {
        let before = [self.event(event), self.event(Event::CookieSent)];
        wire.send(frame).unwrap();
        let what = format!("{name}: {}", event.label());
        lab::until(&what, PATIENCE, || Ok((self.event(event) > before[0]).then_some(()))).unwrap();
        let after = [self.event(event), self.event(Event::CookieSent)];
        let answers = u64::from(event == Event::CookieSent);
        assert_eq!(after, [before[0] + 1, before[1] + answers], "{name}");
    }

    /// A counter of TCP in the namespace of the listener.
    fn stack(&self, name: &str) -> u64 {
        let text = self.net.b.run(|| std::fs::read_to_string("/proc/thread-self/net/netstat"));
        let text = text.unwrap().unwrap();
        let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let place = names.split_whitespace().position(|known| known == name).unwrap();
        values.split_whitespace().nth(place).unwrap().parse().unwrap()
    }

    /// A segment from a host that does not exist.
    fn invented(&self, number: u32, flags: TcpFlags) -> Vec<u8> {
        let side = |mac: u8, ip: String, port| {
            Side::new(&format!("02:00:00:00:00:0{mac}"), &ip, port).unwrap()
        };
        let mut source = side(1, format!("10.0.0.{}", 3 + number % 200), 1024 + number as u16);
        let mut destination = side(2, "10.0.0.2".to_owned(), PORT);
        source.mac = self.net.a.mac("eth0").unwrap();
        destination.mac = self.net.b.mac("eth0").unwrap();
        Flow::new(source, destination).tcp(flags, number, b"").unwrap()
    }
}

fn attach(host: &Host, program: &Program) -> Link {
    let ifindex = host.ifindex("eth0").unwrap();
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    host.run(|| kernel::attach(&attach)).unwrap().unwrap()
}

/// What the client's kernel reported of a connection while it was open.
struct Talk {
    shown: String,
}

/// The program with one rule, number 0, that does not decide and matches every packet.
fn spec(timestamps: u8, mac: Mac) -> Spec {
    let mut spec = Spec::parse("filter", OBJECT).unwrap();
    let listeners = Listeners {
        syncookies: 2,
        timestamps,
        receive_most: 6_291_456,
        buffer_most: 212_992,
        mtu: 1500,
        macs: [Some(mac.0), None],
    };
    let syn = Syn::of(&listeners).unwrap();
    spec.set_global("filter_syn", &syn.to_bytes()).unwrap();
    let actions = 1_u32 << Action::SynProxy as u32;
    spec.set_global("filter_actions", &actions.to_le_bytes()).unwrap();
    let mut code = Assembler::new("rules", ProgramKind::XDP);
    let ends = code.label();
    code.note("the one rule").mov(R3, 0).call_function(EFFECT);
    code.jump_if(R0, Cond::Ne, 0, ends).mov32(R0, -1).exit();
    code.bind(ends).mov32(R0, 0).mov(R6, 0).exit();
    spec::compose::splice(&spec, PROGRAM, MATCH, code).unwrap()
}

fn connect(to: SocketAddr) -> TcpStream {
    let client = TcpStream::connect_timeout(&to, PATIENCE).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

const PORT: u16 = 80;
const PATIENCE: Duration = Duration::from_secs(20);
const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };
const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };

#[test]
fn connections_open_with_all_that_they_ask_for() {
    for (ip, mss) in [("10.0.0.2", 1448), ("fd00::2", 1428)] {
        let guarded = Guarded::new(0, 2);
        let listener = guarded.listen(ip);
        for number in 0..4 {
            let talk = guarded.proxied(&listener, 1_000_000);
            for part in [" ts ", " sack ", "wscale:7,", &format!("mss:{mss}")] {
                assert!(talk.shown.contains(part), "{number}, {part}: {}", talk.shown);
            }
        }
        assert!(guarded.event(Event::CookieSent) >= 4);
        assert!(guarded.event(Event::CookieGood) >= 4, "the stack's own cookies are good, too");
        assert_eq!(guarded.event(Event::CookieFailed) + guarded.event(Event::CookieBad), 0);
    }
}

/// The offset of each connection's timestamps is known to the stack alone.
#[test]
fn without_plain_timestamps_a_cookie_remembers_the_segment_size_alone() {
    let guarded = Guarded::new(0, 1);
    let listener = guarded.listen("10.0.0.2");
    let talk = guarded.proxied(&listener, 100_000);
    assert!(!talk.shown.contains("wscale"), "{}", talk.shown);
    assert!(talk.shown.contains("mss:1460"), "{}", talk.shown);
}

#[test]
fn a_flood_of_requests_is_rejected_and_a_client_connects() {
    let guarded = Guarded::new(0, 2);
    let listener = guarded.listen("10.0.0.2");
    let wire = Capture::open(&guarded.net.a, "eth0").unwrap();
    let before = guarded.stack("SyncookiesSent");
    for number in 0..2000 {
        wire.send(&guarded.invented(number, SYN)).unwrap();
        if number % 500 == 0 {
            guarded.talk(&listener, 1000);
        }
    }
    let answered = guarded.event(Event::CookieSent);
    let by_stack = guarded.stack("SyncookiesSent") - before;
    assert_eq!((answered, by_stack), (2000 + 4, 0));
}

#[test]
fn invented_acknowledgements_are_refused() {
    let guarded = Guarded::new(0, 2);
    let listener = guarded.listen("10.0.0.2");
    // Requests arm it.
    guarded.talk(&listener, 1000);
    let wire = Capture::open(&guarded.net.a, "eth0").unwrap();
    let before = guarded.stack("SyncookiesFailed");
    for number in 0..500 {
        wire.send(&guarded.invented(number, ACK)).unwrap();
    }
    assert_eq!(guarded.event(Event::CookieBad), 500);
    assert_eq!(guarded.stack("SyncookiesFailed"), before);
    guarded.talk(&listener, 1000);
}

#[test]
fn few_requests_are_left_to_the_stack() {
    let guarded = Guarded::new(100, 2);
    let listener = guarded.listen("10.0.0.2");
    for _ in 0..5 {
        guarded.talk(&listener, 1000);
    }
    assert_eq!(guarded.event(Event::CookieSent), 0);
    let wire = Capture::open(&guarded.net.a, "eth0").unwrap();
    let mut number = 0;
    lab::until("the proxy has begun", PATIENCE, || {
        for _ in 0..400 {
            wire.send(&guarded.invented(number, SYN)).unwrap();
            number += 1;
        }
        Ok((guarded.event(Event::CookieSent) > 0).then_some(()))
    })
    .unwrap();
    guarded.talk(&listener, 1000);
}

/// What the stack would not answer is dropped and counted; the proxy answers none of it.
#[test]
fn requests_that_the_stack_would_drop_are_refused_by_reason() {
    let guarded = Guarded::new(0, 2);
    let _listeners = [guarded.listen("0.0.0.0"), guarded.listen("fd00::2")];
    let wire = Capture::open(&guarded.net.a, "eth0").unwrap();
    let [v4, v6] = [("10.9.0.1:1024", "10.0.0.2:80"), ("[fd09::1]:1024", "[fd00::2]:80")];
    let refused = |frame: &[u8], event, name: &str| guarded.counts(&wire, frame, event, name);
    for from in ["0.0.0.1", "127.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "10.0.0.2"] {
        let syn = guarded.request(&format!("{from}:1024"), v4.1);
        refused(&syn.frame(), Event::SynMartian, from);
    }
    for from in ["::", "::1", "ff02::1", "::ffff:10.9.0.1", "fd00::2"] {
        let syn = guarded.request(&format!("[{from}]:1024"), v6.1);
        refused(&syn.frame(), Event::SynMartian, from);
    }
    for to in ["127.0.0.1", "224.0.0.1"] {
        let syn = guarded.request(v4.0, &format!("{to}:80"));
        refused(&syn.frame(), Event::SynMartian, to);
    }
    for (from, to) in [v4, v6] {
        let syn = guarded.request(from, to);
        refused(&syn.with_wrong_checksum(), Event::SynChecksum, from);
        let mut group = syn.frame();
        group[6] |= 1;
        refused(&group, Event::SynMartian, "a source MAC of many");
        let both = Segment { flags: 0x03, ..syn };
        refused(&both.frame(), Event::SynMalformed, "SYN and FIN");
    }
    let syn = guarded.request(v4.0, v4.1);
    let mut header = syn.frame();
    header[24] ^= 1;
    refused(&header, Event::SynChecksum, "IPv4's checksum");
    let mut long = syn.frame();
    long[46] = 0xf0;
    refused(&long, Event::SynMalformed, "options that are not there");
    let first = Segment { payload: vec![0; 40], ..syn }.fragments(24)[0].clone();
    refused(&first, Event::SynFragment, "a first fragment");
    let mut routed = guarded.request(v6.0, v6.1);
    routed.ip_options = vec![6, 0, 4, 0, 0, 0, 0, 0];
    let mut routed = routed.frame();
    routed[20] = 43;
    refused(&routed, Event::SynOptions, "a routing header");
}

/// What is for no listener of this host continues with the next rules.
#[test]
fn requests_to_closed_ports_and_other_hosts_are_not_answered() {
    let guarded = Guarded::new(0, 2);
    let _listener = guarded.listen("0.0.0.0");
    let wire = Capture::open(&guarded.net.a, "eth0").unwrap();
    let closed = guarded.request("10.9.0.1:1024", "10.0.0.2:81");
    guarded.counts(&wire, &closed.frame(), Event::SynNoListener, "a closed port");
    let mut foreign = guarded.request("10.9.0.1:1024", "10.0.0.2:80");
    foreign.macs[0] = Mac([2, 0, 0, 0, 0, 9]);
    guarded.counts(&wire, &foreign.frame(), Event::SynNotOurs, "another host's MAC");
    // A listener on all addresses would accept it, but the host routes it.
    let through = guarded.request("10.9.0.1:1024", "10.0.0.77:80").frame();
    guarded.net.b.set_sysctl("ipv4/conf/eth0/forwarding", "1").unwrap();
    guarded.counts(&wire, &through, Event::SynNotOurs, "a routed request");
    let own = guarded.request("10.9.0.1:1024", "10.0.0.2:80").frame();
    guarded.counts(&wire, &own, Event::CookieSent, "this host's address");
}

/// An option needs room among those of the request: segment size, timestamps, window scale.
#[test]
fn answers_are_right_and_never_longer_than_their_requests() {
    let guarded = Guarded::new(0, 2);
    let _listeners = [guarded.listen("10.0.0.2"), guarded.listen("fd00::2")];
    let wire = Capture::open(&guarded.net.a, "eth0").unwrap();
    let (size, times) = ([2, 4, 5, 180], [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0]);
    let scale = [1, 3, 3, 7];
    let cases: [(&str, Vec<u8>, usize); 8] = [
        ("nothing", vec![], 0),
        ("size", size.to_vec(), 4),
        ("padding", vec![1; 8], 4),
        ("times", times.to_vec(), 4),
        ("size, times", [&size[..], &times].concat(), 16),
        ("times, scale", [&times[..], &scale].concat(), 16),
        ("all", [&size[..], &times, &scale].concat(), 20),
        ("all and padding", [&size[..], &times, &scale, &[1; 20]].concat(), 20),
    ];
    let mut port = 2000;
    for (from, to) in [("10.9.0.1:1", "10.0.0.2:80"), ("[fd09::1]:1", "[fd00::2]:80")] {
        for (name, options, expected) in &cases {
            for (ip_options, payload) in [(0, 0), (1, 0), (0, 3), (0, 1400)] {
                port += 1;
                let mut syn = guarded.request(from, to);
                syn.from.set_port(port);
                syn.tcp_options.clone_from(options);
                syn.payload = vec![7; payload];
                let of_family =
                    if syn.to.is_ipv4() { &[1; 4][..] } else { &[6, 0, 1, 4, 0, 0, 0, 0] };
                syn.ip_options = of_family.repeat(ip_options);
                let is_answer = |frame: &[u8]| answer_to(frame, port).is_some();
                wire.send(&syn.frame()).unwrap();
                let answer = wire.next(PATIENCE, is_answer).unwrap();
                let name = format!("{from}, {name}, {ip_options}, {payload}");
                assert!(answer.len() <= syn.frame().len(), "{name}: {}", answer.len());
                assert_eq!(answer_to(&answer, port), Some(*expected), "{name}");
                assert_eq!(lab::frame::check(&answer), Ok(()), "{name}");
            }
        }
    }
}

/// Bytes of options of a SYN-ACK to this port; `None` for any other frame.
fn answer_to(frame: &[u8], port: u16) -> Option<usize> {
    let found = IpPacket::find(frame, Limits::default()).ok();
    let ip = found.filter(|ip| ip.protocol == IpProtocol::TCP)?;
    let tcp = frame.get(ip.transport..ip.end)?;
    let is_answer = tcp[13] == 0x12 && tcp[2..4] == port.to_be_bytes();
    is_answer.then(|| usize::from(tcp[12] >> 4) * 4 - 20)
}

/// A frame of this machine has the pseudo header's sum where the device is to put the checksum.
#[test]
fn checksums_that_are_left_to_the_device_are_right() {
    let guarded = Guarded::new(0, 2);
    let _listener = guarded.listen("10.0.0.2");
    let wire = Capture::open(&guarded.net.a, "eth0").unwrap();
    let mut frame = guarded.request("10.9.0.1:1024", "10.0.0.2:80").frame();
    let pseudo = [&frame[26..34], &[0, 6, 0, 20]].concat();
    let sum = u16::from_be_bytes(checksum(&pseudo));
    frame[50..52].copy_from_slice(&(!sum).to_be_bytes());
    guarded.counts(&wire, &frame, Event::CookieSent, "a partial checksum");
}

/// A request to a port whose connection has just ended is the stack's: it knows whether a new one
/// may begin.
#[test]
fn a_port_that_is_used_again_soon_is_served() {
    let guarded = Guarded::new(0, 2);
    let listener = guarded.listen("10.0.0.2");
    let wire = Capture::open(&guarded.net.a, "eth0").unwrap();
    let client = guarded.net.a.run(|| connect(listener.local_addr().unwrap())).unwrap();
    let (server, _) = listener.accept().unwrap();
    let from = client.local_addr().unwrap();
    // Who closes first waits.
    drop(server);
    drop(client);
    let before = guarded.event(Event::CookieSent);
    let again = guarded.request(&from.to_string(), "10.0.0.2:80");
    let sequence = u32::MAX / 2;
    wire.send(&Segment { sequence, ..again }.frame()).unwrap();
    wire.next(PATIENCE, |frame| frame.len() >= 54 && frame[36..38] == from.port().to_be_bytes())
        .unwrap();
    assert_eq!(guarded.event(Event::CookieSent), before);
}

/// A guard belongs to one destination; these two shared one while guards were found by a hash
/// without a key.
#[test]
fn a_flood_of_one_destination_leaves_others_to_the_stack() {
    let guarded = Guarded::new(100, 2);
    let listener = guarded.listen("10.0.0.2");
    let slot = |port: u64| {
        let hash = [0x0a00_0002, port]
            .into_iter()
            .fold(0_u64, |hash, word| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (hash >> 32) & 8191
    };
    let other = (1024..60_000).find(|port| slot(*port) == slot(PORT.into())).unwrap();
    let other = SocketAddr::from(([10, 0, 0, 2], other as u16));
    let _flooded = guarded.net.b.run(|| TcpListener::bind(other)).unwrap().unwrap();
    let wire = Capture::open(&guarded.net.a, "eth0").unwrap();
    let mut flooded = guarded.request("10.9.0.1:1024", &other.to_string());
    lab::until("the proxy is active", PATIENCE, || {
        for _ in 0..400 {
            flooded.sequence += 1;
            wire.send(&flooded.frame()).unwrap();
        }
        Ok((guarded.event(Event::CookieSent) > 0).then_some(()))
    })
    .unwrap();
    let before = guarded.event(Event::CookieSent);
    for _ in 0..5 {
        guarded.talk(&listener, 1000);
    }
    assert_eq!(guarded.event(Event::CookieSent), before);
}
