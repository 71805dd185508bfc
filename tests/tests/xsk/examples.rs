//! The examples of `examples/xsk`, run as a reader would run them; what they did is seen from the
//! other end of the link.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use lab::frame::{Flow, Side, TcpFlags};
use lab::{Capture, Host, LinkOptions, Router, TwoHosts};
use packet::{IpPacket, Limits};
use sys::net::PacketSocket;
use xsk::Interface;
use xway_tests::built;
use xway_tests::stage::PATIENCE;

/// An example that has printed its first line: its sockets are open, if it receives.
struct Example {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Example {
    /// Words after the example's name are split at `|`.
    fn start(host: &Host, name: &str, words: &str) -> Self {
        let program = built::program(name, "xway-examples");
        let mut command = host.command(program.to_str().unwrap()).unwrap();
        command.args(words.split('|')).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = host.start(command).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        Self { child, lines }
    }

    /// The rest of its output.
    #[track_caller]
    fn end(mut self) -> String {
        let mut text = String::new();
        self.lines.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        let mut fault = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut fault).unwrap();
        assert!(status.success(), "{status}: {text}{fault}");
        text
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // Already ended where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn two_hosts() -> TwoHosts {
    TwoHosts::build(&LinkOptions::default()).unwrap()
}

fn side(host: &Host, interface: &str, port: u16) -> Side {
    let (mac, ip) = (host.mac(interface).unwrap(), host.ipv4(interface).unwrap().into());
    Side { mac, ip, port }
}

/// From `a` to a port of `b`.
fn flow(net: &TwoHosts, port: u16) -> Flow {
    Flow::new(side(&net.a, "eth0", 4000), side(&net.b, "eth0", port))
}

/// UDP packets with a number at their end.
fn numbered(flow: &Flow, count: u8) -> Vec<Vec<u8>> {
    (0..count).map(|number| flow.udp(&[0, 0, 0, number]).unwrap()).collect()
}

fn is_to(port: u16) -> impl Fn(&[u8]) -> bool {
    move |frame| frame.len() > 38 && frame[36..38] == port.to_be_bytes()
}

#[test]
fn send_sends_all_in_order() {
    let net = two_hosts();
    let open = || Interface::open("eth0").unwrap().socket(0).open().unwrap();
    let (_tx, mut rx) = net.b.run(open).unwrap().split();
    let text = Example::start(&net.a, "xsk-01-send", "eth0|1000").end();
    assert_eq!(text.trim(), "sent 1000, not done 0");
    let mut numbers = Vec::new();
    while numbers.len() < 1000 && rx.wait(PATIENCE).unwrap() {
        rx.for_each(64, |packet| {
            if packet[12..14] == [0x88, 0xb5] {
                numbers.push(u64::from_be_bytes(packet[14..22].try_into().unwrap()));
            }
        });
    }
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
}

#[test]
fn receive_takes_what_matches_and_leaves_the_rest() {
    let net = two_hosts();
    let (from, stack) =
        (Capture::open(&net.a, "eth0").unwrap(), Capture::open(&net.b, "eth0").unwrap());
    let example = Example::start(&net.b, "xsk-02-receive", "eth0|any udp 5000|10");
    for frame in numbered(&flow(&net, 5000), 10) {
        from.send(&flow(&net, 5001).udp(b"other").unwrap()).unwrap();
        from.send(&frame).unwrap();
    }
    let text = example.end();
    assert_eq!(text.matches("46 bytes: [").count(), 10, "{text}");
    assert!(text.ends_with("received 10, ring full 0\n"), "{text}");
    for _ in 0..10 {
        stack.next(PATIENCE, is_to(5001)).unwrap();
    }
    let more = stack.all(Duration::from_millis(50), 1, is_to(5000)).unwrap();
    assert!(more.is_empty(), "what goes to a socket does not go to the stack");
}

#[test]
fn echoes_come_back_to_the_sender() {
    for name in ["xsk-03-echo", "xsk-07-async"] {
        let net = two_hosts();
        let wire = Capture::open(&net.a, "eth0").unwrap();
        let example = Example::start(&net.b, name, "eth0|any udp 7|50");
        for frame in numbered(&flow(&net, 7), 50) {
            wire.send(&frame).unwrap();
            let (b, a) = (net.b.mac("eth0").unwrap(), net.a.mac("eth0").unwrap());
            let expected = [&a.0[..], &b.0, &frame[12..]].concat();
            let is_answer = |frame: &[u8]| is_to(7)(frame) && frame[..6] == a.0;
            assert_eq!(wire.next(PATIENCE, is_answer).unwrap(), expected, "{name}");
        }
        assert_eq!(example.end().trim(), "answered 50, not done 0", "{name}");
    }
}

#[test]
fn forward_joins_two_links() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    let ends = [&net.a, &net.c].map(|host| Capture::open(host, "eth0").unwrap());
    let example = Example::start(&net.b, "xsk-04-forward", "eth0|eth1|100000");
    let flow = Flow::new(side(&net.a, "eth0", 4000), side(&net.c, "eth0", 5000));
    let ways = [(&ends[0], &ends[1], flow.clone()), (&ends[1], &ends[0], flow.reversed())];
    for (from, to, flow) in ways {
        for frame in numbered(&flow, 20) {
            from.send(&frame).unwrap();
            let port = flow.destination.port;
            let came = to
                .next(PATIENCE, |frame| is_to(port)(frame) && frame[..6] == flow.destination.mac.0);
            assert_eq!(came.unwrap(), frame);
        }
    }
    drop(example);
}

#[test]
fn syns_are_answered_and_other_ports_are_the_stacks() {
    let net = two_hosts();
    let wire = Capture::open(&net.a, "eth0").unwrap();
    let example = Example::start(&net.b, "xsk-05-syn", "eth0|8080|3");
    let syn = TcpFlags { syn: true, ..TcpFlags::default() };
    let is_answer = |port: u16| {
        move |frame: &[u8]| {
            frame.len() >= 54 && frame[23] == 6 && frame[34..36] == port.to_be_bytes()
        }
    };
    let mut cookies = Vec::new();
    for (port, sequence) in [(4000, 7), (4001, u32::MAX), (4000, 7)] {
        let mut flow = flow(&net, 8080);
        flow.source.port = port;
        wire.send(&flow.tcp(syn, sequence, &[]).unwrap()).unwrap();
        let answer = wire.next(PATIENCE, is_answer(8080)).unwrap();
        lab::frame::check(&answer).unwrap();
        let at = IpPacket::find(&answer, Limits::default()).unwrap().transport;
        assert_eq!(answer[at + 2..at + 4], port.to_be_bytes());
        assert_eq!(answer[at + 8..at + 12], sequence.wrapping_add(1).to_be_bytes());
        assert_eq!(answer[at + 13], 0x12, "SYN and ACK");
        assert_eq!(answer[..6], net.a.mac("eth0").unwrap().0);
        cookies.push(answer[at + 4..at + 8].to_vec());
    }
    assert!(cookies[0] == cookies[2] && cookies[0] != cookies[1], "{cookies:?}");
    assert_eq!(example.end().trim(), "answered 3");
    wire.send(&flow(&net, 8080).tcp(syn, 1, &[]).unwrap()).unwrap();
    let refusal = wire.next(PATIENCE, is_answer(8080)).unwrap();
    assert_eq!(refusal[47] & 0x04, 0x04, "after its end the stack resets, as nobody listens");
}

#[test]
fn threads_share_what_the_queues_receive() {
    let cpus = sys::cpu::affinity().unwrap();
    let options = LinkOptions { queues: 2, ..LinkOptions::default() };
    let net = TwoHosts::build(&options).unwrap();
    let example = Example::start(&net.b, "xsk-06-threads", "eth0|any udp 5000|100");
    let ifindex = net.a.ifindex("eth0").unwrap();
    let frame = flow(&net, 5000).udp(b"a packet").unwrap();
    for cpu in cpus.iter().cycle().take(2) {
        // The sender's processor chooses the receive queue.
        let send = || {
            sys::cpu::set_affinity(&[*cpu]).unwrap();
            let socket = PacketSocket::open(ifindex).unwrap();
            socket.send_directly().unwrap();
            (0..50).for_each(|_| socket.send(&frame).unwrap());
        };
        net.a.run(send).unwrap();
    }
    let text = example.end();
    let counts: Vec<u64> =
        text.lines().map(|line| line.rsplit_once(": ").unwrap().1.parse().unwrap()).collect();
    assert_eq!((counts.len(), counts.iter().sum::<u64>()), (2, 100), "{text}");
    if cpus.len() > 1 {
        assert_eq!(counts, [50, 50], "{text}");
    }
}

#[test]
fn a_failure_to_open_is_reported() {
    let net = two_hosts();
    for (name, words, reason) in [
        ("xsk-01-send", "eth9", "there is no such interface"),
        ("xsk-02-receive", "eth0|any sctp x", "`x`: not a port"),
        ("xsk-04-forward", "eth0", "usage"),
    ] {
        let mut example = Example::start(&net.b, name, words);
        assert!(!example.child.wait().unwrap().success(), "{name}");
        let mut fault = String::new();
        example.child.stderr.take().unwrap().read_to_string(&mut fault).unwrap();
        assert!(fault.contains(reason), "{name}: {fault}");
    }
}
