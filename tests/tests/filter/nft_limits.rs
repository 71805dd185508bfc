//! Limits beside nft at a veth's ingress: live frames, the same counters rule by rule, as far as
//! time lets them be.

use std::time::Instant;

use filter::abi::Policy;
use filter::import_export::nft;
use filter::runtime::actions;
use filter::{Environment, Frame, Model, PROGRAM, Policies, Reason, Ruleset, compile, maps};
use kernel::KernelRuntime;
use lab::{Capture, Host, LinkOptions, TwoHosts};
use spec::{Input, Runtime};
use xway_tests::expr::corpus;
use xway_tests::nft::{run, sent};

const SEED: u64 = 0x5eed_0003;
/// All frames of the tests come from one of these.
const NOT_OURS: &str = "ether saddr != { 02:99:00:00:00:01, 02:99:00:00:00:02 }";

/// A chain of these rules, preceded by one that passes what the stack itself sends, and followed by
/// one that counts the rest.
fn chain(rules: &[String]) -> String {
    format!(
        "flush ruleset\ntable netdev t {{\n\
         chain in {{ type filter hook ingress device \"eth0\" priority 0; policy accept;\n\
         {NOT_OURS} counter accept\n{}\ncounter drop\n}}\n}}\n",
        rules.join("\n")
    )
}

/// Loads a chain and imports it.
fn taken(host: &Host, script: &str) -> Ruleset {
    run(host, &["-f", "-"], script).unwrap_or_else(|error| panic!("{error}\n{script}"));
    let listed = run(host, &["-j", "list", "ruleset"], "").unwrap();
    nft::import(&listed, None).unwrap_or_else(|error| panic!("{error}\n{script}"))
}

fn is_ours(frame: &[u8]) -> bool {
    frame[6..11] == [2, 0x99, 0, 0, 0] && matches!(frame[11], 1 | 2)
}

/// nft skips one tag, and does not read beyond IPv6's authentication header.
fn is_seen_otherwise(frame: &[u8]) -> bool {
    let is_tag = |at: usize| matches!(frame.get(at..at + 2), Some([0x81, 0] | [0x88, 0xa8]));
    is_tag(12) && is_tag(16) || frame[12..14] == [0x86, 0xdd] && frame.get(20) == Some(&51)
}

/// The rule that decides, and whether an earlier limit was evaluated.
fn judged(ruleset: &Ruleset, bytes: &[u8]) -> (usize, bool) {
    let mut model = Model::new(ruleset, |_| Some(1));
    let judgement = model.judge(&Frame { bytes, ifindex: 1, queue: 0 }, 0);
    let asked = judgement.layers.iter().any(|layer| !layer.effects.is_empty());
    (judgement.rule.expect("the last rule takes all"), asked)
}

/// Whether the filter finds an anomaly.
fn is_odd(bytes: &[u8]) -> bool {
    let rule = "drop tcp dport 1 vlan 1 from-mac 02:00:00:00:00:01".to_owned();
    let rule = filter::Rule::parse(&rule, &filter::Scope::default());
    let mut policies = Policies::default();
    Reason::ALL.into_iter().for_each(|oddity| {
        policies.set(oddity, Policy::Drop);
    });
    let strict = Ruleset { policies, rules: vec![rule.unwrap()], ..Ruleset::default() };
    let mut model = Model::new(&strict, |_| Some(1));
    let reason = model.judge(&Frame { bytes, ifindex: 1, queue: 0 }, 0).reason;
    !matches!(reason, Reason::Rule | Reason::Default)
}

/// Far over their rate all but the burst is dropped, up to what the time that it took earns; far
/// below, nothing is. The filter's own program drops as much.
#[test]
fn limits_drop_as_much_as_in_the_kernel() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let wire = Capture::open(&net.a, "eth0").unwrap();
    let is_plain = |frame: &Vec<u8>| is_ours(frame) && !is_seen_otherwise(frame) && !is_odd(frame);
    let frames = corpus(SEED).into_iter().filter(is_plain);
    let frames: Vec<_> = frames.take(300).collect();
    let mut over = 0;
    for limited in [
        "meta l4proto udp",
        "ip saddr 192.0.2.0/24",
        "meta protocol ip6 tcp dport 80",
        "vlan id 7",
        "tcp flags & (syn|ack) == syn",
        "ip ttl < 5",
    ] {
        for (rate, burst) in [(1, 2), (1, 12), (1_000_000, 1000)] {
            let script = chain(&[
                "icmp type echo-request counter accept".to_owned(),
                format!(
                    "{limited} limit rate over {rate}/second burst {burst} packets counter drop"
                ),
            ]);
            let ruleset = taken(&net.b, &script);
            let [first, asks, last] = [1, 2, 3];
            let judged: Vec<_> = frames.iter().map(|frame| judged(&ruleset, frame)).collect();
            let decided = |rule| judged.iter().filter(|(by, _)| *by == rule).count() as u64;
            let asked = judged.iter().filter(|(by, asked)| *by == last && *asked).count() as u64;
            let check = |who: &str, counts: &[u64], seconds: u64| {
                let dropped = counts[asks];
                let tell = format!("{who}: {counts:?}, {asked} of {}\n{script}", frames.len());
                assert_eq!(counts[first], decided(first), "{tell}");
                assert_eq!(dropped + counts[last], decided(last), "{tell}");
                let most = asked.saturating_sub(burst);
                assert!(dropped <= most, "{tell}");
                assert!(dropped >= most.saturating_sub(rate * seconds), "{tell}");
                dropped
            };
            let begin = Instant::now();
            let counts = sent(&wire, &net.b, &frames);
            over += check("nft", &counts, begin.elapsed().as_secs() + 1);
            let begin = Instant::now();
            let counts = filtered(&ruleset, &frames, (first, last));
            check("filter", &counts, begin.elapsed().as_secs() + 1);
        }
    }
    assert!(over > 300, "only {over} frames were over a limit");
}

/// What the filter's own program counts in the kernel: of the limit, what it dropped.
fn filtered(ruleset: &Ruleset, frames: &[Vec<u8>], (first, last): (usize, usize)) -> Vec<u64> {
    let compiled = compile(ruleset, &Environment::default()).unwrap();
    let mut runtime = KernelRuntime::default();
    runtime.load(&compiled.spec).unwrap_or_else(|error| panic!("{error}"));
    compiled.actions.fill(|name| Ok(runtime.map(name).unwrap())).unwrap();
    for frame in frames {
        let input = Input { packet: frame.clone(), ..Input::default() };
        runtime.run(PROGRAM, &input).unwrap_or_else(|error| panic!("{error}"));
    }
    let counts = runtime.map(maps::COUNTS).unwrap();
    let count = |rule: usize| actions::count(counts, rule as u32).unwrap().packets;
    let dropped = frames.len() as u64 - count(first) - count(last);
    vec![0, count(first), dropped, count(last)]
}
