//! Which tunnels the backend program opens, and what comes out: the balancer's own output in each
//! delivery, and malformed or unwanted packets.

use std::cell::RefCell;
use std::collections::BTreeMap;

use functions::balancer::Config;
use lab::frame::{TcpFlags, check};
use packet::checksum::{is_valid, sum};
use spec::Verdict;
use vm::VmRuntime;
use xway_tests::bpf::Judgement;
use xway_tests::bpf::backend::{Backend, Ended, SERVICES, config};
use xway_tests::bpf::balancer::{Balanced, Balancer};
use xway_tests::stories;

use super::delivery::{self, client, ip_packet, kinds};

stories! {
    tunnels_of_the_balancer_open_to_the_same_packet
    a_tunnel_cut_at_any_length_is_not_opened
    lengths_and_versions_that_do_not_fit
    only_from_balancers_to_this_host_for_services
    congestion_is_passed_on
    tags_remain_and_padding_goes
    later_variants_and_options_are_skipped
    checksums_of_outer_headers
    large_frames_in_several_buffers
    a_segment_without_a_socket_goes_to_the_other_backend
    only_unknown_segments_on_moved_slots_name_the_other_backend
}

const BACKENDS: [&str; 2] = ["10.0.2.10", "fd00:0:0:2::10"];
const DELIVERIES: [&str; 3] = ["'ipip'", "{ gue = {} }", "{ geneve = { vni = 7 } }"];
const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };
const RST: TcpFlags = TcpFlags { syn: false, ack: false, fin: false, rst: true };

thread_local! {
    /// Balancers by backend and delivery.
    static BALANCERS: RefCell<BTreeMap<[String; 2], Balancer<VmRuntime>>> = RefCell::default();
}

/// The packet in the tunnel of a balancer.
fn wrapped(packet: &[u8], backend: &str, delivery: &str) -> Vec<u8> {
    BALANCERS.with_borrow_mut(|all| {
        let new = || Balancer::of(&delivery::config(backend, delivery));
        let key = [backend, delivery].map(str::to_owned);
        let judgement = all.entry(key).or_insert_with(new).judge(packet);
        assert_eq!(judgement.reason, "balanced");
        judgement.packet
    })
}

/// UDP to the IPv4 service, in the tunnel of a balancer.
fn datagram(backend: &str, delivery: &str) -> Vec<u8> {
    wrapped(&client(SERVICES[0], 1000).udp(b"payload!").unwrap(), backend, delivery)
}

#[track_caller]
fn assert_judged(judged: &Judgement, reason: &str, verdict: Verdict) {
    assert_eq!((&*judged.reason, judged.verdict), (reason, verdict));
}

/// Corrects the checksum of an outer IPv4 header without options.
fn repair(frame: &mut [u8], at: usize) {
    if frame[at] >> 4 != 4 {
        return;
    }
    let header = at + usize::from(frame[at] & 15) * 4;
    frame[at + 10..at + 12].fill(0);
    let check = packet::checksum::fold(sum(&frame[at..header]));
    frame[at + 10..at + 12].copy_from_slice(&(!check).to_be_bytes());
    assert!(is_valid(sum(&frame[at..header])));
}

fn tunnels_of_the_balancer_open_to_the_same_packet<R: Ended>() {
    let mut end = Backend::<R>::new();
    for delivery in DELIVERIES {
        for backend in BACKENDS {
            for service in SERVICES {
                for (name, packet) in kinds(&client(service, 1000)) {
                    let name = format!("{name} to {service} by {delivery} to {backend}");
                    let sent = wrapped(&packet, backend, delivery);
                    let judged = end.judge(&sent);
                    assert_judged(&judged, "opened", Verdict::Pass);
                    assert_eq!(judged.packet[..12], sent[..12], "{name}: addresses of the link");
                    assert_eq!(judged.packet[12..14], packet[12..14], "{name}: type");
                    assert_eq!(judged.packet[14..], *ip_packet(&packet), "{name}");
                }
            }
        }
    }
}

fn a_tunnel_cut_at_any_length_is_not_opened<R: Ended>() {
    let mut end = Backend::<R>::new();
    for delivery in DELIVERIES {
        for backend in BACKENDS {
            let whole = datagram(backend, delivery);
            for length in 14..whole.len() {
                let judged = end.judge(&whole[..length]);
                assert_judged(&judged, "truncated", Verdict::Pass);
                assert_eq!(judged.packet, whole[..length]);
            }
            assert_eq!(end.judge(&whole).reason, "opened");
        }
    }
}

/// A change of one field at a position after the outer IPv4 header, and what it comes to.
fn lengths_and_versions_that_do_not_fit<R: Ended>() {
    let mut end = Backend::<R>::new();
    let (ipip, gue, geneve) = (DELIVERIES[0], DELIVERIES[1], DELIVERIES[2]);
    let (drop, pass) = (Verdict::Drop, Verdict::Pass);
    for (delivery, at, bytes, reason, verdict) in [
        (ipip, 34, &[0x44][..], "bad-inner", drop),
        (ipip, 34, &[0x65], "bad-inner", drop),
        (ipip, 36, &[0xff, 0xff], "bad-inner", drop),
        (ipip, 36, &[0, 37], "bad-inner", drop),
        (ipip, 36, &[0, 19], "bad-inner", drop),
        (ipip, 23, &[41], "bad-inner", drop),
        (ipip, 23, &[47], "no-tunnel", pass),
        (gue, 38, &[0, 7], "bad-header", pass),
        (gue, 38, &[0, 45], "truncated", pass),
        (gue, 38, &[0, 43], "bad-inner", drop),
        (gue, 42, &[0x55], "bad-inner", drop),
        (gue, 42, &[0x75], "bad-inner", drop),
        (gue, 42, &[0x85], "unknown-tunnel", pass),
        (gue, 42, &[0x20, 4, 0, 0], "unknown-tunnel", pass),
        (gue, 42, &[0x00, 4, 0x40, 0], "unknown-tunnel", pass),
        (gue, 42, &[0x1f, 4, 0, 0], "unknown-tunnel", pass),
        (gue, 42, &[0x00, 6, 0, 0], "unknown-tunnel", pass),
        (gue, 42, &[0x00, 4, 0, 0], "bad-inner", drop),
        (gue, 36, &[0x17, 0xc2], "no-tunnel", pass),
        (geneve, 42, &[0x40], "unknown-tunnel", pass),
        (geneve, 42, &[0x3f], "unknown-tunnel", pass),
        (geneve, 42, &[0x01], "bad-inner", drop),
        (geneve, 43, &[0x80], "unknown-tunnel", pass),
        (geneve, 43, &[0x40], "unknown-tunnel", pass),
        (geneve, 44, &[0x65, 0x58], "unknown-tunnel", pass),
        (geneve, 44, &[0x86, 0xdd], "bad-inner", drop),
    ] {
        let mut frame = datagram(BACKENDS[0], delivery);
        assert_eq!(end.judge(&frame).reason, "opened");
        frame[at..at + bytes.len()].copy_from_slice(bytes);
        repair(&mut frame, 14);
        let judged = end.judge(&frame);
        let name = format!("{delivery} at {at}: {bytes:x?}");
        assert_eq!((&*judged.reason, judged.verdict), (reason, verdict), "{name}");
        assert_eq!(judged.packet, frame, "{name}");
    }
    let mut jumbo = wrapped(&client(SERVICES[1], 1).udp(b"x").unwrap(), BACKENDS[0], "'ipip'");
    jumbo[38..41].fill(0);
    assert_judged(&end.judge(&jumbo), "bad-inner", Verdict::Drop);
}

fn only_from_balancers_to_this_host_for_services<R: Ended>() {
    let mut end = Backend::<R>::new();
    for delivery in DELIVERIES {
        for backend in BACKENDS {
            let frame = datagram(backend, delivery);
            let inner =
                frame.len() - ip_packet(&client(SERVICES[0], 1).udp(b"payload!").unwrap()).len();
            let (source, to) = if backend.contains(':') { (37, 53) } else { (29, 33) };
            let changed = |at: usize| {
                let mut frame = frame.clone();
                frame[at] ^= 0x40;
                repair(&mut frame, 14);
                frame
            };
            for (at, reason) in
                [(to, "not-own"), (source, "not-allowed"), (inner + 19, "no-service")]
            {
                let frame = changed(at);
                let judged = end.judge(&frame);
                assert_judged(&judged, reason, Verdict::Pass);
                assert_eq!(judged.packet, frame, "{reason}");
            }
            let mut config = config();
            config.from =
                ["10.0.2.0/24", "::/0"].map(|one| one.to_owned().try_into().unwrap()).into();
            end.update(&config);
            let mut other = frame.clone();
            other[source] ^= 0x40;
            repair(&mut other, 14);
            // A checksum that the change made wrong is not that of these tunnels.
            if delivery == "'ipip'" || !backend.contains(':') {
                assert_eq!(end.judge(&other).reason, "opened", "{delivery} from the network");
            }
            end.update(&self::config());
            assert_eq!(end.judge(&other).reason, "not-allowed");
        }
    }
    // A tunnel in a tunnel to the service is what the service gets; one to elsewhere is not opened.
    let ipip = datagram(BACKENDS[0], "'ipip'");
    let judged = end.judge(&ipip);
    assert_eq!(end.judge(&judged.packet).reason, "no-tunnel");
    let mut fragment = ipip.clone();
    fragment[20] = 0x20;
    repair(&mut fragment, 14);
    assert_judged(&end.judge(&fragment), "outer-fragment", Verdict::Pass);
    let mut multicast = ipip;
    multicast[0] |= 1;
    assert_judged(&end.judge(&multicast), "no-tunnel", Verdict::Pass);
}

/// RFC 6040, figure 4: rows are inner fields, columns are outer ones.
const ECN: [[Option<u8>; 4]; 4] = [
    [Some(0), Some(0), Some(0), None],
    [Some(1), Some(1), Some(1), Some(3)],
    [Some(2), Some(1), Some(2), Some(3)],
    [Some(3), Some(3), Some(3), Some(3)],
];

fn congestion_is_passed_on<R: Ended>() {
    let mut end = Backend::<R>::new();
    for backend in BACKENDS {
        for service in SERVICES {
            let packet = client(service, 1000).udp(b"x").unwrap();
            let frame = wrapped(&packet, backend, "'ipip'");
            let inner = frame.len() - ip_packet(&packet).len();
            let set = |frame: &mut [u8], at: usize, ecn: u8| match frame[at] >> 4 {
                4 => frame[at + 1] = frame[at + 1] & !3 | ecn,
                _ => frame[at + 1] = frame[at + 1] & !0x30 | ecn << 4,
            };
            for (row, results) in ECN.iter().enumerate() {
                for (column, expected) in results.iter().enumerate() {
                    let mut frame = frame.clone();
                    set(&mut frame, 14, column as u8);
                    set(&mut frame, inner, row as u8);
                    repair(&mut frame, 14);
                    repair(&mut frame, inner);
                    let judged = end.judge(&frame);
                    let name = format!("{service} by {backend}: inner {row}, outer {column}");
                    let Some(ecn) = expected else {
                        assert_judged(&judged, "bad-ecn", Verdict::Drop);
                        continue;
                    };
                    assert_eq!(judged.reason, "opened", "{name}");
                    let mut expected = frame[inner..].to_vec();
                    set(&mut expected, 0, *ecn);
                    repair(&mut expected, 0);
                    assert_eq!(judged.packet[14..], expected, "{name}");
                }
            }
        }
    }
}

fn tags_remain_and_padding_goes<R: Ended>() {
    let mut end = Backend::<R>::new();
    for delivery in DELIVERIES {
        for backend in BACKENDS {
            let frame = datagram(backend, delivery);
            let inner = end.judge(&frame).packet;
            for tags in 0..=4 {
                for padding in [0, 1, 30] {
                    let tag = [0x81, 0, 0x20, 7];
                    let tagged =
                        [&frame[..12], &tag.repeat(tags), &frame[12..], &[0xaa].repeat(padding)];
                    let judged = end.judge(&tagged.concat());
                    assert_judged(&judged, "opened", Verdict::Pass);
                    let expected = [&inner[..12], &tag.repeat(tags), &inner[12..]].concat();
                    assert_eq!(judged.packet, expected, "{delivery}, {tags} tags");
                }
            }
        }
    }
    // Bytes after the inner packet, within the outer one.
    let mut frame = datagram(BACKENDS[0], "'ipip'");
    let inner = end.judge(&frame).packet;
    frame.extend([0xaa; 6]);
    frame[17] += 6;
    repair(&mut frame, 14);
    assert_eq!(end.judge(&frame).packet, inner);
}

/// Inserts bytes after the outer UDP header of a frame over IPv4.
fn insert(frame: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut all = [&frame[..at], bytes, &frame[at..]].concat();
    for field in [16, 38] {
        let length = u16::from_be_bytes([all[field], all[field + 1]]) + bytes.len() as u16;
        all[field..field + 2].copy_from_slice(&length.to_be_bytes());
    }
    repair(&mut all, 14);
    all
}

fn later_variants_and_options_are_skipped<R: Ended>() {
    let mut end = Backend::<R>::new();
    let gue = datagram(BACKENDS[0], "{ gue = {} }");
    let inner = end.judge(&gue).packet;
    for words in [0, 1, 7, 31] {
        let mut header = vec![words, 4, 0, 0];
        header.resize(4 + 4 * usize::from(words), 0xaa);
        let judged = end.judge(&insert(&gue, 42, &header));
        assert_judged(&judged, "opened", Verdict::Pass);
        assert_eq!(judged.packet, inner, "GUE with {words} words");
    }
    let geneve = datagram(BACKENDS[0], "{ geneve = {} }");
    for words in [1_u8, 2, 5, 63] {
        let mut option = vec![0xff, 0x58, 2, words - 1];
        option.resize(4 * usize::from(words), 0xaa);
        let mut frame = insert(&geneve, 50, &option);
        frame[42] = words;
        let judged = end.judge(&frame);
        assert_judged(&judged, "opened", Verdict::Pass);
        assert_eq!(judged.packet, inner, "Geneve with {words} words");
    }
    // Options of the outer IPv4 header.
    for words in [1, 10] {
        let ipip = datagram(BACKENDS[0], "'ipip'");
        let mut frame = [&ipip[..34], &[1].repeat(4 * words), &ipip[34..]].concat();
        (frame[14], frame[17]) = (0x45 + words as u8, frame[17] + 4 * words as u8);
        repair(&mut frame, 14);
        assert_eq!(end.judge(&frame).packet, inner);
        frame[24] ^= 1;
        assert_judged(&end.judge(&frame), "bad-checksum", Verdict::Drop);
    }
    // Destination options of the outer IPv6 header, as Linux has them.
    let ipip = datagram(BACKENDS[1], "'ipip'");
    let limit = [4, 0, 4, 1, 4, 1, 1, 0];
    let mut frame = [&ipip[..54], &limit, &ipip[54..]].concat();
    (frame[20], frame[19]) = (60, frame[19] + 8);
    let judged = end.judge(&frame);
    assert_judged(&judged, "opened", Verdict::Pass);
    assert_eq!(judged.packet, inner);
}

fn checksums_of_outer_headers<R: Ended>() {
    let mut end = Backend::<R>::new();
    for delivery in [DELIVERIES[1], DELIVERIES[2]] {
        for length in [0, 1, 2, 63, 64, 65, 600, 1300] {
            let payload: Vec<u8> = (0..length).map(|n| (n * 37) as u8).collect();
            let packet = client(SERVICES[0], 1000).udp(&payload).unwrap();
            let frame = wrapped(&packet, BACKENDS[1], delivery);
            assert_eq!(end.judge(&frame).packet[14..], *ip_packet(&packet));
            for at in [54, 60, frame.len() - 1] {
                let mut wrong = frame.clone();
                wrong[at] ^= 1;
                let name = format!("{delivery}, {length} bytes: {at} is wrong");
                assert_eq!(end.judge(&wrong).reason, "bad-checksum", "{name}");
            }
            let mut none = frame.clone();
            none[60..62].fill(0);
            assert_eq!(end.judge(&none).reason, "opened", "{delivery}: no checksum");
        }
    }
    let mut wrong = datagram(BACKENDS[0], DELIVERIES[0]);
    wrong[24] ^= 1;
    assert_judged(&end.judge(&wrong), "bad-checksum", Verdict::Drop);
}

fn large_frames_in_several_buffers<R: Ended>() {
    let mut end = Backend::<R>::of_frags();
    for length in [100, 3000, 8000] {
        let payload: Vec<u8> = (0..length).map(|n| (n * 31) as u8).collect();
        let packet = client(SERVICES[0], 1000).udp(&payload).unwrap();
        let inner = ip_packet(&packet);
        let total = (20 + inner.len()) as u16;
        let mut outer = datagram(BACKENDS[0], "'ipip'")[..34].to_vec();
        outer[16..18].copy_from_slice(&total.to_be_bytes());
        repair(&mut outer, 14);
        for padding in [0, 40] {
            let frame = [&outer, inner, &[0xaa].repeat(padding)].concat();
            let judged = end.judge(&frame);
            assert_judged(&judged, "opened", Verdict::Pass);
            assert_eq!(judged.packet[14..], *inner, "{length} bytes");
        }
    }
}

/// The option that names backend 11.
fn option(backend: &str) -> Vec<u8> {
    match backend.parse().unwrap() {
        std::net::IpAddr::V4(_) => [&[0xff, 0x58, 1, 1][..], &[10, 0, 2, 11]].concat(),
        std::net::IpAddr::V6(_) => {
            let mut address = "fd00:0:0:2::11".parse::<std::net::Ipv6Addr>().unwrap().octets();
            address[15] = 0x11;
            [&[0xff, 0x58, 1, 4][..], &address].concat()
        }
    }
}

/// A frame in Geneve to the first backend with the option that names the other one.
fn with_option(packet: &[u8], backend: &str) -> Vec<u8> {
    let frame = wrapped(packet, backend, "{ geneve = {} }");
    naming(&frame, backend)
}

fn a_segment_without_a_socket_goes_to_the_other_backend<R: Ended>() {
    let mut end = Backend::<R>::new();
    for backend in BACKENDS {
        for (service, connected) in SERVICES.into_iter().zip(end.connected) {
            let name = format!("to {service} in {backend}");
            let own = client(service, connected);
            let other = client(service, connected ^ 1);
            for (packet, reason) in [
                (own.tcp(ACK, 1, b"data").unwrap(), "opened"),
                (own.tcp(RST, 1, b"").unwrap(), "opened"),
                (other.tcp(SYN, 1, b"").unwrap(), "opened"),
                (other.udp(b"x").unwrap(), "opened"),
                (other.ping(1, 1, b"x").unwrap(), "opened"),
                (other.tcp(ACK, 1, b"data").unwrap(), "second-chance"),
                (other.tcp(RST, 1, b"").unwrap(), "second-chance"),
            ] {
                let frame = with_option(&packet, backend);
                let judged = end.judge(&frame);
                assert_eq!(judged.reason, reason, "{name}");
                if reason == "opened" {
                    assert_eq!(judged.packet[14..], *ip_packet(&packet), "{name}");
                    continue;
                }
                assert_eq!(judged.verdict, Verdict::Tx, "{name}");
                let once = wrapped(&packet, backend, "{ geneve = {} }");
                sent_on(&name, &judged.packet, &once, backend);
                // There is no option any more.
                assert_eq!(end.judge(&once).reason, "opened", "{name}");
            }
        }
    }
}

/// The frame is what the balancer would have sent to backend 11.
#[track_caller]
fn sent_on(name: &str, sent: &[u8], once: &[u8], backend: &str) {
    let mut expected = once.to_vec();
    expected[5] = 11;
    let to = if backend.contains(':') { 53 } else { 33 };
    expected[to] = if backend.contains(':') { 0x11 } else { 11 };
    repair(&mut expected, 14);
    assert_eq!(check(sent), Ok(()), "{name}: outer checksum");
    if backend.contains(':') {
        expected[60..62].copy_from_slice(&sent[60..62]);
    }
    assert_eq!(sent, expected, "{name}");
}

/// By a balancer whose service got a second backend.
fn only_unknown_segments_on_moved_slots_name_the_other_backend<R: Balanced>() {
    for (delivery, backend) in
        [("{ geneve = {} }", 0), ("{ geneve = {} }", 1), ("{ gue = {} }", 0), ("'ipip'", 1)]
    {
        let text = delivery::config(BACKENDS[backend], delivery);
        let other = ["10.0.2.11", "fd00:0:0:2::11"][backend];
        let two = text.replace("' }]", &format!("' }}, {{ address = '{other}' }}]"));
        let [one, two] = [text, two].map(|text| {
            let mut config: Config = toml::from_str(&text).unwrap();
            config.services.retain(|service| service.name == "tcp4");
            config
        });
        let mut balancer = Balancer::<R>::new(&one);
        let mut before = Balancer::<VmRuntime>::new(&one);
        balancer.update(&two).unwrap();
        let mut named = 0;
        for port in 1000..1032 {
            let flow = client(SERVICES[0], port);
            let segment = flow.tcp(ACK, 1, b"data").unwrap();
            let (sent, plain) = (balancer.judge(&segment), before.judge(&segment).packet);
            assert_eq!(sent.reason, "balanced");
            if sent.packet != plain {
                assert!(delivery.contains("geneve"), "{delivery}");
                named += 1;
                assert_eq!(sent.packet, naming(&plain, BACKENDS[backend]), "{delivery}");
                assert_eq!(check(&sent.packet), Ok(()), "{delivery}: outer checksum");
            }
            // A SYN has one backend, and so has a connection that is remembered.
            let syn = balancer.judge(&flow.tcp(SYN, 1, b"").unwrap()).packet;
            let next = balancer.judge(&flow.tcp(ACK, 2, b"").unwrap()).packet;
            for packet in [syn, next] {
                let options = if backend == 0 { 42 } else { 62 };
                assert!(!delivery.contains("geneve") || packet[options] == 0, "{delivery}");
            }
        }
        assert_eq!(named > 8, delivery.contains("geneve"), "{delivery}: {named} of 32");
        assert!(named < 28, "{delivery}: {named} of 32");
    }
}

/// The packet with the option that names backend 11, and its checksums.
fn naming(plain: &[u8], backend: &str) -> Vec<u8> {
    let option = option(backend);
    if !backend.contains(':') {
        let mut frame = insert(plain, 50, &option);
        frame[42] = (option.len() / 4) as u8;
        return frame;
    }
    let mut frame = [&plain[..70], &option, &plain[70..]].concat();
    for field in [18, 58] {
        let length = u16::from_be_bytes([frame[field], frame[field + 1]]) + option.len() as u16;
        frame[field..field + 2].copy_from_slice(&length.to_be_bytes());
    }
    frame[62] = (option.len() / 4) as u8;
    frame[60..62].fill(0);
    let udp = &frame[54..];
    let pseudo =
        packet::checksum::pseudo_header(&frame[22..54], packet::IpProtocol::UDP, udp.len());
    let checksum = !packet::checksum::fold(pseudo + sum(udp));
    frame[60..62].copy_from_slice(&checksum.to_be_bytes());
    frame
}
