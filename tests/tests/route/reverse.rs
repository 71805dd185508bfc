//! The check of sources: the same packets pass as with the kernel's `rp_filter`, and it is
//! remembered.

use std::collections::BTreeSet;

use functions::PassOrDrop;
use functions::route::abi::{self, Processor};
use functions::route::{CONTROL, Config, PROCESSORS, ReversePath};
use kernel::KernelRuntime;
use lab::frame::Flow;
use lab::{Capture, LinkOptions, Router};
use spec::{Expect, Map as _, Verdict};
use xway_tests::bpf::packet::*;
use xway_tests::bpf::router::{A, B0, Forward, Port, Routed, side};
use xway_tests::stage::PATIENCE;
use xway_tests::stories;

stories! {
    sources_without_their_route_are_dropped
    nothing_is_answered_that_has_no_valid_source
    options_follow_their_policy
}

const C4: &str = "10.0.2.2";
const C6: &str = "fd00:0:0:2::2";
/// Sources at the port to `a`: its own network, that of `c`, the router itself, a broadcast
/// address, no route.
const SOURCES4: [&str; 6] =
    ["10.0.1.2", "10.0.1.77", "10.0.2.9", "10.0.1.1", "10.0.1.255", "192.0.2.9"];
const SOURCES6: [&str; 5] =
    ["fd00:0:0:1::2", "fd00:0:0:1::77", "fd00:0:0:2::9", "fd00:0:0:1::1", "2001:db8::9"];

fn with(reverse_path: ReversePath) -> Config {
    Config { reverse_path, ..Config::default() }
}

fn from(source: &str) -> Flow {
    let to = if source.contains(':') { C6 } else { C4 };
    Flow::new(side(A, source, 4000), side(B0, to, 7))
}

/// Which of the sources a router accepts.
fn accepted<R: Routed>(mode: ReversePath, sources: &[&'static str]) -> BTreeSet<&'static str> {
    let mut forward = Forward::<R>::with(&with(mode));
    let mut all = BTreeSet::new();
    for _ in 0..2 {
        all = sources
            .iter()
            .copied()
            .filter(|source| {
                let packet = from(source).udp(b"x").unwrap();
                let judgement = forward.judge(Port::Eth0, &packet);
                let is_forwarded = judgement.verdict == Verdict::Redirect;
                if !is_forwarded {
                    let found = (judgement.verdict, &*judgement.reason);
                    assert_eq!(found, (Verdict::Drop, "reverse-path"), "{source}");
                    assert_eq!(judgement.packet, packet, "{source}: unchanged");
                }
                is_forwarded
            })
            .collect();
    }
    all
}

fn sources_without_their_route_are_dropped<R: Routed>() {
    let strict = accepted::<R>(ReversePath::Strict, &SOURCES4);
    assert_eq!(strict, BTreeSet::from(["10.0.1.2", "10.0.1.77"]));
    let loose = accepted::<R>(ReversePath::Loose, &SOURCES4);
    assert_eq!(loose, BTreeSet::from(["10.0.1.2", "10.0.1.77", "10.0.2.9"]));
    let strict = accepted::<R>(ReversePath::Strict, &SOURCES6);
    assert_eq!(strict, BTreeSet::from(["fd00:0:0:1::2", "fd00:0:0:1::77"]));
    let loose = accepted::<R>(ReversePath::Loose, &SOURCES6);
    assert_eq!(loose, BTreeSet::from(["fd00:0:0:1::2", "fd00:0:0:1::77", "fd00:0:0:2::9"]));
}

fn nothing_is_answered_that_has_no_valid_source<R: Routed>() {
    let mut forward = Forward::<R>::with(&with(ReversePath::Strict));
    for source in ["10.0.2.9", "fd00:0:0:2::9"] {
        let judgement = forward.judge(Port::Eth0, &from(source).ttl(1).udp(b"x").unwrap());
        let found = (judgement.verdict, &*judgement.reason);
        assert_eq!(found, (Verdict::Drop, "reverse-path"), "{source}");
    }
    for source in ["10.0.1.2", "fd00:0:0:1::2"] {
        let judgement = forward.judge(Port::Eth0, &from(source).ttl(1).udp(b"x").unwrap());
        let found = (judgement.verdict, &*judgement.reason);
        assert_eq!(found, (Verdict::Redirect, "sent-time-exceeded"), "{source}");
    }
}

fn options_follow_their_policy<R: Routed>() {
    let frame = |ether_type, packet: &[u8]| {
        let mut frame = unpadded(&[], ether_type, packet);
        frame[..6].copy_from_slice(&B0.parse::<packet::Mac>().unwrap().0);
        frame
    };
    let packets = [
        frame(IPV4, &V4 { options: 4, ..V4::new(C4, UDP) }.wrap(&udp(7))),
        frame(IPV6, &v6(C6, DESTINATION, &extensions(1, UDP, &udp(7)))),
    ];
    for (options, verdict) in [(PassOrDrop::Pass, Verdict::Pass), (PassOrDrop::Drop, Verdict::Drop)]
    {
        let mut forward = Forward::<R>::with(&Config { options, ..Config::default() });
        for packet in &packets {
            let judgement = forward.judge(Port::Eth0, packet);
            assert_eq!((judgement.verdict, &*judgement.reason), (verdict, "options"));
        }
    }
}

/// What a router without any program of ours forwards with `rp_filter`.
fn forwarded_by_linux(rp_filter: &str) -> BTreeSet<&'static str> {
    let net = Router::build(&LinkOptions::default()).unwrap();
    for name in ["all", "eth0"] {
        net.b.set_sysctl(&format!("ipv4/conf/{name}/rp_filter"), rp_filter).unwrap();
    }
    let wire = Capture::open(&net.a, "eth0").unwrap();
    let out = Capture::open(&net.c, "eth0").unwrap();
    let mut arrived = BTreeSet::new();
    // The last one always arrives.
    for source in SOURCES4.into_iter().rev() {
        wire.send(&from(source).udp(source.as_bytes()).unwrap()).unwrap();
    }
    loop {
        let frame = out.next(PATIENCE, |frame| frame[12..14] == [8, 0] && frame[23] == 17).unwrap();
        let of = |source: &&str| frame.ends_with(source.as_bytes());
        if let Some(source) = SOURCES4.into_iter().find(of) {
            arrived.insert(source);
            if source == SOURCES4[0] {
                return arrived;
            }
        }
    }
}

#[test]
fn the_same_sources_pass_as_with_the_kernels_filter() {
    for (mode, rp_filter) in [(ReversePath::Strict, "1"), (ReversePath::Loose, "2")] {
        let ours = accepted::<KernelRuntime>(mode, &SOURCES4);
        assert_eq!(ours, forwarded_by_linux(rp_filter), "{mode}");
    }
}

#[test]
fn the_route_to_a_source_is_remembered_until_it_changes() {
    sys::cpu::set_affinity(&[0]).unwrap();
    let mut router = Forward::<KernelRuntime>::with(&with(ReversePath::Strict));
    let vouch = |router: &Forward<KernelRuntime>, generation| {
        let control = abi::Control { generation, valid_until: u64::MAX, ..abi::Control::default() };
        router.map(CONTROL).update(&[0; 4], &control.to_bytes(), Expect::Any).unwrap();
    };
    let count = |router: &Forward<KernelRuntime>| {
        let bytes = router.map(PROCESSORS).lookup(&[0; 4]).unwrap().unwrap();
        let own = Processor::from_bytes(bytes.first_chunk().unwrap());
        (own.hits, own.misses)
    };
    vouch(&router, 1);
    let packet = from("10.0.1.77").udp(b"x").unwrap();
    let reason = |router: &mut Forward<KernelRuntime>| router.judge(Port::Eth0, &packet).reason;
    assert_eq!(reason(&mut router), "forwarded");
    assert_eq!(count(&router), (0, 2), "the destination and the source");
    assert_eq!(reason(&mut router), "forwarded");
    assert_eq!(count(&router), (2, 2));
    router.site.ip("route add 10.0.1.77/32 via 10.0.2.2");
    vouch(&router, 2);
    for _ in 0..2 {
        assert_eq!(reason(&mut router), "reverse-path");
    }
    assert_eq!(count(&router), (4, 4));
}
