//! The compiled program on the engine, with the answers of targets and routers, true and forged.

use std::net::SocketAddr;

use packet::{IpPacket, IpProtocol, Limits, checksum};
use spec::{Input, Map as _, Verdict};
use vm::{Machine, Options, Worker};

use super::*;
use crate::scan::Key;
use crate::scan::fixture::{FAMILIES, PROTOCOLS, frame};
use crate::stream::QuickProtocol;

struct Bench {
    machine: Machine,
    worker: Worker,
    program: usize,
    probe: Probe,
    cookies: Cookies,
}

/// What the program did with a frame.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    verdict: Verdict,
    reason: Reason,
    answer: Option<Answer>,
    frame: Vec<u8>,
}

impl Bench {
    fn new(protocol: &QuickProtocol, is_ipv6: bool, reception: &Reception) -> Self {
        let probe = Probe::new(frame(protocol.clone(), is_ipv6), 40_000..=40_999).unwrap();
        let cookies = Cookies::new(Key::from_seed(4), probe.source());
        let spec = prepare(&probe, &cookies, reception).unwrap();
        let machine = Machine::load(&spec, &Options::default()).unwrap();
        let (worker, program) = (machine.worker(0), machine.program(PROGRAM).unwrap());
        Self { machine, worker, program, probe, cookies }
    }

    /// Echo requests have no port.
    fn probe(&self, mut target: SocketAddr) -> Vec<u8> {
        if matches!(self.probe.protocol(), IpProtocol::ICMP | IpProtocol::ICMPV6) {
            target.set_port(0);
        }
        self.probe.render(&self.cookies, target)
    }

    fn receive(&mut self, frame: &[u8]) -> Done {
        let before = self.reasons();
        self.worker.put(&Input { packet: frame.to_vec(), ..Input::default() }).unwrap();
        let verdict = Verdict::from_code(self.worker.execute(self.program).unwrap());
        let after = self.reasons();
        let changed = after.iter().zip(&before).position(|(after, before)| after != before);
        let mut answers = Vec::new();
        let ring = self.machine.map(RECORDS).unwrap();
        let records = ring.records().unwrap();
        answers.extend(records.records.iter().filter_map(|record| Answer::read(&record.bytes)));
        assert!(answers.len() <= 1);
        Done {
            verdict,
            reason: Reason::ALL[changed.unwrap()],
            answer: answers.pop(),
            frame: self.worker.packet().into_owned(),
        }
    }

    /// Packets of each reason.
    fn reasons(&self) -> Vec<u64> {
        let stats = self.machine.map("xway_stats").unwrap();
        let of = |reason: Reason| -> u64 {
            let places = (0..5).map(|verdict| reason as u32 * 5 + verdict);
            let values = places.map(|place| stats.lookup(&place.to_le_bytes()).unwrap().unwrap());
            values.map(|value| u64::from_le_bytes(*value.first_chunk().unwrap())).sum()
        };
        Reason::ALL.map(of).to_vec()
    }
}

fn target(is_ipv6: bool, last: u8) -> SocketAddr {
    match is_ipv6 {
        true => SocketAddr::new(format!("2001:db8:5::{last:x}").parse().unwrap(), 443),
        false => SocketAddr::from(([192, 0, 2, last], 443)),
    }
}

/// A probe with both endpoints exchanged.
fn turned(probe: &[u8]) -> (Vec<u8>, IpPacket) {
    let packet = IpPacket::find(probe, Limits::default()).unwrap();
    let mut frame = probe.to_vec();
    let swap = |frame: &mut Vec<u8>, at: usize, len: usize| {
        let first = frame[at..at + len].to_vec();
        frame.copy_within(at + len..at + 2 * len, at);
        frame[at + len..at + 2 * len].copy_from_slice(&first);
    };
    swap(&mut frame, 0, 6);
    let addresses = packet.addresses();
    swap(&mut frame, addresses.start, addresses.len() / 2);
    if matches!(packet.protocol, IpProtocol::TCP | IpProtocol::UDP) {
        swap(&mut frame, packet.transport, 2);
    }
    (frame, packet)
}

/// The answer of a target that is open, or else closed.
fn answer(probe: &[u8], is_open: bool) -> Vec<u8> {
    let (mut frame, packet) = turned(probe);
    let at = packet.transport;
    match packet.protocol {
        IpProtocol::TCP => {
            let sequence = u32::from_be_bytes(*probe[at + 4..].first_chunk().unwrap());
            frame[at + 8..at + 12].copy_from_slice(&sequence.wrapping_add(1).to_be_bytes());
            frame[at + 4..at + 8].copy_from_slice(&0x0102_0304_u32.to_be_bytes());
            frame[at + 13] = if is_open { 0x12 } else { 0x14 };
        }
        IpProtocol::ICMP => frame[at] = 0,
        IpProtocol::ICMPV6 => frame[at] = 129,
        _ => {}
    }
    frame
}

/// An ICMP error from a router that quotes a number of bytes of the transport.
fn error(probe: &[u8], icmp: (u8, u8), quoted: usize) -> Vec<u8> {
    let packet = IpPacket::find(probe, Limits::default()).unwrap();
    let quote = &probe[packet.network..packet.transport + quoted];
    let mut frame = probe[..packet.network].to_vec();
    let length = (8 + quote.len()) as u16;
    if packet.is_ipv6 {
        frame.extend([0x60, 0, 0, 0]);
        frame.extend(length.to_be_bytes());
        frame.extend([58, 61]);
        frame.extend(ROUTER6.octets());
        frame.extend(&probe[packet.network + 8..packet.network + 24]);
    } else {
        frame.extend([0x45, 0]);
        frame.extend((20 + length).to_be_bytes());
        frame.extend([0, 0, 0, 0, 61, 1, 0, 0]);
        frame.extend(ROUTER4.octets());
        frame.extend(&probe[packet.network + 12..packet.network + 16]);
    }
    frame.extend([icmp.0, icmp.1, 0, 0, 0, 0, 0, 0]);
    frame.extend(quote);
    frame
}

const ROUTER4: std::net::Ipv4Addr = std::net::Ipv4Addr::new(198, 51, 100, 1);
const ROUTER6: std::net::Ipv6Addr = std::net::Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 9);

#[test]
fn genuine_answers_become_records_once() {
    for is_ipv6 in FAMILIES {
        for protocol in PROTOCOLS {
            let mut bench = Bench::new(&protocol, is_ipv6, &Reception::default());
            let target = target(is_ipv6, 7);
            let probe = bench.probe(target);
            let open = bench.receive(&answer(&probe, true));
            let found = open.answer.unwrap();
            let has_ports = protocol != QuickProtocol::Icmp;
            let port = if has_ports { 443 } else { 0 };
            assert_eq!(found.target, SocketAddr::new(target.ip(), port));
            assert_eq!((found.from, found.state, found.icmp), (target.ip(), State::Open, None));
            assert_eq!(open.reason, Reason::Open);
            let is_tcp = protocol == QuickProtocol::TcpSyn;
            let verdict = if is_tcp { Verdict::Tx } else { Verdict::Drop };
            assert_eq!(open.verdict, verdict);
            let again = bench.receive(&answer(&probe, true));
            assert_eq!((again.reason, again.answer), (Reason::Doubled, None));
            assert_eq!(again.verdict, verdict, "each SYN-ACK is reset");
        }
    }
}

#[test]
fn a_syn_ack_is_reset_with_a_valid_segment() {
    for is_ipv6 in FAMILIES {
        let mut bench = Bench::new(&QuickProtocol::TcpSyn, is_ipv6, &Reception::default());
        let probe = bench.probe(target(is_ipv6, 9));
        let reset = bench.receive(&answer(&probe, true)).frame;
        let packet = IpPacket::find(&reset, Limits::default()).unwrap();
        let segment = &reset[packet.transport..packet.end];
        assert_eq!((segment.len(), reset.len()), (20, packet.end));
        let pseudo = packet.pseudo_header(&reset, segment.len()).unwrap();
        assert!(checksum::is_valid(checksum::sum(segment) + pseudo));
        if !is_ipv6 {
            assert!(checksum::is_valid(checksum::sum(&reset[14..packet.transport])));
        }
        // From the port of the probe to that of the target, with the sequence number after the SYN.
        let sent = &probe[packet.transport..];
        assert_eq!(segment[..4], sent[..4]);
        let number = |bytes: &[u8]| u32::from_be_bytes(*bytes[4..].first_chunk().unwrap());
        assert_eq!(number(segment), number(sent).wrapping_add(1));
        assert_eq!((segment[12], segment[13]), (0x50, 0x04), "RST alone");
        assert_eq!(reset[..6], answer(&probe, true)[6..12], "to the sender's MAC address");
        let addresses = packet.addresses();
        assert_eq!(reset[addresses.clone()], probe[addresses]);
    }
}

#[test]
fn closed_ports_and_errors() {
    for is_ipv6 in FAMILIES {
        let mut bench = Bench::new(&QuickProtocol::TcpSyn, is_ipv6, &Reception::default());
        let probe = bench.probe(target(is_ipv6, 1));
        let closed = bench.receive(&answer(&probe, false));
        assert_eq!(closed.answer.unwrap().state, State::Closed);
        assert_eq!((closed.reason, closed.verdict), (Reason::Closed, Verdict::Drop));
        for protocol in PROTOCOLS {
            let mut bench = Bench::new(&protocol, is_ipv6, &Reception::default());
            let codes = if is_ipv6 { [(1, 4), (3, 0)] } else { [(3, 13), (11, 0)] };
            for (last, icmp) in (1..).zip(codes) {
                let target = target(is_ipv6, last);
                let done = bench.receive(&error(&bench.probe(target), icmp, 8));
                let found = done.answer.unwrap();
                assert_eq!((found.state, found.icmp), (State::Unreachable, Some(icmp)));
                assert_eq!(found.target.ip(), target.ip());
                let router = if is_ipv6 { IpAddr::from(ROUTER6) } else { ROUTER4.into() };
                assert_eq!((found.from, found.ttl), (router, 61));
            }
        }
    }
}

#[test]
fn what_has_not_the_cookie_is_not_reported() {
    for is_ipv6 in FAMILIES {
        for protocol in PROTOCOLS {
            let mut bench = Bench::new(&protocol, is_ipv6, &Reception::default());
            let probe = bench.probe(target(is_ipv6, 3));
            let packet = IpPacket::find(&probe, Limits::default()).unwrap();
            let true_answer = answer(&probe, true);
            let source = packet.addresses().start + packet.addresses().len() / 2 - 1;
            let mut places = vec![source];
            match packet.protocol {
                // The acknowledged number, and both ports.
                IpProtocol::TCP => {
                    places.extend([0, 1, 3, 8, 9, 10, 11].map(|at| packet.transport + at))
                }
                IpProtocol::UDP => places.extend([0, 1, 3].map(|at| packet.transport + at)),
                _ => places.extend([4, 5, 6, 7].map(|at| packet.transport + at)),
            }
            for place in places {
                for bit in 0..8 {
                    let mut forged = true_answer.clone();
                    forged[place] ^= 1 << bit;
                    let done = bench.receive(&forged);
                    let reasons = [Reason::False, Reason::Other];
                    assert!(reasons.contains(&done.reason), "{place}: {done:?}");
                    assert_eq!((done.verdict, done.answer), (Verdict::Pass, None));
                    assert_eq!(done.frame, forged, "the stack gets it as it came");
                }
            }
            let mut quote = error(&probe, if is_ipv6 { (1, 4) } else { (3, 1) }, 8);
            let last = quote.len() - if packet.protocol == IpProtocol::UDP { 5 } else { 1 };
            quote[last] ^= 1;
            assert_eq!(bench.receive(&quote).reason, Reason::False);
            assert_eq!(bench.receive(&true_answer).reason, Reason::Open, "it was not forgotten");
        }
    }
}

#[test]
fn other_packets_go_to_the_stack() {
    let mut bench = Bench::new(&QuickProtocol::TcpSyn, false, &Reception::default());
    let probe = bench.probe(target(false, 3));
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = answer(&probe, true);
        change(&mut frame);
        frame
    };
    for (what, frame) in [
        ("a segment without SYN and RST", with(&|frame| frame[14 + 20 + 13] = 0x10)),
        ("a SYN", with(&|frame| frame[14 + 20 + 13] = 0x02)),
        ("another port of this host", with(&|frame| frame[14 + 20 + 2] = 0)),
        ("to another address", with(&|frame| frame[14 + 19] ^= 1)),
        ("a fragment", with(&|frame| frame[14 + 6] = 0x20)),
        ("UDP", with(&|frame| frame[14 + 9] = 17)),
        (
            "a tag",
            with(&|frame| {
                frame.splice(12..12, [0x81, 0, 0, 5]);
            }),
        ),
        ("IPv6", frame(QuickProtocol::TcpSyn, true)),
        ("a quote of another host's packet", {
            let mut frame = error(&probe, (3, 1), 8);
            frame[14 + 20 + 8 + 12] ^= 1;
            frame
        }),
        ("an echo request", frame(QuickProtocol::Icmp, false)),
    ] {
        let done = bench.receive(&frame);
        assert_eq!((done.verdict, done.reason), (Verdict::Pass, Reason::Other), "{what}");
        assert_eq!(done.frame, frame, "{what}");
    }
    let cut = bench.receive(&answer(&probe, true)[..40]);
    assert_eq!((cut.verdict, cut.reason), (Verdict::Pass, Reason::Truncated));
}

#[test]
fn without_resets_and_with_a_full_ring() {
    let reception = Reception { resets: false, seen_bytes: 64, ring_bytes: 4096 };
    let mut bench = Bench::new(&QuickProtocol::TcpSyn, false, &reception);
    let probe = bench.probe(target(false, 3));
    assert_eq!(bench.receive(&answer(&probe, true)).verdict, Verdict::Drop);

    // 4,096 bytes have 73 records of 48 bytes with their headers.
    let reception = Reception { ring_bytes: 4096, ..Reception::default() };
    let mut bench = Bench::new(&QuickProtocol::TcpSyn, false, &reception);
    let answers: Vec<_> =
        (0..80).map(|last| answer(&bench.probe(target(false, last)), true)).collect();
    let mut run = |frame: &[u8]| {
        bench.worker.put(&Input { packet: frame.to_vec(), ..Input::default() }).unwrap();
        Verdict::from_code(bench.worker.execute(bench.program).unwrap())
    };
    let verdicts: Vec<_> = answers.iter().map(|frame| run(frame)).collect();
    let taken = verdicts.iter().filter(|verdict| **verdict == Verdict::Tx).count();
    assert_eq!(taken, 73, "what does not fit is dropped without a reset");
    bench.machine.map(RECORDS).unwrap().records().unwrap();
    let repeated = bench.receive(&answers[79]);
    assert_eq!((repeated.reason, repeated.verdict), (Reason::Open, Verdict::Tx));
}

#[test]
fn a_full_table_replaces_old_targets() {
    let reception = Reception { seen_bytes: 64, ..Reception::default() };
    let mut bench = Bench::new(&QuickProtocol::Icmp, false, &reception);
    for last in 0..=255 {
        let probe = bench.probe(target(false, last));
        assert_eq!(bench.receive(&answer(&probe, true)).reason, Reason::Open, "{last}");
        assert_eq!(bench.receive(&answer(&probe, true)).reason, Reason::Doubled, "{last}");
    }
}

#[test]
fn sizes_that_are_not_powers_of_two() {
    let probe = Probe::new(frame(QuickProtocol::Udp, false), 1..=2).unwrap();
    let cookies = Cookies::new(Key::from_seed(1), probe.source());
    for seen_bytes in [0, 63, 96, 192] {
        let reception = Reception { seen_bytes, ..Reception::default() };
        let error = prepare(&probe, &cookies, &reception).unwrap_err().to_string();
        assert!(error.contains("power of two"), "{error}");
    }
}

#[test]
fn records_that_are_cut_are_not_read() {
    assert_eq!(Answer::read(&[0; 47]), None);
    assert_eq!(Answer::read(&[0; 48]), None, "state 0");
}
