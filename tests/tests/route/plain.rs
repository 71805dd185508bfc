//! Plain packets have a path of their own in the program, which decides as the path of all others.

use functions::route::abi::{Control, Fields, Processor};
use functions::route::{CONTROL, Config, IcmpErrors, IcmpRate, PROCESSORS};
use lab::frame::{Flow, TcpFlags};
use packet::checksum;
use spec::{Expect, Map as _, Verdict};
use vm::world::RouteKind;
use xway_tests::bpf::packet::{IPV6, UDP, fragment6, udp, unpadded, v6};
use xway_tests::bpf::router::{A, B0, Change, Forward, Port, from_a, side};

const ONLY: [u8; 4] = [0; 4];
const TO: [&str; 2] = ["10.0.2.2", "fd00:0:0:2::2"];
const NOTHING: Fields = Fields { source: 0, ports: [0; 4], label: [0; 4], protocol: 0, tos: 0 };
/// With these, no packet is plain.
const SOURCE: Fields = Fields { source: u64::MAX, ..NOTHING };
/// Each packet is decided about this number of times: the first time by the kernel's lookup, and
/// again after a tick of its clock. All others are plain if they can be.
const TIMES: usize = 5;
/// `followed` of a processor that has plain packets: `ROUTE_BY_DESTINATION`.
const BY_DESTINATION: u32 = 2;
const CHANGES: [Change; 5] = [
    Change::Closed(RouteKind::Unreachable, "198.51.101.1"),
    Change::Closed(RouteKind::Unreachable, "fd03::1"),
    Change::Closed(RouteKind::Blackhole, "198.51.100.1"),
    Change::Closed(RouteKind::Blackhole, "fd05::1"),
    Change::Mtu(1300),
];

/// A router with results that are valid without an end.
fn router(config: &Config, fields: Fields) -> Forward {
    sys::cpu::set_affinity(&[0]).unwrap();
    let router = Forward::configured(config, &CHANGES);
    vouch(&router, 1, fields);
    router
}

fn vouch(router: &Forward, generation: u64, fields: Fields) {
    let control = Control { generation, valid_until: u64::MAX, fields, ..Control::default() };
    router.map(CONTROL).update(&ONLY, &control.to_bytes(), Expect::Any).unwrap();
}

fn followed(router: &Forward) -> u32 {
    let bytes = router.map(PROCESSORS).lookup(&ONLY).unwrap().unwrap();
    Processor::from_bytes(bytes.first_chunk().unwrap()).followed
}

/// An IPv4 packet with another header, whose checksum is right.
fn changed(mut packet: Vec<u8>, change: impl Fn(&mut [u8])) -> Vec<u8> {
    change(&mut packet[14..]);
    packet[24..26].fill(0);
    let length = 14 + usize::from(packet[14] & 0xf) * 4;
    let check = !checksum::fold(checksum::sum(&packet[14..length]));
    packet[24..26].copy_from_slice(&check.to_be_bytes());
    packet
}

/// Packets of both families, plain or nearly so.
fn packets() -> Vec<(String, Vec<u8>)> {
    const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
    let mut all = Vec::new();
    for to in TO {
        let flow = from_a(to, 7);
        let mut add = |name: &str, packet| all.push((format!("{to}: {name}"), packet));
        for ttl in [0, 1, 2, 64, 255] {
            add(&format!("TTL {ttl}"), flow.clone().ttl(ttl).udp(b"x").unwrap());
        }
        add("TCP", flow.tcp(ACK, 1, b"payload").unwrap());
        add("ping", flow.ping(1, 2, b"payload").unwrap());
        for length in [1313, 1314, 1315] {
            add(&format!("{length} bytes"), flow.udp_of_length(length).unwrap());
        }
        let plain = flow.udp(b"x").unwrap();
        let mut write = |name: &str, at: usize, byte: u8| {
            let mut packet = plain.clone();
            packet[at] = byte;
            add(name, packet);
        };
        write("other host", 5, 0x77);
        write("multicast", 0, 0x01);
        write("other version", 14, 0x55);
        write("a length in another byte", 16, 0xff);
        write("no length", 17, 0);
        write("another type", 12, 0x88);
        add("padding", [&plain[..], &[0xee; 30]].concat());
        add("cut", plain[..plain.len() - 1].to_vec());
    }
    for to in ["198.51.100.1", "198.51.101.1", "fd03::1", "fd05::1"] {
        all.push((to.to_owned(), from_a(to, 7).udp(b"x").unwrap()));
        all.push((format!("{to}, TTL 1"), from_a(to, 7).ttl(1).udp(b"x").unwrap()));
    }
    for source in ["127.0.0.1", "10.0.2.1", "224.0.0.1", "0.1.2.3", "10.0.1.255", "223.1.1.1"] {
        let packet = Flow::new(side(A, source, 1), side(B0, TO[0], 7)).udp(b"x").unwrap();
        all.push((format!("from {source}"), packet));
    }
    for source in ["::1", "fe80::9", "ff02::1", "::ffff:10.0.1.2", "fd00:0:0:2::1"] {
        let packet = Flow::new(side(A, source, 1), side(B0, TO[1], 7)).udp(b"x").unwrap();
        all.push((format!("from {source}"), packet));
    }
    let plain = from_a(TO[0], 7).udp(b"payload of some bytes").unwrap();
    let mut wrong = plain.clone();
    wrong[24] ^= 1;
    all.push(("wrong checksum".to_owned(), wrong));
    for (name, at, byte) in
        [("options", 0, 0x46), ("fragment", 6, 0x20), ("later fragment", 7, 9), ("TOS", 1, 0xb8)]
    {
        all.push((name.to_owned(), changed(plain.clone(), |ip| ip[at] = byte)));
    }
    let later = unpadded(&[], IPV6, &v6(TO[1], 44, &fragment6(UDP, 8, &udp(7))));
    all.push(("IPv6 fragment".to_owned(), later));
    all
}

#[test]
fn plain_packets_are_decided_as_all_others() {
    let limits = [IcmpErrors::UNLIMITED, IcmpErrors { send: false, ..IcmpErrors::default() }];
    for icmp_errors in limits {
        let config = Config { icmp_errors, ..Config::default() };
        let (mut plain, mut other) = (router(&config, NOTHING), router(&config, SOURCE));
        for (name, packet) in packets() {
            let expected = other.judge(Port::Eth0, &packet);
            for _ in 0..TIMES {
                let mut found = plain.judge(Port::Eth0, &packet);
                let mut expected = expected.clone();
                if expected.reason.starts_with("sent-") {
                    // An error has a random identification, and so its checksum differs.
                    for bytes in [&mut found.packet, &mut expected.packet] {
                        bytes.get_mut(18..26).unwrap().fill(0);
                    }
                }
                let seen = (found.verdict, found.reason, packet::hex(&found.packet));
                let expected = (expected.verdict, expected.reason, packet::hex(&expected.packet));
                assert_eq!(seen, expected, "{name}");
            }
        }
        assert_eq!(followed(&plain), BY_DESTINATION);
        assert_eq!(followed(&other), 1);
    }
}

#[test]
fn expired_packets_over_the_limit_are_dropped_as_they_came() {
    let rate = IcmpRate { rate_pps: 1, burst: 10 };
    let errors = IcmpErrors { prefix: rate, total: rate, ..IcmpErrors::default() };
    let mut plain = router(&Config { icmp_errors: errors, ..Config::default() }, NOTHING);
    for to in TO {
        let expired = from_a(to, 7).ttl(1);
        let packet = expired.udp(b"x").unwrap();
        let found: Vec<_> = (0..60).map(|_| plain.judge(Port::Eth0, &packet)).collect();
        let dropped = found.iter().filter(|one| one.reason == "icmp-limit");
        let dropped: Vec<_> = dropped.collect();
        assert!(dropped.len() > 30, "{to}: {}", dropped.len());
        for one in dropped {
            assert_eq!((one.verdict, &one.packet), (Verdict::Drop, &packet), "{to}");
        }
        // No error may be sent about these, whatever the limit.
        let mut error = expired.ping(1, 2, b"payload").unwrap();
        error[if to == TO[0] { 34 } else { 54 }] = 3;
        for _ in 0..TIMES {
            let found = plain.judge(Port::Eth0, &error);
            assert_eq!((found.verdict, &*found.reason), (Verdict::Drop, "unanswerable"), "{to}");
        }
        let own = if to == TO[0] { "10.0.1.1" } else { "fd00:0:0:1::1" };
        let found = plain.judge(Port::Eth0, &from_a(own, 7).ttl(1).udp(b"x").unwrap());
        assert_eq!((found.verdict, &*found.reason), (Verdict::Pass, "not-forwarded"), "{own}");
    }
}

#[test]
fn the_way_to_a_sender_is_remembered_until_the_generation_changes() {
    let config = Config { icmp_errors: IcmpErrors::UNLIMITED, ..Config::default() };
    let mut router = router(&config, NOTHING);
    let [new, other] = [[2, 0, 0, 0, 0, 0x44], [2, 0, 0, 0, 0, 0x55]];
    for (round, (to, own)) in (1..).zip([(TO[0], "10.0.1.2"), (TO[1], "fd00:0:0:1::2")]) {
        let packet = from_a(to, 7).ttl(1).udp(b"x").unwrap();
        let receiver = |router: &mut Forward| {
            let found = router.judge(Port::Eth0, &packet);
            assert_eq!(found.reason, "sent-time-exceeded");
            found.packet[..6].to_vec()
        };
        let first = receiver(&mut router);
        let neighbor =
            |mac: &str| format!("neigh replace {own} lladdr {mac} dev eth0 nud permanent");
        router.site.ip(&neighbor("02:00:00:00:00:44"));
        assert_eq!(receiver(&mut router), first, "as remembered");
        vouch(&router, 10 * round, NOTHING);
        assert_eq!(receiver(&mut router), new, "of the new generation");
        router.site.ip(&neighbor("02:00:00:00:00:55"));
        vouch(&router, 10 * round + 1, NOTHING);
        assert_eq!(receiver(&mut router), other, "and of the next one");
    }
}
