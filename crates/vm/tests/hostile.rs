//! Programs that want to hang the engine, break it, or see what they must not.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::time::{Duration, Instant};

use spec::asm::Reg::{R0, R1, R2, R3, R4, R6, R10};
use spec::asm::{Assembler, Atomic, Cond, Helper, Object, Width};
use spec::insn::{self, Insn};
use spec::{Input, Map, MapDef, MapKind, ProgramKind, Spec, Verdict};
use vm::{Cause, Hook, Machine, Options, Step};

fn map(name: &str, kind: MapKind, [key_size, value_size, max_entries]: [u32; 3]) -> MapDef {
    let name = name.to_owned();
    MapDef { name, kind, key_size, value_size, max_entries, ..MapDef::default() }
}

fn spec(maps: Vec<MapDef>, write: impl FnOnce(&mut Assembler)) -> Spec {
    let mut object = Object::new("hostile.o", "GPL");
    for map in maps {
        object.map(map);
    }
    let mut a = Assembler::new("program", ProgramKind::XDP);
    write(&mut a);
    object.program(a);
    object.finish().unwrap()
}

fn load(spec: &Spec) -> Machine {
    Machine::load(spec, &Options { budget: 1 << 20, ..Options::default() }).unwrap()
}

fn run(machine: &Machine) -> Result<u32, Cause> {
    let mut worker = machine.worker(0);
    worker.put(&Input { packet: vec![0; 60], ..Input::default() }).unwrap();
    let start = Instant::now();
    let result = worker.execute(0).map_err(|fault| fault.cause);
    assert!(start.elapsed() < Duration::from_secs(60), "took {:?}", start.elapsed());
    result
}

/// Counts instructions, and panics where the engine would execute many more than its budget.
struct Counter {
    executed: u64,
    most: u64,
}

impl Hook for Counter {
    fn step(&mut self, _: &Step<'_>) {
        self.executed += 1;
        assert!(self.executed <= self.most, "more than {} instructions", self.most);
    }
}

/// Runs a program that never ends and checks that it was stopped in time.
fn is_stopped_in_time(name: &str, spec: &Spec) {
    const BUDGET: u64 = 10_000;
    let machine = Machine::load(spec, &Options { budget: BUDGET, ..Options::default() });
    let mut worker = machine.unwrap_or_else(|error| panic!("{name}: {error}")).worker(0);
    let longest = spec.programs.iter().map(|program| program.insns.len()).sum::<usize>() as u64;
    worker.set_hook(Some(Box::new(Counter { executed: 0, most: BUDGET + 2 * longest })));
    worker.put(&Input { packet: vec![0; 60], ..Input::default() }).unwrap();
    let fault = worker.execute(0).unwrap_err().to_string();
    assert!(fault.contains("still running after 10000 instructions"), "{name}: {fault}");
}

fn is_endless(machine: &Machine) {
    let fault = run(machine).unwrap_err();
    assert!(matches!(fault, Cause::Endless { .. }), "{fault}");
}

#[test]
fn loops_inside_loops_spend_the_budget() {
    is_endless(&load(&spec(vec![], |a| {
        let (outer, inner) = (a.label(), a.label());
        let times = 8 << 20;
        a.mov(R1, times).load_function(R2, outer).mov(R3, 0).mov(R4, 0).call(Helper::LOOP).exit();
        a.function(outer, "outer").mov(R1, times).load_function(R2, inner).mov(R3, 0);
        a.mov(R4, 0).call(Helper::LOOP).mov(R0, 0).exit();
        a.function(inner, "inner").mov(R0, 0).exit();
    })));
}

/// Bare instructions as an object.
fn bare(insns: Vec<Insn>) -> Spec {
    let functions = vec![spec::Function { name: "bare".to_owned(), ..Default::default() }];
    let kind = ProgramKind::XDP;
    let program =
        spec::Program { kind, autoload: true, insns, functions, ..spec::Program::default() };
    Spec { programs: vec![program], ..Spec::default() }
}

#[test]
fn no_kind_of_loop_executes_more_than_the_budget() {
    let padding = |len: usize| vec![Insn::new(0xb7, 0, 0, 0, 0); len];
    let may_goto = |off| Insn::new(0xe5, 0, 0, off, 0);
    let goto = |off| Insn::new(0x05, 0, 0, off, 0);
    let exit = Insn::new(insn::EXIT, 0, 0, 0, 0);
    is_stopped_in_time("may_goto -1, goto -2", &bare(vec![may_goto(-1), goto(-2), exit]));
    is_stopped_in_time("a long body", &bare([padding(9_000), vec![goto(-9_001), exit]].concat()));
    let staggered =
        [vec![goto(1), goto(8_001)], padding(7_999), vec![goto(1), goto(-8_001), goto(-2), exit]];
    is_stopped_in_time("jumps back into each other", &bare(staggered.concat()));
}

#[test]
fn no_kind_of_call_executes_more_than_the_budget() {
    is_stopped_in_time(
        "bpf_loop",
        &spec(vec![], |a| {
            let body = a.label();
            a.mov(R1, 8 << 20)
                .load_function(R2, body)
                .mov(R3, 0)
                .mov(R4, 0)
                .call(Helper::LOOP)
                .exit();
            a.function(body, "body");
            (0..3_000).for_each(|_| _ = a.mov(R0, 0));
            a.exit();
        }),
    );
    is_stopped_in_time(
        "local calls",
        &spec(vec![], |a| {
            let (again, body) = (a.label(), a.label());
            a.bind(again).call_local(body).jump(again);
            a.function(body, "body");
            (0..3_000).for_each(|_| _ = a.mov(R0, 0));
            a.exit();
        }),
    );
    is_stopped_in_time(
        "for each element",
        &spec(vec![map("m", MapKind::ARRAY, [4, 8, 1000])], |a| {
            let body = a.label();
            a.load_map(R1, "m").load_function(R2, body).mov(R3, 0).mov(R4, 0);
            a.call(Helper::FOR_EACH_MAP_ELEM).exit();
            a.function(body, "body");
            (0..500).for_each(|_| _ = a.mov(R0, 0));
            a.exit();
        }),
    );
}

#[test]
fn a_run_is_interrupted_within_a_packet() {
    let endless = bare(vec![Insn::new(0x05, 0, 0, -1, 0), Insn::new(insn::EXIT, 0, 0, 0, 0)]);
    let options = Options { budget: u64::MAX, ..Options::default() };
    let mut worker = Machine::load(&endless, &options).unwrap().worker(0);
    let mut asked = 0;
    worker.set_interrupt(Some(Box::new(move || {
        asked += 1;
        asked == 3
    })));
    let run = worker.run(0, &Input { packet: vec![0; 60], ..Input::default() }).unwrap();
    assert_eq!(run.fault.as_ref().map(|fault| &fault.cause), Some(&Cause::Interrupted));
    assert!(run.is_interrupted());
}

#[test]
fn walks_over_empty_maps_spend_the_budget() {
    let wide = map("wide", MapKind::HASH, [4, 8, 1 << 20]);
    is_endless(&load(&spec(vec![wide], |a| {
        let (again, callback) = (a.label(), a.label());
        a.bind(again).load_map(R1, "wide").load_function(R2, callback).mov(R3, 0).mov(R4, 0);
        a.call(Helper::FOR_EACH_MAP_ELEM).jump(again);
        a.function(callback, "callback").mov(R0, 0).exit();
    })));
}

#[test]
fn long_copies_spend_the_budget() {
    let long = map("long", MapKind::ARRAY, [4, 1 << 24, 1]);
    is_endless(&load(&spec(vec![long], |a| {
        let (again, out) = (a.label(), a.label());
        a.store32(R10.at(-4), 0).lookup("long", R10.at(-4)).jump_if(R0, Cond::Eq, 0, out);
        a.mov(R6, R0).bind(again).mov(R1, R6).mov(R2, 1 << 24).mov(R3, R6);
        a.call(Helper::PROBE_READ_KERNEL).jump(again).bind(out).verdict(Verdict::Pass);
    })));
}

#[test]
fn long_keys_are_walked_or_refused() {
    for (key_size, expected) in [(512, Ok(1)), (513, Err(Cause::KeyTooLong { len: 513 }))] {
        let long = map("long", MapKind::HASH, [key_size, 8, 4]);
        let machine = load(&spec(vec![long], |a| {
            let callback = a.label();
            a.load_map(R1, "long").load_function(R2, callback).mov(R3, 0).mov(R4, 0);
            a.call(Helper::FOR_EACH_MAP_ELEM).exit();
            a.function(callback, "callback").load8(R0, R2.at(511)).mov(R0, 0).exit();
        }));
        let key = vec![7; key_size as usize];
        machine.map("long").unwrap().update(&key, &[1; 8], spec::Expect::Any).unwrap();
        assert_eq!(run(&machine), expected);
    }
}

#[test]
fn callbacks_past_the_program_are_refused() {
    let machine = load(&spec(vec![], |a| {
        let callback = a.label();
        a.mov(R1, 1).load_function(R2, callback).add(R2, 1000).mov(R3, 0).mov(R4, 0);
        a.call(Helper::LOOP).exit();
        a.function(callback, "callback").mov(R0, 0).exit();
    }));
    assert!(matches!(run(&machine), Err(Cause::CallbackTarget { .. })));
}

#[test]
fn maps_that_programs_only_write_are_not_read() {
    const WRONLY_PROG: u32 = 1 << 8;
    type Body = fn(&mut Assembler);
    let rows: [(&str, Body, bool); 4] = [
        ("store", |a| _ = a.store64(R0.at(0), 7), true),
        ("load", |a| _ = a.load64(R1, R0.at(0)), false),
        ("atomic", |a| _ = a.mov(R1, 1).atomic(Atomic::Add, Width::W64, R0.at(0), R1), false),
        ("helper", |a| _ = a.mov(R3, R0).mov(R1, R10).add(R1, -16).mov(R2, 8).mov(R4, 0), true),
    ];
    for (name, body, allowed) in rows {
        let def = MapDef { flags: WRONLY_PROG, ..map("out", MapKind::ARRAY, [4, 8, 1]) };
        let machine = load(&spec(vec![def], |a| {
            let absent = a.label();
            a.store32(R10.at(-4), 0).lookup("out", R10.at(-4)).jump_if(R0, Cond::Eq, 0, absent);
            body(a);
            a.verdict(Verdict::Pass).bind(absent).verdict(Verdict::Drop);
        }));
        let result = run(&machine);
        assert_eq!(result.is_ok(), allowed, "{name}: {result:?}");
    }
}

#[test]
fn atomic_time_follows_the_world() {
    let spec = spec(vec![map("time", MapKind::ARRAY, [4, 8, 1])], |a| {
        let absent = a.label();
        a.call(Helper::KTIME_GET_TAI_NS).mov(R6, R0).store32(R10.at(-4), 0);
        a.lookup("time", R10.at(-4)).jump_if(R0, Cond::Eq, 0, absent).store64(R0.at(0), R6);
        a.bind(absent).verdict(Verdict::Pass);
    });
    let mut options = Options::default();
    (options.world.clock.start_ns, options.world.clock.wall_offset_ns) = (5, 1000);
    let machine = Machine::load(&spec, &options).unwrap();
    run(&machine).unwrap();
    let time = machine.map("time").unwrap().read(&[0; 4]).unwrap();
    assert_eq!(u64::from_ne_bytes(time.try_into().unwrap()), 37_000_001_005);
}

#[test]
fn packets_and_metadata_have_their_limits() {
    /// One buffer without head- and tailroom, and 17 pages.
    const LONGEST: usize = 4096 - 256 - 320 + 17 * 4096;
    let machine = load(&spec(vec![], |a| _ = a.verdict(Verdict::Pass)));
    let mut worker = machine.worker(0);
    let rows = [
        (0, 0, false),
        (13, 0, false),
        (14, 0, true),
        (3520, 0, true),
        (LONGEST, 0, true),
        (LONGEST + 1, 0, false),
        (60, 216, true),
        (60, 220, false),
        (60, 2, false),
    ];
    for (len, meta, fits) in rows {
        let (packet, metadata) = (vec![0; len], vec![0; meta]);
        let put = worker.put(&Input { packet, metadata, ..Input::default() });
        assert_eq!(put.is_ok(), fits, "{len} {meta}: {put:?}");
    }
}

/// A program whose instructions end with a wide one's second half, and one without an end.
#[test]
fn programs_without_an_end_are_refused() {
    let rows: [&[Insn]; 3] = [
        &[],
        &[Insn::new(0xb7, 0, 0, 0, 0)],
        &[Insn::new(insn::LD_IMM64, 0, 0, 0, 0), Insn::default()],
    ];
    for insns in rows {
        let program = spec::Program { autoload: true, insns: insns.to_vec(), ..Default::default() };
        let spec = Spec { programs: vec![program], ..Spec::default() };
        let ended = Machine::load(&spec, &Options::default())
            .and_then(|machine| machine.worker(0).run_raw(0, &mut []));
        assert!(ended.is_err(), "{insns:?}");
    }
}

/// Maps of any type, size and flag are made or refused, and cost no memory before their use.
#[test]
fn maps_of_any_shape_are_made_or_refused() {
    let key_sizes = [0, 1, 4, 5, 8, 260, 513, 1 << 22, u32::MAX];
    let value_sizes = [0, 1, 4, 8, 12, 1 << 15, 1 << 22, i32::MAX as u32, u32::MAX];
    let entries = [0, 1, 3, 4096, 1 << 20, 1 << 27, 1 << 31, u32::MAX];
    let flags = [0, 1, 2, 4, 3 << 3, 1 << 6, 1 << 7, 3 << 7, 1 << 10, 1 << 12, u32::MAX];
    let mut made = 0;
    for (number, kind) in (0..35).chain([u32::MAX]).map(MapKind).enumerate() {
        for (round, key_size) in key_sizes.into_iter().enumerate() {
            for (turn, value_size) in value_sizes.into_iter().enumerate() {
                for max_entries in entries {
                    let flags = flags[(number + round + turn) % flags.len()];
                    let extra = if turn == 3 { u64::MAX } else { 0 };
                    let def = MapDef {
                        flags,
                        extra,
                        ..map("any", kind, [key_size, value_size, max_entries])
                    };
                    let spec = Spec { maps: vec![def], ..Spec::default() };
                    let cpus = if round % 2 == 0 { 1 } else { 256 };
                    let options = Options { cpus, ..Options::default() };
                    let machine = Machine::load(&spec, &options).unwrap();
                    made += u32::from(machine.maps()[0].why_absent().is_none());
                }
            }
        }
    }
    assert!(made > 50, "{made} maps");
}
