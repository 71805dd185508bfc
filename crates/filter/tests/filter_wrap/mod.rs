//! No way of wrapping a packet lets a source through that is to be dropped: by a rule, by a set, by
//! a ban. The same wrapping around another source passes, so that it is the source that does it.

pub mod hiding;

use std::net::{Ipv4Addr, Ipv6Addr};

use filter::maps::BANS;
use filter::model::headers::Layer;
use filter::runtime::bans::Bans;
use filter::{
    Compiled, Environment, Field, File, Frame, Needs, Policy, Reason, Ruleset, compile, read,
};
use spec::{Runtime, Verdict};

use crate::filter_arm::{Arm, Judgement, LOOPBACK};
use crate::nasty::{Maker, Random};

/// Last byte of the source that is to be dropped, and of one that is not.
const BAD: u8 = 66;
const GOOD: u8 = 5;
const V4: &str = "10.0.0.66";
const V6: &str = "2001:db8::42";

/// How a source is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Rule,
    Set,
    Ban,
    /// By a rule that is alone: no rule asks for ports, and later fragments are judged.
    Alone,
}

/// With a rule that asks for ports, so that later fragments follow the first ones.
const WAYS: [Way; 3] = [Way::Rule, Way::Set, Way::Ban];

impl Way {
    fn rules(self) -> Ruleset {
        let text = match self {
            Self::Rule => "rules = ['count udp dport 1', 'drop from {10.0.0.66, 2001:db8::42}']",
            Self::Set => {
                "rules = ['count udp dport 1', 'drop from @bad']\n[sets]\n\
                 bad = ['10.0.0.64/29', '192.0.2.0/24', '2001:db8::40-2001:db8::4f', 'fd00::/8']"
            }
            Self::Ban => "rules = ['count udp dport 1']",
            Self::Alone => "rules = ['drop from {10.0.0.66, 2001:db8::42}']",
        };
        let file = File::parse("rules", text, ".".as_ref(), |_| Err(String::new()));
        file.unwrap_or_else(|errors| panic!("{errors:?}")).ruleset
    }

    fn arm<R: Runtime>(self, start: Start<R>, program: &'static str, rules: &Ruleset) -> Arm<R> {
        let arm = Arm::made(start(program), &self.compiled(rules), program);
        if self == Self::Ban {
            let bans = Bans::new(arm.map(BANS));
            for source in [V4, V6] {
                let added = bans.add(source.parse().unwrap(), None, 0);
                added.unwrap_or_else(|error| panic!("{error}"));
            }
        }
        arm
    }

    fn compiled(self, rules: &Ruleset) -> Compiled {
        let mut environment = Environment::default();
        environment.sizes.manual_bans = self == Self::Ban;
        compile(rules, &environment).unwrap()
    }
}

/// Makes a runtime that loads one program.
pub type Start<R> = fn(&'static str) -> R;

/// Random stacks, honest but for their ends: cut off or filled up.
pub fn stacks<R: Runtime>(start: Start<R>, program: &'static str, rounds: u64) {
    for way in WAYS {
        // Apart, so that no fragment follows one of another source.
        let [mut first, mut second] = [(); 2].map(|()| way.arm(start, program, &way.rules()));
        let mut passed = 0;
        for seed in 0..rounds {
            let bad = stack(BAD, seed);
            let judged = first.judge(&bad);
            assert_eq!(judged.verdict, Verdict::Drop, "{way:?}, {seed}: {judged:?} {bad:02x?}");
            let good = stack(GOOD, seed);
            let judged = second.judge(&good);
            let may = judged.verdict == Verdict::Pass || is_oddity(&judged);
            assert!(may, "{way:?}, {seed}: {judged:?} {good:02x?}");
            passed += u64::from(judged.verdict == Verdict::Pass);
        }
        assert!(passed > rounds / 3, "{way:?}: only {passed} of {rounds} passed");
    }
}

/// A frame that differs between sources only in its source.
fn stack(source: u8, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut frame = Maker { source, lies: 0, fragments: seed.is_multiple_of(2) }.frame(&mut random);
    match random.below(5) {
        0 => frame.truncate(frame.len() - random.below(frame.len() - 34)),
        1 => frame.resize(frame.len() + 1 + random.below(64), 0),
        _ => (),
    }
    frame
}

/// If the policies of all anomalies are to pass, a policy passes the source, by its name.
pub fn named<R: Runtime>(start: Start<R>, program: &'static str, rounds: u64) {
    for way in WAYS {
        let mut rules = way.rules();
        for oddity in Reason::ALL {
            rules.policies.set(oddity, Policy::Pass);
        }
        let mut arm = way.arm(start, program, &rules);
        let (mut dropped, mut passed) = (0, 0);
        for seed in 0..rounds {
            let maker = Maker { source: BAD, lies: 9, fragments: true };
            let frame = maker.broken(&mut Random::new(seed));
            let judged = arm.judge(&frame);
            match judged.verdict {
                Verdict::Drop => dropped += 1,
                Verdict::Pass if is_oddity(&judged) => passed += 1,
                // A byte before it is changed, so that it is not a packet any more.
                _ => assert!(!shows_bad(&frame), "{way:?}, {seed}: {judged:?} {frame:02x?}"),
            }
        }
        assert!(dropped > rounds / 30 && passed > rounds / 3, "{dropped}, {passed} of {rounds}");
    }
}

/// Whether some packet in there is from the source, or cannot be reached.
fn shows_bad(bytes: &[u8]) -> bool {
    let reading = read(&Frame { bytes, ifindex: LOOPBACK, queue: 0 }, Needs::ALL);
    let bad = [
        V4.parse::<Ipv4Addr>().unwrap().to_bits().into(),
        V6.parse::<Ipv6Addr>().unwrap().to_bits(),
    ];
    let is_bad = |layer: &Layer| {
        let source = [Field::Source4, Field::Source6].map(|field| layer.fields.field(field));
        source.into_iter().flatten().any(|source| bad.contains(&source))
    };
    reading.beyond.is_some() || reading.layers.iter().any(is_bad)
}

fn is_oddity(judged: &Judgement) -> bool {
    let oddities = Reason::ALL.into_iter().take(Reason::Rule as usize);
    oddities.into_iter().any(|oddity| oddity.label() == judged.reason)
}
