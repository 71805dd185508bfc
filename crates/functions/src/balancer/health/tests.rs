//! Checks against peers that answer as a table has it, and against hostile ones.

use std::net::IpAddr;
use std::time::Duration;

use packet::IpProtocol;

use super::reason::Outcome;
use super::wire::{ACK, FIN, Kind, PSH, RST, SYN, Segment};
use super::{Ends, Health, Probe, Reason, Received, Step};

const OWN: u16 = 61_234;
const PORT: u16 = 80;
/// Initial sequence numbers: of the check, close to the end of the space, and of the peer.
const FIRST: u32 = u32::MAX - 20;
const PEER: u32 = u32::MAX;

fn ends() -> Ends {
    let (own, service) = ("10.0.0.1".parse().unwrap(), "192.0.2.1".parse().unwrap());
    Ends { own, service }
}

fn ends6() -> Ends {
    let (own, service) = ("fd00::1".parse().unwrap(), "2001:db8::1".parse().unwrap());
    Ends { own, service }
}

fn probe(check: &str) -> Probe {
    let health: Health = toml::from_str(&format!("check = {check}")).unwrap();
    Probe::new(&health, ends(), (OWN, PORT), FIRST.into(), Duration::ZERO)
}

const TCP: &str = "'tcp'";
const HTTP: &str = "{ http = { path = '/up' } }";

/// A packet from the service.
fn from_service(segment: &Segment<'_>) -> Vec<u8> {
    let Ends { own, service } = ends();
    segment.packet(Ends { own: service, service: own })
}

fn segment(sequence: u32, acknowledged: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let (source, dest) = (PORT, OWN);
    from_service(&Segment { source, dest, sequence, acknowledged, flags, payload })
}

#[track_caller]
fn receive(probe: &mut Probe, packet: &[u8]) -> Step {
    let received = Received::read(packet).unwrap();
    assert_eq!(received.key(), Some(probe.key()));
    probe.receive(&received)
}

/// What a check sent, without its addresses.
fn read(packet: &[u8]) -> (u32, u32, u8, Vec<u8>) {
    let Kind::Tcp(segment) = Received::read(packet).unwrap().kind else { panic!("not TCP") };
    assert_eq!((segment.source, segment.dest), (OWN, PORT));
    (segment.sequence, segment.acknowledged, segment.flags, segment.payload.to_vec())
}

/// A check whose SYN was accepted; the number of bytes of its request.
fn opened(check: &str) -> (Probe, u32) {
    let mut probe = probe(check);
    let step = probe.tick(Duration::ZERO);
    assert_eq!(read(&step.send[0]), (FIRST, 0, SYN, Vec::new()));
    let step = receive(&mut probe, &segment(PEER, FIRST + 1, SYN | ACK, b""));
    let (sequence, acknowledged, flags, payload) = read(&step.send[0]);
    assert_eq!((sequence, acknowledged), (FIRST.wrapping_add(1), PEER.wrapping_add(1)));
    assert_eq!((flags, step.outcome), (ACK | PSH, None));
    (probe, payload.len() as u32)
}

/// The outcome of a response in segments of these sizes.
fn answered(response: &[u8], size: usize) -> Option<Outcome> {
    let (mut probe, request) = opened(HTTP);
    let acknowledged = FIRST.wrapping_add(1 + request);
    let mut sequence = PEER.wrapping_add(1);
    for part in response.chunks(size) {
        let step = receive(&mut probe, &segment(sequence, acknowledged, ACK, part));
        sequence = sequence.wrapping_add(part.len() as u32);
        let (number, taken, flags, _) = read(&step.send[0]);
        assert_eq!((number, taken), (acknowledged, sequence));
        assert_eq!(flags & RST != 0, step.outcome.is_some());
        if step.outcome.is_some() {
            return step.outcome;
        }
    }
    receive(&mut probe, &segment(sequence, acknowledged, ACK | FIN, b"")).outcome
}

#[test]
fn a_connection_is_reset_by_its_answer() {
    let mut probe = probe(TCP);
    assert_eq!(probe.tick(Duration::ZERO).send.len(), 1);
    let step = receive(&mut probe, &segment(PEER, FIRST + 1, SYN | ACK, b""));
    assert_eq!(step.outcome, Some(Ok(())));
    let (sequence, acknowledged, flags, _) = read(&step.send[0]);
    assert_eq!((sequence, acknowledged, flags), (FIRST + 1, 0, RST | ACK));
}

#[test]
fn a_refusal_is_one_of_this_connection() {
    let mut probe = probe(TCP);
    let _sent = probe.tick(Duration::ZERO);
    let stray = segment(0, FIRST + 2, RST | ACK, b"");
    assert_eq!(receive(&mut probe, &stray), Step::default());
    let own = segment(0, FIRST + 1, RST | ACK, b"");
    assert_eq!(receive(&mut probe, &own).outcome, Some(Err(Reason::Refused)));
}

#[test]
fn an_older_connection_of_the_ports_is_reset_first() {
    let mut probe = probe(TCP);
    let _sent = probe.tick(Duration::ZERO);
    for _ in 0..3 {
        let step = receive(&mut probe, &segment(9, 77, ACK, b""));
        let sent: Vec<_> = step.send.iter().map(|one| read(one)).collect();
        assert_eq!(sent, [(77, 0, RST, Vec::new()), (FIRST, 0, SYN, Vec::new())]);
        assert_eq!(step.outcome, None);
    }
    let step = receive(&mut probe, &segment(9, 77, ACK, b""));
    assert_eq!(step, Step::default(), "a peer cannot make it send without end");
}

#[test]
fn the_status_of_a_response_decides() {
    let long = [b"HTTP/1.1 200 ".to_vec(), vec![b'x'; 1 << 20], b"\r\n".to_vec()].concat();
    let many = [&b"HTTP/1.1 302 Found\r\n"[..], &b"X-Header: y\r\n".repeat(1 << 16)].concat();
    let cases: [(&[u8], Outcome); 16] = [
        (b"HTTP/1.1 200 OK\r\n\r\n", Ok(())),
        (b"HTTP/1.0 204\r\n", Ok(())),
        (b"HTTP/1.1 399 \n", Ok(())),
        (&many, Ok(())),
        (b"HTTP/1.1 404 Not Found\r\n", Err(Reason::Status(404))),
        (b"HTTP/1.1 503 Busy\r\n", Err(Reason::Status(503))),
        (b"HTTP/1.1 100 Continue\r\n", Err(Reason::Status(100))),
        (b"HTTP/2 200\r\n", Err(Reason::NotHttp)),
        (b"HTTP/1.7 200\r\n", Err(Reason::NotHttp)),
        (b"HTTP/1.1 2000\r\n", Err(Reason::NotHttp)),
        (b"HTTP/1.1 -20 x\r\n", Err(Reason::NotHttp)),
        (b"HTTP/1.1200\r\n", Err(Reason::NotHttp)),
        (b"SSH-2.0-OpenSSH\r\n", Err(Reason::NotHttp)),
        (&long, Err(Reason::NotHttp)),
        (b"", Err(Reason::Closed)),
        (b"HTTP/1.1 200 OK", Err(Reason::Closed)),
    ];
    for (response, expected) in cases {
        for size in [1, 7, 1400] {
            let name = String::from_utf8_lossy(&response[..response.len().min(20)]);
            assert_eq!(answered(response, size), Some(expected), "{name} by {size} bytes");
        }
    }
}

#[test]
fn a_connection_that_is_reset_later_failed() {
    let (mut probe, request) = opened(HTTP);
    let acknowledged = FIRST.wrapping_add(1 + request);
    let blind = segment(PEER.wrapping_add(100), acknowledged, RST, b"");
    assert_eq!(receive(&mut probe, &blind).outcome, None, "not the expected number");
    let own = segment(PEER.wrapping_add(1), acknowledged, RST, b"");
    assert_eq!(receive(&mut probe, &own).outcome, Some(Err(Reason::Reset)));
}

#[test]
fn what_is_lost_or_out_of_order_is_sent_again() {
    let (mut probe, request) = opened(HTTP);
    let next = FIRST.wrapping_add(1 + request);
    let begin = PEER.wrapping_add(1);
    let later = segment(begin.wrapping_add(9), next, ACK, b"200 OK\r\n");
    let step = receive(&mut probe, &later);
    assert_eq!((read(&step.send[0]).1, step.outcome), (begin, None), "asks for what is missing");
    let first = segment(begin, next, ACK, b"HTTP/1.1 ");
    assert_eq!(receive(&mut probe, &first).outcome, None);
    assert_eq!(receive(&mut probe, &later).outcome, Some(Ok(())));

    // A request that is not acknowledged is sent again, with growing pauses.
    let (mut probe, request) = opened(HTTP);
    let mut times = Vec::new();
    for now in (0..1000).map(Duration::from_millis) {
        let step = probe.tick(now);
        if let Some(packet) = step.send.first() {
            assert_eq!(read(packet).3.len(), request as usize);
            times.push(now.as_millis());
        }
    }
    assert_eq!(times, [200, 600]);
}

#[test]
fn the_deadline_is_that_of_the_whole_answer() {
    let second = Duration::from_secs(1);
    let mut silent = probe(TCP);
    let _sent = silent.tick(Duration::ZERO);
    let step = silent.tick(second);
    assert_eq!(step.outcome, Some(Err(Reason::Timeout)));
    // A byte now and then does not extend it.
    let (mut slow, request) = opened(HTTP);
    let next = FIRST.wrapping_add(1 + request);
    for (number, byte) in (0_u32..).zip(b"HTTP/1.1 ") {
        let at = PEER.wrapping_add(1 + number);
        let packet = segment(at, next, ACK, &[*byte]);
        assert_eq!(receive(&mut slow, &packet).outcome, None);
        assert_eq!(slow.tick(Duration::from_millis(u64::from(number) * 100)).outcome, None);
    }
    let step = slow.tick(second);
    assert_eq!(step.outcome, Some(Err(Reason::Incomplete)));
    assert_eq!(read(&step.send[0]).2 & RST, RST, "the connection is given up");
}

#[test]
fn segments_that_do_not_belong_change_nothing() {
    let (mut probe, request) = opened(HTTP);
    let (next, begin) = (FIRST.wrapping_add(1 + request), PEER.wrapping_add(1));
    let response = b"HTTP/1.1 200 OK\r\n";
    let strange = [
        segment(begin, next.wrapping_add(1), ACK, response),
        segment(begin, FIRST, ACK, response),
        segment(begin, next, 0, response),
        segment(PEER, FIRST.wrapping_add(1), SYN | ACK, response),
    ];
    for packet in strange {
        assert_eq!(receive(&mut probe, &packet).outcome, None);
    }
    let other = Segment {
        source: PORT + 1,
        dest: OWN,
        sequence: begin,
        acknowledged: next,
        flags: ACK,
        payload: response,
    };
    assert_eq!(receive(&mut probe, &from_service(&other)), Step::default());
    let elsewhere = Ends { own: IpAddr::from([192, 0, 2, 9]), service: ends().own };
    let packet = Segment { source: PORT, ..other }.packet(elsewhere);
    assert_eq!(receive(&mut probe, &packet), Step::default());
    assert_eq!(receive(&mut probe, &segment(begin, next, ACK, response)).outcome, Some(Ok(())));
}

#[test]
fn datagrams_and_echo_requests() {
    let Ends { own, service } = ends();
    let back = Ends { own: service, service: own };
    let answer = |payload: &[u8]| super::wire::datagram(back, PORT, OWN, payload);
    let check = "{ udp = { send = 'ping', expect = 'pong' } }";
    for (payload, outcome) in [
        (&b"pong"[..], Ok(())),
        (b"pong and more", Ok(())),
        (b"pon", Err(Reason::Unexpected)),
        (b"", Err(Reason::Unexpected)),
    ] {
        let mut probe = probe(check);
        let sent = probe.tick(Duration::ZERO).send.remove(0);
        let Kind::Udp { payload: sent, .. } = Received::read(&sent).unwrap().kind else { panic!() };
        assert_eq!(sent, b"ping");
        let found = receive(&mut probe, &answer(payload)).outcome;
        if outcome.is_ok() {
            assert_eq!(found, Some(outcome));
            continue;
        }
        // Another process can forge an answer: the right one may follow.
        assert_eq!(found, None);
        let mut answered = probe.clone();
        assert_eq!(receive(&mut answered, &answer(b"pong")).outcome, Some(Ok(())));
        assert_eq!(probe.tick(Duration::from_secs(1)).outcome, Some(outcome));
    }

    for ends in [ends(), ends6()] {
        let health: Health = toml::from_str("check = 'icmp'").unwrap();
        let token = 0x1234_5678_9abc_def0;
        let mut probe = Probe::new(&health, ends, (OWN, 0), token, Duration::ZERO);
        let mut sent = probe.tick(Duration::ZERO).send.remove(0);
        let header = if ends.own.is_ipv4() { 20 } else { 40 };
        let addresses = if ends.own.is_ipv4() { 12..20 } else { 8..40 };
        assert!(packet::checksum::is_valid(
            packet::checksum::sum(&sent[header..])
                + if header == 20 {
                    0
                } else {
                    let length = sent.len() - header;
                    packet::checksum::pseudo_header(&sent[8..40], IpProtocol::ICMPV6, length)
                }
        ));
        let half = addresses.len() / 2;
        sent[addresses].rotate_left(half);
        sent[header] = if header == 20 { 0 } else { 129 };
        let mut other = sent.clone();
        *other.last_mut().unwrap() ^= 1;
        assert_eq!(receive(&mut probe, &other).outcome, None, "of another check");
        assert_eq!(receive(&mut probe, &sent).outcome, Some(Ok(())));
    }
}

/// An ICMP error of this type and code that quotes a packet.
fn error(from: IpAddr, kind: u8, code: u8, quoted: &[u8]) -> Vec<u8> {
    let mut packet = super::wire::echo(Ends { own: from, service: ends().own }, 0, 0, quoted);
    (packet[20], packet[21]) = (kind, code);
    packet
}

#[test]
fn errors_are_about_packets_of_the_check() {
    let router = IpAddr::from([10, 0, 9, 9]);
    for check in [TCP, HTTP, "{ udp = { send = 'x' } }", "'icmp'"] {
        let mut probe = probe(check);
        let sent = probe.tick(Duration::ZERO).send.remove(0);
        let quoted = &sent[..28];
        let mut outcome = receive(&mut probe, &error(router, 3, 1, quoted)).outcome;
        if check.contains("udp") {
            assert_eq!(outcome, None, "an answer may follow");
            outcome = probe.tick(Duration::from_secs(1)).outcome;
        }
        assert_eq!(outcome, Some(Err(Reason::Unreachable)), "{check}");
        assert_eq!(Received::read(&error(router, 3, 4, quoted)), None, "too big, {check}");
        assert_eq!(Received::read(&error(router, 11, 0, quoted)), None, "too far, {check}");
        assert_eq!(Received::read(&error(router, 3, 1, &quoted[..27])), None, "cut, {check}");
        let mut other = quoted.to_vec();
        other[19] ^= 1;
        let outcome = receive(&mut probe, &error(router, 3, 1, &other)).outcome;
        assert_eq!(outcome, None, "to another address, {check}");
    }
    let mut probe = probe(TCP);
    let mut quoted = probe.tick(Duration::ZERO).send.remove(0);
    quoted[24] ^= 1;
    let outcome = receive(&mut probe, &error(router, 3, 1, &quoted[..28])).outcome;
    assert_eq!(outcome, None, "a number that was never sent");
}

#[test]
fn any_bytes_are_read() {
    let mut bits = 7_u64;
    let mut next = || {
        bits = bits.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (bits >> 33) as u8
    };
    let whole = [
        segment(PEER, FIRST + 1, SYN | ACK, b"x"),
        error(ends().service, 3, 1, &probe(TCP).tick(Duration::ZERO).send[0]),
    ];
    for packet in whole {
        for length in 0..packet.len() {
            assert_eq!(Received::read(&packet[..length]), None, "{length} bytes");
        }
        for _ in 0..20_000 {
            let mut packet = packet.clone();
            for _ in 0..3 {
                let at = usize::from(next()) % packet.len();
                packet[at] = next();
            }
            if let Some(received) = Received::read(&packet) {
                let _key = received.key();
                let mut probe = probe(HTTP);
                let _sent = probe.tick(Duration::ZERO);
                let _step = probe.receive(&received);
            }
        }
    }
}
