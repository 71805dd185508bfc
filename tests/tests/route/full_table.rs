//! A full table: 1,000,000 IPv4 and 220,000 IPv6 routes that BIRD learns from a peer.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use lab::{Capture, until};
use xway_tests::random::Random;
use xway_tests::routing::{Bird, Line, Routing, frame, number, passed};
use xway_tests::stage::PATIENCE;

const IPV4: u32 = 1_000_000;
const IPV6: u32 = 220_000;

fn network4(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x2000_0000 + (number << 8))
}

fn network6(number: u32) -> Ipv6Addr {
    Ipv6Addr::from(0x2001 << 112 | u128::from(number) << 80)
}

/// Takes a minute or more, and some 2 GB of memory: not one of the tests of `make test`.
#[test]
#[ignore = "takes minutes: cargo test --test route -- full_table --ignored"]
fn all_routes_of_a_full_table_are_forwarded() {
    let line = Line::build(&[Routing::Ours, Routing::Linux]);
    let [ours, peer] = [&line.routers[0], &line.routers[1]];
    ours.ip("address add fd00:0:0:1::1/64 dev right nodad");
    peer.ip("address add fd00:0:0:1::2/64 dev left nodad");
    peer.ip("route add 32.0.0.0/3 via 10.2.0.2");
    let learns = "router id 10.9.9.1; protocol device {}
        protocol kernel { ipv4 { export where source = RTS_BGP; }; }
        protocol kernel { ipv6 { export where source = RTS_BGP; }; }
        protocol bgp p { local as 64501; neighbor 10.0.1.2 as 64502; connect delay time 1;
          ipv4 { import all; export none; }; ipv6 { import all; export none; }; }";
    let announces = "router id 10.9.9.2; protocol device {}
        protocol static { ipv4;\ninclude \"four\";\n}
        protocol static { ipv6;\ninclude \"six\";\n}
        protocol bgp p { local as 64502; neighbor 10.0.1.1 as 64501; connect delay time 1;
          ipv4 { import none; export all; next hop self; };
          ipv6 { import none; export all; next hop address fd00:0:0:1::2; }; }";
    let four: String =
        (0..IPV4).map(|n| format!("route {}/24 blackhole;\n", network4(n))).collect();
    let six: String = (0..IPV6).map(|n| format!("route {}/48 blackhole;\n", network6(n))).collect();
    let begin = Instant::now();
    let _learns = Bird::start(&ours.host, learns, &[]);
    let announces = Bird::start(&peer.host, announces, &[("four", &four), ("six", &six)]);
    let count = |words: &str| ours.ip(words).lines().count();
    let counts = || (count("route show proto bird"), count("-6 route show proto bird"));
    until("all routes", Duration::from_secs(300), || {
        std::thread::sleep(Duration::from_secs(1));
        Ok((counts() == (IPV4 as usize, IPV6 as usize)).then_some(()))
    })
    .unwrap_or_else(|error| panic!("{error}: {:?}", counts()));
    println!("{IPV4} and {IPV6} routes in {:.1} s", begin.elapsed().as_secs_f64());
    until("trust", Duration::from_secs(60), || Ok(ours.trusts().then_some(()))).unwrap();

    let (wire, sink) =
        (Capture::open(&line.src, "eth0").unwrap(), Capture::open(&line.dst, "eth0").unwrap());
    let gateway = ours.host.mac("left").unwrap();
    let (mut random, before) = (Random::new(7), passed(ours, "forwarded"));
    for place in 0..2000 {
        let to = Ipv4Addr::from(u32::from(network4(random.below(IPV4 as usize) as u32)) + 1);
        wire.send(&frame(&line.src, gateway, to, 0, place)).unwrap();
        sink.next(PATIENCE, |frame| number(frame) == Some(place)).unwrap();
    }
    println!("{} of 2000 in XDP", passed(ours, "forwarded") - before);
    assert!(passed(ours, "forwarded") - before >= 1900);
    let begin = Instant::now();
    announces.disable("static1");
    until("an end of all", Duration::from_secs(300), || {
        std::thread::sleep(Duration::from_secs(1));
        Ok((count("route show proto bird") == 0).then_some(()))
    })
    .unwrap();
    println!("withdrawn in {:.1} s", begin.elapsed().as_secs_f64());
    let before = passed(ours, "not-forwarded");
    wire.send(&frame(&line.src, gateway, Ipv4Addr::new(32, 0, 0, 1), 0, 9999)).unwrap();
    until("no route", PATIENCE, || Ok((passed(ours, "not-forwarded") > before).then_some(())))
        .unwrap();
}
