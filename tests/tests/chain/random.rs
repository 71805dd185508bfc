//! Random chains of this project's programs: the verdict and the bytes are those of the members,
//! run one after another on the engine. With the probe of a capture, so are the decisions that they
//! store.
//!
//! The seed is fixed and the chains are counted, so each run is the same.

use std::path::Path;

use filter::{Compiled, Environment, File, PROGRAM};
use functions::capture;
use functions::capture::abi::{Counts, Record};
use functions::drop::{self, Config, Maps};
use kernel::KernelRuntime;
use spec::compose::{
    Composed, Counters, DECISIONS_MAP, Form, Link, VerdictSet, compose, store_decisions,
};
use spec::{Expect, Input, Map as _, Outcome, ProgramKind, Runtime, Spec, Verdict};
use vm::VmRuntime;
use xway_tests::differential::packets;
use xway_tests::differential::rng::Rng;
use xway_tests::filter::seeded::{Random, frames};
use xway_tests::xway::prebuilt;

const CHAINS: u64 = 120;
const PACKETS: usize = 40;
/// Bytes of a value of the probe's memory: counters, a flag, a record, a packet before and after.
const KEPT_SIZE: usize = Counts::SIZE + 8 + Record::SIZE + 2 * capture::MAX_BYTES as usize;

/// A program that can be a member.
struct Part {
    spec: Spec,
    program: &'static str,
    contents: Contents,
}

/// What its maps have to hold.
enum Contents {
    Nothing,
    DropRules(Config),
    Filter(Box<Compiled>),
}

impl Part {
    fn object(name: &str, program: &'static str) -> Self {
        let bytes = std::fs::read(prebuilt(name)).unwrap();
        let mut spec = Spec::parse(name, &bytes).unwrap();
        // Sections of the documents' programs do not contain the type.
        spec.programs.iter_mut().for_each(|one| one.kind = ProgramKind::XDP);
        Self { spec, program, contents: Contents::Nothing }
    }

    fn drop() -> Self {
        let rules = ["any udp 1", "10.0.0.2 udp 1234", "any icmp"];
        let rules = rules.map(|rule| rule.parse().unwrap()).to_vec();
        let config = Config { rules, ..Config::default() };
        let mut spec = Spec::parse("drop", drop::OBJECT).unwrap();
        config.apply(&mut spec).unwrap();
        Self { spec, program: drop::PROGRAM, contents: Contents::DropRules(config) }
    }

    fn filter(rules: &str) -> Self {
        let file = File::parse("rules", rules, Path::new(""), |_| unreachable!()).unwrap();
        let compiled = filter::compile(&file.ruleset, &Environment::default()).unwrap();
        let (spec, contents) = (compiled.spec.clone(), Contents::Filter(Box::new(compiled)));
        Self { spec, program: PROGRAM, contents }
    }

    /// Fills the maps, which have other names in a chain.
    fn fill<R: Runtime>(&self, runtime: &R, name: impl Fn(&str) -> String) {
        let map =
            |own: &str| Ok::<_, <R::Map as spec::Map>::Error>(runtime.map(&name(own)).unwrap());
        match &self.contents {
            Contents::Nothing => {}
            Contents::DropRules(config) => {
                drop::update(config, &Maps::find(map).unwrap()).unwrap();
            }
            Contents::Filter(compiled) => compiled.actions.fill(map).unwrap(),
        }
    }
}

fn parts() -> Vec<Part> {
    let mut parts = vec![
        Part::drop(),
        Part::filter(
            "rules = ['drop udp dport 0-200', 'count tcp', 'drop icmp', 'pass from 10.0.0.0/8']",
        ),
        Part::filter(
            "default = 'drop'\nrules = ['pass udp', 'pass ethertype arp', 'limit 1mpps ipv4']",
        ),
        Part::object("test/paper_count.o", "count_and_reflect"),
        Part::object("test/talk_drop.o", "drop_udp"),
        Part::object("test/talk_forward.o", "forward_udp"),
    ];
    for verdict in 0..5_u32 {
        let mut part = Part::object("test/seen.o", "count_seen");
        part.spec.set_global_text("verdict", &verdict.to_string()).unwrap();
        parts.push(part);
    }
    parts
}

/// What is compared of an outcome.
fn seen(outcome: &Outcome) -> (Verdict, &[u8], &[u8]) {
    (outcome.verdict, &outcome.packet, &outcome.metadata)
}

/// A chain of members, each with the verdicts after which the next one runs.
fn random_chain(rng: &mut Rng, parts: usize) -> Vec<(usize, VerdictSet)> {
    let length = 1 + rng.below(6);
    let member = |rng: &mut Rng| {
        let mut go_on: VerdictSet = Verdict::ALL.into_iter().filter(|_| rng.one_in(3)).collect();
        if go_on == VerdictSet::EMPTY {
            go_on = VerdictSet::default();
        }
        (rng.below(parts), go_on)
    };
    (0..length).map(|_| member(rng)).collect()
}

/// Runs the members one after another, each on a machine of its own. Returns the outcome and the
/// number of the member that decided.
fn one_after_another(
    machines: &mut [VmRuntime],
    chain: &[(usize, VerdictSet)],
    parts: &[Part],
    input: &Input,
) -> (Outcome, usize) {
    let mut input = input.clone();
    for (number, ((part, go_on), machine)) in chain.iter().zip(machines).enumerate() {
        let outcome = machine.run(parts[*part].program, &input).unwrap();
        if number + 1 == chain.len() || !go_on.contains(outcome.verdict) {
            return (outcome, number);
        }
        (input.packet, input.metadata) = (outcome.packet, outcome.metadata);
    }
    unreachable!("the last member returns")
}

fn filled<R: Runtime>(
    mut runtime: R,
    composed: &Composed,
    chain: &[(usize, VerdictSet)],
    parts: &[Part],
) -> Result<R, R::Error> {
    runtime.load(&composed.spec)?;
    if let Some(map) = probe_map(&runtime, composed, capture::SETTINGS) {
        let settings = capture::Config::default().settings(u64::MAX);
        map.update(&[0; 4], &settings.to_bytes(), Expect::Any).unwrap();
    }
    for ((part, _), maps) in chain.iter().zip(&composed.maps) {
        let name = |own: &str| maps.iter().find(|(known, _)| known == own).unwrap().1.clone();
        parts[*part].fill(&runtime, name);
    }
    Ok(runtime)
}

/// A map of the probe, if there is one.
fn probe_map<'r, R: Runtime>(runtime: &'r R, composed: &Composed, own: &str) -> Option<&'r R::Map> {
    let (_, name) = composed.probe_maps.iter().find(|(known, _)| known == own)?;
    Some(runtime.map(name).unwrap())
}

/// Packets that the probe saw before the first member and after the verdict.
fn probed<R: Runtime>(runtime: &R, composed: &Composed) -> Option<u64> {
    let map = probe_map(runtime, composed, capture::KEPT)?;
    let values = map.lookup(&[0; 4]).unwrap().unwrap();
    let counts = values.chunks(KEPT_SIZE).map(|one| Counts::from_bytes(one.first_chunk().unwrap()));
    Some(counts.map(|one| one.packets).sum())
}

/// A decision as it is stored: rule, verdict, reason.
type Decision = [u8; 12];
/// No member stores it.
const NOTHING: u8 = 0x77;

/// Clears what members stored.
fn forget<R: Runtime>(runtime: &R) {
    let map = runtime.map(DECISIONS_MAP).unwrap();
    let size = map.lookup(&[0; 4]).unwrap().unwrap().len();
    map.update(&[0; 4], &vec![NOTHING; size], Expect::Any).unwrap();
}

/// The decision that was stored, on whatever processor.
fn stored<R: Runtime>(runtime: &R) -> Option<Decision> {
    let values = runtime.map(DECISIONS_MAP).unwrap().lookup(&[0; 4]).unwrap().unwrap();
    // The kernel rounds the values of each processor up to eight bytes.
    let mut values = values.chunks(16).map(|one| *one.first_chunk::<12>().unwrap());
    values.find(|one| *one != [NOTHING; 12])
}

/// The members' objects and, with a probe, whether they store decisions.
fn members(chain: &[(usize, VerdictSet)], parts: &[Part], probed: bool) -> Vec<(Spec, bool)> {
    let member = |(part, _): &(usize, VerdictSet)| {
        let Part { spec, program, .. } = &parts[*part];
        let storing = probed.then(|| store_decisions(spec, program).unwrap()).flatten();
        let stores = storing.is_some();
        (storing.unwrap_or_else(|| spec.clone()), stores)
    };
    chain.iter().map(member).collect()
}

/// A member alone.
fn machine(part: &Part, spec: &Spec) -> VmRuntime {
    let mut machine = VmRuntime::default();
    machine.load(spec).unwrap();
    part.fill(&machine, str::to_owned);
    machine
}

fn names(chain: &[(usize, VerdictSet)], parts: &[Part]) -> String {
    let names = chain.iter().map(|(part, go_on)| {
        let go_on: Vec<_> = go_on.iter().map(Verdict::name).collect();
        format!("{} ({})", parts[*part].program, go_on.join(" "))
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Runs the chain, and compares the outcome and the decision, if the last member stores one.
fn agrees<R: Runtime>(
    (runtime, main): (&mut R, &str),
    input: &Input,
    expected: &Outcome,
    decision: Option<Decision>,
    label: &str,
) {
    if decision.is_some() {
        forget(runtime);
    }
    let outcome = runtime.run(main, input).unwrap();
    assert_eq!(seen(&outcome), seen(expected), "{label}");
    if decision.is_some() {
        assert_eq!(stored(runtime), decision, "{label}");
    }
}

#[test]
fn a_chain_is_its_members_one_after_another() {
    let parts = parts();
    let mut rng = Rng::new(20261127);
    let mut random = Random(20261127);
    let (mut on_kernel, mut decisions) = (0, 0);
    let probe = Spec::parse("capture", capture::OBJECT).unwrap();
    for number in 0..CHAINS {
        let chain = random_chain(&mut rng, parts.len());
        // A probe changes nothing.
        let probe = rng.one_in(2).then(|| capture::probe(&probe));
        let specs = members(&chain, &parts, probe.is_some());
        let links = chain.iter().zip(&specs).map(|((part, go_on), (spec, _))| Link {
            spec,
            program: parts[*part].program,
            go_on: *go_on,
        });
        let links: Vec<_> = links.collect();
        let counters = Counters::in_order(links.len());
        let form = if rng.one_in(3) { Form::Call } else { Form::Inline };
        let composed = compose(&links, &counters, form, probe).unwrap();
        let main = parts[chain[0].0].program;
        let mut whole = filled(VmRuntime::default(), &composed, &chain, &parts).unwrap();
        let machines = chain.iter().zip(&specs);
        let machines = machines.map(|((part, _), (spec, _))| machine(&parts[*part], spec));
        let mut machines: Vec<_> = machines.collect();
        // What a route is differs between the engine's network and this host's.
        let is_local = chain.iter().all(|(part, _)| parts[*part].program != "forward_udp");
        let kernel = is_local.then(|| filled(KernelRuntime::default(), &composed, &chain, &parts));
        let mut kernel = kernel.and_then(Result::ok);
        on_kernel += u64::from(kernel.is_some());
        let label = format!("chain {number}: {}", names(&chain, &parts));
        for _ in 0..PACKETS {
            let input = match rng.one_in(2) {
                true => packets::random(&mut rng, false),
                false => Input { packet: frames(&mut random, 1).remove(0), ..Input::default() },
            };
            let (expected, decider) = one_after_another(&mut machines, &chain, &parts, &input);
            let decision = specs[decider].1.then(|| stored(&machines[decider]).unwrap());
            decisions += u64::from(decision.is_some());
            if let Some(decision) = &decision {
                assert_eq!(u32::from(decision[4]), expected.verdict as u32, "{label}");
            }
            agrees((&mut whole, main), &input, &expected, decision, &label);
            if let Some(kernel) = &mut kernel {
                agrees((kernel, main), &input, &expected, decision, &label);
            }
        }
        let all = probe.map(|_| PACKETS as u64);
        assert_eq!(probed(&whole, &composed), all, "engine, {label}");
        if let Some(kernel) = &kernel {
            assert_eq!(probed(kernel, &composed), all, "kernel, {label}");
        }
    }
    assert!(on_kernel > CHAINS / 3, "{on_kernel} chains ran on the kernel");
    assert!(decisions > CHAINS, "{decisions} decisions were stored");
}
