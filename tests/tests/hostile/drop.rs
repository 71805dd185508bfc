//! Hostile frames at `drop`: kernel, engine and model agree on each of them, and nothing reaches a
//! host through `drop` that equal rules of nft stop, or the reverse, without a listed reason.
//!
//! `XWAY_HOSTILE_FRAMES=N XWAY_HOSTILE_SEED=S` set the number of frames and the seed.

use filter::{Frame, Needs, read};
use functions::drop::{self, Config, Maps, OBJECT, PROGRAM, RULES4, RULES6, Reason, Rule, SHAPES};
use kernel::KernelRuntime;
use spec::{Spec, Verdict};
use vm::VmRuntime;
use xway_tests::bpf::{Arm, Judge, model};
use xway_tests::hostile::Settings;
use xway_tests::hostile::compare::{Findings, Judged, READING, Sites, packet};
use xway_tests::random::Random;

/// Frames that are sent together.
const BATCH: u64 = 250;
/// Lists of rules, one after the other.
const LISTS: &[&[&str]] = &[
    &["any udp 7", "any tcp 80"],
    &["10.0.0.2 udp", "fd00::2 udp 53", "fd00::2 tcp 1234"],
    &["10.0.0.0/24 icmp", "any icmpv6", "any any 53"],
    &["10.0.0.2", "fd00::/64"],
    &["any gre", "any 4", "any 41", "10.0.0.2 any 1234", "fd00::2 any 7"],
];

/// Rules in the kernel and in the engine.
struct Arms {
    config: Config,
    kernel: Judge<KernelRuntime>,
    engine: Judge<VmRuntime>,
}

fn load<R: Arm>(config: &Config) -> Judge<R> {
    let mut spec = Spec::parse("drop", OBJECT).unwrap();
    config.apply(&mut spec).unwrap();
    let judge = Judge::load(&spec, PROGRAM);
    let map = |name| judge.map(name);
    let maps = Maps { shapes: map(SHAPES), rules4: map(RULES4), rules6: map(RULES6) };
    drop::update(config, &maps).unwrap();
    judge
}

impl Arms {
    fn new(rules: &[&str]) -> Self {
        let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let config = Config { rules, ..Config::default() };
        let (kernel, engine) = (load(&config), load(&config));
        Self { config, kernel, engine }
    }

    fn judge(
        &mut self,
        [number, packet]: [u16; 2],
        bytes: Vec<u8>,
        faults: Vec<&'static str>,
    ) -> Judged {
        let kernel = self.kernel.judge(&bytes, 0);
        assert_eq!(kernel, self.engine.judge(&bytes, 0), "engine: {bytes:02x?}");
        let reason = model::reason(&bytes, &self.config.rules);
        assert_eq!(kernel.reason, reason.label(), "model: {faults:?} {bytes:02x?}");
        let by_policy = !matches!(reason, Reason::Rule | Reason::NoRule | Reason::NotIp);
        let reading = read(&Frame { bytes: &bytes, ifindex: 1, queue: 0 }, Needs::ALL);
        let layers = reading.layers[..1].to_vec();
        let passes = kernel.verdict == Verdict::Pass;
        let by_length = false;
        Judged { number, packet, passes, by_policy, by_length, layers, bytes, faults }
    }
}

/// The rule for nft.
fn equal(rule: &Rule) -> String {
    let address = rule.to.map_or_else(String::new, |to| {
        let family = if to.address().is_ipv4() { "ip" } else { "ip6" };
        format!("meta protocol {family} {family} daddr {to} ")
    });
    let family = if rule.to.is_none() { "meta protocol { ip, ip6 } " } else { "" };
    let protocol = match (rule.protocol, rule.port) {
        (Some(protocol), _) => format!("meta l4proto {} ", protocol.0),
        (None, Some(_)) => "meta l4proto { 6, 17, 33, 132, 136 } ".to_owned(),
        (None, None) => String::new(),
    };
    let port = rule.port.map_or_else(String::new, |port| format!("th dport {port} "));
    format!("{family}{address}{protocol}{port}counter drop")
}

#[test]
fn drop_lets_nothing_through_that_equal_rules_of_nft_stop() {
    let Settings { frames: total, seed } = Settings::from_environment(3000, 0x5eed_000a);
    sys::cpu::set_affinity(&sys::cpu::affinity().unwrap()[..1]).unwrap();
    let sites = Sites::default();
    let mut arms: Vec<_> = LISTS.iter().map(|rules| Arms::new(rules)).collect();
    let mut random = Random::new(seed);
    let mut findings = Findings::new(READING);
    let mut number = 0;
    for round in 0.. {
        if findings.compared >= total {
            break;
        }
        let arms = &mut arms[round % LISTS.len()];
        let rules: Vec<_> = arms.config.rules.iter().map(equal).collect();
        let rules = rules.join("\n");
        sites.load("accept", &rules, Some(&rules)).unwrap_or_else(|error| panic!("{error}"));
        let mut batch = Vec::new();
        while (batch.len() as u64) < BATCH {
            let (frames, faults) = packet(&mut random, &mut number);
            let first = frames[0].0;
            for (number, bytes) in frames {
                batch.push(arms.judge([number, first], bytes, faults.clone()));
            }
        }
        sites.compare(&batch, true, &mut findings);
    }
    println!("{} (seed {seed})", findings.to_text());
    findings.assert_explained(seed);
    let Findings { compared, delivered, passed, .. } = findings;
    assert!(delivered > compared / 4, "{delivered} of {compared}: most frames are not so hostile");
    assert!(passed > compared / 4 && passed < compared, "{passed} of {compared}");
}
