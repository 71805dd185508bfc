//! Hostile answers to the generator's TCP connections: what changes a flow of ours would change a
//! socket of Linux in the same state; kernel and engine agree on every answer.
//!
//! `XWAY_HOSTILE_FRAMES=N XWAY_HOSTILE_SEED=S` set the number of answers and the seed.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use kernel::KernelRuntime;
use packet::Mac;
use sys::net::Ifindex;
use sys::thread::monotonic_ns;
use traffic::tcp::{Config, Path, Plan, plan};
use vm::VmRuntime;
use xway_tests::bpf::{Arm, Judge};
use xway_tests::hostile::Settings;
use xway_tests::hostile_tcp::answer::Carrier;
use xway_tests::hostile_tcp::linux::Linux;
use xway_tests::hostile_tcp::ours::Ours;
use xway_tests::hostile_tcp::{Answer, Case, Effect, Side};
use xway_tests::random::Random;
use xway_tests::stories;

type Known = (&'static str, fn(&Case) -> bool, &'static str);

/// What is accepted although Linux does not: name, which cases, and why.
const KNOWN: [Known; 1] = [(
    "a partial checksum",
    |case| case.answer.carrier == Carrier::PartialChecksum,
    "a peer behind a veth leaves TCP checksums to the device; the program cannot tell such a frame \
     from one of a wire, which Linux can",
)];

/// How ours did more than Linux.
fn excess(ours: &Effect, linux: &Effect) -> Option<&'static str> {
    if ours.is_reset && !linux.is_reset {
        return Some("is reset by it");
    }
    if ours.is_established && !linux.is_established {
        return Some("is established by it");
    }
    // What has an effect may be acknowledged later.
    let has_effect = linux.received > 0 || linux.acknowledged > 0;
    let is_quiet = !linux.answers && !linux.resets && !has_effect;
    if linux.is_reset {
        return None;
    }
    if ours.acknowledged > linux.acknowledged {
        return Some("takes it as an acknowledgement");
    }
    if ours.received > linux.received {
        return Some("takes its data");
    }
    if ours.resets && !linux.resets {
        return Some("answers with RST");
    }
    (ours.answers && is_quiet).then_some("answers")
}

#[test]
fn what_changes_a_flow_would_change_a_socket() {
    let Settings { frames: total, seed } = Settings::from_environment(500, 0x5eed_0017);
    let mut linux = Linux::new();
    let mut kernel = [false, true].map(|v6| Ours::<KernelRuntime>::new(v6, monotonic_ns));
    // The time at which its clock begins.
    let mut engine = [false, true].map(|v6| Ours::<VmRuntime>::new(v6, || 1_000_000_000));
    let mut random = Random::new(seed);
    let (mut findings, mut known, mut taken) = (Vec::new(), BTreeMap::new(), 0);
    let mut case = Case::new(&mut random);
    for number in 0..total {
        let family = usize::from(case.is_ipv6);
        let ours = kernel[family].take(&case);
        assert_eq!(ours, engine[family].take(&case), "seed {seed}: {case:?}");
        taken += u64::from(ours.reason == "taken");
        let found = excess(&ours.effect, &linux.take(&case, false));
        // What an answer before this one changed in a socket is not all visible.
        let other = found.map(|_| linux.take(&case, true)).unwrap_or_default();
        let found = found.and_then(|_| excess(&ours.effect, &other));
        let this = case.clone();
        case = if number % 8 == 7 { Case::new(&mut random) } else { case.again(&mut random) };
        let (Some(excess), case) = (found, this) else { continue };
        match KNOWN.iter().find(|(_, applies, _)| applies(&case)) {
            Some((name, ..)) => *known.entry(*name).or_insert(0) += 1,
            None => findings.push(format!("{excess}: {case:?}\n{:?}\n{other:?}", ours.effect)),
        }
    }
    assert!(
        findings.is_empty(),
        "seed {seed}: {}\n{}",
        findings.len(),
        findings[..findings.len().min(10)].join("\n")
    );
    assert_eq!(known.len(), KNOWN.len(), "met of what is known: {known:?}");
    assert!(taken > total / 10, "{taken} of {total}: most answers are not so hostile");
    println!("{total} answers from seed {seed}: {taken} taken, known differences {known:?}");
}

stories! { an_address_far_from_ours_is_of_no_flow }

/// The number of a flow is computed from the distance between addresses.
fn an_address_far_from_ours_is_of_no_flow<R: Arm>() {
    const PORTS: u32 = 65_535;
    let config = Config {
        ports: 1..=65_535,
        sources: 2,
        flows: 70_000,
        ..Config::new("eth0", "10.200.0.9:5001".parse().unwrap())
    };
    let macs = [Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])];
    let source = "10.0.0.1".parse().unwrap();
    let path = Path { ifindex: Ifindex(1), mtu: 1500, mac: macs[0], next_hop: macs[1], source };
    let plan = Plan::new(&Config { duration: Some(plan_time()), ..config }, &path, 1, 1).unwrap();
    let mut judge = Judge::<R>::load_only(&plan.object(0).unwrap(), plan::RECEIVE);
    let mut reason = |distance: u32| {
        let ip = (u32::from_be_bytes([10, 0, 0, 1]) + distance).to_be_bytes();
        let side = Side {
            macs,
            peer: "10.200.0.9:5001".parse().unwrap(),
            own: SocketAddr::new(ip.into(), 1),
            una: 0,
            next: 0,
            stamp: 0,
            echo: 0,
        };
        judge.judge(&Answer::default().frame(&side), 1).reason
    };
    assert_eq!(reason(1), "unacceptable", "a flow's that was not opened");
    // The first multiple of the ports beyond 32 bits.
    let far = u32::MAX / PORTS + 1;
    for distance in [2, far, far + 1] {
        assert_eq!(reason(distance), "not-ours", "{distance} addresses from the first");
    }
}

fn plan_time() -> std::time::Duration {
    std::time::Duration::from_secs(1)
}
