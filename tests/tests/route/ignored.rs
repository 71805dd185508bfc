//! What the kernel's lookup ignores is left to the stack: own addresses as sources, MTUs of routes,
//! IPv6 rules that suppress routes; and how programs are informed of it.

use std::net::Ipv4Addr;

use control::Control;
use control::route_memory::Follower;
use functions::route::{CONTROL, Config, IcmpErrors, Ignored, OWN, abi, set_own};
use kernel::Map;
use lab::frame::Flow;
use lab::{Capture, LinkOptions, Router, until};
use spec::{Map as _, Verdict};
use xway_tests::bpf::router::{A, B0, Forward, Port, Routed, from_a, side};
use xway_tests::stage::PATIENCE;
use xway_tests::stories;
use xway_tests::xway::Xway;

stories! {
    packets_from_own_addresses_are_the_stacks
    packets_larger_than_the_mtu_of_a_route_are_the_stacks
    ipv6_is_the_stacks_where_a_rule_is_ignored
}

fn stays<R: Routed>(router: &mut Forward<R>, name: &str, packet: &[u8], reason: &str) {
    let judgement = router.judge(Port::Eth0, packet);
    assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Pass, reason), "{name}");
    assert_eq!(judgement.packet, packet, "{name}: unchanged");
}

fn is_routed<R: Routed>(router: &mut Forward<R>, packet: &[u8]) -> bool {
    router.judge(Port::Eth0, packet).reason == "forwarded"
}

fn packets_from_own_addresses_are_the_stacks<R: Routed>() {
    let mut router = Forward::<R>::new(&[]);
    let from =
        |source: &str| Flow::new(side(A, source, 4000), side(B0, "10.0.2.2", 7)).udp(b"x").unwrap();
    let own = ["10.0.1.1", "10.0.2.1", "10.0.2.255"];
    assert!(is_routed(&mut router, &from(own[0])), "it is not known yet");
    set_own(router.map(OWN), &own.map(|ip| ip.parse().unwrap())).unwrap();
    for source in own {
        stays(&mut router, source, &from(source), "not-routable");
    }
    for source in ["10.0.1.2", "10.0.2.3", "1.1.0.10", "192.0.2.1"] {
        assert!(is_routed(&mut router, &from(source)), "{source}");
    }
    // To them, they are nothing special.
    stays(&mut router, "to it", &from_a("10.0.1.1", 7).udp(b"x").unwrap(), "not-forwarded");
    set_own(router.map(OWN), &[]).unwrap();
    assert!(is_routed(&mut router, &from(own[0])), "it is not own any more");
}

/// Also those longer than the interface's MTU, because the route's may be larger.
fn packets_larger_than_the_mtu_of_a_route_are_the_stacks<R: Routed>() {
    for (to, other) in [("10.0.2.2", "fd00:0:0:2::2"), ("fd00:0:0:2::2", "10.0.2.2")] {
        let config = Config { icmp_errors: IcmpErrors::UNLIMITED, ..Config::default() };
        let mut router = Forward::<R>::configured(&config, &[]);
        let of_length = |to: &str, length: usize| from_a(to, 7).udp_of_length(14 + length).unwrap();
        let (mut mtu4, mut mtu6) = (Some(1400), None);
        if to.contains(':') {
            (mtu4, mtu6) = (mtu6, mtu4);
        }
        let ignored = Ignored { route_mtu4: mtu4, route_mtu6: mtu6, leaves6: false };
        ignored.write(router.map(CONTROL)).unwrap();
        assert!(is_routed(&mut router, &of_length(to, 1400)), "{to}");
        stays(&mut router, to, &of_length(to, 1401), "too-big");
        stays(&mut router, to, &of_length(to, 1501), "too-big");
        assert!(is_routed(&mut router, &of_length(other, 1500)), "{other}");
        let judgement = router.judge(Port::Eth0, &of_length(other, 1501));
        assert_eq!(judgement.reason, "sent-too-big", "{other}");
    }
}

fn ipv6_is_the_stacks_where_a_rule_is_ignored<R: Routed>() {
    let mut router = Forward::<R>::new(&[]);
    let ignored = Ignored { leaves6: true, ..Ignored::default() };
    ignored.write(router.map(CONTROL)).unwrap();
    let ipv6 = from_a("fd00:0:0:2::2", 7);
    stays(&mut router, "IPv6", &ipv6.udp(b"x").unwrap(), "not-forwarded");
    stays(&mut router, "expired", &ipv6.ttl(1).udp(b"x").unwrap(), "not-forwarded");
    assert!(is_routed(&mut router, &from_a("10.0.2.2", 7).udp(b"x").unwrap()));
}

/// `xway route` on the middle host.
struct Net {
    net: Router,
    xway: Xway,
}

impl Net {
    fn start(&self) {
        self.xway.run_in(&self.net.b, &["route", "start", "eth0", "eth1"]).ended(0);
    }

    fn ip(&self, words: &str) {
        let status = self.net.b.command("ip").unwrap().args(words.split(' ')).status().unwrap();
        assert!(status.success(), "ip {words}");
    }

    fn map(&self, name: &str) -> Map {
        let mut folders = vec![self.xway.state().join("bpf")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false if path.ends_with(name) => {
                        return Map::from_pin_read_only(&path).unwrap();
                    }
                    false => {}
                }
            }
        }
        panic!("no map {name}")
    }

    fn state(&self) -> abi::Control {
        let bytes = self.map(CONTROL).lookup(&[0; 4]).unwrap().unwrap();
        abi::Control::from_bytes(bytes.first_chunk().unwrap())
    }

    fn has(&self, address: &str) -> bool {
        let address: Ipv4Addr = address.parse().unwrap();
        self.map(OWN).array().unwrap().iter().any(|one| one[..] == address.octets())
    }
}

#[test]
fn programs_are_informed_at_the_start_and_by_the_daemon() {
    let net = Net { net: Router::build(&LinkOptions::default()).unwrap(), xway: Xway::new() };
    net.start();
    assert!(["10.0.1.1", "10.0.2.1", "10.0.2.255", "10.0.1.0"].iter().all(|one| net.has(one)));
    assert!(!net.has("10.0.1.2"));
    assert_eq!(net.state(), abi::Control::default());

    net.ip("route add 10.7.0.0/16 via 10.0.2.2 mtu 1400");
    net.ip("route add 10.8.0.0/16 via 10.0.2.2 mtu lock 1000");
    net.ip("addr add 10.0.7.1/24 dev eth0");
    net.start();
    assert_eq!(net.state(), abi::Control { route_mtu4: 1400, ..abi::Control::default() });
    assert!(net.has("10.0.7.1"), "a second start reads again");

    let control = Control::new(net.xway.state());
    let mut follower = net.net.b.run(|| Follower::new(&control).unwrap()).unwrap();
    let mut until_told = |what: &str, is: &dyn Fn(abi::Control) -> bool| {
        until(what, PATIENCE, || {
            net.net.b.run(|| follower.step().unwrap())?;
            Ok(is(net.state()).then_some(()))
        })
        .unwrap_or_else(|error| panic!("{error}: {:?}", net.state()));
    };
    until_told("the first step", &|now| now.valid_until > 0 && now.route_mtu4 == 1400);
    net.ip("route add 10.9.0.0/16 via 10.0.2.2 mtu 1300");
    until_told("a smaller MTU", &|now| now.route_mtu4 == 1300 && now.route_mtu6 == 0);
    net.ip("-6 route add fd09::/16 via fd00:0:0:2::2 mtu 1290");
    until_told("one of IPv6", &|now| now.route_mtu6 == 1290 && now.leaves6 == 0);
    net.ip("-6 rule add lookup main suppress_prefixlength 0");
    until_told("a rule that is ignored", &|now| now.leaves6 == 1);
    net.ip("addr del 10.0.7.1/24 dev eth0");
    until_told("an address that is gone", &|_| !net.has("10.0.7.1"));
    net.ip("addr add 10.0.8.1/32 dev eth1");
    until_told("a new address", &|_| net.has("10.0.8.1"));
}

/// As `wg-quick` configures it: with the default route of `main`, packets would leave beside the
/// tunnel.
#[test]
fn a_rule_that_suppresses_the_default_route_is_followed() {
    let net = Net { net: Router::build(&LinkOptions::default()).unwrap(), xway: Xway::new() };
    net.ip("-6 route add default via fd00:0:0:2::2");
    net.ip("-6 route add unreachable default table 100");
    net.ip("-6 rule add not fwmark 7 lookup 100 pref 101");
    net.ip("-6 rule add lookup main suppress_prefixlength 0 pref 100");
    let answer = net.xway.run_in(&net.net.b, &["route", "start", "eth0", "eth1"]);
    assert!(answer.stderr.contains("rule 100 (IPv6) with `suppress_prefixlength`"), "{answer:?}");
    let (wire, sink) = (Capture::open(&net.net.a, "eth0"), Capture::open(&net.net.c, "eth0"));
    let (wire, sink) = (wire.unwrap(), sink.unwrap());
    wire.send(&from_a("2001:db8::1", 7).udp(b"suppressed").unwrap()).unwrap();
    wire.send(&from_a("fd00:0:0:2::2", 7).udp(b"sent last").unwrap()).unwrap();
    let is_one = |seen: &[u8]| seen.ends_with(b"suppressed") || seen.ends_with(b"sent last");
    let first = sink.next(PATIENCE, is_one).unwrap();
    assert!(first.ends_with(b"sent last"), "it left by the default route of `main`");
}
