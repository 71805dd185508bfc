//! Programs in the style from before libbpf 1.0, unmodified on the kernel: packet in, verdict out.
//!
//! They are the first talk's drop and forward and the paper's counter; `bpf/test/` has the source.

use kernel::{Object, TestOutcome, TestRun};
use lab::frame::{Flow, Side, check};
use lab::{LinkOptions, Router};
use spec::{Expect, Input, Map as _, Spec, Verdict};
use sys::net::NewRoute;
use xway_tests::program::load;
use xway_tests::xway::prebuilt;

fn load_old(name: &str) -> Object {
    let bytes = std::fs::read(prebuilt(&format!("test/{name}.o"))).unwrap();
    load(&Spec::parse(name, &bytes).unwrap())
}

fn run(object: &Object, packet: &[u8], ingress_ifindex: u32) -> TestOutcome {
    let input = Input { packet: packet.to_vec(), ingress_ifindex, ..Input::default() };
    let program = &object.programs()[0];
    program.run(&TestRun { input, ..TestRun::default() }).unwrap_or_else(|error| panic!("{error}"))
}

fn flow(to: &str, port: u16) -> Flow {
    let source =
        Side::new("02:78:77:00:01:02", if to.contains(':') { "fd00::9" } else { "10.0.1.2" }, 9);
    Flow::new(source.unwrap(), Side::new("02:78:77:00:01:01", to, port).unwrap())
}

fn udp(to: &str, port: u16) -> Vec<u8> {
    flow(to, port).udp(b"payload of a datagram").unwrap()
}

fn tcp(to: &str, port: u16) -> Vec<u8> {
    flow(to, port).tcp(Default::default(), 1, b"").unwrap()
}

#[test]
fn the_talks_drop() {
    let object = load_old("talk_drop");
    let short = |length: usize| udp("10.1.0.2", 1234)[..length].to_vec();
    for (name, packet, verdict) in [
        ("its flow", udp("10.1.0.2", 1234), Verdict::Drop),
        ("other port", udp("10.1.0.2", 1235), Verdict::Pass),
        ("port with its bytes swapped", udp("10.1.0.2", 1234u16.swap_bytes()), Verdict::Pass),
        ("other address", udp("10.1.0.3", 1234), Verdict::Pass),
        ("other protocol", tcp("10.1.0.2", 1234), Verdict::Pass),
        ("IPv6", udp("fd00::2", 1234), Verdict::Pass),
        ("short of a UDP header", short(41), Verdict::Drop),
        ("short of an IP header", short(33), Verdict::Drop),
        ("just its headers", short(42), Verdict::Drop),
    ] {
        let outcome = run(&object, &packet, 0);
        assert_eq!((outcome.verdict(), &outcome.packet), (verdict, &packet), "{name}");
    }
}

#[test]
fn inner_maps_of_iproute2_are_found_by_id() {
    let object = load_old("old_inner");
    assert_eq!(run(&object, &udp("10.1.0.2", 1), 0).verdict(), Verdict::Drop);
}

#[test]
fn the_talks_forward() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    let (inside, outside) = (net.b.ifindex("eth0").unwrap(), net.b.ifindex("eth1").unwrap());
    let route = NewRoute::new("10.1.1.0".parse().unwrap(), 24, outside);
    let via = net.c.ipv4("eth0").unwrap();
    net.b.netlink().unwrap().add_route(route.via(via.into())).unwrap();
    let object = load_old("talk_forward");
    let at_b = |packet: &[u8]| net.b.run(|| run(&object, packet, inside.0)).unwrap();

    let sent = udp("10.1.0.2", 1234);
    let outcome = at_b(&sent);
    assert_eq!(outcome.verdict(), Verdict::Redirect);
    let mut expected = flow("10.1.1.2", 1234).ttl(63);
    expected.source.mac = net.b.mac("eth1").unwrap();
    expected.destination.mac = net.c.mac("eth0").unwrap();
    assert_eq!(outcome.packet, expected.udp(b"payload of a datagram").unwrap());
    assert_eq!(check(&outcome.packet), Ok(()));

    for (name, packet) in [
        ("other port", udp("10.1.0.2", 9)),
        ("other address", udp("10.1.1.2", 1234)),
        ("other protocol", tcp("10.1.0.2", 1234)),
        ("last hop", flow("10.1.0.2", 1234).ttl(1).udp(b"").unwrap()),
        ("short", sent[..41].to_vec()),
    ] {
        let outcome = at_b(&packet);
        assert_eq!((outcome.verdict(), outcome.packet), (Verdict::Pass, packet), "{name}");
    }
    let elsewhere = run(&object, &sent, 0);
    assert_eq!(elsewhere.verdict(), Verdict::Pass, "no route");
}

#[test]
fn the_papers_counter() {
    let object = load_old("paper_count");
    let swapped = |packet: &[u8]| [&packet[6..12], &packet[..6], &packet[12..]].concat();
    let mut expected = [0u64; 256];
    let arp = [&[0xff; 12][..], &[0x08, 0x06], &[0; 46]].concat();
    for (name, packet, protocol) in [
        ("UDP", udp("10.0.0.1", 9), 17),
        ("UDP over IPv6", udp("fd00::1", 9), 17),
        ("UDP with a tag", flow("10.0.0.1", 9).vlan(7).udp(b"x").unwrap(), 17),
        ("TCP", tcp("10.0.0.1", 9), 6),
        ("TCP over IPv6", tcp("fd00::1", 9), 6),
        ("ping", flow("10.0.0.1", 0).ping(1, 1, b"").unwrap(), 1),
        ("short of an IP header", udp("10.0.0.1", 9)[..33].to_vec(), 0),
        ("ARP", arp, 0),
    ] {
        let outcome = run(&object, &packet, 0);
        let (verdict, left) = match protocol {
            17 => (Verdict::Tx, swapped(&packet)),
            _ => (Verdict::Drop, packet),
        };
        assert_eq!((outcome.verdict(), outcome.packet), (verdict, left), "{name}");
        expected[protocol] += 1;
    }
    let map = object.map("rxcnt").unwrap();
    let count = |key: u32| map.lookup_per_cpu(&key.to_ne_bytes()).unwrap().unwrap().sums()[0];
    assert_eq!((0..256).map(count).collect::<Vec<_>>(), expected);
}

#[test]
fn old_map_definitions_hold_what_is_put_in() {
    let object = load_old("old_maps");
    let packet = udp("10.0.0.1", 9);
    assert_eq!(run(&object, &packet, 0).verdict(), Verdict::Drop, "`pinned` has index 1");
    let flows = object.map("flows").unwrap();
    flows.update(&[0; 8], &[1; 8], Expect::Absent).unwrap();
    assert_eq!(flows.lookup(&[0; 8]).unwrap().unwrap(), [1; 8]);
    assert_eq!(object.map("tables").unwrap().max_entries(), 8);
    assert_eq!(object.map("pinned").unwrap().info().value_size, 16);
}
