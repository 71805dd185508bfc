//! ICMP errors that name the interface that a packet came in from (RFC 4884, RFC 5837): read by
//! Wireshark's dissector, and by traceroute over sockets of the kernel.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use control::Control;
use control::route_memory::Follower;
use functions::route::{self, Config, IcmpErrors, Interface};
use kernel::KernelRuntime;
use lab::frame::check;
use lab::{Capture, LinkOptions, Router, until};
use packet::checksum;
use spec::Verdict;
use vm::VmRuntime;
use vm::world::RouteKind;
use xway_tests::bpf::Judgement;
use xway_tests::bpf::router::{Change, Forward, Port, Routed, from_a};
use xway_tests::stage::PATIENCE;
use xway_tests::stories;
use xway_tests::xway::Xway;

stories! {
    errors_of_any_length_name_the_interface
    what_has_no_extension_is_as_without_the_option
}

const C4: &str = "10.0.2.2";
const C6: &str = "fd00:0:0:2::2";
const CHANGES: [Change; 5] = [
    Change::Closed(RouteKind::Unreachable, "198.51.101.1"),
    Change::Closed(RouteKind::Unreachable, "fd03::1"),
    Change::Closed(RouteKind::Prohibit, "198.51.102.1"),
    Change::Closed(RouteKind::Prohibit, "fd04::1"),
    Change::Mtu(1300),
];

fn config(extensions: bool) -> Config {
    let icmp_errors = IcmpErrors { extensions, ..IcmpErrors::UNLIMITED };
    Config { icmp_errors, ..Config::default() }
}

fn interface(ifindex: u32) -> Interface {
    Interface {
        ifindex,
        name: "towards-a-01234".to_owned(),
        mtu: 1500,
        ipv4: Some([10, 0, 1, 1].into()),
        ipv6: Some("fd00:0:0:1::1".parse().unwrap()),
    }
}

/// A router that names eth0, and no other interface.
fn router<R: Routed>() -> Forward<R> {
    let router = Forward::<R>::configured(&config(true), &CHANGES);
    let interfaces = [interface(router.ports[0])];
    let [ports, extensions] = [route::PORTS, route::EXTENSIONS].map(|name| router.map(name));
    route::update_extensions(&interfaces, ports, extensions).unwrap();
    router
}

fn judge<R: Routed>(router: &mut Forward<R>, packet: &[u8], reason: &str) -> Judgement {
    let judgement = router.judge(Port::Eth0, packet);
    let found = (judgement.verdict, &*judgement.reason);
    assert_eq!(found, (Verdict::Redirect, reason), "{} bytes", packet.len());
    assert_eq!(check(&judgement.packet), Ok(()), "{reason}, {} bytes", packet.len());
    judgement
}

/// Packets whose errors have extensions.
fn extended() -> Vec<(Vec<u8>, &'static str)> {
    let mut all = Vec::new();
    for to in [C4, C6] {
        for length in [62, 63, 64, 65, 98, 141, 142, 143, 144, 600, 1300] {
            let packet = from_a(to, 7).ttl(1).udp_of_length(length).unwrap();
            all.push((packet, "sent-time-exceeded"));
        }
        // What follows the packet in its frame is not quoted.
        let mut padded = from_a(to, 7).ttl(1).udp(b"x").unwrap();
        padded.extend([0xee; 90]);
        all.push((padded, "sent-time-exceeded"));
    }
    for (to, reason) in [
        ("198.51.101.1", "sent-unreachable"),
        ("fd03::1", "sent-unreachable"),
        ("198.51.102.1", "sent-prohibited"),
        ("fd04::1", "sent-prohibited"),
    ] {
        all.push((from_a(to, 7).udp(b"x").unwrap(), reason));
    }
    all.push((from_a(C4, 7).udp_of_length(1400).unwrap(), "sent-too-big"));
    all
}

/// Bytes before the quote, and of the IP packet in a frame.
fn lengths(frame: &[u8]) -> (usize, usize) {
    let number = |at: usize| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    if frame[12] == 8 { (42, number(16)) } else { (62, number(18) + 40) }
}

fn errors_of_any_length_name_the_interface<R: Routed>() {
    let mut router = router::<R>();
    for (packet, reason) in extended() {
        let frame = judge(&mut router, &packet, reason).packet;
        let (quote, _) = lengths(&frame);
        let (_, total) = lengths(&packet);
        let original = &packet[14..14 + total.min(128)];
        let (quoted, extension) = frame[quote..].split_at(128);
        assert_eq!(quoted[..original.len()], *original, "{reason}, {} bytes", packet.len());
        assert!(quoted[original.len()..].iter().all(|byte| *byte == 0), "{quoted:02x?}");
        let words = if quote == 42 { (frame[quote - 3], 4) } else { (frame[quote - 4], 8) };
        assert_eq!(usize::from(words.0) * words.1, 128, "the length of the quote");
        assert_eq!(checksum::fold(checksum::sum(extension)), 0xffff);
        assert_eq!(extension.len(), if quote == 42 { 40 } else { 52 });
    }
    // The MTU is in the same word as the length.
    let too_big = from_a(C4, 7).udp_of_length(1400).unwrap();
    let frame = judge(&mut router, &too_big, "sent-too-big").packet;
    assert_eq!(frame[38..42], [0, 32, 5, 20]);
}

fn what_has_no_extension_is_as_without_the_option<R: Routed>() {
    let mut plain = Forward::<R>::configured(&config(false), &CHANGES);
    let mut router = router::<R>();
    // ICMPv6 "packet too big" has no length field.
    let large = from_a(C6, 7).udp_of_length(1400).unwrap();
    let [with, without] = [
        judge(&mut router, &large, "sent-too-big").packet,
        judge(&mut plain, &large, "sent-too-big").packet,
    ];
    assert_eq!(with, without);
    // An interface of which nothing is known.
    let [ports, extensions] = [route::PORTS, route::EXTENSIONS].map(|name| router.map(name));
    route::update_extensions(&[], ports, extensions).unwrap();
    for (packet, reason) in extended() {
        let strip = |mut frame: Vec<u8>| {
            // The identification is random.
            if frame[12] == 8 {
                frame[18..20].fill(0);
                frame[24..26].fill(0);
            }
            frame
        };
        let with = strip(judge(&mut router, &packet, reason).packet);
        assert_eq!(with, strip(judge(&mut plain, &packet, reason).packet), "{reason}");
    }
}

/// Fields of frames, as tshark names them.
fn fields(frames: &[Vec<u8>], names: &[&str]) -> Vec<BTreeMap<String, String>> {
    let mut file = Vec::new();
    let (ethernet, nanoseconds) = (pcap::LinkType::ETHERNET, pcap::Resolution::Nano);
    let mut writer = pcap::Writer::pcap(&mut file, ethernet, nanoseconds).unwrap();
    for frame in frames {
        let (original_len, data) = (frame.len() as u32, frame.clone());
        writer.write(&pcap::Packet { original_len, data, ..pcap::Packet::default() }).unwrap();
    }
    writer.finish().unwrap();
    let mut tshark = Command::new("tshark");
    // Otherwise it searches no extension after the first 128 bytes of a longer packet.
    tshark.args(["-o", "icmp.favor_icmp_mpls:TRUE"]);
    tshark.args(["-r", "-", "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]);
    names.iter().for_each(|name| _ = tshark.args(["-e", name]));
    let mut reader = tshark.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    reader.stdin.take().unwrap().write_all(&file).unwrap();
    let output = reader.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| {
        let values = line.split('|').map(str::to_owned);
        names.iter().map(|name| (*name).to_owned()).zip(values).collect()
    };
    text.lines().map(row).collect()
}

#[test]
fn wireshark_reads_the_interface() {
    let mut router = router::<VmRuntime>();
    let sent = extended();
    let frames: Vec<Vec<u8>> =
        sent.iter().map(|(packet, reason)| judge(&mut router, packet, reason).packet).collect();
    let expected = [
        ("icmp.ext.version", "2"),
        ("icmp.ext.checksum.status", "1"),
        ("icmp.ext.class", "2"),
        ("icmp.int_info.role", "0"),
        ("icmp.int_info.index", "2"),
        ("icmp.int_info.ipv4", "10.0.1.1"),
        ("icmp.int_info.ipv6", "fd00:0:0:1::1"),
        ("icmp.int_info.name", "towards-a-01234"),
        ("icmp.int_info.mtu", "1500"),
        ("_ws.malformed", ""),
    ];
    let found = fields(&frames, &expected.map(|(name, _)| name));
    assert_eq!(found.len(), frames.len());
    for (n, frame) in frames.iter().enumerate() {
        let other = if frame[12] == 8 { "icmp.int_info.ipv6" } else { "icmp.int_info.ipv4" };
        for (name, value) in expected {
            let value = if name == other { "" } else { value };
            let (packet, reason) = &sent[n];
            assert_eq!(found[n][name], value, "{name} of {reason}, {} bytes", packet.len());
        }
    }
}

/// By the command: what errors state follows the interface while the daemon does.
#[test]
fn the_command_names_interfaces_as_they_are() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    let xway = Xway::new();
    let start = |words: &[&str]| {
        xway.run_in(&net.b, &[&["route", "start", "eth0", "eth1"], words].concat())
    };
    start(&["--icmp-extensions", "--icmp-prefix-rate", "0"]).ended(0);
    let wire = Capture::open(&net.a, "eth0").unwrap();
    let packet = from_a(C4, 7).ttl(1).udp(b"x").unwrap();
    let answer = || {
        wire.send(&packet).unwrap();
        wire.next(PATIENCE, |frame| frame[23] == 1 && frame[34] == 11).unwrap()
    };
    let names = |mtu: [u8; 2]| {
        let mut end = b"\x08eth0\0\0\0\0\0".to_vec();
        end.extend(mtu);
        end
    };
    assert!(answer().ends_with(&names([5, 220])), "{:02x?}", answer());
    let differs = start(&[]).error();
    assert!(differs.contains("--icmp-extensions"), "{differs}");

    let control = Control::new(xway.state());
    let mut follower = net.b.run(|| Follower::new(&control).unwrap()).unwrap();
    for words in ["link set eth0 mtu 1400", "addr add 10.0.0.9/32 dev eth0"] {
        let status = net.b.command("ip").unwrap().args(words.split(' ')).status().unwrap();
        assert!(status.success(), "ip {words}");
    }
    let follows = until("the MTU of eth0", PATIENCE, || {
        net.b.run(|| follower.step().unwrap()).unwrap();
        Ok(answer().ends_with(&names([5, 120])).then_some(()))
    });
    follows.unwrap();
    start(&["--replace"]).ended(0);
    assert_eq!(answer().len(), 14 + 28 + packet.len() - 14, "an error without extension");
}

/// Sends datagrams with TTL 1, and prints for each what the kernel reports about the extension of
/// its error (`struct sock_ee_data_rfc4884`): the offset in the data, its flags, and the extension.
const RECEIVER: &str = r#"
import socket, struct, sys, select
to, options = sys.argv[1], {4: (0, 2, 11, 26), 6: (41, 16, 25, 31)}
level, ttl, errors, extensions = options[6 if ":" in to else 4]
for size in (0, 1, 32, 100, 101, 200, 1000):
    s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM)
    for option in (ttl, errors, extensions):
        s.setsockopt(level, option, 1)
    s.connect((to, 33434))
    s.send(b"x" * size)
    poll = select.poll()
    poll.register(s, 0)
    assert poll.poll(10000), f"no error about {size} bytes"
    data, ancillary, _, _ = s.recvmsg(2000, 2000, socket.MSG_ERRQUEUE)
    for _, kind, value in ancillary:
        if kind == errors:
            length, flags, _ = struct.unpack("=HBB", value[12:16])
            print(size, flags, data[length:].hex() if length else "none")
"#;

/// The kernel validates extensions for sockets that request them (`IP_RECVERR_RFC4884`).
#[test]
fn the_kernel_finds_extensions_valid() {
    let router = Forward::<KernelRuntime>::configured(&config(true), &CHANGES);
    router.site.extend(&[interface(router.ports[0])]);
    for to in [C4, C6] {
        let mut python = router.site.net.a.command("python3").unwrap();
        let output = python.args(["-c", RECEIVER, to]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text.lines().count(), 7, "{output:?}");
        let name = "746f77617264732d612d3031323334";
        for line in text.lines() {
            assert!(line.contains(" 0 20") && line.contains(name), "{to}: {line}");
        }
    }
}

#[test]
fn traceroute_reads_the_interface() {
    let router = Forward::<KernelRuntime>::configured(&config(true), &CHANGES);
    let interfaces = [interface(router.ports[0])];
    router.site.extend(&interfaces);
    for (to, address) in [(C4, "0a000101"), (C6, "fd000000000000010000000000000001")] {
        let mut traceroute = router.site.net.a.command("traceroute").unwrap();
        traceroute.args(["-e", "-n", "-q", "1", "-f", "1", "-m", "1", to]);
        let output = traceroute.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).replace([',', ' '], "");
        assert!(text.contains(address), "{to}: {text}");
    }
}
