//! Hostile frames at a sink that reflects: nothing goes back that a host without it would not
//! answer; kernel, engine and model agree on every frame.
//!
//! `XWAY_HOSTILE_FRAMES=N XWAY_HOSTILE_SEED=S` set the number of frames and the seed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, TcpListener, UdpSocket};
use std::time::Duration;

use kernel::KernelRuntime;
use lab::frame::{Flow, Side, TcpFlags};
use lab::{Capture, Host, TwoHosts};
use packet::Mac;
use spec::{Spec, Verdict};
use traffic::sink::program::{PROGRAM, PROGRAM_FRAGS, prepare, set_mac};
use traffic::sink::{Clocks, FrameAction, Reason, SinkConfig, Tracker, reflect};
use traffic::{Kind, Stamp};
use vm::VmRuntime;
use xway_tests::bpf::{Judge, Judgement};
use xway_tests::hostile::{self, HOST, Hostile, OWN_SOURCE, Settings};
use xway_tests::random::Random;

/// What goes back although Linux does not answer it: faults, and why.
const KNOWN: [(&[&str], &str); 6] = [
    (&["tags"], "a frame goes back in the VLAN that it came in, whoever is in it"),
    (
        &["another destination", OWN_SOURCE],
        "streams have addresses of their own behind the sink: those of its host are not looked up, \
         nor the broadcast address of a subnet",
    ),
    (&["a fragment", "extension headers"], "each frame is measured: nothing waits for the others"),
    (
        &[
            "options",
            "another header length",
            "extension headers",
            "a length of zero before hop-by-hop options",
        ],
        "options and extension headers are skipped and not obeyed",
    ),
    (
        &["another transport protocol", "another EtherType", "another version"],
        "only frames that carry a stamp go back, of whatever protocol",
    ),
    (&["an end"], "the end of a stream goes back also if its checksum is wrong on purpose"),
];
const PATIENCE: Duration = Duration::from_secs(20);

/// Host `b` without any program of ours, with servers on the ports that frames have.
struct Linux {
    net: TwoHosts,
    wire: Capture,
    marks: u16,
    _udp: Vec<UdpSocket>,
    _tcp: Vec<TcpListener>,
}

impl Linux {
    fn new() -> Self {
        let net = TwoHosts::build(&hostile::in_order()).unwrap();
        let any = IpAddr::from(Ipv6Addr::UNSPECIFIED);
        let (mut udp, mut tcp) = (Vec::new(), Vec::new());
        for port in HOST.ports {
            udp.push(net.b.run(|| UdpSocket::bind((any, *port)).unwrap()).unwrap());
            tcp.push(net.b.run(|| TcpListener::bind((any, *port)).unwrap()).unwrap());
        }
        for socket in &udp {
            let echo = socket.try_clone().unwrap();
            std::thread::spawn(move || answer_all(&echo));
        }
        for (path, value) in [
            ("ipv4/icmp_ratelimit", "0"),
            ("ipv4/icmp_msgs_per_sec", "1000000"),
            ("ipv6/icmp/ratelimit", "0"),
            ("ipv4/tcp_invalid_ratelimit", "0"),
            ("ipv4/conf/all/rp_filter", "0"),
            ("ipv4/conf/eth0/rp_filter", "0"),
        ] {
            net.b.set_sysctl(path, value).unwrap();
        }
        for route in ["-4 route add default via 10.0.0.1", "-6 route add default via fd00::1"] {
            let mut command = net.b.command("ip").unwrap();
            assert!(command.args(route.split(' ')).status().unwrap().success(), "{route}");
        }
        // An answer to a neighbor that is not known waits, unseen.
        let mac = net.a.mac("eth0").unwrap();
        for ip in ["10.0.0.9", "fd00::9", "fe80::9"] {
            let words = format!("neigh replace {ip} lladdr {mac} dev eth0");
            let mut command = net.b.command("ip").unwrap();
            assert!(command.args(words.split(' ')).status().unwrap().success(), "{words}");
        }
        let wire = Capture::open(&net.a, "eth0").unwrap();
        Self { net, wire, marks: 0, _udp: udp, _tcp: tcp }
    }

    /// Whether the frame makes the host send anything, be it the question who the sender is.
    fn answers(&mut self, frame: &[u8]) -> bool {
        // Longer ones than the link takes, and shorter ones than a header, are not sent.
        let _refused = self.wire.send(frame);
        let seen = RefCell::new(0);
        self.marks = self.marks.wrapping_add(1);
        // The echo server of the frame's port has the mark after the frame.
        let ports = [frame.get(36..38), frame.get(56..58)].map(|port| {
            port.and_then(|port| Some(u16::from_be_bytes(*port.first_chunk()?))).unwrap_or(0)
        });
        let port = ports.into_iter().find(|port| HOST.ports.contains(port));
        let mark = [MARK, &self.marks.to_be_bytes()[..]].concat();
        self.wire.send(&self.flow(port.unwrap_or(HOST.ports[0])).udp(&mark).unwrap()).unwrap();
        let is_mark = |frame: &[u8]| {
            let is_mark = frame.windows(mark.len()).any(|part| part == mark);
            *seen.borrow_mut() += u32::from(!is_mark);
            is_mark
        };
        self.wire.next(PATIENCE, is_mark).unwrap();
        seen.into_inner() > 0
    }

    fn flow(&self, port: u16) -> Flow {
        let side = |host: &Host, port| {
            let ip = host.ipv4("eth0").unwrap().into();
            Side { mac: host.mac("eth0").unwrap(), ip, port }
        };
        Flow::new(side(&self.net.a, 4000), side(&self.net.b, port))
    }
}

fn answer_all(socket: &UdpSocket) {
    let mut room = [0; 2048];
    while let Ok((length, from)) = socket.recv_from(&mut room) {
        // Nothing can be sent to some of them.
        let _refused = socket.send_to(&room[..length], from);
    }
}

/// A frame with a stamp in its payload, or after its packet; and its stamp, if it is whole.
fn stamped(random: &mut Random, number: u16) -> (Hostile, Option<Stamp>) {
    let is_end = random.below(16) == 0;
    let kind = if is_end { Kind::End } else { Kind::Data(traffic::Expect::Pass) };
    let stamp = Stamp { stream: 1, source: 0, number: number.into(), time_ns: 0, kind };
    let is_ipv6 = random.below(2) == 0;
    let payload = [&vec![7; random.below(60)], &stamp.bytes()[..]].concat();
    let base = usual(random, is_ipv6, &payload);
    let mut frame = hostile::spoiled(random, &HOST, number, base);
    if random.below(4) == 0 {
        frame.bytes.extend(stamp.bytes());
    }
    if is_end {
        frame.faults.push("an end");
    }
    let found = Stamp::read(&frame.bytes).and_then(Result::ok);
    (frame, found)
}

fn usual(random: &mut Random, is_ipv6: bool, payload: &[u8]) -> Vec<u8> {
    let [from, to] = if is_ipv6 { HOST.ipv6 } else { HOST.ipv4 };
    let side = |mac, ip, port| Side::new(mac, ip, port).unwrap();
    let port = *random.one(HOST.ports);
    let flow = Flow::new(side(HOST.macs[0], from, 4000), side(HOST.macs[1], to, port));
    match random.below(4) {
        0 => flow.tcp(TcpFlags { ack: true, ..TcpFlags::default() }, 7, payload),
        1 => flow.ping(1, 2, payload),
        _ => flow.udp(payload),
    }
    .unwrap()
}

fn spec(config: &SinkConfig) -> Spec {
    let mut spec = prepare(config).unwrap();
    set_mac(&mut spec, Some(OWN.parse().unwrap())).unwrap();
    spec
}

/// The model's judgement of a frame.
fn expected(tracker: &mut Tracker, frame: &[u8]) -> Judgement {
    let reason = tracker.judge(frame, 0, 0);
    let whole =
        matches!(reason, Reason::Received | Reason::Duplicated | Reason::Late | Reason::End);
    let mut packet = frame.to_vec();
    let own: Mac = OWN.parse().unwrap();
    let verdict = match reason {
        Reason::Foreign => Verdict::Pass,
        _ if whole && reflect(&mut packet, Some(own)) => Verdict::Tx,
        _ => Verdict::Drop,
    };
    Judgement { verdict, reason: reason.label().to_owned(), packet }
}

#[test]
fn nothing_goes_back_that_linux_would_not_answer() {
    let Settings { frames: total, seed } = Settings::from_environment(1500, 0x5eed_0023);
    let config = SinkConfig {
        action: FrameAction::Reflect,
        clocks: Clocks::Ignored,
        ..SinkConfig::new("eth0")
    };
    let spec = spec(&config);
    let mut linux = Linux::new();
    let mut kernel = Judge::<KernelRuntime>::load_only(&spec, PROGRAM);
    let mut frags = Judge::<KernelRuntime>::load_only(&spec, PROGRAM_FRAGS);
    let mut engine = Judge::<VmRuntime>::load_only(&spec, PROGRAM);
    let mut tracker = Tracker::new(&config);
    let mut random = Random::new(seed);
    let (mut findings, mut known, mut answered) = (Vec::new(), BTreeMap::new(), 0_u64);
    for number in 0..total {
        let (frame, stamp) = stamped(&mut random, 1 + (number % 60_000) as u16);
        let wanted = expected(&mut tracker, &frame.bytes);
        for ours in [&mut kernel, &mut frags] {
            assert_eq!(ours.judge(&frame.bytes, 0), wanted, "seed {seed}: {frame:?}");
        }
        assert_eq!(engine.judge(&frame.bytes, 0), wanted, "seed {seed}: {frame:?}");
        if wanted.verdict != Verdict::Tx {
            continue;
        }
        answered += 1;
        assert!(stamp.is_some(), "seed {seed}: {frame:?}");
        assert_eq!(wanted.packet.len(), frame.bytes.len(), "seed {seed}: {frame:?}");
        if linux.answers(&frame.bytes) {
            continue;
        }
        let rows: Vec<_> = KNOWN
            .iter()
            .enumerate()
            .filter(|(_, (of, _))| of.iter().any(|fault| frame.faults.contains(fault)))
            .collect();
        rows.iter().for_each(|(row, _)| *known.entry(*row).or_insert(0) += 1);
        if rows.is_empty() {
            findings.push(format!("{:?} goes back: {}", frame.faults, hex(&frame.bytes)));
        }
    }
    assert!(
        findings.is_empty(),
        "seed {seed}: {}\n{:#?}",
        findings.len(),
        &findings[..findings.len().min(10)]
    );
    assert_eq!(known.len(), KNOWN.len(), "met of what is known: {known:?}");
    assert!(answered > total / 10, "{answered} of {total}: most frames are not so hostile");
    println!("{total} frames from seed {seed}: {answered} go back, known differences {known:?}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const OWN: &str = HOST.macs[1];
const MARK: &[u8] = b"all that came before is answered";
