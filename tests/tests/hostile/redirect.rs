//! Hostile frames at the program that gives packets to AF_XDP sockets: kernel, engine and model
//! agree on every frame, which is never changed, and what stands before it is never of another
//! frame.
//!
//! There is no comparison with Linux: a socket of AF_XDP gets frames, not what they carry. Tags in
//! a frame are skipped by rules and remain in the frame that the socket gets.
//! `XWAY_HOSTILE_FRAMES=N XWAY_HOSTILE_SEED=S` set the number of frames and the seed.

use kernel::KernelRuntime;
use spec::{Outcome, Verdict};
use vm::VmRuntime;
use xsk::steer::redirect::{Form, Work, abi};
use xway_tests::hostile::{self, HOST, Settings};
use xway_tests::random::Random;
use xway_tests::steer::model;
use xway_tests::steer::redirect::{Redirect, rules};

const RULES: [&str; 6] = [
    "10.0.0.2 udp 53",
    "10.0.0.0/24 tcp 1..100 from 10.0.0.1",
    "fd00::2 udp 1234..4789 from fd00::1 4000",
    "fd00::/16 tcp 80",
    "any icmp",
    "ethertype 0x88cc",
];
/// `REDIRECT_METADATA_*`.
const TIME: u32 = 2;
const VLAN: u32 = 4;
const SOFTWARE: u32 = 8;
const INSIDE: u32 = 16;

/// What may stand before a frame: its time, and its outermost tag if it has one.
fn check(outcome: &Outcome, frame: &[u8]) {
    if outcome.verdict != Verdict::Redirect {
        assert!(outcome.metadata.is_empty(), "before what goes to the stack: {frame:02x?}");
        return;
    }
    let known = abi::Metadata::from_bytes(outcome.metadata.as_slice().try_into().unwrap());
    let half = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let is_tagged = frame.len() >= 18 && [0x8100, 0x88a8].contains(&half(12));
    let wanted = if is_tagged {
        (TIME | SOFTWARE | VLAN | INSIDE, half(14), half(12))
    } else {
        (TIME | SOFTWARE, 0, 0)
    };
    assert_eq!((known.valid, known.vlan_tci, known.vlan_proto), wanted, "{frame:02x?}");
    assert_eq!((known.hash, known.hash_type, known.zero), (0, 0, 0), "{frame:02x?}");
}

#[test]
fn frames_go_to_sockets_as_by_the_model() {
    let Settings { frames: total, seed } = Settings::from_environment(5000, 0x5eed_0031);
    let rules = rules(&RULES);
    let mut kernel = Redirect::<KernelRuntime>::load(Form::Plain, Work::Both);
    let mut engine = Redirect::<VmRuntime>::load(Form::Plain, Work::Both);
    kernel.write(0, &rules);
    engine.write(0, &rules);
    kernel.put(0);
    engine.put(0);
    let mut random = Random::new(seed);
    let mut taken = 0;
    for number in 0..total {
        let number = 1 + (number % 60_000) as u16;
        let frames = if random.below(8) == 0 {
            hostile::fragments(&mut random, &HOST, number)
        } else {
            vec![hostile::frame(&mut random, &HOST, number).bytes]
        };
        for frame in &frames {
            let expected = model::matches(frame, &rules);
            taken += u64::from(expected);
            for outcome in [kernel.run(frame), engine.run(frame)] {
                let is_taken = outcome.verdict == Verdict::Redirect;
                assert_eq!(is_taken, expected, "seed {seed}: {frame:02x?}");
                assert!(is_taken || outcome.verdict == Verdict::Pass, "seed {seed}: {frame:02x?}");
                check(&outcome, frame);
            }
        }
    }
    assert!(taken > total / 20, "{taken} of {total}: many frames match a rule");
    println!("{total} frames from seed {seed}: {taken} to the socket, by the model as well");
}
