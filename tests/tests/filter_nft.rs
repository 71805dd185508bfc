//! Rules taken over from nft decide as nft does: random chains at a veth's ingress, live packets,
//! and the same counters rule by rule; and the same again for what is written back for nft.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod expr_support;

use expr_support::{Random, corpus};
use functions::filter::abi::{Policy, Reason};
use functions::filter::read::Frame;
use functions::filter::{Model, Policies, Ruleset, export, import};
use lab::{Capture, LinkOptions, TwoHosts};
use xway_tests::nft::{run, sent};

const SEED: u64 = 0x5eed_0002;
const CHAINS: usize = 25;

const MATCHES: &[&str] = &[
    "ip saddr 192.0.2.0/24",
    "ip daddr { 198.51.100.2, 203.0.113.0/24 }",
    "ip saddr != 192.0.2.1",
    "ip saddr @some",
    "ip6 saddr 2001:db8::/126",
    "ip6 daddr != 2001:db8::2",
    "tcp dport 80",
    "tcp sport 1000-5000",
    "udp dport { 53, 4000-5000 }",
    "udp sport != 53",
    "tcp flags & (syn|ack) == syn",
    "tcp flags ! fin,rst",
    "tcp flags syn,fin",
    "tcp flags { syn, ack }",
    "icmp type echo-request",
    "icmpv6 type { echo-request, nd-neighbor-solicit }",
    "meta l4proto { tcp, udp } th dport 443",
    "meta l4proto udp",
    "meta protocol ip",
    "meta protocol ip6",
    "ip protocol { tcp, icmp }",
    "ip6 nexthdr 17",
    "vlan id 7",
    "vlan id { 8, 100 }",
    "ip ttl < 5",
    "ip6 hoplimit 64",
    "ip dscp 0",
    "ether daddr ff:ff:ff:ff:ff:ff",
    "@th,0,16 1234",
];

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
        let Ok(ruleset) = import::nft::read(&listed, None) else { continue };
        let sample: Vec<_> = (0..60)
            .map(|_| random.one(&frames).clone())
            .filter(|frame| !is_odd(&ruleset, frame))
            .collect();
        let want = counts(&ruleset, &sample);
        let tell = format!("seed {SEED:#x}, chain {chains}:\n{script}");
        assert_eq!(sent(&wire, &net.b, &sample), want, "{tell}");
        let written =
            export::nft(&ruleset, "eth0").unwrap_or_else(|error| panic!("{error}\n{tell}"));
        run(&net.b, &["-f", "-"], &format!("flush ruleset\n{written}"))
            .unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(sent(&wire, &net.b, &sample), want, "written back:\n{written}\n{tell}");
        chains += 1;
        compared += sample.len();
        drops += want[1..want.len() - 1].iter().sum::<u64>();
    }
    assert!(compared > 30 * CHAINS && drops > 10 * CHAINS as u64, "{compared}, {drops}");
}

/// What the stack itself sends is let through first; the last rule counts what is left over.
fn script(random: &mut Random) -> String {
    let mut text = format!(
        "flush ruleset\ntable netdev t {{\n\
        set some {{ type ipv4_addr; flags interval; elements = {{ {SOME} }}; }}\n\
        chain in {{ type filter hook ingress device \"eth0\" priority 0; policy accept;\n\
        {NOT_OURS} counter accept\n"
    );
    for _ in 0..1 + random.below(8) {
        let matches = (0..1 + random.below(2)).map(|_| *random.one(MATCHES)).collect::<Vec<_>>();
        let verdict = random.one(&["accept", "drop"]);
        text.push_str(&format!("{} counter {verdict}\n", matches.join(" ")));
    }
    text + "counter drop\n}\n}\n"
}

const SOME: &str = "192.0.2.1, 198.51.100.0/25";
/// All frames of the tests come from one of these, or are damaged there and are left out.
const NOT_OURS: &str = "ether saddr != { 02:99:00:00:00:01, 02:99:00:00:00:02 }";

/// nft looks behind one tag, and not behind IPv6's authentication header.
fn is_plain(frame: &[u8]) -> bool {
    let tag = |at: usize| matches!(frame.get(at..at + 2), Some([0x81, 0] | [0x88, 0xa8]));
    let is_ours = frame[6..11] == [2, 0x99, 0, 0, 0] && matches!(frame[11], 1 | 2);
    let has_authentication = frame[12..14] == [0x86, 0xdd] && frame.get(20) == Some(&51);
    is_ours && !(tag(12) && tag(16)) && !has_authentication
}

/// Whether the filter finds the frame odd: then its policies decide, of which nft has none.
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
