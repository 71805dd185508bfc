//! The filter's program on a runtime, beside its model.
#![allow(dead_code, reason = "each test file uses some of it")]

use filter::abi::{Known, Packet};
use filter::{
    Action, Compiled, Environment, Field, Frame, MATCH, Model, Needs, OBJECT, PROGRAM, Policies,
    Policy, Reason, Rule, Ruleset, Test, Values, compile,
};
use functions::PassOrDrop;
use functions::stats::{self, Stats};
use spec::asm::{Assembler, Size};
use spec::compose::splice;
use spec::{Input, Map, MapDef, MapKind, ProgramKind, Runtime, Spec, Verdict};

use crate::nasty::{PORTS, Random};

/// The default source of the packets of a test run.
pub const LOOPBACK: u32 = 1;

/// What one packet came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub reason: String,
}

/// A loaded filter.
pub struct Arm<R> {
    runtime: R,
    program: &'static str,
    labels: Vec<String>,
    seen: Stats,
}

impl<R: Runtime + Default> Arm<R> {
    pub fn of(rules: &Ruleset) -> Self {
        let compiled = compile(rules, &Environment::default()).unwrap();
        Self::made(R::default(), &compiled, PROGRAM)
    }

    pub fn load(spec: &Spec) -> Self {
        Self::on(R::default(), spec, PROGRAM)
    }
}

impl<R: Runtime> Arm<R> {
    /// One of the entries of compiled rules, on a runtime that loads it.
    pub fn made(runtime: R, compiled: &Compiled, program: &'static str) -> Self {
        let arm = Self::on(runtime, &compiled.spec, program);
        let filled = compiled.actions.fill(|name| Ok(arm.map(name)));
        filled.unwrap_or_else(|error: <R::Map as Map>::Error| panic!("{error}"));
        arm
    }

    fn on(mut runtime: R, spec: &Spec, program: &'static str) -> Self {
        runtime.load(spec).unwrap_or_else(|error| panic!("{error}"));
        let labels = stats::labels(spec.btf.as_ref().unwrap()).unwrap();
        Self { runtime, program, labels, seen: Stats::default() }
    }

    pub fn map(&self, name: &str) -> &R::Map {
        self.runtime.map(name).unwrap()
    }

    /// Runs the packet and finds the one counter that it moved.
    pub fn judge(&mut self, packet: &[u8]) -> Judgement {
        let input = Input { packet: packet.to_vec(), ..Input::default() };
        let outcome = self.runtime.run(self.program, &input);
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}: {packet:02x?}"));
        let now = Stats::read(self.map(stats::MAP), &self.labels).unwrap();
        let moved = now.since(&self.seen);
        self.seen = now;
        let [row] = &moved.rows[..] else { panic!("not one counter moved: {moved:?}") };
        Judgement { verdict: outcome.verdict, reason: row.reason.clone() }
    }
}

/// Program and model have the same result for each frame, one after the other.
pub fn assert_same<R: Runtime + Default>(rules: &Ruleset, frames: &[Vec<u8>], seed: u64) {
    let mut arm = Arm::<R>::of(rules);
    let mut model = Model::new(rules, |_| None);
    for (number, bytes) in frames.iter().enumerate() {
        let is = arm.judge(bytes);
        let expected = model.judge(&Frame { bytes, ifindex: LOOPBACK, queue: 0 }, 0);
        assert_eq!(
            (is.verdict, &*is.reason),
            (expected.verdict, expected.reason.label()),
            "seed {seed:#x}, frame {number}: {bytes:02x?}\n{expected:#?}\n{rules:#?}",
        );
    }
}

/// The filter with a search that copies its arguments into the map `seen`.
pub fn fields_spec(needs: Needs, policies: &Policies) -> Spec {
    use spec::asm::Reg::*;
    let mut spec = Spec::parse("filter", OBJECT).unwrap();
    needs.apply(policies, &mut spec).unwrap();
    spec.maps.push(MapDef {
        name: "seen".to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: Packet::SIZE as u32,
        max_entries: 1,
        ..MapDef::default()
    });
    let mut code = Assembler::new("copy", ProgramKind::XDP);
    // It is called with the context and the packet.
    code.load_map_value(R3, "seen", 0);
    for word in (0..Packet::SIZE as i16).step_by(8) {
        code.load64(R4, R2.at(word)).store64(R3.at(word), R4);
    }
    code.load_imm64(R0, 0xffff_ffff).exit();
    splice(&spec, PROGRAM, MATCH, code).unwrap()
}

/// A copy of `struct filter_packet`.
pub struct Seen(Vec<u8>);

impl Seen {
    pub fn read<M: Map>(map: &M) -> Self {
        let bytes = map.lookup(&[0; 4]).unwrap_or_else(|error| panic!("{error}"));
        Self(bytes.unwrap())
    }

    pub fn known(&self) -> u32 {
        let at = Known::OFFSET as usize;
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    /// As the model has it: `None` for what is not there or was not asked for.
    pub fn field(&self, field: Field, needs: Needs) -> Option<u128> {
        let place = field.place();
        let asked = field.need().is_none_or(|need| needs.has(need));
        if !asked || place.known != 0 && self.known() & place.known == 0 {
            return None;
        }
        let at = place.offset as usize;
        let word = |at: usize| u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap());
        Some(match (field, place.size) {
            (Field::Source6 | Field::Dest6, _) => {
                u128::from(word(at)) << 64 | u128::from(word(at + 8))
            }
            (_, Size::Byte) => self.0[at].into(),
            (_, Size::Half) => u16::from_le_bytes(self.0[at..at + 2].try_into().unwrap()).into(),
            (_, Size::Word) => u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap()).into(),
            (_, Size::Double) => word(at).into(),
        })
    }
}

/// Few rules over all fields, any policies, either default.
pub fn random_ruleset(random: &mut Random) -> Ruleset {
    let mut policies = Policies::default();
    for oddity in Reason::ALL.into_iter().take(Policies::COUNT) {
        if random.one_in(3) {
            policies.set(oddity, random.pick(&[Policy::Judge, Policy::Pass, Policy::Drop]));
        }
    }
    let count = random.below(6);
    let rules = (0..count).map(|number| Rule {
        name: format!("rule-{number}"),
        tests: (0..random.below(3)).map(|_| random_test(random)).collect(),
        action: random.pick_action(),
    });
    let rules = rules.collect();
    let default = if random.one_in(2) { PassOrDrop::Pass } else { PassOrDrop::Drop };
    Ruleset { default, policies, rules }
}

impl Random {
    fn pick_action(&mut self) -> Action {
        match self.below(5) {
            0 => Action::Count,
            1 | 2 => Action::Drop,
            _ => Action::Pass,
        }
    }
}

fn random_test(random: &mut Random) -> Test {
    let field = random.pick(&Field::ALL);
    let low = random.below(4) as u128;
    let v6 = 0x2001_0db8_u128 << 96;
    let value = match field {
        Field::Source4 => 0x0a00_0000 + low,
        Field::Dest4 => 0x0a00_0100 + low,
        Field::Source6 => v6 + low,
        Field::Dest6 => v6 + (1 << 64) + low,
        Field::SourceMac => 0x0200_0000_0100 + low,
        Field::DestMac => 0x0200_0000_0000 + low,
        Field::EtherType => random.pick(&[0x0800_u128, 0x86dd, 0x8847, 0x8864, 0x0806]),
        Field::Protocol => random.pick(&[1_u128, 4, 6, 17, 41, 47, 58]),
        Field::SourcePort | Field::DestPort => random.pick(&PORTS).into(),
        Field::Length => random.pick(&[60_u128, 100]),
        Field::Icmp => random.pick(&[0x0800_u128, 0x8000, 0x0301]),
        Field::Ttl => random.pick(&[1_u128, 64]),
        Field::TcpFlags => random.pick(&[2_u128, 0x12]),
        Field::Extensions => random.pick(&[1_u128, 2, 4, 16]),
        Field::Dscp => random.pick(&[0_u128, 46]),
        _ => low.min(field.highest()),
    };
    let values = Values::one(value);
    let values = match random.below(4) {
        0 => values.complement(field.highest()),
        1 => Values::range(0_u8, value),
        _ => values,
    };
    Test::Is(field, values)
}
