//! Judgements of the model, rule by rule.

use super::*;
use crate::{Field, Rule, Values};
use functions::PassOrDrop;

const PASS_WEB: &str = "web";

/// UDP from 10.0.0.1, port 7, to 10.0.0.2, in an Ethernet frame.
fn udp(port: u16, fragment: u16) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 28, 0, 9]);
    frame.extend(fragment.to_be_bytes());
    frame.extend([64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, 8, 0, 0]);
    frame
}

/// A frame inside an IPv4 packet from 10.9.9.9.
fn in_ipv4(inner: &[u8]) -> Vec<u8> {
    let mut frame = inner[..14].to_vec();
    frame.extend([0x45, 0, 0, 48, 0, 1, 0, 0, 64, 4, 0, 0, 10, 9, 9, 9, 10, 9, 9, 8]);
    frame.extend(&inner[14..]);
    frame
}

fn rules(default: PassOrDrop) -> Ruleset {
    let rule = |name: &str, tests, action| Rule { name: name.to_owned(), tests, action };
    let port = |port: u16| Test::Is(Field::DestPort, Values::one(port));
    let source =
        |address: [u8; 4]| Test::Is(Field::Source4, Values::one(u32::from_be_bytes(address)));
    Ruleset {
        default,
        rules: vec![
            rule("counted", vec![], Action::Count),
            rule("banned", vec![source([10, 0, 0, 66])], Action::Drop),
            rule("nothing", vec![port(9), source([10, 0, 0, 1])], Action::Drop),
            rule(PASS_WEB, vec![port(80)], Action::Pass),
            rule("tunnel", vec![source([10, 9, 9, 9])], Action::Pass),
        ],
        ..Ruleset::default()
    }
}

fn judge(model: &mut Model<'_>, bytes: &[u8]) -> (Verdict, Reason, Option<usize>) {
    let judgement = model.judge(&Frame { bytes, ..Frame::default() }, 0);
    (judgement.verdict, judgement.reason, judgement.rule)
}

#[test]
fn the_first_rule_that_decides() {
    let rules = rules(PassOrDrop::Pass);
    let mut model = Model::new(&rules, |_| None);
    assert_eq!(judge(&mut model, &udp(9, 0)), (Verdict::Drop, Reason::Rule, Some(2)));
    assert_eq!(judge(&mut model, &udp(80, 0)), (Verdict::Pass, Reason::Rule, Some(3)));
    assert_eq!(judge(&mut model, &udp(81, 0)), (Verdict::Pass, Reason::Default, None));
    assert_eq!(
        judge(&mut model, &udp(81, 0)[..40]),
        (Verdict::Drop, Reason::Truncated, None),
        "a policy, before any rule",
    );
}

#[test]
fn rules_in_front_tell_why_not() {
    let rules = rules(PassOrDrop::Pass);
    let frame = udp(80, 0);
    let judgement =
        Model::new(&rules, |_| None).judge(&Frame { bytes: &frame, ..Frame::default() }, 0);
    let judged = &judgement.layers[0];
    assert_eq!(judged.effects, [0]);
    let words: Vec<_> = judged.misses.iter().map(|miss| miss.words(&rules, judged)).collect();
    assert_eq!(words, ["source is 10.0.0.1, not 10.0.0.66", "destination port is 80, not 9"]);
}

#[test]
fn inner_packets_are_judged_too() {
    let rules = rules(PassOrDrop::Drop);
    let mut model = Model::new(&rules, |_| None);
    assert_eq!(judge(&mut model, &in_ipv4(&udp(9, 0))), (Verdict::Drop, Reason::Rule, Some(2)));
    assert_eq!(judge(&mut model, &in_ipv4(&udp(80, 0))), (Verdict::Pass, Reason::Rule, Some(4)));
    assert_eq!(judge(&mut model, &in_ipv4(&udp(81, 0))), (Verdict::Drop, Reason::Default, None));
}

#[test]
fn later_fragments_follow_the_first() {
    let rules = rules(PassOrDrop::Drop);
    let mut model = Model::new(&rules, |_| None);
    let later = udp(0x1234, 1);
    let unknown = (Verdict::Drop, Reason::UnknownFragment, None);
    assert_eq!(judge(&mut model, &later), unknown);
    assert_eq!(judge(&mut model, &udp(80, 0x2000)), (Verdict::Pass, Reason::Rule, Some(3)));
    assert_eq!(judge(&mut model, &later), (Verdict::Pass, Reason::LaterFragment, Some(3)));
    let late = Frame { bytes: &later, ..Frame::default() };
    assert_eq!(model.judge(&late, 30_000_000_000).reason, Reason::UnknownFragment);
    assert_eq!(model.judge(&late, 29_999_999_999).reason, Reason::LaterFragment);
}

#[test]
fn no_more_bytes_follow_than_a_packet_has() {
    let rules = rules(PassOrDrop::Drop);
    let mut model = Model::new(&rules, |_| None);
    judge(&mut model, &udp(80, 0x2000));
    let later = udp(0, 1);
    let passed = (0..).take_while(|_| judge(&mut model, &later).0 == Verdict::Pass).count();
    assert_eq!(passed, 65535 / later.len());
}

/// The rule of the first fragment is reported, but not as one that this packet matched.
#[test]
fn a_packet_that_followed_another_met_no_rule() {
    let rules = rules(PassOrDrop::Pass);
    let seen =
        |reason| ProgramDecision { verdict: Verdict::Drop, reason: Some(reason), rule: Some(3) };
    for (reason, decided) in [(Reason::LaterFragment, None), (Reason::Limited, Some(0))] {
        let bytes = udp(80, 0);
        let judgement =
            Model::new(&rules, |_| None).judge(&Frame { bytes: &bytes, ..Frame::default() }, 0);
        let judgement = judgement.with_decision(seen(reason));
        assert_eq!((judgement.rule, judgement.decided), (Some(3), decided), "{reason:?}");
    }
}
