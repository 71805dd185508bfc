//! The filter's program beside its model, for packets of any kind: the same fields, verdict and
//! reason. On whatever runtime; the caller sets the number of packets.

use filter::abi::{Known, Need};
use filter::{Field, File, Frame, Needs, Policies, Policy, Reason, read};
use spec::{Runtime, Verdict};

use crate::filter_arm::{Arm, LOOPBACK, Seen, assert_same, fields_spec, random_ruleset};
use crate::nasty::{Maker, Random};

/// Everything is judged, so that every layer is seen.
fn judged() -> Policies {
    let mut policies = Policies::default();
    for oddity in Reason::ALL {
        policies.set(oddity, Policy::Judge);
    }
    policies
}

/// The last layer's fields.
pub fn fields<R: Runtime + Default>(rounds: usize) {
    const SEED: u64 = 0xf1e1d5;
    let mut random = Random::new(SEED);
    for needs in [Needs::ALL, Needs::NONE.with(Need::Network), Needs::NONE.with(Need::Link)] {
        let mut arm = Arm::<R>::load(&fields_spec(needs, &judged()));
        for round in 0..rounds {
            let lies = random.pick(&[0, 8, 30]);
            let maker = Maker { source: 1, lies, fragments: true };
            let bytes = maker.broken(&mut random);
            arm.judge(&bytes);
            let reading = read(&Frame { bytes: &bytes, ifindex: LOOPBACK, queue: 0 }, needs);
            let packet = &reading.layers.last().unwrap().fields;
            let seen = Seen::read(arm.map("seen"));
            for field in Field::ALL {
                let expected = packet.field(field);
                let is = seen.field(field, needs);
                assert_eq!(is, expected, "{field:?}, round {round} of {SEED:#x}: {bytes:02x?}");
            }
            let inner = seen.known() & Known::Inside as u32 != 0;
            assert_eq!(inner, reading.layers.len() > 1);
        }
    }
}

/// Random rules with random policies.
pub fn verdicts<R: Runtime + Default>(rulesets: u64, frames: usize) {
    for seed in 1..=rulesets {
        let mut random = Random::new(seed);
        let rules = random_ruleset(&mut random);
        let lies = random.pick(&[0, 6, 20]);
        let maker = Maker { source: random.below(4) as u8, lies, fragments: true };
        let frames: Vec<_> = (0..frames).map(|_| maker.broken(&mut random)).collect();
        assert_same::<R>(&rules, &frames, seed);
    }
}

/// One first fragment allows at most the bytes of the longest packet.
pub fn bytes_that_follow<R: Runtime + Default>() {
    const LATER: usize = 65535 / LENGTH;
    const LENGTH: usize = 1285;
    let text = "rules = ['count udp dport 53']";
    let file = File::parse("rules", text, ".".as_ref(), |_| Err(String::new())).unwrap();
    let mut arm = Arm::<R>::of(&file.ruleset);
    let fragment = |flags: [u8; 2]| {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        frame.extend((LENGTH as u16 - 14).to_be_bytes());
        frame.extend([0, 7, flags[0], flags[1], 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x30, 0x39, 0, 53, 0xff, 0xe3, 0, 0]);
        frame.resize(LENGTH, 0);
        frame
    };
    assert_eq!(arm.judge(&fragment([0x20, 0])).verdict, Verdict::Pass);
    for number in 0..LATER {
        assert_eq!(arm.judge(&fragment([0x20, 9])).verdict, Verdict::Pass, "{number} of {LATER}");
    }
    let more = arm.judge(&fragment([0x20, 9]));
    assert_eq!((more.verdict, &*more.reason), (Verdict::Drop, "unknown-fragment"));
}

/// Compares packets that end at each of their bytes.
pub fn cuts<R: Runtime + Default>(rulesets: u64) {
    let mut random = Random::new(4);
    for seed in 0..rulesets {
        let rules = random_ruleset(&mut random);
        let whole = Maker { source: 1, lies: 0, fragments: true }.frame(&mut Random::new(seed));
        let frames: Vec<_> = (14..=whole.len()).map(|end| whole[..end].to_vec()).collect();
        assert_same::<R>(&rules, &frames, seed);
    }
}
