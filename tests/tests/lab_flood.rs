//! Floods: exact counts, numbers and checksums at the receiver, rates, and every way to end one.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

use std::time::{Duration, Instant};

use kernel::{Attach, LoadOptions, Map, Mode, Object, Replace};
use lab::frame::{Flow, Side, check};
use lab::{Capture, Flood, FloodConfig, Host, LinkOptions, Sequence, Service, TwoHosts};
use spec::asm::Reg::{R0, R1, R2, R3, R4, R5, R6};
use spec::asm::{self, Assembler, Cond};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Verdict};

const PORT: u16 = 4242;
const SECONDS: Duration = Duration::from_secs(20);

/// Frames to the server's discard port from an address that does not answer.
fn flow(to: &Host, ipv6: bool) -> Flow {
    let (from, at) = if ipv6 {
        ("fd00::99", to.ipv6("eth0").unwrap().into())
    } else {
        ("10.0.0.99", std::net::IpAddr::from(to.ipv4("eth0").unwrap()))
    };
    let source = Side::new("02:78:77:00:00:63", from, 9).unwrap();
    Flow::new(source, Side { mac: to.mac("eth0").unwrap(), ip: at, port: PORT })
}

/// Counts on a host's interface: frames to `PORT`, how many numbers were out of order, the next
/// expected number. All else passes.
struct Counter {
    state: Map,
    _link: kernel::Link,
}

impl Counter {
    fn attach(host: &Host, interface: &str, mode: Mode) -> Self {
        let mut object = asm::Object::new("counter", "GPL");
        object.map(MapDef {
            name: "seen".into(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: 24,
            max_entries: 1,
            ..MapDef::default()
        });
        object.program(counting());
        let object = Object::load(&object.finish().unwrap(), &LoadOptions::default()).unwrap();
        let ifindex = host.ifindex(interface).unwrap();
        let program = object.program("counter").unwrap();
        let attach = Attach { ifindex, program, mode, replace: Replace::No };
        let link = host.run(|| kernel::attach(&attach)).unwrap().unwrap();
        let state = object.map("seen").unwrap().duplicate().unwrap();
        Self { state, _link: link }
    }

    /// Frames, and numbers that did not follow the one before.
    fn seen(&self) -> (u64, u64) {
        let value = self.state.lookup(&[0; 4]).unwrap().unwrap();
        let word = |at: usize| u64::from_ne_bytes(value[at..at + 8].try_into().unwrap());
        (word(0), word(8))
    }
}

/// For IPv4 without options over Ethernet; the number is in front of the payload.
fn counting() -> Assembler {
    let mut a = Assembler::new("counter", ProgramKind::XDP);
    let (pass, in_order) = (a.label(), a.label());
    a.packet(R2, R3, R1).need(R2, R3, 50, R4, pass);
    a.load16(R4, R2.at(12)).be16(R4).jump_if(R4, Cond::Ne, 0x0800, pass);
    a.load16(R4, R2.at(36)).be16(R4).jump_if(R4, Cond::Ne, i32::from(PORT), pass);
    a.load64(R5, R2.at(42)).be64(R5);
    a.load_map_value(R6, "seen", 0).count(R6.at(0), 1, R4);
    a.load64(R4, R6.at(16)).mov(R0, R5).add(R0, 1).store64(R6.at(16), R0);
    a.jump_if(R4, Cond::Eq, R5, in_order).count(R6.at(8), 1, R4);
    a.bind(in_order).verdict(Verdict::Drop);
    a.bind(pass).verdict(Verdict::Pass);
    a
}

#[test]
fn every_frame_of_a_paced_flood_arrives_once_and_in_order() {
    for mode in [Mode::Native, Mode::Generic] {
        let net = TwoHosts::build(&LinkOptions::default()).unwrap();
        let counter = Counter::attach(&net.b, "eth0", mode);
        let config = FloodConfig {
            rate_pps: Some(50_000),
            limit: Some(10_000),
            duration: SECONDS,
            ..FloodConfig::new(flow(&net.b, false).udp_of_length(60).unwrap())
        };
        let report = Flood::start(&net.a, "eth0", config).unwrap().wait().unwrap();
        assert_eq!(report.sent, 10_000);
        let all = || Ok((counter.seen().0 >= report.sent).then_some(()));
        lab::until("arrival of all frames", Duration::from_secs(5), all).unwrap();
        assert_eq!(counter.seen(), (10_000, 0), "{mode:?}");
        assert!((0.15..2.0).contains(&report.seconds), "200 ms of frames took {report:?}");
    }
}

#[test]
fn arriving_frames_are_right_to_the_last_bit() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    for (ipv6, tags) in [(false, 0), (true, 0), (true, 2)] {
        let flow = (0..tags).fold(flow(&net.b, ipv6), |flow, id| flow.vlan(7 + id));
        let capture = Capture::open(&net.b, "eth0").unwrap();
        // Starts high, so that sums carry over and every byte of the number is in use.
        let config = FloodConfig::new(flow.udp(&[0xa5; 31]).unwrap());
        let sequence = Sequence { first: 0xfffe_fffd_fffc_fff0, ..config.sequence.unwrap() };
        let config = FloodConfig {
            sequence: Some(sequence),
            limit: Some(100),
            rate_pps: Some(20_000),
            duration: SECONDS,
            ..config
        };
        let flood = Flood::start(&net.a, "eth0", config).unwrap();
        for number in 0..100 {
            let ours = |frame: &[u8]| frame[6..12] == flow.source.mac.0;
            let frame = capture.next(SECONDS, ours).unwrap();
            assert_eq!(check(&frame), Ok(()), "frame {number}, ipv6 {ipv6}");
            let read = sequence.read(&frame).unwrap();
            assert_eq!(read - sequence.first, number, "ipv6 {ipv6}, {tags} tags");
        }
        assert_eq!(flood.wait().unwrap().sent, 100);
    }
}

#[test]
fn floods_end_by_limit_time_stop_and_drop() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let frame = flow(&net.b, false).udp_of_length(60).unwrap();
    let config = FloodConfig { duration: SECONDS, cpu: Some(0), ..FloodConfig::new(frame) };

    let limited = FloodConfig { limit: Some(12_345), ..config.clone() };
    let report = Flood::start(&net.a, "eth0", limited).unwrap().wait().unwrap();
    assert_eq!(report.sent, 12_345, "unpaced, to the frame");

    let short = FloodConfig { duration: Duration::from_millis(100), ..config.clone() };
    let report = Flood::start(&net.a, "eth0", short).unwrap().wait().unwrap();
    assert!(report.sent > 1000 && report.seconds < 5.0, "{report:?}");

    let slow = FloodConfig { rate_pps: Some(1000), ..config.clone() };
    let flood = Flood::start(&net.a, "eth0", slow).unwrap();
    let some = || Ok((flood.sent()? >= 10).then_some(()));
    lab::until("ten frames", SECONDS, some).unwrap();
    assert!(!flood.is_done());
    let report = flood.stop().unwrap();
    assert!(report.sent >= 10 && report.seconds < 5.0, "{report:?}");

    let start = Instant::now();
    drop(Flood::start(&net.a, "eth0", config).unwrap());
    assert!(start.elapsed() < SECONDS / 2);
}

#[test]
fn the_rate_is_what_was_asked_for() {
    let net = Service::build(&LinkOptions::default()).unwrap();
    let counter = Counter::attach(&net.server, "eth0", Mode::Native);
    let frame = flow(&net.server, false).udp_of_length(60).unwrap();
    let config = FloodConfig {
        rate_pps: Some(500_000),
        duration: Duration::from_millis(500),
        ..FloodConfig::new(frame)
    };
    let report = Flood::start(&net.attacker, "up0", config).unwrap().wait().unwrap();
    // Other work on this machine may take time away, but nothing may add frames.
    assert!(report.pps < 520_000.0 && report.pps > 50_000.0, "{report:?}");
    let all = || Ok((counter.seen().0 >= report.sent).then_some(()));
    lab::until("arrival of all frames", Duration::from_secs(5), all).unwrap();
}

#[test]
fn only_the_labs_own_interfaces_are_flooded() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let config = FloodConfig::new(vec![0; 60]);
    for interface in ["lo", "eth1"] {
        let error = Flood::start(&net.a, interface, config.clone()).unwrap_err();
        assert!(matches!(error, lab::Error::NotOurs { .. }), "{error}");
    }
    let none = FloodConfig { rate_pps: Some(0), ..config };
    assert!(matches!(Flood::start(&net.a, "eth0", none), Err(lab::Error::Flood(_))));
}
