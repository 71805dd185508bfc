//! Captures sent through a wire: what arrives at the other end is what was captured, or what the
//! edits make of it.

use std::time::Duration;

use kernel::{Attach, LoadOptions, Mode, Object, Replace};
use lab::frame::{Flow, Side, TcpFlags, check};
use lab::{Capture, LinkOptions, TwoHosts};
use pcap::{LinkType, Packet, Resolution, Writer};
use spec::asm::{self, Assembler};
use spec::{ProgramKind, Verdict};
use traffic::generator::{Action, Config, Generator, Load, Report};
use traffic::limits::FRAME_MAX;
use traffic::replay::{Cut, Edits, Options, Recording, Timing, Vlan};

const SECONDS: Duration = Duration::from_secs(20);
const START: u64 = 1_700_000_000_000_000_000;

/// Addresses that no host of the lab has.
fn flow(ipv6: bool) -> Flow {
    let side = |mac, v4, v6, port| Side::new(mac, if ipv6 { v6 } else { v4 }, port).unwrap();
    let source = side("02:99:00:00:00:01", "192.0.2.1", "2001:db8::1", 1234);
    Flow::new(source, side("02:99:00:00:00:02", "198.51.100.2", "2001:db8::2", 53))
}

/// One of each kind, none of which the receiver would merge with another. All are of a type that it
/// accepts: an unclaimed one reaches a capture after those that arrived with it.
fn frames() -> Vec<Vec<u8>> {
    let syn = TcpFlags { syn: true, ..TcpFlags::default() };
    let mut frames = vec![[&[0xff; 6][..], &[2, 0x99, 0, 0, 0, 1, 8, 6, 1, 2]].concat()];
    for ipv6 in [false, true] {
        let flow = flow(ipv6);
        frames.push(flow.udp(b"odd").unwrap());
        frames.push(flow.tcp(syn, 7, b"").unwrap());
        frames.push(flow.ping(1, 2, b"payload").unwrap());
        frames.push(flow.clone().vlan(7).udp(b"tagged").unwrap());
        frames.push(flow.clone().vlan(7).vlan(8).udp(b"tagged twice").unwrap());
        frames.push(flow.udp_of_length(1514).unwrap());
    }
    frames
}

/// Frames that were captured a millisecond apart.
fn capture(link: LinkType, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::pcap(Vec::new(), link, Resolution::Nano).unwrap();
    for (data, number) in frames.iter().zip(0..) {
        let timestamp_ns = START + number * 1_000_000;
        let original_len = data.len() as u32;
        let packet = Packet { timestamp_ns, data: data.clone(), original_len, ..Packet::default() };
        writer.write(&packet).unwrap();
    }
    writer.finish().unwrap()
}

fn read(capture: &[u8], options: &Options) -> Recording {
    Recording::read(capture, options).unwrap().0
}

/// b receives frames in order: without GRO, which would delay some of them.
struct Net {
    hosts: TwoHosts,
    _pass: kernel::Link,
}

impl Net {
    fn build(options: &LinkOptions) -> Self {
        let hosts = TwoHosts::build(options).unwrap();
        let mut object = asm::Object::new("pass", "GPL");
        let mut pass = Assembler::new("pass", ProgramKind::XDP);
        pass.verdict(Verdict::Pass);
        object.program(pass);
        let object = Object::load(&object.finish().unwrap(), &LoadOptions::default()).unwrap();
        let attach = Attach {
            ifindex: hosts.b.ifindex("eth0").unwrap(),
            program: object.program("pass").unwrap(),
            mode: Mode::Native,
            replace: Replace::No,
        };
        let link = hosts.b.run(|| kernel::attach(&attach)).unwrap().unwrap();
        hosts.b.set_feature("eth0", "gro", false).unwrap();
        Self { hosts, _pass: link }
    }
}

fn two_hosts() -> Net {
    Net::build(&LinkOptions::default())
}

fn config(recording: Recording) -> Config {
    let load = Load::Recording(recording);
    Config { duration: Some(SECONDS), ..Config::new("eth0", load) }
}

/// Sends it from a to b: the generator's report, and what arrived.
fn send(net: &Net, config: Config) -> (Report, Vec<Vec<u8>>) {
    let there = Capture::open(&net.hosts.b, "eth0").unwrap();
    let generator = net.hosts.a.run(|| Generator::start(config)).unwrap().unwrap();
    let report = generator.wait().unwrap();
    let ours = |frame: &[u8]| frame[6..8] == [2, 0x99];
    let given = report.totals.sent as usize;
    let mut arrived: Vec<_> = (0..given).map(|_| there.next(SECONDS, ours).unwrap()).collect();
    // Nothing beyond the report.
    arrived.extend(there.all(Duration::from_millis(50), 1, ours).unwrap());
    (report, arrived)
}

#[test]
fn a_capture_arrives_byte_for_byte_in_order_and_in_time() {
    let (net, frames) = (two_hosts(), frames());
    let recording = read(&capture(LinkType::ETHERNET, &frames), &Options::default());
    let (report, arrived) = send(&net, config(recording));
    assert!(arrived == frames);
    let totals = &report.totals;
    assert_eq!((totals.sent, totals.not_sent), (frames.len() as u64, 0), "{totals:?}");
    assert_eq!(totals.bytes, frames.iter().map(|frame| frame.len() as u64).sum::<u64>());
    assert_eq!(totals.streams, [totals.sent]);
    let gaps = (frames.len() - 1) as f64 * 1e-3;
    assert!(totals.elapsed.as_secs_f64() >= gaps && !report.stopped, "{report:?}");
    assert_eq!(report.pacing.unwrap().error_ns.count(), totals.sent);
}

#[test]
fn a_capture_is_injected_into_the_hosts_own_stack() {
    let (net, frames) = (two_hosts(), frames());
    let recording = read(&capture(LinkType::ETHERNET, &frames), &Options::default());
    let here = Capture::open(&net.hosts.a, "eth0").unwrap();
    let config = Config { action: Action::Inject, ..config(recording) };
    let generator = net.hosts.a.run(|| Generator::start(config)).unwrap().unwrap();
    for frame in &frames {
        let arrived = here.next(SECONDS, |frame| frame[6..8] == [2, 0x99]).unwrap();
        assert!(arrived == *frame);
    }
    assert_eq!(generator.wait().unwrap().totals.streams, [frames.len() as u64]);
}

#[test]
fn rounds_counts_and_threads() {
    let net = Net::build(&LinkOptions { queues: 2, ..LinkOptions::default() });
    let frames = frames();
    let bytes = capture(LinkType::ETHERNET, &frames);
    let max = Options { timing: Timing::Max, rounds: 3, ..Options::default() };
    let thrice = [&frames[..], &frames, &frames].concat();

    let (report, arrived) = send(&net, config(read(&bytes, &max)));
    assert!(arrived == thrice, "as fast as it can");
    assert!(report.pacing.is_none());

    let (_, arrived) = send(&net, Config { count: Some(20), ..config(read(&bytes, &max)) });
    assert!(arrived == thrice[..20], "in the middle of a round");

    let fast = Options { timing: Timing::PacketsPerSecond(100e3), rounds: 3, ..Options::default() };
    let (_, arrived) = send(&net, config(read(&bytes, &fast)));
    assert!(arrived == thrice, "at a rate");

    let endless = Options { rounds: 0, ..max.clone() };
    let limited = Config { count: Some(1000), ..config(read(&bytes, &endless)) };
    let totals = send(&net, limited).0.totals;
    assert_eq!(totals.sent + totals.not_sent, 1000, "some may find no room");

    let shared = Config { cpus: vec![0, 1], ..config(read(&bytes, &max)) };
    let (report, mut arrived) = send(&net, shared);
    let mut wanted = thrice;
    wanted.sort();
    arrived.sort();
    assert!(arrived == wanted, "each frame three times, by one thread or the other: {report:?}");
    assert!(report.totals.threads.iter().all(|thread| thread.sent >= 18), "{report:?}");
}

#[test]
fn a_thread_that_has_sent_its_share_does_not_end_the_others() {
    let net = Net::build(&LinkOptions { queues: 2, ..LinkOptions::default() });
    let bytes = capture(LinkType::ETHERNET, &frames());
    let max = Options { timing: Timing::Max, ..Options::default() };
    // On one processor, threads begin and end one after the other.
    for run in 0..20 {
        let config = Config { cpus: vec![0, 0], ..config(read(&bytes, &max)) };
        let generator = net.hosts.a.run(|| Generator::start(config)).unwrap().unwrap();
        let report = generator.wait().unwrap();
        assert_eq!(report.totals.sent, 13, "{run}: {report:?}");
        assert!(!report.stopped, "{run}: {report:?}");
    }
}

#[test]
fn edited_frames_are_right_on_the_wire() {
    let net = two_hosts();
    let edits = Edits {
        macs: vec!["dst:*=02:00:00:00:00:77".parse().unwrap()],
        addresses: vec![
            "192.0.2.0/24=10.1.2.0/24".parse().unwrap(),
            "dst:2001:db8::/32=fd77::/32".parse().unwrap(),
        ],
        ports: vec!["53=5353".parse().unwrap()],
        vlan: Some(Vlan::Set(42)),
    };
    let options = Options { edits, ..Options::default() };
    let frames = frames();
    let (_, arrived) = send(&net, config(read(&capture(LinkType::ETHERNET, &frames), &options)));
    assert_eq!(arrived.len(), frames.len());
    for frame in &arrived {
        assert_eq!(frame[..6], [2, 0, 0, 0, 0, 0x77]);
        assert_eq!(frame[12..16], [0x81, 0, 0, 42]);
    }
    for frame in &arrived[1..] {
        assert_eq!(check(frame), Ok(()), "{frame:x?}");
    }
    let [v4, v6] = [&arrived[1][18..], &arrived[7][18..]];
    assert_eq!((&v4[12..16], &v4[22..24]), (&[10, 1, 2, 1][..], &5353_u16.to_be_bytes()[..]));
    assert_eq!((&v6[8..10], &v6[24..26]), (&[0x20, 1][..], &[0xfd, 0x77][..]));
}

#[test]
fn every_link_type_is_sent_as_ethernet() {
    let net = two_hosts();
    let whole = flow(false).udp(b"inside").unwrap();
    let ip = &whole[14..];
    let cooked = [&[0, 0, 0, 1, 0, 6, 2, 0x99, 0, 0, 0, 1, 0, 0, 8, 0][..], ip].concat();
    let cooked2 =
        [&[8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0x99, 0, 0, 0, 1, 0, 0][..], ip].concat();
    for (label, link, packet) in [
        ("raw", LinkType::RAW, ip.to_vec()),
        ("IPv4", LinkType::IPV4, ip.to_vec()),
        ("cooked", LinkType::LINUX_SLL, cooked),
        ("cooked v2", LinkType::LINUX_SLL2, cooked2),
        ("null", LinkType::NULL, [&[2, 0, 0, 0], ip].concat()),
        ("PPP", LinkType(9), [&[0xff, 3, 0, 0x21], ip].concat()),
    ] {
        let framing = traffic::replay::Framing {
            source: flow(false).source.mac,
            destination: flow(false).destination.mac,
        };
        let options = Options { framing, ..Options::default() };
        let (_, arrived) = send(&net, config(read(&capture(link, &[packet]), &options)));
        assert!(arrived == [whole.as_slice()], "{label}");
    }
}

#[test]
fn damaged_and_cut_captures_are_sent_as_far_as_they_go() {
    let (net, frames) = (two_hosts(), frames());
    let mut bytes = capture(LinkType::ETHERNET, &frames);
    bytes.truncate(bytes.len() - 3);
    let (recording, notes) = Recording::read(&bytes[..], &Options::default()).unwrap();
    assert!(notes.damage.is_some());
    let (_, arrived) = send(&net, config(recording));
    assert!(arrived == frames[..frames.len() - 1]);

    let mut writer = Writer::pcap(Vec::new(), LinkType::ETHERNET, Resolution::Nano).unwrap();
    let data = frames[1][..40].to_vec();
    let cut = Packet { timestamp_ns: START, data, original_len: 60, ..Packet::default() };
    writer.write(&cut).unwrap();
    let bytes = writer.finish().unwrap();
    for (cut, wanted) in [
        (Cut::AsCaptured, frames[1][..40].to_vec()),
        (Cut::Pad, [&frames[1][..40], &[0; 20]].concat()),
    ] {
        let options = Options { cut, ..Options::default() };
        assert_eq!(send(&net, config(read(&bytes, &options))).1, [wanted], "{cut:?}");
    }
}

#[test]
fn the_longest_live_frame_is_sent() {
    let mtu = (FRAME_MAX - 14) as u32;
    let net = Net::build(&LinkOptions { mtu, ..LinkOptions::default() });
    let frames = [flow(false).udp_of_length(FRAME_MAX).unwrap(), flow(true).udp(b"").unwrap()];
    let options = Options { mtu: mtu as usize, ..Options::default() };
    let (_, arrived) = send(&net, config(read(&capture(LinkType::ETHERNET, &frames), &options)));
    assert!(arrived == frames);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let net = two_hosts();
    let bytes = capture(LinkType::ETHERNET, &frames());
    let paced = || config(read(&bytes, &Options::default()));
    let endless = Options { rounds: 0, ..Options::default() };
    for (label, config, part) in [
        ("order", Config { cpus: vec![0, 1], ..paced() }, "by one thread"),
        ("a batch", Config { batch: Some(8), ..paced() }, "do not give a batch"),
        ("a rate", Config { profile: "1kpps".parse().unwrap(), ..paced() }, "do not give a rate"),
        ("no end", Config { duration: None, ..config(read(&bytes, &endless)) }, "an end"),
    ] {
        let error = net.hosts.a.run(|| Generator::start(config)).unwrap().unwrap_err();
        assert!(error.to_string().contains(part), "{label}: {error}");
    }
}
