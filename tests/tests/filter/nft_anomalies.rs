//! Malformed packets beside nft at a veth's ingress: random rules, live frames one by one, and the
//! rule that decides each in both. Where they differ, a row of a table has the reason; a difference
//! that no row explains fails, and so does a row that nothing meets.

use crate::filter_arm::{Arm, LOOPBACK};
use filter::abi::Reason;
use filter::import_export::nft;
use filter::model::Judgement;
use filter::{Environment, Field, Frame, Model, PROGRAM, Ruleset, compile};
use kernel::{KernelRuntime, LoadOptions};
use lab::{Capture, Host, LinkOptions, TwoHosts, until};
use xway_tests::expr::corpus;
use xway_tests::nft::chain::marked_script;
use xway_tests::nft::{counters, run};
use xway_tests::random::Random;
use xway_tests::stage::PATIENCE;

const SEED: u64 = 0x5eed_0008;
const CHAINS: usize = 16;
const FRAMES: usize = 70;
/// Differences that no row explains.
const SHOWN: usize = 6;

/// A frame that the two decide differently.
struct Case<'a> {
    frame: &'a [u8],
    filter: &'a Judgement,
    /// `None` for a frame that never came to nft.
    nft: Option<usize>,
}

/// Why they may differ, and what must hold of the frame.
struct Row {
    name: &'static str,
    holds: fn(&Case<'_>) -> bool,
}

impl Case<'_> {
    /// Whether it, or a packet inside of it, has this anomaly.
    fn is(&self, oddity: Reason) -> bool {
        self.filter.layers.iter().any(|one| one.layer.anomalies.contains(&oddity))
    }

    fn described(&self, script: &str) -> String {
        let Self { frame, filter, nft } = self;
        let (reason, rule, layers) = (filter.reason.label(), filter.rule, filter.layers.len());
        let odd: Vec<_> = filter.layers.iter().map(|one| &one.layer.anomalies).collect();
        format!(
            "nft: rule {nft:?}; filter: {reason}, rule {rule:?}, {layers} packets, {odd:?}\n\
             {frame:02x?}\n{script}"
        )
    }

    fn facts(&self, layer: usize, field: Field) -> Option<u128> {
        self.filter.layers[layer].layer.fields.field(field)
    }
}

/// The rows of `docs/filter.md`. Rules imported from nft judge all anomalies, so a policy is the
/// reason of none.
const ROWS: &[Row] = &[
    Row { name: "cut tag", holds: |case| case.nft.is_none() && is_cut_tag(case.frame) },
    Row { name: "second tag", holds: |case| case.facts(0, Field::InnerVlan).is_some() },
    Row {
        name: "authentication",
        holds: |case| case.facts(0, Field::Extensions).is_some_and(|bits| bits & 16 != 0),
    },
    Row { name: "inside", holds: |case| case.filter.layers.len() > 1 },
    Row { name: "later fragment", holds: |case| case.is(Reason::LaterFragment) },
    Row { name: "truncated", holds: |case| case.is(Reason::Truncated) },
    Row { name: "bad header", holds: |case| case.is(Reason::BadHeader) },
];

/// The outer tag, or the type after it with what follows, is not complete: the kernel drops the
/// frame before any hook.
fn is_cut_tag(frame: &[u8]) -> bool {
    matches!(frame.get(12..14), Some([0x81, 0] | [0x88, 0xa8])) && frame.len() < 20
}

#[test]
fn malformed_packets_beside_the_kernel() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let wire = Capture::open(&net.a, "eth0").unwrap();
    let mut random = Random::new(SEED);
    let mut nasty = crate::nasty::Random::new(SEED);
    let frames = corpus(SEED);
    let mut met = vec![0; ROWS.len()];
    let (mut chains, mut same, mut odd) = (0, 0, 0);
    let mut unexplained = Vec::new();
    while chains < CHAINS {
        let script = marked_script(&mut random);
        if run(&net.b, &["-f", "-"], &script).is_err() {
            // Of two matches, one may exclude the other.
            continue;
        }
        let listed = run(&net.b, &["-j", "list", "ruleset"], "").unwrap();
        let Ok(ruleset) = nft::import(&listed, None) else { continue };
        let mut filter = Filter::new(&ruleset);
        let mut before = counters(&net.b);
        for _ in 0..FRAMES {
            let frame = malformed(&mut random, &mut nasty, &frames);
            let judged = filter.judge(&frame);
            let nft = decided(&wire, &net.b, &frame, &mut before);
            odd += usize::from(judged.layers.iter().any(|one| !one.layer.anomalies.is_empty()));
            if nft.is_some() && nft == judged.rule && judged.reason == Reason::Rule {
                same += 1;
                continue;
            }
            let case = Case { frame: &frame, filter: &judged, nft };
            let row = ROWS.iter().position(|row| (row.holds)(&case));
            match row {
                Some(row) => met[row] += 1,
                None => unexplained.push(case.described(&script)),
            }
        }
        chains += 1;
    }
    let count = unexplained.len();
    unexplained.truncate(SHOWN);
    assert!(count == 0, "seed {SEED:#x}, {count} differences:\n{}", unexplained.join("\n"));
    let never: Vec<_> =
        ROWS.iter().zip(&met).filter(|(_, met)| **met == 0).map(|(row, _)| row.name).collect();
    assert!(never.is_empty(), "rows that nothing met: {never:?}");
    let all = CHAINS * FRAMES;
    assert!(same > all / 3 && odd > all / 5, "{same} of {all} the same, {odd} odd");
}

/// The program in the kernel and its model, which agree.
struct Filter<'a> {
    arm: Arm<KernelRuntime>,
    model: Model<'a>,
}

impl<'a> Filter<'a> {
    fn new(ruleset: &'a Ruleset) -> Self {
        let compiled = compile(ruleset, &Environment::default()).unwrap();
        let programs = Some(vec![PROGRAM.to_owned()]);
        let runtime = KernelRuntime::new(LoadOptions { programs, ..LoadOptions::default() });
        Self {
            arm: Arm::made(runtime, &compiled, PROGRAM),
            model: Model::new(ruleset, |_| Some(LOOPBACK)),
        }
    }

    fn judge(&mut self, bytes: &[u8]) -> Judgement {
        let judged = self.model.judge(&Frame { bytes, ifindex: LOOPBACK, queue: 0 }, 0);
        let seen = self.arm.judge(bytes);
        let is = (seen.verdict, &*seen.reason);
        assert_eq!(is, (judged.verdict, judged.reason.label()), "{bytes:02x?}");
        judged
    }
}

/// The rule by which nft decides about a frame. A frame sent after it shows that it has arrived, or
/// never will.
fn decided(wire: &Capture, host: &Host, frame: &[u8], before: &mut Vec<u64>) -> Option<usize> {
    const MARKS: usize = 1;
    let marker = [&[0xff; 6][..], &[2, 0x99, 0, 0, 0, 3, 0x88, 0xb5], &[0; 46]].concat();
    wire.send(frame).unwrap();
    wire.send(&marker).unwrap();
    let now = until("the marker", PATIENCE, || {
        let now = counters(host);
        Ok((now[MARKS] > before[MARKS]).then_some(now))
    });
    let now = now.unwrap();
    let moved: Vec<_> = (MARKS + 1..now.len()).filter(|at| now[*at] != before[*at]).collect();
    assert!(moved.len() < 2, "one frame moved {moved:?}");
    *before = now;
    moved.first().copied()
}

/// From the tests' own host, in whatever shape.
fn malformed(random: &mut Random, nasty: &mut crate::nasty::Random, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut frame = match random.below(3) {
        0 => {
            let lies = *random.one(&[0, 5, 12]);
            let maker =
                crate::nasty::Maker { source: random.below(4) as u8, lies, fragments: true };
            maker.broken(nasty)
        }
        1 => random.one(frames).clone(),
        _ => mutated(random, frames),
    };
    frame.truncate(1500);
    frame[6..12].copy_from_slice(&[2, 0x99, 0, 0, 0, 1 + random.below(2) as u8]);
    frame
}

/// One of the frames with a length, header or flag that is wrong, or some bits flipped.
fn mutated(random: &mut Random, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut frame = random.one(frames).clone();
    match random.below(8) {
        0 => frame.truncate(14 + random.below(frame.len() - 13)),
        1 => frame.resize(frame.len() + 1 + random.below(40), 0xa5),
        2 => {
            for _ in 0..=random.below(5) {
                tag(&mut frame, random);
            }
        }
        3 => (0..=random.below(4)).for_each(|_| {
            let at = 12 + random.below(frame.len() - 12);
            frame[at] ^= 1 << random.below(8);
        }),
        which => header(&mut frame, random, which),
    }
    frame
}

fn tag(frame: &mut Vec<u8>, random: &mut Random) {
    let kind = random.one(&[[0x81, 0], [0x88, 0xa8]]);
    let id = random.one(&[[0, 7], [0, 8], [0x20, 100]]);
    frame.splice(12..12, [*kind, *id].concat());
}

/// Changes version and length, total length, fragment, or the rest of the header.
fn header(frame: &mut [u8], random: &mut Random, which: usize) {
    let is_v4 = frame.get(12..14) == Some(&[8, 0]);
    let is_v6 = frame.get(12..14) == Some(&[0x86, 0xdd]);
    if frame.len() < 34 || !(is_v4 || is_v6) {
        return;
    }
    let lengths = [0, 8, 19, 20, 21, 24, 28, 30, 32, 60, 1500, 65_535_u16];
    let length = random.one(&lengths).to_be_bytes();
    match which {
        4 => frame[14] = (frame[14] & 0xf0) | random.below(16) as u8,
        5 => frame[if is_v4 { 16..18 } else { 18..20 }].copy_from_slice(&length),
        6 if is_v4 => {
            let bits: u16 = *random.one(&[0x2000, 0x2001, 1, 2, 0x2003, 0x1fff, 0x3fff, 0x4000]);
            frame[20..22].copy_from_slice(&bits.to_be_bytes());
        }
        _ => {
            let protocols = [0, 1, 4, 6, 17, 41, 43, 44, 47, 50, 51, 58, 59, 60, 89, 132, 253, 255];
            frame[if is_v4 { 23 } else { 20 }] = *random.one(&protocols);
        }
    }
}
