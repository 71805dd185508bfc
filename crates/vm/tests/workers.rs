//! Several processors of one machine at the same time: each a thread with a worker of its own.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::thread;

use spec::asm::Reg::{R0, R1, R2, R3, R4, R5, R10};
use spec::asm::{Assembler, Atomic, Cond, Object, Width};
use spec::{Input, Map, MapDef, MapKind, ProgramKind, Verdict};
use vm::{Machine, Options};

const CPUS: u32 = 4;
const PACKETS: u64 = 20_000;

fn map(name: &str, kind: MapKind) -> MapDef {
    let name = name.to_owned();
    MapDef { name, kind, key_size: 4, value_size: 8, max_entries: 4, ..MapDef::default() }
}

/// Counts each packet three times: per CPU without a lock, and in an array and a hash that all
/// share, atomically. The key is the packet's first byte.
fn counting() -> Machine {
    let mut a = Assembler::new("count", ProgramKind::XDP);
    let drop = a.label();
    a.packet(R2, R3, R1).need(R2, R3, 14, R4, drop);
    a.load8(R4, R2.at(0)).store32(R10.at(-4), R4);
    a.lookup("own", R10.at(-4)).jump_if(R0, Cond::Eq, 0, drop).count(R0.at(0), 1, R1);
    for shared in ["array", "hash"] {
        a.lookup(shared, R10.at(-4)).jump_if(R0, Cond::Eq, 0, drop).mov(R5, 1);
        a.atomic(Atomic::Add, Width::W64, R0.at(0), R5);
    }
    a.verdict(Verdict::Pass).bind(drop).verdict(Verdict::Drop);
    let mut object = Object::new("workers", "GPL");
    object.map(map("own", MapKind::PERCPU_ARRAY));
    object.map(map("array", MapKind::ARRAY));
    object.map(map("hash", MapKind::HASH));
    object.program(a);
    let options = Options { cpus: CPUS, ..Options::default() };
    Machine::load(&object.finish().unwrap(), &options).unwrap()
}

fn counts(machine: &Machine, name: &str, key: u32) -> Vec<u64> {
    let value = machine.map(name).unwrap().read(&key.to_ne_bytes()).unwrap();
    value.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn counters_are_exact_and_those_of_processors_apart() {
    let machine = counting();
    let hash = machine.map("hash").unwrap();
    for key in 0..2_u32 {
        hash.update(&key.to_ne_bytes(), &[0; 8], spec::Expect::Absent).unwrap();
    }
    thread::scope(|scope| {
        for cpu in 0..CPUS {
            let machine = machine.clone();
            scope.spawn(move || {
                let mut worker = machine.worker(cpu);
                for number in 0..PACKETS * u64::from(cpu + 1) {
                    let packet = vec![(number % 2) as u8; 60];
                    worker.put(&Input { packet, ..Input::default() }).unwrap();
                    assert_eq!(worker.execute(0).unwrap(), Verdict::Pass as u32);
                }
            });
        }
    });
    for key in 0..2 {
        let own: Vec<u64> = (1..=u64::from(CPUS)).map(|times| PACKETS / 2 * times).collect();
        let all = own.iter().sum::<u64>();
        assert_eq!(counts(&machine, "own", key), own);
        assert_eq!(counts(&machine, "array", key), [all]);
        assert_eq!(counts(&machine, "hash", key), [all]);
    }
}

/// User space sees whole values and sane counts while workers run.
#[test]
fn user_space_may_look_on() {
    let machine = counting();
    let looking = machine.clone();
    let running = thread::spawn(move || {
        let mut worker = machine.worker(1);
        let input = Input { packet: vec![3; 60], ..Input::default() };
        worker.put(&input).unwrap();
        for _ in 0..PACKETS {
            worker.execute(0).unwrap();
        }
    });
    let mut last = 0;
    while !running.is_finished() {
        let now = counts(&looking, "own", 3)[1];
        assert!(now >= last && now <= PACKETS, "{last} then {now}");
        last = now;
    }
    running.join().unwrap();
    assert_eq!(counts(&looking, "own", 3), [0, PACKETS, 0, 0]);
}
