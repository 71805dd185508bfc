//! Rules taken over from nft decide as nft does: random chains at a veth's ingress, live packets,
//! and the same counters rule by rule; and the same again for what is written back for nft.

use filter::abi::{Policy, Reason};
use filter::import_export::nft;
use filter::model::headers::Frame;
use filter::{Model, Policies, Ruleset};
use lab::{Capture, LinkOptions, TwoHosts};
use xway_tests::expr::corpus;
use xway_tests::nft::chain::script;
use xway_tests::nft::{run, sent};
use xway_tests::random::Random;

const SEED: u64 = 0x5eed_0002;
const CHAINS: usize = 25;

#[test]
fn chains_decide_as_in_the_kernel() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let wire = Capture::open(&net.a, "eth0").unwrap();
    let mut random = Random::new(SEED);
    let frames: Vec<_> = corpus(SEED).into_iter().filter(|frame| is_plain(frame)).collect();
    let (mut chains, mut compared, mut drops) = (0, 0, 0);
    while chains < CHAINS {
        let script = script(&mut random);
        if run(&net.b, &["-f", "-"], &script).is_err() {
            // Of two matches, one may exclude the other.
            continue;
        }
        let listed = run(&net.b, &["-j", "list", "ruleset"], "").unwrap();
        let Ok(ruleset) = nft::import(&listed, None) else { continue };
        let sample: Vec<_> = (0..60)
            .map(|_| random.one(&frames).clone())
            .filter(|frame| !is_odd(&ruleset, frame))
            .collect();
        let want = counts(&ruleset, &sample);
        let tell = format!("seed {SEED:#x}, chain {chains}:\n{script}");
        assert_eq!(sent(&wire, &net.b, &sample), want, "{tell}");
        let written =
            nft::export(&ruleset, "eth0").unwrap_or_else(|error| panic!("{error}\n{tell}"));
        run(&net.b, &["-f", "-"], &format!("flush ruleset\n{written}"))
            .unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(sent(&wire, &net.b, &sample), want, "written back:\n{written}\n{tell}");
        chains += 1;
        compared += sample.len();
        drops += want[1..want.len() - 1].iter().sum::<u64>();
    }
    assert!(compared > 30 * CHAINS && drops > 10 * CHAINS as u64, "{compared}, {drops}");
}

/// nft skips one tag, and does not read beyond IPv6's authentication header.
fn is_plain(frame: &[u8]) -> bool {
    let tag = |at: usize| matches!(frame.get(at..at + 2), Some([0x81, 0] | [0x88, 0xa8]));
    let is_ours = frame[6..11] == [2, 0x99, 0, 0, 0] && matches!(frame[11], 1 | 2);
    let has_authentication = frame[12..14] == [0x86, 0xdd] && frame.get(20) == Some(&51);
    is_ours && !(tag(12) && tag(16)) && !has_authentication
}

/// Whether the filter finds an anomaly: then its policies decide, which nft does not have.
fn is_odd(ruleset: &Ruleset, frame: &[u8]) -> bool {
    let mut policies = Policies::default();
    Reason::ALL.into_iter().for_each(|oddity| {
        policies.set(oddity, Policy::Drop);
    });
    let strict = Ruleset { policies, ..ruleset.clone() };
    !matches!(judge(&strict, frame).0, Reason::Rule | Reason::Default)
}

fn judge(ruleset: &Ruleset, frame: &[u8]) -> (Reason, Option<usize>) {
    let frame = Frame { bytes: frame, ifindex: 1, queue: 0 };
    let judgement = Model::new(ruleset, |_| Some(1)).judge(&frame, 0);
    (judgement.reason, judgement.rule)
}

/// How many frames each rule decides.
fn counts(ruleset: &Ruleset, frames: &[Vec<u8>]) -> Vec<u64> {
    let mut counts = vec![0; ruleset.rules.len()];
    for frame in frames {
        counts[judge(ruleset, frame).1.expect("the last rule takes all")] += 1;
    }
    counts
}
