//! Hostile frames at `filter`: kernel, engine and model agree on verdict and reason of each of
//! them, and on what each rule counts; and nothing reaches a host through the filter that equal
//! rules of nft stop, or the reverse, without a listed reason.
//!
//! `XWAY_HOSTILE_FRAMES=N XWAY_HOSTILE_SEED=S` set the number of frames and the seed. Not here:
//! which rule of nft decides (`filter_nft_anomalies`).

use filter::import_export::nft;
use filter::runtime::actions;
use filter::{
    Compiled, Environment, Field, Frame, Model, PROGRAM, Policies, Reason, Rule, Ruleset, Scope,
    Test, compile, maps,
};
use functions::stats::{self, Stats};
use functions::{PassOrDrop, tags};
use kernel::{Attach, Binding, KernelRuntime, Link, LoadOptions, Mode, Replace};
use lab::{Capture, LinkOptions, TwoHosts, until};
use spec::{Runtime, Verdict};
use vm::world::{Interface, ReceivedVlan, World};
use vm::{Options, VmRuntime};
use xway_tests::bpf::{Arm, Judge};
use xway_tests::hostile::compare::{Case, Findings, Judged, READING, Row, Sites, is_tag, packet};
use xway_tests::hostile::{self, HOST, Settings};
use xway_tests::random::Random;
use xway_tests::stage::PATIENCE;
use xway_tests::tags::Tagger;

/// Frames that are judged by one list of rules: in a short campaign, in a long one.
const BATCH: [u64; 2] = [250, 1000];

/// Lists of rules; `*` before the first: packets that no rule decides are dropped.
const LISTS: &[&[&str]] = &[
    &["drop from 10.0.0.1", "drop from fd00::1"],
    &["drop udp dport {7, 53}", "drop tcp dport 80"],
    &["drop tcp flags syn/syn,ack", "drop tcp flags {none/all, fin|syn/fin|syn}"],
    &["drop ipv4 icmp type echo-request", "drop ipv6 icmpv6 type echo-request"],
    &["drop ipv4 fragment any", "drop ipv6 extension none tcp"],
    &["drop vlan {5, 6}", "drop vlan 0 udp", "drop ethertype {arp, 0x88cc}"],
    &["drop length < 70", "drop length > 120"],
    &["drop ttl < 2", "drop dscp 46"],
    &["drop protocol {gre, 4, 41, 97, 143}", "drop udp dport 4789"],
    &["drop from {0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/3}", "drop from {::, ::1, ff00::/8}"],
    &["*", "pass tcp dport {80, 1234}", "pass udp dport 53", "pass ipv4 icmp type 8"],
    &["*", "pass to {10.0.0.2, fd00::2} udp", "pass vlan 7", "pass tcp flags ack/syn,ack"],
    &["*", "drop from not {10.0.0.0/24, fd00::/64}", "pass protocol {tcp, udp, icmp, icmpv6}"],
];
/// Parts of random rules, which nft has, too.
const TESTS: &[&str] = &[
    "from 10.0.0.1",
    "from not 10.0.0.1",
    "from fd00::1",
    "to {10.0.0.2, fd00::2}",
    "to not fd00::2",
    "tcp dport 80",
    "udp dport {7, 53, 4000-5000}",
    "udp sport not 53",
    "dport 7",
    "dport not {7, 80}",
    "tcp flags syn/syn,ack",
    "tcp flags {syn|fin, rst}",
    "ipv4 icmp type echo-request",
    "ipv6 icmpv6 type {echo-request, neighbor-solicitation}",
    "protocol {tcp, udp}",
    "protocol not udp",
    "ipv4",
    "ipv6",
    "ttl < 5",
    "dscp 0",
    "ipv4 fragment any",
    "ipv4 fragment {whole, first}",
    "ipv6 extension none",
    "vlan 5",
    "vlan not 5",
    "length > 100",
    "to-mac broadcast",
    "payload transport+0 = 0x0fa0",
    "payload network+8 = 0x40",
];

/// Beside those of what is read.
const ROWS: [Row; 3] = [
    // `meta length` of nft does not count a tag, `length` of the filter does.
    Row {
        name: "length with a tag",
        holds: |case: &Case<'_>| case.frame.by_length && is_tag(&case.frame.bytes, 12),
    },
    // A drop of an inner packet drops the outer one.
    Row {
        name: "inside",
        holds: |case: &Case<'_>| !case.frame.passes && case.frame.layers.len() > 1,
    },
    // `vlan id` of nft is about 802.1Q alone, `vlan` of the filter about the first tag.
    Row { name: "service tag", holds: |case: &Case<'_>| case.frame.bytes[12..14] == [0x88, 0xa8] },
];

fn rules(texts: &[impl AsRef<str>], default: PassOrDrop, policies: Policies) -> Ruleset {
    let parse = |(number, text): (usize, &_)| {
        let text = format!("r{number}: {}", AsRef::<str>::as_ref(text));
        Rule::parse(&text, &Scope::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    Ruleset { default, policies, rules: texts.iter().enumerate().map(parse).collect() }
}

/// A list of the table, or a random one.
fn list(random: &mut Random, round: usize, policies: Policies) -> Ruleset {
    if round.is_multiple_of(2) {
        let texts = LISTS[round / 2 % LISTS.len()];
        return match texts {
            ["*", texts @ ..] => rules(texts, PassOrDrop::Drop, policies),
            texts => rules(texts, PassOrDrop::Pass, policies),
        };
    }
    let texts: Vec<_> = (0..1 + random.below(6))
        .map(|_| {
            let action = random.text(&["drop", "drop", "pass", "count"]);
            let tests: Vec<_> = (0..1 + random.below(2)).map(|_| random.text(TESTS)).collect();
            format!("{action} {}", tests.join(" "))
        })
        .filter(|text| Rule::parse(text, &Scope::default()).is_ok())
        .collect();
    rules(&texts, *random.one(&[PassOrDrop::Pass, PassOrDrop::Drop]), policies)
}

/// The usual policies, or those of rules that come from nft.
fn policies(random: &mut Random) -> Policies {
    match random.below(2) {
        0 => Policies::of_imported_rules(),
        _ => Policies::default(),
    }
}

/// The three that must agree.
struct Arms<'a> {
    kernel: Judge<KernelRuntime>,
    engine: Judge<VmRuntime>,
    model: Model<'a>,
    by_length: bool,
    /// What each rule counted, by the model.
    counts: Vec<u64>,
}

fn is_length(test: &Test) -> bool {
    matches!(test, Test::Is(Field::Length, _))
}

fn load<R: Arm>(runtime: R, compiled: &Compiled) -> Judge<R> {
    let judge = Judge::on(runtime, &compiled.spec, PROGRAM);
    let filled = compiled.actions.fill(|name| Ok(judge.map(name)));
    filled.unwrap_or_else(|error: <R::Map as spec::Map>::Error| panic!("{error}"));
    judge
}

impl<'a> Arms<'a> {
    fn new(ruleset: &'a Ruleset) -> Self {
        let compiled = compile(ruleset, &Environment::default()).unwrap();
        Self {
            kernel: load(KernelRuntime::start(Some(PROGRAM)), &compiled),
            engine: load(VmRuntime::start(Some(PROGRAM)), &compiled),
            model: Model::new(ruleset, |_| Some(1)),
            by_length: ruleset.rules.iter().flat_map(|rule| &rule.tests).any(is_length),
            counts: vec![0; ruleset.rules.len()],
        }
    }

    fn judge(
        &mut self,
        [number, packet]: [u16; 2],
        bytes: Vec<u8>,
        faults: Vec<&'static str>,
    ) -> Judged {
        let wanted = self.model.judge(&Frame { bytes: &bytes, ifindex: 1, queue: 0 }, 0);
        let matched =
            wanted.layers.iter().flat_map(|judged| judged.effects.iter().chain(&judged.rule));
        matched.for_each(|rule| self.counts[*rule] += 1);
        let kernel = self.kernel.judge(&bytes, 0);
        let is = (kernel.verdict, &*kernel.reason);
        assert_eq!(is, (wanted.verdict, wanted.reason.label()), "model: {faults:?} {bytes:02x?}");
        assert_eq!(kernel, self.engine.judge(&bytes, 0), "engine: {faults:?} {bytes:02x?}");
        let layers = wanted.layers.into_iter().map(|judged| judged.layer).collect();
        let by_policy = !matches!(wanted.reason, Reason::Rule | Reason::Default);
        let passes = kernel.verdict == Verdict::Pass;
        let by_length = self.by_length;
        Judged { number, packet, passes, by_policy, by_length, layers, bytes, faults }
    }

    /// Rules counted the same packets everywhere.
    fn assert_counts(&self) {
        fn counts<R: Arm>(judge: &Judge<R>, rules: usize) -> Vec<u64> {
            let map = judge.map(maps::COUNTS);
            (0..rules as u32).map(|rule| actions::count(map, rule).unwrap().packets).collect()
        }
        assert_eq!(counts(&self.kernel, self.counts.len()), self.counts, "kernel, model");
        assert_eq!(counts(&self.engine, self.counts.len()), self.counts, "engine, model");
    }
}

/// Chains of nft with equal rules; none at input where its chains do not see what a rule asks for.
fn load_nft(sites: &Sites, ruleset: &Ruleset) -> Option<bool> {
    let script = nft::export(ruleset, "eth0").ok()?;
    let body: Vec<_> = script.lines().filter(|line| line.contains("counter")).collect();
    let body = body.join("\n");
    let policy = if ruleset.default == PassOrDrop::Drop { "drop" } else { "accept" };
    // Tags are gone there, and so is padding; the hook has IP packets only.
    let has_input = !["vlan", "meta length"].iter().any(|word| body.contains(word));
    sites.load(policy, &body, has_input.then_some(&*body)).ok()?;
    Some(has_input)
}

/// `count` frames for one list of rules, fragments among them.
fn batch(random: &mut Random, arms: &mut Arms<'_>, number: &mut u16, count: u64) -> Vec<Judged> {
    let mut batch = Vec::new();
    while (batch.len() as u64) < count {
        let (frames, faults) = packet(random, number);
        let first = frames[0].0;
        for (number, bytes) in frames {
            batch.push(arms.judge([number, first], bytes, faults.clone()));
        }
    }
    arms.assert_counts();
    batch
}

#[test]
fn the_filter_lets_nothing_through_that_equal_rules_of_nft_stop() {
    let Settings { frames: total, seed } = Settings::from_environment(3500, 23);
    sys::cpu::set_affinity(&sys::cpu::affinity().unwrap()[..1]).unwrap();
    let sites = Sites::default();
    let mut random = Random::new(seed);
    let mut findings = Findings::new(ROWS.into_iter().chain(READING));
    let (mut number, mut lists) = (0, 0);
    let count = (total / 200).clamp(BATCH[0], BATCH[1]);
    for round in 0.. {
        if findings.compared >= total {
            break;
        }
        let policies = policies(&mut random);
        let ruleset = list(&mut random, round, policies);
        let Some(has_input) = load_nft(&sites, &ruleset) else { continue };
        let mut arms = Arms::new(&ruleset);
        let frames = batch(&mut random, &mut arms, &mut number, count);
        let before = findings.unexplained.len();
        sites.compare(&frames, has_input, &mut findings);
        lists += 1;
        if findings.unexplained.len() > before {
            let rules: Vec<_> = ruleset.rules.iter().map(|rule| format!("  {rule}")).collect();
            findings.unexplained.push(format!("{:?}\n{}", ruleset.default, rules.join("\n")));
        }
    }
    println!("{lists} lists: {} (seed {seed})", findings.to_text());
    findings.assert_explained(seed);
    let Findings { compared, delivered, passed, .. } = findings;
    assert!(delivered > compared / 4, "{delivered} of {compared}: most frames are not so hostile");
    assert!(passed > compared / 4 && passed < compared, "{passed} of {compared}");
}

/// A filter on `b` that asks the device for tags, and what it counted.
struct Live {
    net: TwoHosts,
    wire: Capture,
    runtime: KernelRuntime,
    labels: Vec<String>,
    seen: Stats,
    _link: Link,
}

impl Live {
    fn new(compiled: &Compiled) -> Self {
        let net = TwoHosts::build(&LinkOptions::default()).unwrap();
        net.a.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        let ifindex = net.b.ifindex("eth0").unwrap();
        let mut runtime = KernelRuntime::new(LoadOptions {
            programs: Some(vec![PROGRAM.to_owned()]),
            binding: Binding::Device(ifindex),
            ..LoadOptions::default()
        });
        let spec = &compiled.spec;
        net.b.run(|| runtime.load(spec)).unwrap().unwrap_or_else(|error| panic!("{error}"));
        compiled.actions.fill(|name| Ok(runtime.map(name).unwrap())).unwrap();
        let labels = stats::labels(spec.btf.as_ref().unwrap()).unwrap();
        let program = runtime.object().unwrap().program(PROGRAM).unwrap();
        let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
        let _link = net.b.run(|| kernel::attach(&attach)).unwrap().unwrap();
        let wire = Capture::open(&net.a, "eth0").unwrap();
        Self { net, wire, runtime, labels, seen: Stats::default(), _link }
    }

    /// Sends a frame, and finds the one counter that it moved.
    fn judge(&mut self, frame: &[u8]) -> Option<(Verdict, String)> {
        self.wire.send(frame).ok()?;
        let moved = until("the frame counted", PATIENCE, || {
            let map = self.runtime.map(stats::MAP).unwrap();
            let now = Stats::read(map, &self.labels).unwrap();
            let moved = now.since(&self.seen);
            Ok((!moved.rows.is_empty()).then_some((now, moved)))
        });
        let (now, moved) = moved.unwrap();
        self.seen = now;
        let [row] = &moved.rows[..] else { panic!("not one counter moved: {moved:?}") };
        Some((row.verdict, row.reason.clone()))
    }
}

/// The engine with an interface that took this tag out of each frame.
fn engine_with_tag(compiled: &Compiled, vlan: u16) -> Judge<VmRuntime> {
    let mut interface = Interface::new(TAGGED, "eth0");
    interface.received.vlan = Some(ReceivedVlan { protocol: 0x8100, tci: vlan });
    let world = World { interfaces: vec![interface], ..World::default() };
    let programs = Some(vec![PROGRAM.to_owned()]);
    load(VmRuntime::new(Options { programs, world, ..Options::default() }), compiled)
}

const TAGGED: u32 = 7;
const TAG: u16 = 5;

/// Rules see a tag that the receiver took out of the frame: the kernel with live frames, the engine
/// with the same tag, and the model with the tag in the frame.
#[test]
fn frames_with_a_stripped_tag_are_judged_the_same_everywhere() {
    let Settings { frames, seed } = Settings::from_environment(600, 0x5eed_000c);
    let texts = [
        "drop vlan 5 inner-vlan 6 udp",
        "drop vlan 5 inner-vlan 7",
        "drop vlan not 5",
        "drop vlan 5 tcp dport 80",
        "drop inner-vlan any udp dport 53",
        "count vlan 5",
    ];
    let ruleset = rules(&texts, PassOrDrop::Pass, Policies::default());
    let mut compiled = compile(&ruleset, &Environment::default()).unwrap();
    tags::ask_device(&mut compiled.spec, &[PROGRAM]).unwrap();
    let mut live = Live::new(&compiled);
    let mut engine = engine_with_tag(&compiled, TAG);
    let mut model = Model::new(&ruleset, |_| Some(1));
    let mut random = Random::new(seed);
    let _tagger = Tagger::new(&live.net.a, "eth0", TAG);
    let (mut compared, mut tagged) = (0, 0);
    for round in 0..frames {
        let bytes = hostile::frame(&mut random, &HOST, 1 + (round % 60_000) as u16).bytes;
        let ([high, low], mut within) = (TAG.to_be_bytes(), bytes.clone());
        within.splice(12..12, [0x81, 0, high, low]);
        // In the frame it counts for the limit of tags, beside it it does not.
        if tags_of(&within) > 4 {
            continue;
        }
        let Some(kernel) = live.judge(&bytes) else { continue };
        let engine = engine.judge(&bytes, TAGGED);
        assert_eq!(kernel, (engine.verdict, engine.reason), "seed {seed}: {bytes:02x?}");
        let wanted = model.judge(&Frame { bytes: &within, ifindex: 1, queue: 0 }, 0);
        let wanted = (wanted.verdict, wanted.reason.label().to_owned());
        assert_eq!(kernel, wanted, "seed {seed}: {bytes:02x?}");
        compared += 1;
        tagged += u64::from(tags_of(&within) > 1);
    }
    println!("{compared} frames with a stripped tag, {tagged} with others (seed {seed})");
    assert!(compared > frames / 2 && tagged > 0, "{compared} of {frames}, {tagged}");
}

fn tags_of(frame: &[u8]) -> usize {
    let is_tag = |at: &usize| matches!(frame.get(*at..at + 2), Some([0x81, 0] | [0x88, 0xa8]));
    (12..).step_by(4).take_while(is_tag).count()
}
