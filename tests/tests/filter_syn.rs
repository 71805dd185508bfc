//! The filter's SYN proxy in front of a real listener: connections open through it, floods of
//! requests and of invented acknowledgements do not reach the stack.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use functions::filter::abi::{Action, Event, Rule, Syn};
use functions::filter::{EFFECT, Listeners, MATCH, OBJECT, PROGRAM};
use kernel::{Attach, Link, LoadOptions, Mode, Object, Program, Replace};
use lab::frame::{Flow, Side, TcpFlags};
use lab::{Capture, Host, LinkOptions, TwoHosts};
use spec::asm::Reg::{R0, R3, R6};
use spec::asm::{Assembler, Cond};
use spec::{Expect, Map as _, ProgramKind, Spec, Verdict};
use xway_tests::program::constant_program;

/// `b` listens behind a filter whose one rule is a SYN proxy; `a` connects.
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
        let object = Object::load(&spec(timestamps), &LoadOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let rule = Rule { action: Action::SynProxy as u32, argument: above };
        let rules = object.map("filter_rules").unwrap();
        rules.update(&0_u32.to_le_bytes(), &rule.to_bytes(), Expect::Any).unwrap();
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

    /// The same with a connection that the proxy answered: one request a second is the stack's.
    fn proxied(&self, listener: &TcpListener, bytes: usize) -> Talk {
        for _ in 0..20 {
            let before = self.event(Event::CookieSent);
            let talk = self.talk(listener, bytes);
            if self.event(Event::CookieSent) > before {
                return talk;
            }
        }
        panic!("the stack answers all requests");
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

    /// A segment from somebody who is not there.
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

/// What the client's kernel said of a connection while it was open.
struct Talk {
    shown: String,
}

/// The program with one rule, number 0, that does not decide and matches every packet.
fn spec(timestamps: u8) -> Spec {
    let mut spec = Spec::parse("filter", OBJECT).unwrap();
    let listeners = Listeners {
        syncookies: 2,
        timestamps,
        receive_most: 6_291_456,
        buffer_most: 212_992,
        mtu: 1500,
        macs: [None; 2],
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
fn a_flood_of_requests_stays_outside_and_a_client_comes_in() {
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
    assert!(by_stack <= 60, "one a second: {by_stack}");
    assert_eq!(answered + by_stack, 2000 + 4);
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

#[test]
fn what_cannot_be_answered_goes_on_to_the_stack() {
    let guarded = Guarded::new(0, 2);
    let _listener = guarded.listen("10.0.0.2");
    let wire = Capture::open(&guarded.net.a, "eth0").unwrap();
    let whole = guarded.invented(1, SYN);
    // A first fragment, and a header that ends before its options.
    let mut fragment = whole.clone();
    fragment[20] = 0x20;
    let mut long = whole.clone();
    long[46] = 0xf0;
    for frame in [fragment, long] {
        wire.send(&frame).unwrap();
    }
    assert_eq!(guarded.event(Event::CookieSent), 0);
}
