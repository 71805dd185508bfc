//! Generated code on the engine answers what rules answer one after the other, and lets the same
//! rules do what they do, in the same order.
//!
//! The code runs in a program of the test's own: a frame is a `struct filter_packet`, and what
//! `filter_effect()` is called for is written into it.

use spec::asm::Reg::*;
use spec::asm::{Assembler, Cond, Object};
use spec::compose::splice;
use spec::{Input, MapDef, MapKind, ProgramKind, Runtime, Spec};
use vm::VmRuntime;

use super::{fits, generate};
use crate::abi::{self, Known};
use crate::compile::plan::random::Random;
use crate::compile::plan::tests::rulesets::{self, one_by_one, packet};
use crate::compile::plan::tests::same_answers::{random_rules, value};
use crate::compile::plan::{Budget, NO_RULE, Plan};
use crate::{Base, EFFECT, Family, Field, MATCH, PacketFields, Payload, Ruleset, Test, Values};

const PACKET: i16 = abi::Packet::SIZE as i16;
/// After the packet: the result, the number of effects, and up to this number of them.
const ANSWER: i16 = PACKET;
const COUNT: i16 = PACKET + 4;
const EFFECTS: i16 = PACKET + 8;
const MOST: usize = 120;
/// The rule whose effect ends the search.
const ENDS: i16 = EFFECTS + 4 * MOST as i16;
const FRAME: usize = ENDS as usize + 8;

/// Copies the packet to its stack and asks; `filter_effect` writes into the frame.
fn host(calls: usize) -> Spec {
    let mut a = Assembler::new("host", ProgramKind::XDP);
    let [question, effect, short] = [a.label(), a.label(), a.label()];
    a.mov(R6, R1).packet(R2, R3, R1).need(R2, R3, FRAME as i32, R4, short);
    for word in (0..PACKET).step_by(8) {
        a.load64(R4, R2.at(word)).store64(R10.at(word - PACKET - 8), R4);
    }
    a.mov(R7, 7).mov(R8, 8).mov(R9, 9);
    for _ in 0..calls {
        let empty = a.label();
        a.packet(R2, R3, R6).need(R2, R3, FRAME as i32, R4, empty).store32(R2.at(COUNT), 0);
        a.bind(empty).mov(R1, R6).mov(R2, R10).add(R2, -PACKET - 8).call_local(question);
    }
    // What the host keeps must be there still.
    a.add(R7, R8).add(R7, R9).sub(R7, 24).add(R0, R7);
    a.packet(R2, R3, R6).need(R2, R3, FRAME as i32, R4, short);
    a.store32(R2.at(ANSWER), R0).mov(R0, 2).exit().bind(short).mov(R0, 0).exit();
    a.function(question, MATCH).mov(R3, 0).call_local(effect).exit();
    a.function(effect, EFFECT).mov(R2, R3).packet(R4, R5, R1);
    let [out, full] = [a.label(), a.label()];
    a.need(R4, R5, FRAME as i32, R0, out).load32(R0, R4.at(COUNT));
    a.jump_if(R0, Cond::Ge, MOST as i32, full).mov(R3, R0).add(R3, 1).store32(R4.at(COUNT), R3);
    a.lsh(R0, 2).mov(R3, R4).add(R3, R0).store32(R3.at(EFFECTS), R2);
    a.load32(R0, R4.at(ENDS)).jump_if(R0, Cond::Eq, R2, full).mov(R0, 0).exit();
    a.bind(full).mov(R0, 1).exit().bind(out).mov(R0, 0).exit();
    let mut object = Object::new("host", "GPL");
    object.map(MapDef {
        name: "unused".to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        ..MapDef::default()
    });
    object.program(a);
    object.finish().unwrap()
}

/// A frame that holds the packet.
fn frame(packet: &PacketFields, ends: u32) -> Vec<u8> {
    let mut frame = vec![0; FRAME];
    let mut known = 0;
    for field in Field::ALL {
        let Some(value) = packet.field(field) else { continue };
        let place = field.place();
        known |= match packet.family() {
            Family::Ipv4 if place.known == Known::EITHER_IP => Known::Ipv4 as u32,
            Family::Ipv6 if place.known == Known::EITHER_IP => Known::Ipv6 as u32,
            _ => place.known,
        };
        let at = place.offset as usize;
        if field.bits() > 64 {
            frame[at..at + 8].copy_from_slice(&((value >> 64) as u64).to_le_bytes());
            frame[at + 8..at + 16].copy_from_slice(&(value as u64).to_le_bytes());
        } else {
            let bytes = value.to_le_bytes();
            let length = field.bits().next_multiple_of(8).next_power_of_two() as usize / 8;
            frame[at..at + length].copy_from_slice(&bytes[..length]);
        }
    }
    frame[Known::OFFSET as usize..][..4].copy_from_slice(&known.to_le_bytes());
    frame[ENDS as usize..][..4].copy_from_slice(&ends.to_le_bytes());
    frame
}

/// A packet as the program can have read it: fields that one bit speaks for are all there or not.
fn readable(random: &mut Random) -> PacketFields {
    let mut packet = packet(random, value);
    let there = |packet: &PacketFields, known| {
        Field::ALL.iter().any(|f| f.place().known & known != 0 && packet.field(*f).is_some())
    };
    let family = packet.family();
    for field in Field::ALL.into_iter().filter(|field| field.is_in(family)) {
        let not4 = field == Field::Extensions && family == Family::Ipv4;
        if packet.field(field).is_none() && !not4 && there(&packet, field.place().known) {
            let value = value(random, field) & field.highest();
            packet.set(field, value);
        }
        if not4 && packet.field(field).is_some() {
            return readable(random);
        }
    }
    packet
}

struct Engine(VmRuntime);

impl Engine {
    fn new(ruleset: &Ruleset, budget: &Budget, calls: usize) -> Self {
        let plan = Plan::new(ruleset, |_| None, budget);
        let generated = generate(ruleset, &plan, &|_| None);
        let mut spec = host(calls);
        spec.maps.extend(generated.data);
        let spec = splice(&spec, "host", MATCH, generated.code).unwrap();
        let mut engine = VmRuntime::default();
        engine.load(&spec).unwrap();
        Self(engine)
    }

    /// The result, and the rules whose effects were called.
    fn ask(&mut self, packet: &PacketFields, ends: u32) -> (u32, Vec<u32>) {
        self.ask_bytes(frame(packet, ends))
    }

    fn ask_bytes(&mut self, packet: Vec<u8>) -> (u32, Vec<u32>) {
        let input = Input { packet, ..Input::default() };
        let outcome = self.0.run("host", &input).unwrap_or_else(|error| panic!("{error}"));
        let word = |at: usize| u32::from_le_bytes(outcome.packet[at..at + 4].try_into().unwrap());
        let count = word(COUNT as usize) as usize;
        (word(ANSWER as usize), (0..count).map(|n| word(EFFECTS as usize + 4 * n)).collect())
    }
}

/// What rules answer one after the other, when the effect of one ends the search.
fn expected(ruleset: &Ruleset, packet: &PacketFields, ends: u32) -> (u32, Vec<u32>) {
    let (decided, mut before) = one_by_one(ruleset, packet);
    match before.iter().position(|rule| *rule == ends) {
        Some(place) => {
            before.truncate(place + 1);
            (ends, before)
        }
        None => (decided, before),
    }
}

fn agree(ruleset: &Ruleset, budget: &Budget, packets: usize, seed: u64) {
    let mut random = Random(seed);
    let mut engine = Engine::new(ruleset, budget, 1 + seed as usize % 2);
    for _ in 0..packets {
        let packet = readable(&mut random);
        let ends = if random.below(4) == 0 {
            random.below(ruleset.rules.len().max(1) as u64) as u32
        } else {
            NO_RULE
        };
        let answer = engine.ask(&packet, ends);
        let expected = expected(ruleset, &packet, ends);
        let [right, wrong] = [expected.0, answer.0].map(|rule| ruleset.rules.get(rule as usize));
        assert_eq!(
            answer,
            expected,
            "seed {seed}, {ends} ends: {packet:?}\nright {right:?}\nwrong {wrong:?}\n{}",
            Plan::new(ruleset, |_| None, budget).describe()
        );
    }
}

#[test]
fn code_answers_what_rules_answer() {
    for seed in 1..=60 {
        let mut random = Random(seed);
        let effects = random.one_of(&[0, 0, 20, 90]);
        let ruleset = random_rules(&mut random, effects);
        agree(&ruleset, &Budget::default(), 100, seed);
    }
}

#[test]
fn straight_code_answers_the_same() {
    let straight = Budget { straight_rules: 1000, straight_ranges: 100_000, ..Budget::default() };
    for seed in 500..550 {
        let mut random = Random(seed);
        let effects = random.one_of(&[0, 30]);
        agree(&random_rules(&mut random, effects), &straight, 100, seed);
    }
}

/// Enough rules for several functions.
#[test]
fn straight_code_in_parts_answers_the_same() {
    let payload = |number: u32| Payload {
        from: Base::Frame,
        negated: false,
        offset: Field::SourcePort.place().offset.cast_unsigned(),
        mask: vec![0xff; 2],
        value: (number as u16).to_le_bytes().to_vec(),
    };
    for tables in [false, true] {
        let mut ruleset = rulesets::drop((0..6_000).map(|n| vec![Test::Payload(payload(n))]));
        for (number, rule) in ruleset.rules.iter_mut().enumerate() {
            match number % 100 {
                // An effect among them, and a rule of which there is a table.
                7 => rule.action = crate::Action::Count,
                9 if tables => {
                    let one = Values::range(number as u32, number as u32);
                    rule.tests = vec![Test::Is(Field::Dest4, one)]
                }
                _ => {}
            }
        }
        let plan = Plan::new(&ruleset, |_| None, &Budget::default());
        assert!(generate(&ruleset, &plan, &|_| None).parts.len() > 6);
        let mut engine = Engine::new(&ruleset, &Budget::default(), 1);
        for (port, dest) in [(0_u32, 9_u32), (7, 9), (7, 109), (3_000, 209), (5_999, 3), (9_999, 9)]
        {
            let mut packet = PacketFields::default();
            packet.set(Field::Source4, 1_u32).set(Field::Dest4, dest);
            packet.set(Field::SourcePort, port);
            let by_table = (tables && dest % 100 == 9).then_some(dest);
            let by_payload = (port < 6_000 && port % 100 != 7).then_some(port);
            let first = by_payload.into_iter().chain(by_table).min();
            let counted = port % 100 == 7 && first.is_none_or(|rule| port < rule);
            let effects = if counted { vec![port] } else { vec![] };
            let expected = (first.unwrap_or(NO_RULE), effects);
            assert_eq!(engine.ask(&packet, NO_RULE), expected, "{tables} {port} {dest}");
        }
    }
}

#[test]
fn split_tables_answer_the_same() {
    let tiny = Budget { bytes: 64, straight_rules: 0, straight_ranges: 0 };
    for seed in 1_000..1_040 {
        let mut random = Random(seed);
        let effects = random.one_of(&[0, 30, 100]);
        let ruleset = random_rules(&mut random, effects);
        if fits(&Plan::new(&ruleset, |_| None, &tiny)) {
            agree(&ruleset, &tiny, 60, seed);
        }
    }
}

#[test]
fn no_rules_decide_nothing() {
    let mut engine = Engine::new(&Ruleset::default(), &Budget::default(), 1);
    assert_eq!(engine.ask(&PacketFields::default(), NO_RULE), (NO_RULE, vec![]));
}

/// A set of random ranges, `near` each other.
fn ranges(random: &mut Random, field: Field, count: usize, near: u128) -> Values {
    let base = random.wide() & field.highest();
    let range = |_| {
        let first = (base ^ (random.wide() & near)) & field.highest();
        let length = random.wide() & (near >> random.below(100).min(90)) & 0xff;
        (first, first.saturating_add(length).min(field.highest()))
    };
    Values::new((0..count).map(range))
}

/// Every field, every form of comparing and searching, at the ends of every range.
#[test]
fn every_field_at_the_ends_of_its_ranges() {
    let all = Budget { straight_rules: 10, straight_ranges: 100_000, ..Budget::default() };
    let none = Budget { straight_rules: 0, straight_ranges: 0, ..Budget::default() };
    let nears = [0xff, 0xffff_ffff, u128::from(u64::MAX), u128::from(u64::MAX) << 32, u128::MAX];
    for (seed, field) in (1..).zip(Field::ALL) {
        let mut random = Random(seed);
        for near in nears.into_iter().filter(|near| near >> 8 <= field.highest()) {
            for (count, budget) in [(1, &all), (3, &all), (50, &all), (4, &none), (300, &none)] {
                let values = ranges(&mut random, field, count, near);
                let tests = vec![Test::Is(field, values.clone())];
                let ruleset = rulesets::drop([tests]);
                let mut engine = Engine::new(&ruleset, budget, 1);
                let ends = values.ranges().iter().take(20).flat_map(|(first, last)| {
                    [first.saturating_sub(1), *first, *last, last.saturating_add(1)]
                });
                for value in ends.chain([0, field.highest()]) {
                    let mut packet = facts_with(&mut random, field);
                    packet.set(field, value.min(field.highest()));
                    let expected = one_by_one(&ruleset, &packet);
                    let place = format!("{field:?} {value:#x} of {count} near {near:#x}");
                    assert_eq!(engine.ask(&packet, NO_RULE), expected, "{place}");
                }
            }
        }
    }
}

fn facts_with(random: &mut Random, field: Field) -> PacketFields {
    loop {
        let packet = readable(random);
        if packet.field(field).is_some() {
            return packet;
        }
    }
}

/// Rules that match bytes of the frame, which contains the packet fields.
#[test]
fn payloads_are_looked_at_inside_the_frame_only() {
    let mut random = Random(77);
    for turn in 0..400 {
        let packet = readable(&mut random);
        let mut bytes = frame(&packet, NO_RULE);
        let [network, transport] = [random.below(40) as u16, random.below(700) as u16];
        bytes[super::NETWORK as usize..][..2].copy_from_slice(&network.to_le_bytes());
        bytes[super::TRANSPORT as usize..][..2].copy_from_slice(&transport.to_le_bytes());
        let known = &mut bytes[Known::OFFSET as usize + 1];
        *known = *known & !1 | u8::from(random.below(2) == 0);
        let is_known = *known & 1 != 0;
        let (from, base) = match random.below(3) {
            0 => (Base::Frame, Some(0)),
            1 => (Base::Network, Some(usize::from(network)).filter(|base| *base > 0)),
            _ => (Base::Transport, Some(usize::from(transport)).filter(|_| is_known)),
        };
        let offset = random.one_of(&[0, 1, 70, 90, FRAME as u16, 32_767, 65_530, 65_535]);
        let length = 1 + random.below(16) as usize;
        let there = base.and_then(|base| bytes.get(base + usize::from(offset)..)?.get(..length));
        let mut value = there.map_or_else(|| vec![1; length], <[u8]>::to_vec);
        if random.below(3) == 0 {
            value[random.below(length as u64) as usize] ^= 0x10;
        }
        let mask: Vec<u8> = (0..length).map(|_| random.one_of(&[0xff, 0xff, 0, 0x0f])).collect();
        let negated = random.below(3) == 0;
        let holds = there.is_some_and(|there| {
            let mut bytes = there.iter().zip(&mask).zip(&value);
            bytes.all(|((is, mask), one)| is & mask == one & mask) != negated
        });
        let payload = Payload { from, offset, mask, value, negated };
        let ruleset = rulesets::drop([vec![Test::Payload(payload)]]);
        let mut engine = Engine::new(&ruleset, &Budget::default(), 1);
        let answer = engine.ask_bytes(bytes).0;
        assert_eq!(answer, if holds { 0 } else { NO_RULE }, "turn {turn}: {:?}", ruleset.rules);
    }
}
