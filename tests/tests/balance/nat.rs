//! Full translation of addresses: what backends get, what clients get of their answers, and which
//! flows the table keeps.

use std::net::IpAddr;

use functions::balancer::{Config, NAT_ENTRIES, NAT_GROUPS, State};
use lab::frame::{Flow, Side, TcpFlags, check};
use packet::{IpPacket, IpProtocol, Limits};
use spec::{Expect, Map as _, Verdict};
use xway_tests::bpf::Judgement;
use xway_tests::bpf::balancer::{Balanced, Balancer, mac};
use xway_tests::stories;

use super::delivery::client;

stories! {
    packets_and_their_answers_are_translated
    a_udp_checksum_of_zero_remains
    errors_are_translated_with_what_they_quote
    later_fragments_follow_in_both_directions
    flows_have_ports_of_their_own
    only_the_backend_of_a_flow_is_answered_for
    a_flow_remains_when_slots_move_and_leaves_a_dead_backend
    established_flows_survive_a_flood
    where_all_ports_are_in_use_new_flows_are_dropped
    flows_expire
    connections_end
    a_forged_reset_ends_no_connection
    what_continues_no_flow_is_dropped
    the_ttl_is_lowered
    what_is_too_large_is_answered
    a_packet_cut_at_any_length_goes_to_the_stack
}

pub const SERVICES: [&str; 2] = ["192.0.2.1", "2001:db8::1"];
const BACKENDS: [&str; 2] = ["10.0.2.10", "fd00:0:0:2::10"];
const POOLS: [&str; 2] = ["10.0.2.250/31", "fd00:0:0:2::fa/127"];
pub const PROTOCOLS: [&str; 3] = ["tcp", "udp", "icmp"];
/// Port of the backends.
const PORT: u16 = 8080;

pub const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };
const SYN_ACK: TcpFlags = TcpFlags { syn: true, ack: true, fin: false, rst: false };
pub const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
pub const FIN: TcpFlags = TcpFlags { syn: false, ack: true, fin: true, rst: false };
pub const RST: TcpFlags = TcpFlags { syn: false, ack: false, fin: false, rst: true };

/// Services of both families and all protocols, with backends of these numbers.
pub fn config(numbers: &[u8]) -> Config {
    let mut text = format!("nat = {{ source = ['{}', '{}'] }}\n", POOLS[0], POOLS[1]);
    for (family, address) in SERVICES.iter().enumerate() {
        for protocol in PROTOCOLS {
            let backend = |number: &u8| {
                let prefix = ["10.0.2.", "fd00:0:0:2::"][family];
                format!("{{ address = '{prefix}{number}', port = {PORT} }}")
            };
            let backends: Vec<_> = numbers.iter().map(backend).collect();
            text += &format!(
                "[[service]]\nname = '{protocol}{family}'\naddress = '{address}'\n\
                 protocol = '{protocol}'\ndelivery = 'nat'\nbackend = [{}]\n",
                backends.join(", ")
            );
        }
    }
    toml::from_str(&text).unwrap()
}

pub fn balancer<R: Balanced>() -> Balancer<R> {
    Balancer::new(&config(&[10]))
}

/// A packet of a protocol from a client's port, or with it as its identifier.
pub fn request(to: &str, protocol: &str, port: u16) -> Vec<u8> {
    let flow = client(to, port);
    match protocol {
        "tcp" => flow.tcp(SYN, 7, b""),
        "udp" => flow.udp(b"odd"),
        _ => flow.ping(port, 2, b"payload"),
    }
    .unwrap()
}

/// Addresses and ports of a packet; the identifier of an echo is both ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    pub from: (IpAddr, u16),
    pub to: (IpAddr, u16),
}

impl Ends {
    pub fn of(frame: &[u8]) -> Self {
        let ip = IpPacket::find(frame, Limits::default()).unwrap();
        let (from, to) = addresses(&frame[ip.network..]);
        let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let at = ip.transport;
        let is_echo = ip.protocol != IpProtocol::TCP && ip.protocol != IpProtocol::UDP;
        let [from_port, to_port] = if is_echo { [at + 4; 2] } else { [at, at + 2] }.map(word);
        Self { from: (from, from_port), to: (to, to_port) }
    }

    /// The way back, from a backend to the balancer.
    pub fn back(self) -> Flow {
        let side =
            |mac: &str, (ip, port): (IpAddr, u16)| Side { mac: mac.parse().unwrap(), ip, port };
        Flow::new(side(&mac(10), self.to), side("02:78:77:00:02:01", self.from))
    }
}

/// Source and destination of an IP packet.
fn addresses(ip: &[u8]) -> (IpAddr, IpAddr) {
    if ip[0] >> 4 == 4 {
        let address = |at: usize| IpAddr::from(*ip[at..].first_chunk::<4>().unwrap());
        return (address(12), address(16));
    }
    let address = |at: usize| IpAddr::from(*ip[at..].first_chunk::<16>().unwrap());
    (address(8), address(24))
}

/// The bytes of a packet from its transport header on.
fn transport(frame: &[u8]) -> usize {
    IpPacket::find(frame, Limits::default()).unwrap().transport
}

/// Makes an echo request the answer to it.
fn answered(mut frame: Vec<u8>) -> Vec<u8> {
    let at = transport(&frame);
    let old = u16::from_be_bytes([frame[at], frame[at + 1]]);
    frame[at] = if frame[at] == 8 { 0 } else { 129 };
    let new = u16::from_be_bytes([frame[at], frame[at + 1]]);
    repair(&mut frame, at + 2, old, new);
    frame
}

/// Repairs a checksum for a word that changed.
fn repair(frame: &mut [u8], at: usize, old: u16, new: u16) {
    let check = u16::from_be_bytes([frame[at], frame[at + 1]]);
    let mut sum = u32::from(!check) + u32::from(!old) + u32::from(new);
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    frame[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// The answer to what a backend got.
pub fn reply(sent: &[u8], protocol: &str) -> Vec<u8> {
    let ends = Ends::of(sent);
    let flow = ends.back();
    match protocol {
        "tcp" => flow.tcp(SYN_ACK, 0, b"").unwrap(),
        "udp" => flow.udp(b"answer").unwrap(),
        _ => answered(flow.ping(ends.from.1, 2, b"payload").unwrap()),
    }
}

#[track_caller]
pub fn sent<R: Balanced>(balancer: &mut Balancer<R>, packet: &[u8]) -> Vec<u8> {
    let judgement = balancer.judge(packet);
    assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Redirect, "balanced"));
    judgement.packet
}

#[track_caller]
pub fn returned<R: Balanced>(balancer: &mut Balancer<R>, packet: &[u8]) -> Vec<u8> {
    let judgement = balancer.judge_reply(packet);
    assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Redirect, "returned"));
    judgement.packet
}

pub fn outcome(judgement: &Judgement) -> (Verdict, &str) {
    (judgement.verdict, &judgement.reason)
}

/// Opens a TCP connection; what the backend got of its SYN.
pub fn open<R: Balanced>(balancer: &mut Balancer<R>, to: &str, port: u16) -> Vec<u8> {
    let syn = sent(balancer, &request(to, "tcp", port));
    returned(balancer, &reply(&syn, "tcp"));
    sent(balancer, &client(to, port).tcp(ACK, 8, b"").unwrap());
    syn
}

fn packets_and_their_answers_are_translated<R: Balanced>() {
    let mut balancer = balancer::<R>();
    for (family, service) in SERVICES.iter().enumerate() {
        for protocol in PROTOCOLS {
            let name = format!("{protocol} to {service}");
            let packet = request(service, protocol, 1000);
            let got = sent(&mut balancer, &packet);
            assert_eq!(check(&got), Ok(()), "{name}");
            let to: packet::Mac = mac(10).parse().unwrap();
            assert_eq!((&got[..6], &got[6..12]), (&to.0[..], &[2, 0x78, 0x77, 0, 2, 1][..]));
            let ends = Ends::of(&got);
            assert_eq!(ends.to.0, BACKENDS[family].parse::<IpAddr>().unwrap(), "{name}");
            let pool: packet::Prefix = POOLS[family].parse().unwrap();
            assert!(pool.contains(ends.from.0) && ends.from.1 >= 1024, "{name}: {ends:?}");
            if protocol != "icmp" {
                assert_eq!(ends.to.1, PORT, "{name}");
            }
            assert_eq!(got.len(), packet.len(), "{name}");
            let answer = returned(&mut balancer, &reply(&got, protocol));
            assert_eq!(check(&answer), Ok(()), "{name}");
            let (was, is) = (Ends::of(&packet), Ends::of(&answer));
            assert_eq!((is.from, is.to), (was.to, was.from), "{name}");
            assert_eq!(&answer[..6], &[2, 0x78, 0x77, 0, 1, 2], "{name}");
            assert_eq!(sent(&mut balancer, &packet), got, "{name}: the same port");
        }
    }
}

fn a_udp_checksum_of_zero_remains<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let mut packet = request(SERVICES[0], "udp", 1000);
    packet[40..42].fill(0);
    let got = sent(&mut balancer, &packet);
    assert_eq!(got[40..42], [0, 0]);
    let mut back = reply(&got, "udp");
    back[40..42].fill(0);
    assert_eq!(returned(&mut balancer, &back)[40..42], [0, 0]);
}

/// An ICMP error from `flow` about a frame, of which it quotes at most `most` bytes: "destination
/// unreachable".
fn error(flow: &Flow, about: &[u8], most: usize) -> Vec<u8> {
    let quote = &about[14..about.len().min(14 + most)];
    let mut error = flow.ping(0, 0, quote).unwrap();
    let at = transport(&error);
    let old = u16::from_be_bytes([error[at], error[at + 1]]);
    error[at] = if error[at] == 8 { 3 } else { 1 };
    let new = u16::from_be_bytes([error[at], error[at + 1]]);
    repair(&mut error, at + 2, old, new);
    error
}

fn errors_are_translated_with_what_they_quote<R: Balanced>() {
    let mut balancer = balancer::<R>();
    for service in SERVICES {
        for protocol in PROTOCOLS {
            let packet = request(service, protocol, 2000);
            let got = sent(&mut balancer, &packet);
            let answer = returned(&mut balancer, &reply(&got, protocol));
            let header = if service == SERVICES[0] { 20 } else { 40 };
            for most in [header + 8, 500] {
                let name = format!("{protocol} to {service}, {most} bytes");
                // From the backend's side, about the request.
                let back = error(&Ends::of(&got).back(), &got, most);
                let judgement = balancer.judge_reply(&back);
                assert_eq!(outcome(&judgement), (Verdict::Redirect, "returned"), "{name}");
                quotes(&judgement.packet, &packet, most, &name);
                // From the client's side, about the answer.
                let forth = error(&client(service, 2000), &answer, most);
                let judgement = balancer.judge(&forth);
                assert_eq!(outcome(&judgement), (Verdict::Redirect, "balanced"), "{name}");
                quotes(&judgement.packet, &reply(&got, protocol), most, &name);
            }
        }
    }
}

/// The error quotes the packet, as it was but for its TTL.
#[track_caller]
fn quotes(error: &[u8], packet: &[u8], most: usize, name: &str) {
    assert_eq!(check(error), Ok(()), "{name}");
    let quoted = &error[transport(error) + 8..];
    let original = &packet[14..packet.len().min(14 + most)];
    let is_ipv4 = original[0] >> 4 == 4;
    let ttl = if is_ipv4 { 8 } else { 7 };
    for (at, (is, was)) in quoted.iter().zip(original).enumerate() {
        let may_differ = at == ttl || (is_ipv4 && (10..12).contains(&at));
        assert!(may_differ || is == was, "{name}: byte {at}");
    }
    assert!(quoted.len() >= original.len(), "{name}");
    if is_ipv4 {
        assert!(packet::checksum::is_valid(packet::checksum::sum(&quoted[..20])), "{name}");
    }
    let (from, to) = addresses(&error[14..]);
    let (quoted_from, quoted_to) = addresses(quoted);
    assert_eq!((from, to), (quoted_to, quoted_from), "{name}");
}

fn later_fragments_follow_in_both_directions<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let fragments = |packet: &[u8]| {
        let mut both = [packet.to_vec(), packet.to_vec()];
        for (packet, fragment) in both.iter_mut().zip([[0x20, 0], [0, 9]]) {
            packet[18..20].copy_from_slice(&[7, 7]);
            packet[20..22].copy_from_slice(&fragment);
            packet[24..26].fill(0);
            let sum = packet::checksum::fold(packet::checksum::sum(&packet[14..34]));
            packet[24..26].copy_from_slice(&(!sum).to_be_bytes());
        }
        both
    };
    let [first, later] = fragments(&client(SERVICES[0], 3000).udp(&[0; 64]).unwrap());
    assert_eq!(outcome(&balancer.judge(&later)), (Verdict::Pass, "unknown-fragment"));
    let got = sent(&mut balancer, &first);
    let followed = sent(&mut balancer, &later);
    assert_eq!(addresses(&followed[14..]), addresses(&got[14..]));
    assert_eq!(followed[34..], later[34..], "what follows is payload");
    let [first, later] = fragments(&Ends::of(&got).back().udp(&[0; 64]).unwrap());
    assert_eq!(balancer.judge_reply(&later).verdict, Verdict::Pass);
    let answer = returned(&mut balancer, &first);
    let followed = returned(&mut balancer, &later);
    assert_eq!(addresses(&followed[14..]), addresses(&answer[14..]));
    assert_eq!(followed[34..], later[34..]);
}

fn flows_have_ports_of_their_own<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let mut ports = std::collections::BTreeSet::new();
    for port in 1000..3000 {
        for protocol in ["tcp", "udp"] {
            let got = sent(&mut balancer, &request(SERVICES[0], protocol, port));
            assert!(ports.insert(Ends::of(&got).from), "{protocol} {port}");
        }
    }
}

/// Anything else to an address of the pool is for the stack, as are ports that no flow has.
fn only_the_backend_of_a_flow_is_answered_for<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let got = open(&mut balancer, SERVICES[0], 4000);
    let right = Ends::of(&got);
    let stranger = |change: fn(&mut Ends)| {
        let mut ends = right;
        change(&mut ends);
        ends.back()
    };
    type Change = (&'static str, fn(&mut Ends));
    let wrong: [Change; 4] = [
        ("address", |ends| ends.to.0 = "10.0.2.11".parse().unwrap()),
        ("port", |ends| ends.to.1 = PORT + 1),
        ("own port", |ends| ends.from.1 ^= 1),
        ("port of the host", |ends| ends.from.1 = 22),
    ];
    for (name, change) in wrong {
        let packet = stranger(change).tcp(RST, 1, b"").unwrap();
        let judgement = balancer.judge_reply(&packet);
        assert_eq!(outcome(&judgement), (Verdict::Pass, "no-service"), "{name}");
        assert_eq!(judgement.packet, packet, "{name}: as it came");
    }
    let udp = right.back().udp(b"x").unwrap();
    assert_eq!(balancer.judge_reply(&udp).reason, "no-service", "another protocol");
    returned(&mut balancer, &right.back().tcp(ACK, 1, b"").unwrap());
}

fn a_flow_remains_when_slots_move_and_leaves_a_dead_backend<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&config(&[10, 11]));
    let ports = 5000..5040;
    let all = |balancer: &mut Balancer<R>| -> Vec<Ends> {
        let segment = |port| client(SERVICES[0], port).tcp(ACK, 8, b"").unwrap();
        ports.clone().map(|port| Ends::of(&sent(balancer, &segment(port)))).collect()
    };
    ports.clone().for_each(|port| drop(open(&mut balancer, SERVICES[0], port)));
    let before = all(&mut balancer);
    let mut changed = config(&[10, 11, 12, 13]);
    balancer.update(&changed).unwrap();
    assert_eq!(all(&mut balancer), before);
    let dead: IpAddr = "10.0.2.11".parse().unwrap();
    for backend in changed.services.iter_mut().flat_map(|one| &mut one.backends) {
        if backend.address == dead {
            backend.state = State::Down;
        }
    }
    balancer.update(&changed).unwrap();
    let after = all(&mut balancer);
    assert!(before.iter().any(|ends| ends.to.0 == dead));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.to.0 != dead, before.to == after.to);
        assert_eq!(before.from, after.from, "the port remains");
        assert_ne!(after.to.0, dead);
    }
    assert_eq!(all(&mut balancer), after);
}

/// Cells of all groups, changed.
pub fn change_cells<R: Balanced>(balancer: &Balancer<R>, change: impl Fn(u64) -> u64) {
    let groups = balancer.map(NAT_GROUPS);
    for (number, group) in groups.array().unwrap().iter().enumerate() {
        let cells =
            group.chunks_exact(8).map(|cell| u64::from_le_bytes(*cell.first_chunk().unwrap()));
        let changed: Vec<u8> = cells.flat_map(|cell| change(cell).to_le_bytes()).collect();
        if changed != *group {
            groups.update(&(number as u32).to_le_bytes(), &changed, Expect::Any).unwrap();
        }
    }
}

/// The time of cells, as the program has it now, is in the cell of a flow that it just made.
pub fn newest<R: Balanced>(balancer: &Balancer<R>) -> u64 {
    let groups = balancer.map(NAT_GROUPS).array().unwrap();
    let cells = groups.iter().flat_map(|group| group.chunks_exact(8));
    let cells = cells.map(|cell| u64::from_le_bytes(*cell.first_chunk().unwrap()));
    cells.filter(|cell| cell >> 20 & 7 != 0).map(|cell| cell & 0xffff).max().unwrap()
}

const NEW: u64 = 2;
pub const OPEN: u64 = 4;
/// Other flows, of a tag that no flow of these tests has.
pub fn others(cell: u64, kind: u64, now: u64) -> u64 {
    if cell >> 20 & 7 == 0 { 0xabcdef << 40 | kind << 20 | now } else { cell }
}

fn established_flows_survive_a_flood<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let ports = 6000..6040;
    let open: Vec<_> =
        ports.clone().map(|port| Ends::of(&open(&mut balancer, SERVICES[0], port))).collect();
    let now = newest(&balancer);
    change_cells(&balancer, |cell| others(cell, NEW, now));
    for port in 20_000..21_000 {
        sent(&mut balancer, &request(SERVICES[0], "tcp", port));
    }
    for (port, ends) in ports.zip(open) {
        let packet = client(SERVICES[0], port).tcp(ACK, 9, b"").unwrap();
        assert_eq!(Ends::of(&sent(&mut balancer, &packet)), ends, "{port}");
    }
}

fn where_all_ports_are_in_use_new_flows_are_dropped<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let got = open(&mut balancer, SERVICES[0], 7000);
    let now = newest(&balancer);
    change_cells(&balancer, |cell| others(cell, OPEN, now));
    let entries = functions::table::read(balancer.map(NAT_ENTRIES)).is_ok();
    assert!(entries);
    let judgement = balancer.judge(&request(SERVICES[0], "tcp", 7001));
    assert_eq!(outcome(&judgement), (Verdict::Drop, "nat-full"));
    let known = sent(&mut balancer, &client(SERVICES[0], 7000).tcp(ACK, 9, b"").unwrap());
    assert_eq!(Ends::of(&known), Ends::of(&got), "known flows continue");
}

/// Makes all entries older, by units of 2^30 ns.
pub fn age<R: Balanced>(balancer: &Balancer<R>, units: u64) {
    change_cells(balancer, |cell| match cell >> 20 & 7 {
        0 => cell,
        _ => cell & !0xffff | (cell & 0xffff).wrapping_sub(units) & 0xffff,
    });
}

fn flows_expire<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let got = open(&mut balancer, SERVICES[0], 8000);
    let back = Ends::of(&got).back().tcp(ACK, 1, b"").unwrap();
    age(&balancer, 800);
    returned(&mut balancer, &back);
    age(&balancer, 860);
    assert_eq!(balancer.judge_reply(&back).reason, "no-service");
    let fin = client(SERVICES[0], 8000).tcp(FIN, 9, b"").unwrap();
    assert_eq!(outcome(&balancer.judge(&fin)), (Verdict::Drop, "no-flow"));
    let udp = sent(&mut balancer, &request(SERVICES[0], "udp", 8000));
    age(&balancer, 20);
    assert_eq!(balancer.judge_reply(&reply(&udp, "udp")).reason, "no-service", "unanswered");
}

/// After both sides ended it, a connection is short-lived, and a SYN begins another one.
fn connections_end<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let kinds = |balancer: &Balancer<R>| {
        let groups = balancer.map(NAT_GROUPS).array().unwrap();
        let cells = groups.iter().flat_map(|group| group.chunks_exact(8));
        let kinds = cells.map(|cell| cell[2] >> 4 & 7);
        kinds.filter(|kind| *kind != 0).collect::<Vec<_>>()
    };
    let got = open(&mut balancer, SERVICES[0], 9000);
    assert_eq!(kinds(&balancer), [4]);
    let flow = client(SERVICES[0], 9000);
    sent(&mut balancer, &flow.tcp(FIN, 9, b"").unwrap());
    assert_eq!(kinds(&balancer), [4], "one side");
    returned(&mut balancer, &Ends::of(&got).back().tcp(FIN, 1, b"").unwrap());
    assert_eq!(kinds(&balancer), [7]);
    sent(&mut balancer, &flow.tcp(ACK, 10, b"").unwrap());
    assert_eq!(kinds(&balancer), [7]);
    sent(&mut balancer, &request(SERVICES[0], "tcp", 9000));
    assert_eq!(kinds(&balancer), [2]);
    returned(&mut balancer, &Ends::of(&got).back().tcp(RST, 1, b"").unwrap());
    assert_eq!(kinds(&balancer), [7], "refused");
}

/// Nor does an answer to a forged SYN make a connection that is kept.
fn a_forged_reset_ends_no_connection<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let got = open(&mut balancer, SERVICES[0], 9100);
    let flow = client(SERVICES[0], 9100);
    sent(&mut balancer, &flow.tcp(RST, 99, b"").unwrap());
    returned(&mut balancer, &Ends::of(&got).back().tcp(ACK, 1, b"").unwrap());
    sent(&mut balancer, &flow.tcp(ACK, 9, b"").unwrap());
    let now = newest(&balancer);
    let syn = sent(&mut balancer, &request(SERVICES[0], "tcp", 9101));
    returned(&mut balancer, &Ends::of(&syn).back().tcp(SYN_ACK, 5_000_000, b"").unwrap());
    // It acknowledges something else.
    sent(&mut balancer, &client(SERVICES[0], 9101).tcp(ACK, 8, b"").unwrap());
    change_cells(&balancer, |cell| others(cell, OPEN, now));
    let groups = balancer.map(NAT_GROUPS).array().unwrap();
    let cells = groups.iter().flat_map(|group| group.chunks_exact(8));
    let answered = cells.filter(|cell| cell[2] >> 4 & 7 == 3).count();
    assert_eq!(answered, 1, "only the connection with the right segment is open");
}

fn what_continues_no_flow_is_dropped<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let flow = client(SERVICES[0], 9200);
    for flags in [FIN, RST, SYN_ACK] {
        let judgement = balancer.judge(&flow.tcp(flags, 1, b"").unwrap());
        assert_eq!(outcome(&judgement), (Verdict::Drop, "no-flow"), "{flags:?}");
    }
    let quoted = flow.reversed().tcp(ACK, 1, b"").unwrap();
    let judgement = balancer.judge(&error(&flow, &quoted, 500));
    assert_eq!(outcome(&judgement), (Verdict::Drop, "no-flow"), "an error");
    // The backend answers it, so that the client learns that its connection is gone.
    let got = sent(&mut balancer, &flow.tcp(ACK, 1, b"").unwrap());
    returned(&mut balancer, &Ends::of(&got).back().tcp(RST, 1, b"").unwrap());
}

fn the_ttl_is_lowered<R: Balanced>() {
    let mut balancer = balancer::<R>();
    for service in SERVICES {
        let at = if service == SERVICES[0] { 22 } else { 21 };
        let packet = client(service, 9300).ttl(2).udp(b"x").unwrap();
        let got = sent(&mut balancer, &packet);
        assert_eq!(got[at], 1);
        let last = client(service, 9300).ttl(1).udp(b"x").unwrap();
        assert_eq!(outcome(&balancer.judge(&last)), (Verdict::Drop, "ttl"));
        let last = Ends::of(&got).back().ttl(1).udp(b"x").unwrap();
        assert_eq!(outcome(&balancer.judge_reply(&last)), (Verdict::Drop, "ttl"));
    }
}

fn what_is_too_large_is_answered<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let packet = client(SERVICES[1], 9400).udp(&[0; 1600]).unwrap();
    let judgement = balancer.judge(&packet);
    assert_eq!(outcome(&judgement), (Verdict::Tx, "sent-too-big"));
    assert_eq!(check(&judgement.packet), Ok(()));
    let tagged = client(SERVICES[0], 9401).vlan(5).udp(b"x").unwrap();
    let got = sent(&mut balancer, &tagged);
    assert_eq!((check(&got), got.len()), (Ok(()), tagged.len() - 4), "without the tag");
}

fn a_packet_cut_at_any_length_goes_to_the_stack<R: Balanced>() {
    let mut balancer = balancer::<R>();
    for service in SERVICES {
        for protocol in PROTOCOLS {
            let packet = request(service, protocol, 9500);
            let back = reply(&sent(&mut balancer, &packet), protocol);
            for length in 14..packet.len() {
                let judgement = balancer.judge(&packet[..length]);
                assert_eq!(outcome(&judgement), (Verdict::Pass, "truncated"), "{length}");
            }
            for length in 14..back.len() {
                let judgement = balancer.judge_reply(&back[..length]);
                assert_eq!(outcome(&judgement), (Verdict::Pass, "truncated"), "{length}");
            }
        }
    }
}
