//! The generator with failures, and with frames that are received instead of sent.

use std::net::UdpSocket;

use lab::frame::{Flow, Side};
use lab::{LinkOptions, TwoHosts};
use spec::Verdict;
use sys::errno::{ENETDOWN, ENXIO, EOPNOTSUPP};
use traffic::generator::{Action, Config, Fault, Generator, Rewrite, Snapshot};
use traffic::{ConfigError, Error, Template};
use xway_tests::generator::spoiler::Spoiler;
use xway_tests::generator::{
    Counter, LEN, PORT, SECONDS, config, start, stream, template, two_hosts,
};

const ONWARD: &[u8] = include_bytes!("../../../bpf/prebuilt/test/onward.o");
/// Stamps of the end of one stream.
const ENDS: u64 = (traffic::limits::END_RUNS * traffic::limits::END_FRAMES) as u64;

/// An endless run at a low rate.
fn steady(template: Template) -> Config {
    Config { count: None, profile: "20kpps".parse().unwrap(), ..config(template, 1) }
}

fn until_sent(generator: &Generator, more: u64) {
    let before = generator.snapshot().unwrap().sent;
    let some = || Ok((generator.snapshot().unwrap().sent > before + more).then_some(()));
    lab::until("frames to leave", SECONDS, some).unwrap();
}

fn until_fault(generator: &Generator, errnos: &[i32]) -> Fault {
    let found = || {
        let faults = generator.snapshot().unwrap().faults;
        Ok(faults.into_iter().find(|fault| errnos.contains(&fault.errno) && fault.frames > 100))
    };
    lab::until("frames that are not sent", SECONDS, found).unwrap()
}

fn assert_all_counted(totals: &Snapshot) {
    assert_eq!(totals.blind, None);
    let faults: u64 = totals.faults.iter().map(|fault| fault.frames).sum();
    assert_eq!(totals.not_sent, faults);
    assert_eq!(totals.sent + totals.not_sent, totals.streams[0], "{totals:?}");
}

#[test]
fn what_cannot_be_sent_is_refused_with_what_to_change() {
    let net = two_hosts();
    let deaf = TwoHosts::build(&LinkOptions { gro: false, ..LinkOptions::default() }).unwrap();
    let frame = stream(&net.b);
    let good = config(frame.clone(), 10);
    let named = |name: &str| Config { interface: name.into(), ..good.clone() };
    let mut long = frame.clone();
    long.bytes.resize(1600, 0);
    long.sizes[0].len = 1600;
    for (label, net, config, message) in [
        ("absent", &net, named("nowhere0"), "no such interface"),
        ("loopback", &net, named("lo"), "does not transmit XDP frames"),
        ("deaf peer", &deaf, good.clone(), "ethtool -K PEER gro on"),
        ("long", &net, config(long, 10), "ip link set eth0 mtu 1586"),
    ] {
        let error = start(&net.a, config).unwrap_err();
        assert!(matches!(error, Error::Interface { .. }), "{label}: {error:?}");
        assert!(error.to_string().contains(message), "{label}: {error}");
    }
    let refusal = |config| match start(&net.a, config).unwrap_err() {
        Error::Config(wrong) => wrong,
        other => panic!("{other}"),
    };
    let no_end = Config { count: None, duration: None, ..good.clone() };
    assert!(matches!(refusal(no_end), ConfigError::NoEnd));
    let nothing = Config { count: Some(0), ..good.clone() };
    assert!(matches!(refusal(nothing), ConfigError::Nothing { what: "count" }));
    let batch = Config { batch: Some(257), ..good.clone() };
    assert!(matches!(refusal(batch), ConfigError::Range { max: 256, given: 257, .. }));
    let processor = Config { cpus: vec![999], ..good.clone() };
    assert!(matches!(refusal(processor), ConfigError::Cpu { cpu: 999, .. }));
    let threads = Config { cpus: vec![0; 65], ..good.clone() };
    assert!(matches!(refusal(threads), ConfigError::Range { max: 64, given: 65, .. }));
    let mut netlink = net.a.netlink().unwrap();
    let ifindex = net.a.ifindex("eth0").unwrap();
    netlink.set_up(ifindex, false).unwrap();
    let error = start(&net.a, good).unwrap_err().to_string();
    assert!(error.contains("ip link set eth0 up"), "{error}");
}

#[test]
fn a_peer_that_stops_listening_is_reported() {
    let net = two_hosts();
    let generator = start(&net.a, steady(stream(&net.b))).unwrap();
    until_sent(&generator, 100);
    net.b.set_feature("eth0", "gro", false).unwrap();
    let fault = until_fault(&generator, &[ENXIO, EOPNOTSUPP]);
    assert!(fault.advice.contains("ethtool -K PEER gro on"), "{fault:?}");
    net.b.set_feature("eth0", "gro", true).unwrap();
    until_sent(&generator, 100);
    assert_all_counted(&generator.stop().unwrap().totals);
}

#[test]
fn a_link_that_goes_down_is_counted_and_the_run_continues() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    let generator = start(&net.a, steady(stream(&net.b))).unwrap();
    let mut seen = Vec::new();
    for (host, advice) in [(&net.a, "ip link set eth0 up"), (&net.b, "it is down")] {
        until_sent(&generator, 100);
        let (mut netlink, ifindex) = (host.netlink().unwrap(), host.ifindex("eth0").unwrap());
        netlink.set_up(ifindex, false).unwrap();
        // A veth whose other end is down does not transmit at all.
        let fault = match host.name() {
            "a" => until_fault(&generator, &[ENETDOWN]),
            _ => until_fault(&generator, &[ENXIO, EOPNOTSUPP]),
        };
        assert!(fault.advice.contains(advice), "{fault:?}");
        seen.push(fault.errno);
        netlink.set_up(ifindex, true).unwrap();
    }
    until_sent(&generator, 100);
    let report = generator.stop().unwrap();
    assert_all_counted(&report.totals);
    // Those in the ring of an end that goes down are its loss.
    assert!(counter.seen(0).data <= report.totals.sent, "{seen:?}");
}

#[test]
fn frames_that_find_the_ring_full_are_not_sent() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    let cpu = *sys::cpu::affinity().unwrap().last().unwrap();
    // The receiver polls on the sender's processor, after the sender.
    net.b.pin_napi("eth0", cpu).unwrap();
    let config = Config { cpus: vec![cpu], ..config(stream(&net.b), 200_000) };
    let report = start(&net.a, config).unwrap().wait().unwrap();
    let totals = &report.totals;
    assert_all_counted(totals);
    assert_eq!(totals.streams, [200_000]);
    assert!(totals.not_sent > 0, "{totals:?}");
    assert_eq!(totals.faults.len(), 1);
    assert_eq!((totals.faults[0].errno, totals.faults[0].frames), (0, totals.not_sent));
    assert!(totals.faults[0].advice.contains("slower"), "{totals:?}");
    assert_eq!(counter.wait(0, totals.sent).data, totals.sent);
}

#[test]
fn generators_on_one_interface_count_each_their_own() {
    let net = TwoHosts::build(&LinkOptions { queues: 2, ..LinkOptions::default() }).unwrap();
    let _counter = Counter::attach(&net.b);
    let paced =
        |count| Config { profile: "20kpps".parse().unwrap(), ..config(stream(&net.b), count) };
    let [first, second] = [2_000, 3_000].map(|count| start(&net.a, paced(count)).unwrap());
    for (generator, count) in [(first, 2_000), (second, 3_000)] {
        let totals = generator.wait().unwrap().totals;
        assert_all_counted(&totals);
        assert_eq!(totals.sent, count);
    }
}

#[test]
fn injected_frames_reach_a_socket_of_the_same_host() {
    let net = two_hosts();
    let own = Side {
        mac: net.a.mac("eth0").unwrap(),
        ip: net.a.ipv4("eth0").unwrap().into(),
        port: PORT,
    };
    let socket = net.a.run(|| UdpSocket::bind((own.ip, PORT))).unwrap().unwrap();
    socket.set_read_timeout(Some(SECONDS)).unwrap();
    let source = Side::new("02:78:77:00:00:63", "10.0.0.99", 9).unwrap();
    // With a checksum, which the stack verifies.
    let frame = template(Flow::new(source, own).udp(&[0; LEN - 42]).unwrap());
    let paced = Config {
        action: Action::Inject,
        profile: "5kpps".parse().unwrap(),
        ..config(frame, INJECTED)
    };
    let report = start(&net.a, paced).unwrap().wait().unwrap();
    assert_eq!((report.totals.sent, report.totals.not_sent), (INJECTED, 0));
    let mut payload = [0; 100];
    for number in 0..INJECTED as u32 {
        assert_eq!(socket.recv(&mut payload).unwrap(), LEN - 42);
        let stamp = traffic::Stamp::read(&payload[..LEN - 42]).unwrap().unwrap();
        assert_eq!((stamp.number, stamp.kind), (number, traffic::Kind::Data(Default::default())));
    }
}

/// Each is charged a page: a socket's buffer holds some fifty.
const INJECTED: u64 = 30;

#[test]
fn frames_meet_a_program_that_sends_every_other_one_on() {
    // One is composed with the generator's, the other has no room and is called.
    for name in ["onward", "onward_deep"] {
        let net = two_hosts();
        let counter = Counter::attach(&net.b);
        let action = Action::Program { object: ONWARD.to_vec(), name: Some(name.into()) };
        let config = Config {
            action,
            held: true,
            profile: "20kpps".parse().unwrap(),
            ..config(stream(&net.b), 1_000)
        };
        let generator = start(&net.a, config).unwrap();
        let out = net.a.ifindex("eth0").unwrap();
        let ports = generator.map("onward_ports").unwrap();
        // Interfaces are those of the namespace where they are named.
        net.a.run(|| ports.put_device(0, out, None)).unwrap().unwrap();
        let unknown = generator.map("nothing").unwrap_err().to_string();
        assert!(unknown.contains("onward_ports") && !unknown.contains("gen_"), "{unknown}");
        generator.go();
        let report = generator.wait().unwrap();
        let verdict =
            |wanted| report.totals.verdicts.iter().find(|(it, _)| *it == wanted).unwrap().1;
        assert_eq!(report.totals.sent, 1_000, "{name}");
        // Stamps of the end meet it, too.
        let met = verdict(Verdict::Redirect) + verdict(Verdict::Drop);
        assert_eq!(met, 1_000 + ENDS, "{name}: {:?}", report.totals.verdicts);
        assert_eq!(verdict(Verdict::Redirect), met / 2);
        assert_eq!(counter.wait(0, 500).data, 500, "{name}");
    }
}

#[test]
fn programs_that_cannot_be_met_are_refused() {
    let net = two_hosts();
    let action = |object: &[u8], name: Option<&str>| Action::Program {
        object: object.to_vec(),
        name: name.map(str::to_owned),
    };
    for (label, action, words) in [
        ("no object", action(b"text", None), "ELF"),
        ("which one", action(ONWARD, None), "onward, onward_deep"),
        ("another name", action(ONWARD, Some("inward")), "onward, onward_deep"),
    ] {
        let config = Config { action, ..config(stream(&net.b), 1) };
        let error = start(&net.a, config).unwrap_err().to_string();
        assert!(error.contains(words), "{label}: {error}");
    }
}

#[test]
fn frames_are_written_anew_where_their_receiver_changes_them() {
    for (rewrite, lasts) in [(Rewrite::Auto, false), (Rewrite::Never, true)] {
        let net = two_hosts();
        let spoiler = Spoiler::attach(&net.b);
        let paced = "20kpps".parse().unwrap();
        let config = Config { rewrite, profile: paced, ..config(stream(&net.b), 2_000) };
        let report = start(&net.a, config).unwrap().wait().unwrap();
        assert_eq!(report.totals.sent, 2_000);
        let spoilt = spoiler.wait(2_000);
        assert_eq!(spoilt > 0, lasts, "{rewrite:?}: {spoilt} spoilt");
    }
}
