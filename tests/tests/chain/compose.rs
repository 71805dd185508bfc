//! Composed programs on the kernel: the verdicts of their parts, counted one by one.
//!
//! Each case runs packet by packet and compares with the verdicts of the parts alone.
//! Not here: what composition writes (tests of `spec::compose`), attaching (the command line's).

use kernel::{Attach, Error, LoadOptions, Mode, Object, Replace, TestOutcome, TestRun};
use lab::{LinkOptions, TwoHosts};
use spec::asm::Reg::*;
use spec::asm::{Assembler, Cond, Helper};
use spec::compose::{
    ENTRIES, Link, MAX_LINKS, SlotTotals, VERDICTS_MAP, VerdictSet, chain, counted, slots,
};
use spec::{Initial, Input, MapKind, ProgramKind, Spec, Verdict};
use xway_tests::program::{load, map, object, seen};
use xway_tests::xway::prebuilt;

/// Return values that packets can ask for: all verdicts, and some that are none.
const VALUES: std::ops::RangeInclusive<i32> = -1..=6;
/// Offset of the byte that the first program must return; the others follow, a byte each.
const ORDERS: usize = 14;

/// A packet of `length` bytes that asks for these return values.
fn asking(values: &[i32], length: usize) -> Vec<u8> {
    let mut packet = vec![0; length];
    for (byte, value) in packet[ORDERS..].iter_mut().zip(values) {
        *byte = *value as u8;
    }
    packet
}

/// Returns byte `place` of the orders, as a signed number, and counts in `seen`.
fn obedient(name: &str, place: usize, kind: ProgramKind) -> Assembler {
    let mut a = Assembler::new(name, kind);
    let (short, absent) = (a.label(), a.label());
    a.mov(R6, R1).store32(R10.at(-4), 0).lookup("seen", R10.at(-4));
    a.jump_if(R0, Cond::Eq, 0, absent).count(R0.at(0), 1, R1).bind(absent);
    a.packet(R2, R3, R6).need(R2, R3, (ORDERS + place + 1) as i32, R4, short);
    a.load8(R0, R2.at((ORDERS + place) as i16)).lsh(R0, 56).arsh(R0, 56).exit();
    a.bind(short).verdict(Verdict::Aborted);
    a
}

fn obedient_spec(place: usize, kind: ProgramKind) -> Spec {
    object(vec![seen()], vec![obedient("obey", place, kind)])
}

fn run(object: &Object, program: &str, packet: &[u8]) -> TestOutcome {
    let input = Input { packet: packet.to_vec(), ..Input::default() };
    let program = object.program(program).unwrap();
    program.run(&TestRun { input, ..TestRun::default() }).unwrap_or_else(|error| panic!("{error}"))
}

/// Packets and bytes of each entry.
type Counts = Vec<[u64; 2]>;

fn counts(object: &Object) -> Counts {
    let map = object.map(VERDICTS_MAP).unwrap();
    let values = map.lookup_per_cpu(&[0; 4]).unwrap().unwrap();
    let slot = |slot| SlotTotals::read(values.values(), slot).unwrap().counts;
    (0..slots(map.info().value_size as usize).unwrap()).flat_map(slot).collect()
}

fn runs(object: &Object, map: &str) -> u64 {
    object.map(map).unwrap().lookup_per_cpu(&[0; 4]).unwrap().unwrap().sums()[0]
}

/// The counter of a return value.
fn entry(value: i32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX).min(ENTRIES as usize - 1)
}

#[test]
fn every_return_value_is_passed_on_and_counted() {
    for kind in [ProgramKind::XDP, ProgramKind::XDP_FRAGS] {
        let spec = obedient_spec(0, kind);
        let object = load(&counted(&spec, "obey").unwrap());
        let mut expected: Counts = vec![[0; 2]; ENTRIES as usize];
        for (number, value) in VALUES.enumerate() {
            for length in [60 + number, 1000] {
                let packet = asking(&[value], length);
                let outcome = run(&object, "obey", &packet);
                assert_eq!(outcome.code, value.cast_unsigned(), "{value}");
                assert_eq!(outcome.packet, packet, "{value}");
                expected[entry(value)][0] += 1;
                expected[entry(value)][1] += length as u64;
            }
        }
        assert_eq!(counts(&object), expected, "{kind:?}");
        assert_eq!(runs(&object, "seen"), 16, "its own map");
    }
}

/// What a chain does with a packet that asks for `values`: how many programs run, and the answer.
fn model(values: &[i32], go_on: &[VerdictSet]) -> (usize, i32) {
    let stays = |(value, set): (&i32, &VerdictSet)| {
        let verdict = Verdict::ALL.into_iter().find(|verdict| *verdict as i32 == *value);
        !verdict.is_some_and(|verdict| set.contains(verdict))
    };
    let ran = values.iter().zip(go_on).position(stays).map_or(values.len(), |last| last + 1);
    (ran, values[ran - 1])
}

fn check_chain(go_on: &[VerdictSet]) {
    let specs: Vec<Spec> =
        (0..go_on.len()).map(|place| obedient_spec(place, ProgramKind::XDP)).collect();
    let links = specs.iter().zip(go_on);
    let links: Vec<Link<'_>> =
        links.map(|(spec, go_on)| Link { spec, program: "obey", go_on: *go_on }).collect();
    let object = load(&chain(&links).unwrap());
    let mut expected: Counts = vec![[0; 2]; ENTRIES as usize * go_on.len()];
    let mut ran = vec![0; go_on.len()];
    for first in VALUES {
        for second in VALUES {
            for third in VALUES.take(if go_on.len() > 2 { 8 } else { 1 }) {
                let values = &[first, second, third][..go_on.len()];
                let (last, answer) = model(values, go_on);
                let outcome = run(&object, "obey", &asking(values, 60));
                assert_eq!(outcome.code, answer.cast_unsigned(), "{values:?} {go_on:?}");
                for (place, value) in values[..last].iter().enumerate() {
                    ran[place] += 1;
                    let counter = &mut expected[place * ENTRIES as usize + entry(*value)];
                    *counter = [counter[0] + 1, counter[1] + 60];
                }
            }
        }
    }
    assert_eq!(counts(&object), expected, "{go_on:?}");
    for (place, ran) in ran.iter().enumerate() {
        let name = if place == 0 { "seen".to_owned() } else { format!("seen.{}", place + 1) };
        assert_eq!(runs(&object, &name), *ran, "{name}, {go_on:?}");
    }
}

#[test]
fn each_link_continues_or_ends_its_chain() {
    let set = |verdicts: &[Verdict]| verdicts.iter().copied().collect::<VerdictSet>();
    let all = set(&Verdict::ALL);
    let usual = VerdictSet::default();
    for go_on in [
        &[usual, usual][..],
        &[all, VerdictSet::EMPTY],
        &[set(&[Verdict::Drop, Verdict::Redirect]), usual],
        &[usual, usual, usual],
        &[set(&[Verdict::Aborted]), set(&[Verdict::Tx, Verdict::Pass]), all],
        &[all, all, VerdictSet::EMPTY],
    ] {
        check_chain(go_on);
    }
}

#[test]
fn a_link_that_nothing_reaches_is_refused() {
    let specs = [0, 1].map(|place| obedient_spec(place, ProgramKind::XDP));
    let go_on = VerdictSet::EMPTY;
    let links = specs.each_ref().map(|spec| Link { spec, program: "obey", go_on });
    let refused = chain(&links).unwrap_err();
    assert_eq!(refused, spec::compose::Error::Final { program: "obey".to_owned() });
}

#[test]
fn the_longest_chain_loads_and_counts_each_link() {
    let spec = obedient_spec(0, ProgramKind::XDP);
    let link = Link { spec: &spec, program: "obey", go_on: VerdictSet::default() };
    let object = load(&chain(&[link; MAX_LINKS]).unwrap());
    assert_eq!(run(&object, "obey", &asking(&[2], 60)).code, 2);
    assert_eq!(run(&object, "obey", &asking(&[1], 60)).code, 1);
    for (number, entries) in counts(&object).chunks(ENTRIES as usize).enumerate() {
        let dropped = if number == 0 { [1, 60] } else { [0, 0] };
        assert_eq!((entries[2], entries[1]), ([1, 60], dropped), "link {number}");
    }
    assert_eq!(runs(&object, "seen"), 1 + MAX_LINKS as u64, "one object, one map");
}

/// Removes `bytes` from the packet's head and returns Pass.
fn beheading(bytes: i32) -> Spec {
    let mut a = Assembler::new("behead", ProgramKind::XDP);
    a.mov(R2, bytes).call(Helper::XDP_ADJUST_HEAD).verdict(Verdict::Pass);
    object(vec![], vec![a])
}

#[test]
fn each_link_counts_the_bytes_that_it_saw() {
    let (first, second) = (beheading(4), beheading(-10));
    let third = obedient_spec(0, ProgramKind::XDP);
    let link = |spec, program| Link { spec, program, go_on: VerdictSet::default() };
    let links = [link(&first, "behead"), link(&second, "behead"), link(&third, "obey")];
    let object = load(&chain(&links).unwrap());
    let mut packet = asking(&[], 60);
    packet[ORDERS - 6] = Verdict::Tx as u8;
    let outcome = run(&object, "behead", &packet);
    assert_eq!((outcome.code, outcome.packet.len()), (Verdict::Tx as u32, 66));
    let counts = counts(&object);
    assert_eq!((counts[2], counts[6 + 2], counts[12 + 3]), ([1, 60], [1, 56], [1, 66]));
}

#[test]
fn packets_of_several_buffers_count_whole() {
    let big = asking(&[Verdict::Drop as i32], 9000);
    let object = load(&counted(&obedient_spec(0, ProgramKind::XDP_FRAGS), "obey").unwrap());
    assert_eq!(run(&object, "obey", &big).code, 1);
    assert_eq!(counts(&object)[1], [1, 9000]);

    // On an interface with such an MTU; one link that cannot take them keeps them from all.
    let net = TwoHosts::build(&LinkOptions { mtu: 9000, ..LinkOptions::default() }).unwrap();
    let ifindex = net.a.ifindex("eth0").unwrap();
    for (kinds, taken) in [
        ([ProgramKind::XDP_FRAGS, ProgramKind::XDP_FRAGS], true),
        ([ProgramKind::XDP_FRAGS, ProgramKind::XDP], false),
        ([ProgramKind::XDP, ProgramKind::XDP_FRAGS], false),
    ] {
        let specs = kinds.map(|kind| obedient_spec(0, kind));
        let go_on = VerdictSet::default();
        let links = specs.each_ref().map(|spec| Link { spec, program: "obey", go_on });
        let object = load(&chain(&links).unwrap());
        let (program, mode) = (object.program("obey").unwrap(), Mode::Native);
        let attach = Attach { ifindex, program, mode, replace: Replace::No };
        let attached = net.a.run(|| kernel::attach(&attach)).unwrap();
        assert_eq!(attached.is_ok(), taken, "{kinds:?}: {attached:?}");
    }
}

/// Calls slot `index` of a program array whose slot 1 obeys; returns Tx if the slot is empty.
/// Uses `stack` bytes of it.
fn tail_calling(index: i32, stack: i16) -> Spec {
    let mut table = map("table", MapKind::PROG_ARRAY, [4, 4, 2]);
    table.initial = vec![Initial::Program { index: 1, program: 1 }];
    let mut caller = Assembler::new("caller", ProgramKind::XDP);
    caller.store64(R10.at(-stack), 7).load_map(R2, "table").mov(R3, index).call(Helper::TAIL_CALL);
    caller.verdict(Verdict::Tx);
    object(vec![seen(), table], vec![caller, obedient("target", 0, ProgramKind::XDP)])
}

#[test]
fn tail_calls_return_to_be_counted() {
    for (index, expected) in [(1, Verdict::Drop), (0, Verdict::Tx), (9, Verdict::Tx)] {
        let spec = tail_calling(index, 8);
        let object = load(&counted(&spec, "caller").unwrap());
        let packet = asking(&[Verdict::Drop as i32], 60);
        for count in 1..=3 {
            assert_eq!(run(&object, "caller", &packet).verdict(), expected, "slot {index}");
            assert_eq!(counts(&object)[expected as usize], [count, count * 60], "slot {index}");
        }
        assert_eq!(runs(&object, "seen"), if index == 1 { 3 } else { 0 });
    }
}

#[test]
fn a_chain_continues_after_a_tail_call() {
    let (first, second) = (tail_calling(1, 400), obedient_spec(1, ProgramKind::XDP));
    let go_on = VerdictSet::default();
    let links = [
        Link { spec: &first, program: "caller", go_on },
        Link { spec: &second, program: "obey", go_on },
    ];
    let object = load(&chain(&links).unwrap());
    assert_eq!(run(&object, "caller", &asking(&[2, 4], 60)).code, 4, "on behind Pass");
    assert_eq!(run(&object, "caller", &asking(&[1, 4], 60)).code, 1, "not behind Drop");
    assert_eq!(counts(&object)[2], [1, 60]);
    assert_eq!(counts(&object)[6 + 4], [1, 60]);
}

#[test]
fn calls_callbacks_and_globals_work_as_before() {
    let bytes = std::fs::read(prebuilt("test/calls.o")).unwrap();
    let spec = Spec::parse("calls.o", &bytes).unwrap();
    for name in ["calls_all", "calls_back", "calls_late"] {
        let only = || LoadOptions { programs: Some(vec![name.to_owned()]), ..Default::default() };
        let plain = Object::load(&spec, &only()).unwrap();
        let composed = counted(&spec, name).unwrap();
        let composed = Object::load(&composed, &only()).unwrap_or_else(|error| panic!("{error}"));
        for round in 1..=4 {
            let packet = asking(&[], 60);
            let [a, b] = [&plain, &composed].map(|object| run(object, name, &packet));
            assert_eq!((a.code, a.packet), (b.code, b.packet), "{name}, round {round}");
            let sum = |object: &Object| spec::Map::lookup(object.map(".bss").unwrap(), &[0; 4]);
            assert_eq!(sum(&plain).unwrap(), sum(&composed).unwrap(), "{name}, round {round}");
            let total: u64 = counts(&composed).iter().map(|[packets, _]| packets).sum();
            assert_eq!(total, round, "{name}");
        }
    }
}

#[test]
fn objects_without_types_are_composed_too() {
    let read = |name: &str| {
        let bytes = std::fs::read(prebuilt(name)).unwrap();
        Spec::parse(name, &bytes).unwrap()
    };
    let (drop, count) = (read("test/talk_drop.o"), read("test/paper_count.o"));
    let go_on = VerdictSet::default();
    let links = [
        Link { spec: &drop, program: "drop_udp", go_on },
        Link { spec: &count, program: "count_and_reflect", go_on },
    ];
    let object = load(&chain(&links).unwrap());
    let udp = |port: u16| {
        let mut packet = vec![0; 60];
        packet[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        packet[12..15].copy_from_slice(&[0x08, 0, 0x45]);
        packet[23] = 17;
        packet[30..34].copy_from_slice(&[10, 1, 0, 2]);
        packet[36..38].copy_from_slice(&port.to_be_bytes());
        packet
    };
    assert_eq!(run(&object, "drop_udp", &udp(1234)).code, Verdict::Drop as u32);
    let reflected = run(&object, "drop_udp", &udp(1235));
    assert_eq!(reflected.code, Verdict::Tx as u32);
    assert_eq!(reflected.packet[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    let counted = object.map("rxcnt").unwrap().lookup_per_cpu(&17u32.to_ne_bytes());
    assert_eq!(counted.unwrap().unwrap().sums(), [1], "only what the first let pass");
    let counts = counts(&object);
    assert_eq!((counts[1], counts[2], counts[6 + 3]), ([1, 60], [1, 60], [1, 60]));
}

#[test]
fn our_own_functions_form_a_chain() {
    let parse = |name, bytes| Spec::parse(name, bytes).unwrap();
    let drop = parse("drop", functions::drop::OBJECT);
    let forward = parse("forward", functions::route::OBJECT);
    let go_on = VerdictSet::default();
    let links = [
        Link { spec: &drop, program: functions::drop::PROGRAM, go_on },
        Link { spec: &forward, program: functions::route::PROGRAM, go_on },
    ];
    let object = load(&chain(&links).unwrap());
    let outcome = run(&object, functions::drop::PROGRAM, &asking(&[], 60));
    assert_eq!(outcome.verdict(), Verdict::Pass, "neither has rules");
    assert_eq!((counts(&object)[2], counts(&object)[6 + 2]), ([1, 60], [1, 60]));
    assert!(object.map("xway_stats").is_ok() && object.map("xway_stats.2").is_ok());
}

/// Writes `bytes` below the frame pointer.
fn deep(bytes: i16) -> Spec {
    let mut a = Assembler::new("deep", ProgramKind::XDP);
    a.store64(R10.at(-bytes), 7).load64(R0, R10.at(-bytes)).sub(R0, 5).exit();
    object(vec![], vec![a])
}

#[test]
fn a_stack_without_room_for_main_is_refused_with_an_error() {
    for (bytes, fits) in [(504, true), (512, false)] {
        let spec = deep(bytes);
        assert_eq!(run(&load(&spec), "deep", &asking(&[], 60)).code, 2, "alone");
        match Object::load(&counted(&spec, "deep").unwrap(), &LoadOptions::default()) {
            Ok(object) if fits => {
                assert_eq!(run(&object, "deep", &asking(&[], 60)).code, 2);
                assert_eq!(counts(&object)[2], [1, 60]);
            }
            Err(Error::Verifier { program, .. }) if !fits => assert_eq!(program, "deep"),
            other => panic!("{bytes} bytes: {other:?}"),
        }
    }
    // A program that must be called has a frame of its own below main's, not the same one.
    for (bytes, fits) in [(464, true), (504, false)] {
        let spec = tail_calling(0, bytes);
        assert_eq!(run(&load(&spec), "caller", &asking(&[], 60)).code, 3, "alone");
        match Object::load(&counted(&spec, "caller").unwrap(), &LoadOptions::default()) {
            Ok(object) if fits => {
                assert_eq!(run(&object, "caller", &asking(&[], 60)).code, 3);
                assert_eq!(counts(&object)[3], [1, 60]);
            }
            Err(error @ Error::Verifier { .. }) if !fits => {
                assert!(error.to_string().contains("stack size of 2 calls"), "{error}");
            }
            other => panic!("{bytes} bytes: {other:?}"),
        }
    }
}
