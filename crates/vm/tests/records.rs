//! Maps without plain elements: what programs may not do with them, and workers side by side.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::Arc;

use spec::asm::{Assembler, Cond, Helper, Object, Reg::*};
use spec::{Input, MapDef, MapKind, ProgramKind, Verdict};
use vm::{Errno, Machine, Map, Options};

const MAPS: [(&str, MapKind, [u32; 3]); 9] = [
    ("ring", MapKind::RINGBUF, [0, 0, 4096]),
    ("user", MapKind::USER_RINGBUF, [0, 0, 4096]),
    ("queue", MapKind::QUEUE, [0, 4, 4]),
    ("bloom", MapKind::BLOOM_FILTER, [0, 4, 4]),
    ("devices", MapKind::DEVMAP, [4, 8, 4]),
    ("processors", MapKind::CPUMAP, [4, 8, 2]),
    ("sockets", MapKind::XSKMAP, [4, 4, 4]),
    ("events", MapKind::PERF_EVENT_ARRAY, [4, 4, 4]),
    ("array", MapKind::ARRAY, [4, 8, 4]),
];

/// A machine with all maps and one program.
fn machine(cpus: u32, write: impl FnOnce(&mut Assembler)) -> Machine {
    let mut object = Object::new("records.o", "GPL");
    for (name, kind, [key_size, value_size, max_entries]) in MAPS {
        let name = name.to_owned();
        object.map(MapDef { name, kind, key_size, value_size, max_entries, ..MapDef::default() });
    }
    let mut a = Assembler::new("program", ProgramKind::XDP);
    write(&mut a);
    object.program(a);
    let options = Options { cpus, ..Options::default() };
    Machine::load(&object.finish().unwrap(), &options).unwrap()
}

fn map(machine: &Machine, name: &str) -> Arc<Map> {
    machine.map(name).unwrap()
}

/// What stops the program; all maps that take it hold something at key 0.
fn fault(machine: &Machine) -> String {
    for name in ["devices", "processors", "sockets"] {
        let map = map(machine, name);
        let value = [&1_u32.to_ne_bytes()[..], &[0; 4]].concat();
        map.write(&[0; 4], &value[..map.attributes().value_size as usize], 0).unwrap();
    }
    let mut worker = machine.worker(0);
    worker.put(&Input { packet: vec![0; 60], ..Input::default() }).unwrap();
    worker.execute(0).map_or_else(|fault| fault.to_string(), |r0| format!("none: {r0}"))
}

/// Reserves eight bytes: R0 is the record, and R6.
fn reserve(a: &mut Assembler) -> &mut Assembler {
    a.load_map(R1, "ring").mov(R2, 8).mov(R3, 0).call(Helper::RINGBUF_RESERVE).mov(R6, R0)
}

fn finish(a: &mut Assembler, helper: Helper, offset: i32) {
    a.mov(R1, R6).add(R1, offset).mov(R2, 0).call(helper);
}

/// Calls a helper on elements at key 0, which is also the value.
fn element(a: &mut Assembler, map: &str, helper: Helper) {
    a.store64(R10.at(-8), 0).mov(R2, R10).add(R2, -8).mov(R3, R2).mov(R4, 0);
    a.load_map(R1, map).call(helper);
}

#[test]
fn what_the_verifier_would_refuse_is_a_fault_that_says_why() {
    type Write = fn(&mut Assembler);
    // Words of the fault, and the number of records that user space gets.
    let table: [(&str, usize, Write); 14] = [
        ("8 bytes there are not inside its 8 bytes", 0, |a| {
            reserve(a).store64(R0.at(1), 5);
        }),
        ("ring buffer record, byte 8", 0, |a| {
            reserve(a).store8(R0.at(8), 5);
        }),
        ("no record is reserved there (any more)", 1, |a| {
            finish(reserve(a), Helper::RINGBUF_SUBMIT, 0);
            a.load8(R0, R6.at(0));
        }),
        ("is not the start of a reserved record", 1, |a| {
            finish(reserve(a), Helper::RINGBUF_SUBMIT, 0);
            finish(a, Helper::RINGBUF_DISCARD, 0);
        }),
        ("is not the start of a reserved record", 0, |a| {
            finish(reserve(a), Helper::RINGBUF_SUBMIT, 4);
        }),
        ("a record is reserved and neither submitted nor discarded", 0, |a| {
            reserve(a);
        }),
        ("`queue` is a map of type queue", 0, |a| element(a, "queue", Helper::MAP_LOOKUP_ELEM)),
        ("`bloom` is a map of type bloom_filter", 0, |a| element(a, "bloom", Helper::MAP_POP_ELEM)),
        ("`array` is a map of type array", 0, |a| element(a, "array", Helper::MAP_PUSH_ELEM)),
        ("`devices` is a map of type devmap", 0, |a| {
            element(a, "devices", Helper::MAP_UPDATE_ELEM);
        }),
        ("`processors` is a map of type cpumap", 0, |a| {
            element(a, "processors", Helper::MAP_LOOKUP_ELEM);
        }),
        ("read-only", 0, |a| {
            element(a, "devices", Helper::MAP_LOOKUP_ELEM);
            a.store32(R0.at(0), 7);
        }),
        ("`user` is not a ring buffer", 0, |a| {
            a.load_map(R1, "user").mov(R2, 8).mov(R3, 0).call(Helper::RINGBUF_RESERVE);
        }),
        ("`array` is not a perf event array", 0, |a| {
            a.load_map(R2, "array").mov(R3, 0).mov(R4, R10).mov(R5, 0);
            a.call(Helper::PERF_EVENT_OUTPUT);
        }),
    ];
    for (words, records, write) in table {
        let machine = machine(1, |a| {
            write(a);
            a.verdict(Verdict::Pass);
        });
        let said = fault(&machine);
        assert!(said.contains(words), "wanted `{words}`, got `{said}`");
        let heard = map(&machine, "ring").records().unwrap().records.len();
        assert_eq!(heard, records, "{words}");
    }
}

#[test]
fn elements_of_redirect_maps_can_be_read() {
    for (name, first) in [("devices", 1), ("sockets", 0)] {
        let machine = machine(2, |a| {
            let absent = a.label();
            element(a, name, Helper::MAP_LOOKUP_ELEM);
            a.jump_if(R0, Cond::Eq, 0, absent).load32(R0, R0.at(0)).add(R0, 100).exit();
            a.bind(absent).mov(R0, 0).exit();
        });
        assert_eq!(machine.worker(0).execute(0).unwrap(), 0, "{name} is empty");
        assert_eq!(fault(&machine), format!("none: {}", 100 + first), "{name}");
    }
}

#[test]
fn workers_share_a_ring_and_lose_nothing_unsaid() {
    const RUNS: u32 = 20_000;
    let machine = machine(3, |a| {
        a.call(Helper::GET_SMP_PROCESSOR_ID).store32(R10.at(-8), R0);
        a.call(Helper::GET_PRANDOM_U32).store32(R10.at(-4), R0);
        a.load_map(R1, "ring").mov(R2, R10).add(R2, -8).mov(R3, 8).mov(R4, 0);
        a.call(Helper::RINGBUF_OUTPUT).exit();
    });
    let ring = map(&machine, "ring");
    let (mut heard, mut lost) = ([0; 3], 0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|cpu| {
                let mut worker = machine.worker(cpu);
                scope.spawn(move || {
                    let answers = (0..RUNS).map(|_| worker.execute(0).unwrap());
                    answers.filter(|answer| answer.cast_signed() == -Errno::EAGAIN.0).count()
                })
            })
            .collect();
        loop {
            let done = workers.iter().all(|worker| worker.is_finished());
            let taken = ring.records().unwrap();
            lost += taken.lost;
            for record in taken.records {
                heard[record.bytes[0] as usize] += 1;
                assert_eq!(record.bytes.len(), 8);
            }
            if done {
                break;
            }
        }
        let refused: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        assert_eq!(lost, refused as u64);
    });
    assert_eq!(heard.iter().sum::<u64>() + lost, u64::from(3 * RUNS), "{heard:?} {lost}");
}

#[test]
fn records_are_only_where_the_type_has_them() {
    let machine = machine(1, |a| _ = a.verdict(Verdict::Pass));
    for (name, ..) in MAPS {
        let map = map(&machine, name);
        let has = matches!(name, "ring" | "events");
        assert_eq!(map.records().is_ok(), has, "{name}");
        assert_eq!(map.open_events(None).is_ok(), name == "events", "{name}");
        assert_eq!(map.send(&[1]).is_ok(), name == "user", "{name}");
        assert_eq!(map.holds(&[0; 4]).is_ok(), name == "bloom", "{name}");
    }
    let bloom = map(&machine, "bloom");
    bloom.write(&[], &[1; 4], 0).unwrap();
    assert_eq!(bloom.holds(&[1; 4]), Ok(true));
    assert_eq!(bloom.holds(&[2; 4]), Ok(false));
    assert_eq!(bloom.holds(&[1; 5]), Err(Errno::EINVAL));
}
