//! Metadata: requests for packets that are sent, and facts about those received.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use lab::frame::{Flow, Side, TcpFlags, check};
use lab::{Host, LinkOptions, TwoHosts};
use sys::thread::{monotonic_ns, tai_ns};
use xsk::metadata::{
    Clock, HashType, Offload, Received, RequestError, Transmitted, Vlan, checksum,
};
use xsk::steer::{Metadata, Mode, Options, Steer, Steering};
use xsk::umem::Builder;
use xsk::{Frame, SendError, Tx};
use xway_tests::xsk::exchange::{
    End, OURS, PATIENCE, arrivals, bytes, exchange, link, memory, packet,
};

/// With room for requests.
fn asking(frame_size: u32, headroom: u32) -> Builder {
    memory(frame_size, headroom).transmit_metadata(true)
}

fn put(tx: &mut Tx, bytes: &[u8]) -> Frame {
    let mut frame = tx.alloc_long(bytes.len()).unwrap();
    assert!(frame.write_at(0, bytes));
    frame
}

fn flow(ipv6: bool) -> Flow {
    let (from, to) = if ipv6 { ("fd00::3", "fd00::1") } else { ("10.0.0.3", "10.0.0.1") };
    let from = Side::new("02:78:77:00:00:03", from, 4000).unwrap();
    Flow::new(from, Side::new("ff:ff:ff:ff:ff:ff", to, 7).unwrap())
}

/// Right packets of all kinds that `checksum::prepare` knows.
fn packets() -> Vec<(&'static str, Vec<u8>)> {
    let tcp = |flow: Flow| flow.tcp(TcpFlags::default(), 7, b"odd").unwrap();
    vec![
        ("UDP", flow(false).udp(b"even").unwrap()),
        ("UDP, odd", flow(false).udp(b"odd").unwrap()),
        ("TCP", tcp(flow(false))),
        ("UDP over IPv6", flow(true).udp(&[0xff; 1000]).unwrap()),
        ("TCP over IPv6", tcp(flow(true))),
        ("tagged", flow(false).vlan(42).udp(b"tagged").unwrap()),
        ("tagged twice", tcp(flow(true).vlan(1).vlan(2))),
    ]
}

/// All packets that came, of whatever kind, until one of ours.
fn everything(a: &mut End, b: &mut End, frame: Frame) -> Vec<Vec<u8>> {
    a.tx.push(frame).unwrap_or_else(|rejected| panic!("{}", rejected.why));
    a.tx.send(&packet(60, 0)).unwrap();
    let mut came = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "the last packet did not come");
        b.rx.wait(Duration::from_millis(100)).unwrap();
        for frame in b.rx.batch(64) {
            if frame[12..14] == OURS {
                return came;
            }
            // Nothing else on this link is of port 4000.
            if frame.windows(2).any(|pair| pair == 4000u16.to_be_bytes()) {
                came.push(bytes(&frame));
            }
        }
    }
}

#[test]
fn checksums_are_filled_in() {
    for device_can in [false, true] {
        let options = LinkOptions { checksum_offload: device_can, ..LinkOptions::default() };
        let net = TwoHosts::build(&options).unwrap();
        for software in [false, true] {
            let mut a = End::new(&net.a, asking(2048, 0).software_checksum(software), false);
            let mut b = End::new(&net.b, memory(2048, 0), false);
            for (name, right) in packets() {
                assert_eq!(check(&right), Ok(()), "{name}");
                let mut frame = put(&mut a.tx, &right);
                let offload = checksum::prepare(&mut frame).unwrap();
                let Offload::Checksum { start, offset } = offload else { panic!("{offload:?}") };
                assert_ne!(bytes(&frame), right, "{name}: what is there is not the checksum");
                let (partial, at) = (bytes(&frame), usize::from(start + offset));
                frame.request(offload).unwrap();
                let came = everything(&mut a, &mut b, frame);
                // A capable device leaves it in the skb as a request, which veth forwards: the
                // peer's program and socket see the unfinished packet.
                let expected = if device_can && !software { &partial } else { &right };
                let what = format!("{name}, device {device_can}, software {software}, at {at}");
                assert!(came == [expected.clone()], "{what}: {came:x?}\n not {expected:x?}");
            }
            a.close();
            b.close();
        }
    }
}

#[test]
fn checksums_of_packets_in_several_parts() {
    let net = link(9000);
    for software in [false, true] {
        let mut a = End::new(&net.a, asking(2048, 0).software_checksum(software), true);
        let mut b = End::new(&net.b, memory(2048, 0), true);
        let right = flow(false).udp(&[7; 5000]).unwrap();
        let mut frame = put(&mut a.tx, &right);
        let offload = checksum::prepare(&mut frame).unwrap();
        frame.request(offload).unwrap();
        if software {
            let refused = a.tx.push(frame).unwrap_err();
            assert!(matches!(refused.why, SendError::Request(RequestError::Fragmented)));
        } else {
            assert!(everything(&mut a, &mut b, frame) == [right]);
        }
        a.close();
        b.close();
    }
}

#[test]
fn packets_that_are_not_understood_are_left_as_they_are() {
    let fragment = |more: u8, offset: u8| {
        let mut bytes = flow(false).udp(b"part").unwrap();
        (bytes[20], bytes[21]) = (more, offset);
        bytes
    };
    let udp = flow(false).udp(b"whole").unwrap();
    let mut short_header = udp.clone();
    short_header[14] = 0x44;
    let mut cases = vec![
        flow(false).ping(1, 1, b"ICMP").unwrap(),
        flow(false).vlan(1).vlan(2).vlan(3).udp(b"thrice").unwrap(),
        fragment(0x20, 0),
        fragment(0, 1),
        short_header,
        packet(60, 0),
    ];
    // All beginnings, up to the one with the whole checksum in it.
    cases.extend((0..14 + 20 + 8).map(|len| udp[..len].to_vec()));
    for case in cases {
        let mut bytes = case.clone();
        assert_eq!(checksum::prepare(&mut bytes), None, "{case:x?}");
        assert_eq!(bytes, case);
    }
}

/// The numbers of `count` packets that were transmitted, each at a time between the two.
fn numbers(tx: &mut Tx, count: usize, since: u64) -> Vec<u64> {
    let mut told: Vec<Transmitted> = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while told.len() < count && Instant::now() < deadline {
        tx.flush().unwrap();
        told.extend(tx.transmissions());
    }
    let now = tai_ns();
    for it in &told {
        let at = it.timestamp_ns.expect("in copy mode the kernel always tells");
        assert!((since..=now).contains(&at), "{at} is not in {since}..={now}");
    }
    told.into_iter().map(|it| it.number).collect()
}

#[test]
fn the_time_of_transmission_is_reported_with_the_number() {
    let net = link(9000);
    for (size, headroom) in [(2048, 0), (2048, 13), (3000, 0), (4096, 300)] {
        let mut a = End::new(&net.a, asking(size, headroom), true);
        let mut b = End::new(&net.b, memory(4096, 0), true);
        let since = tai_ns();
        let mut all = Vec::new();
        for start in (0..200).step_by(10) {
            let came = arrivals(&mut a.tx, &mut b.rx, |tx| {
                for number in start..start + 10 {
                    let mut frame = put(tx, &packet(60 + number as usize * 30, 1));
                    if !frame.is_fragmented() && number % 5 == 0 {
                        assert!(frame.move_head(1), "to an odd place");
                        frame.copy_from_slice(&packet(59 + number as usize * 30, 1));
                    }
                    // Every third one, with numbers of all sizes.
                    if number % 3 == 0 {
                        frame.request(Offload::Timestamp { number: number << 40 }).unwrap();
                    }
                    tx.push(frame).unwrap();
                }
            });
            assert_eq!(came.len(), 10);
            let stamped = (start..start + 10).filter(|number| number % 3 == 0).count();
            all.extend(numbers(&mut a.tx, stamped, since));
        }
        assert_eq!(all, (0..200).step_by(3).map(|n| n << 40).collect::<Vec<u64>>());
        assert_eq!(a.tx.transmissions().count(), 0, "each is told once");
        a.close();
        b.close();
    }
}

#[test]
fn times_that_are_not_read_are_lost_and_counted() {
    let net = link(1500);
    let mut a = End::new(&net.a, asking(2048, 0), false);
    let mut b = End::new(&net.b, memory(2048, 0), false);
    let since = tai_ns();
    for start in (0..70).step_by(10) {
        let came = arrivals(&mut a.tx, &mut b.rx, |tx| {
            for number in start..start + 10 {
                let mut frame = put(tx, &packet(60, 1));
                frame.request(Offload::Timestamp { number }).unwrap();
                tx.push(frame).unwrap();
            }
        });
        assert_eq!(came.len(), 10);
    }
    while a.tx.in_flight() > 0 {
        a.tx.flush().unwrap();
    }
    assert_eq!(numbers(&mut a.tx, 64, since), (6..70).collect::<Vec<u64>>());
    assert_eq!(a.tx.counters().timestamps_lost, 6);
    a.close();
    b.close();
}

#[test]
fn wishes_that_cannot_be_granted_are_refused() {
    let net = link(9000);
    let mut plain = End::new(&net.a, memory(4096, 100), true);
    let mut frame = put(&mut plain.tx, &packet(60, 0));
    let refused = frame.request(Offload::Timestamp { number: 1 }).unwrap_err();
    assert_eq!(refused, RequestError::NoRoom);
    drop(frame);
    plain.close();

    let mut a = End::new(&net.a, asking(4096, 0), true);
    let mut b = End::new(&net.b, memory(4096, 0), true);
    assert_eq!(a.umem.transmit_room(), 4096 - 24);
    let why = |tx: &mut Tx, frame: Frame| tx.push(frame).unwrap_err().why.to_string();
    let checksum = |start, offset| Offload::Checksum { start, offset };
    let mut frame = put(&mut a.tx, &packet(60, 0));
    for (start, offset) in [(58, 1), (59, 0), (0, 59), (u16::MAX, u16::MAX)] {
        let refused = frame.request(checksum(start, offset)).unwrap_err();
        assert!(matches!(refused, RequestError::Outside { len: 60, .. }), "{start} {offset}");
    }
    frame.request(checksum(14, 44)).unwrap();
    assert!(!frame.move_head(1) && !frame.move_head(-1), "the wish stays in front of the data");
    assert!(frame.resize(59));
    let refused = why(&mut a.tx, frame);
    assert!(refused.contains("byte 58 of a packet of 59 bytes"), "{refused}");

    let mut frame = put(&mut a.tx, &packet(60, 0));
    frame.request(Offload::Launch { at_ns: tai_ns() }).unwrap();
    let refused = why(&mut a.tx, frame);
    assert!(refused.contains("no launch time, it sends immediately"), "{refused}");

    // Far back there is no room, for a wish or for the kernel, which looks there in any case.
    let mut frame = put(&mut a.tx, &packet(60, 0));
    assert!(frame.move_head(-1));
    assert_eq!(frame.request(Offload::Timestamp { number: 1 }), Err(RequestError::NoRoom));
    let refused = why(&mut a.tx, frame);
    assert!(refused.contains("23 bytes are before the data"), "{refused}");
    // A request for a part that is not a packet's first is ignored.
    let (mut first, mut second) = (put(&mut a.tx, &packet(60, 1)), put(&mut a.tx, &packet(60, 2)));
    second.request(Offload::Timestamp { number: 1 }).unwrap();
    first.append(second).unwrap();
    let came = arrivals(&mut a.tx, &mut b.rx, |tx| tx.push(first).unwrap());
    assert!(came == [([packet(60, 1), packet(60, 2)].concat(), 1)], "and nothing else came");
    assert_eq!(a.tx.transmissions().count(), 0);
    a.close();
    b.close();
}

/// An end to which the redirect program passes metadata.
fn informed(net: &TwoHosts, memory: Builder, mode: Mode) -> End {
    informed_on(&net.b, memory, mode)
}

fn informed_on(host: &Host, memory: Builder, mode: Mode) -> End {
    let options = Options { rx_metadata: true, replace: false };
    let interface = |it: xsk::interface::Builder| it.mode(mode).options(options);
    End::with(host, memory, interface, |socket| socket.multi_buffer(true))
}

/// What is known of the one packet that came because of `sent`.
fn known(a: &mut End, b: &mut End, sent: &[u8]) -> Option<Received> {
    let mut known = Vec::new();
    let send = |tx: &mut Tx| tx.send(sent).unwrap();
    exchange(&mut a.tx, &mut b.rx, send, |mut frame| {
        assert!(bytes(&frame) == sent);
        let before = frame.received();
        assert!(frame.move_head(6));
        assert_eq!(frame.received(), before, "wherever the head is");
        known.push(before);
    });
    assert_eq!(known.len(), 1);
    known[0]
}

#[test]
fn what_the_program_knows_comes_with_the_packet() {
    let net = link(9000);
    for mode in [Mode::Native, Mode::Generic] {
        for place in [memory(2048, 0), memory(4096, 100), memory(3000, 33), asking(2048, 8)] {
            let mut a = End::new(&net.a, memory(4096, 0), true);
            let mut b = informed(&net, place, mode);
            for len in [60, 1514, 9000] {
                let before = monotonic_ns();
                let known = known(&mut a, &mut b, &packet(len, 5)).expect("the program told");
                let time = known.timestamp.expect("software tells the time");
                assert_eq!(time.clock, Clock::Monotonic);
                assert!((before..=monotonic_ns()).contains(&time.ns), "{time:?}");
                assert_eq!(known.vlan, None);
                assert_eq!(known.hash.is_some(), mode == Mode::Native, "{mode:?}");
            }
            a.close();
            b.close();
        }
    }
}

/// What is known of the packet that ends with these bytes.
fn known_of(b: &mut End, end: &[u8]) -> Received {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "it did not come");
        b.rx.wait(Duration::from_millis(100)).unwrap();
        if let Some(frame) = b.rx.batch(64).find(|frame| frame.ends_with(end)) {
            return frame.received().unwrap();
        }
    }
}

#[test]
fn tags_are_reported() {
    let net = link(1500);
    let mut a = End::new(&net.a, memory(2048, 0), false);
    let mut b = informed(&net, memory(2048, 0), Mode::Native);
    a.tx.send(&flow(false).vlan(0x6042).udp(b"tagged").unwrap()).unwrap();
    let tag = known_of(&mut b, b"tagged").vlan.unwrap();
    assert_eq!(tag, Vlan { control: 0x6042, protocol: 0x8100, is_inside: true });
    assert_eq!(tag.number(), 0x42);
    a.close();
    b.close();
}

/// veth has the hash of whatever sent the packet: of a socket's flow, of nothing for `AF_XDP`.
#[test]
fn the_hash_is_that_of_the_flow() {
    let net = link(1500);
    let mut a = End::new(&net.a, memory(2048, 0), false);
    let mut b = informed(&net, memory(2048, 0), Mode::Native);
    let socket = || net.a.run(|| UdpSocket::bind("10.0.0.1:0").unwrap()).unwrap();
    let (one, two) = (socket(), socket());
    let mut hash_of = |socket: &UdpSocket, payload: &[u8]| {
        socket.send_to(payload, "10.0.0.2:7").unwrap();
        known_of(&mut b, payload).hash.expect("veth tells it in native mode")
    };
    let (first, again, other) =
        (hash_of(&one, b"first"), hash_of(&one, b"again"), hash_of(&two, b"other"));
    assert_eq!(first, again);
    assert_ne!(first.0, other.0);
    assert!(first.1.has_ports(), "{first:?}");
    a.tx.send(&flow(false).udp(b"of AF_XDP").unwrap()).unwrap();
    let (_, kind) = known_of(&mut b, b"of AF_XDP").hash.unwrap();
    assert_eq!(kind, HashType(0));
    a.close();
    b.close();
}

/// The frame was used before: by a packet with metadata of the program, or by one that imitates it.
#[test]
fn stale_bytes_before_a_packet_are_ignored() {
    let net = link(1500);
    let mut a = End::new(&net.a, memory(2048, 0), false);
    // The program passes no metadata, which a process that received its map does not know.
    let attached = net
        .b
        .run(|| {
            let index = sys::net::Netlink::open().unwrap().link("eth0").unwrap().ifindex;
            Steering::attach(index, Mode::Native, &Steer::All, Options::default())
        })
        .unwrap()
        .unwrap();
    assert_eq!(attached.metadata(), Some(Metadata::None));
    let map = attached.map().try_clone_to_owned().unwrap();
    let given = Steering::from_map(map, attached.first_slot()).unwrap();
    assert_eq!(given.metadata(), None);
    let few = memory(2048, 0).frames(8);
    let mut b = End::with(&net.b, few, |it| it.steering(given), |socket| socket);
    let mut forged = packet(1000, 1);
    forged[14..].fill(0);
    // `magic` everywhere, so that it is also where the program would write it.
    forged[16..].chunks_exact_mut(4).for_each(|word| {
        word.copy_from_slice(&0x6d79_6178u32.to_ne_bytes());
    });
    for _ in 0..32 {
        let send = |tx: &mut Tx| tx.send(&packet(60, 2)).unwrap();
        exchange(&mut a.tx, &mut b.rx, send, |mut frame| {
            assert_eq!(frame.received(), None);
            let len = frame.len();
            assert!(frame.move_head(-256) && frame.resize(1000));
            frame.copy_from_slice(&forged);
            assert!(frame.resize(256 + len) && frame.move_head(256));
        });
    }
    drop(attached);
    a.close();
    b.close();
}

#[test]
fn nothing_is_known_of_packets_of_ones_own_or_without_the_program() {
    let net = link(1500);
    let mut a = informed_on(&net.a, memory(2048, 0), Mode::Native);
    let mut b = End::new(&net.b, memory(2048, 0), false);
    assert_eq!(a.tx.alloc().unwrap().received(), None);
    assert_eq!(known(&mut a, &mut b, &packet(60, 1)), None);
    a.close();
    b.close();
}

/// Both precede the packet: received metadata is read before a request is written.
#[test]
fn a_received_packet_is_sent_on_with_wishes() {
    let net = link(1500);
    let mut a = End::new(&net.a, memory(2048, 0), false);
    for place in [asking(2048, 0), asking(3000, 5)] {
        let mut b = informed(&net, place, Mode::Native);
        let (since, right) = (tai_ns(), flow(false).udp(b"there and back").unwrap());
        a.tx.send(&right).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let mut frame = loop {
            assert!(Instant::now() < deadline, "it did not come");
            b.rx.wait(Duration::from_millis(100)).unwrap();
            if let Some(frame) = b.rx.batch(64).find(|frame| frame.ends_with(b"back")) {
                break frame;
            }
        };
        assert!(frame.received().is_some());
        let offload = checksum::prepare(&mut frame).unwrap();
        frame.request(offload).unwrap();
        frame.request(Offload::Timestamp { number: 5 }).unwrap();
        assert_eq!(frame.received(), None, "the wishes stand there now");
        assert!(everything(&mut b, &mut a, frame) == [right]);
        assert_eq!(numbers(&mut b.tx, 1, since), [5]);
        b.close();
    }
    a.close();
}
