//! Nothing on a packet's path allocates once a worker is warm.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use spec::asm::Reg::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R10};
use spec::asm::{Assembler, Cond, Helper, Object};
use spec::{Input, MapDef, MapKind, ProgramKind, Spec, Verdict};
use vm::{Machine, Options, Worker};

const WARM: u32 = 2000;
const PACKETS: u32 = 5000;

fn map(name: &str, kind: MapKind, [key_size, value_size, max_entries]: [u32; 3]) -> MapDef {
    let name = name.to_owned();
    MapDef { name, kind, key_size, value_size, max_entries, ..MapDef::default() }
}

/// Packets with a number in front that counts up.
fn input(number: u32) -> Input {
    let mut packet = vec![0x45; 100];
    packet[..4].copy_from_slice(&number.to_ne_bytes());
    Input { packet, metadata: vec![0; 4], ..Input::default() }
}

/// Allocations while a warm worker takes packets.
fn allocations(machine: &Machine, inputs: &[Input]) -> u64 {
    let mut worker = machine.worker(0);
    let take = |worker: &mut Worker, input: &Input| {
        worker.put(input).unwrap();
        worker.execute(0).unwrap();
    };
    for number in 0..WARM {
        take(&mut worker, &inputs[number as usize % inputs.len()]);
    }
    let measured = allocation_counter::measure(|| {
        for number in 0..PACKETS {
            take(&mut worker, &inputs[(WARM + number) as usize % inputs.len()]);
        }
    });
    measured.count_total
}

fn assembled(maps: Vec<MapDef>, write: impl FnOnce(&mut Assembler)) -> Machine {
    let mut object = Object::new("allocation.o", "GPL");
    for map in maps {
        object.map(map);
    }
    let mut a = Assembler::new("program", ProgramKind::XDP);
    write(&mut a);
    object.program(a);
    Machine::load(&object.finish().unwrap(), &Options::default()).unwrap()
}

/// The packet's number is at R10-8 then, and R6 is the context.
fn key(a: &mut Assembler) -> &mut Assembler {
    let drop = a.label();
    a.mov(R6, R1).packet(R2, R3, R1).need(R2, R3, 14, R4, drop);
    a.load32(R7, R2.at(0)).store64(R10.at(-8), R7).store64(R10.at(-16), 1);
    let go = a.label();
    a.jump(go).bind(drop).verdict(Verdict::Drop).bind(go)
}

fn update<'a>(a: &'a mut Assembler, map: &str) -> &'a mut Assembler {
    a.load_map(R1, map).mov(R2, R10).add(R2, -8).mov(R3, R10).add(R3, -16).mov(R4, 0);
    a.call(Helper::MAP_UPDATE_ELEM)
}

fn delete<'a>(a: &'a mut Assembler, map: &str) -> &'a mut Assembler {
    a.load_map(R1, map).mov(R2, R10).add(R2, -8).call(Helper::MAP_DELETE_ELEM)
}

#[test]
fn the_measure_counts() {
    assert_eq!(allocation_counter::measure(|| drop(vec![7; 9])).count_total, 1);
}

#[test]
fn compiled_programs_do_not_allocate() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/prebuilt/");
    for name in ["drop.o", "route.o", "test/parse.o", "test/calls.o", "test/paper_count.o"] {
        let spec = Spec::parse(name, &std::fs::read(format!("{folder}{name}")).unwrap()).unwrap();
        let machine = Machine::load(&spec, &Options::default()).unwrap();
        let inputs: Vec<_> = (0..16).map(input).collect();
        assert_eq!(allocations(&machine, &inputs), 0, "{name}");
    }
}

#[test]
fn maps_that_fill_and_empty_do_not_allocate() {
    let kinds = [
        (MapKind::HASH, 4, 0),
        (MapKind::HASH, 4, 1),
        (MapKind::PERCPU_HASH, 4, 0),
        (MapKind::LRU_HASH, 4, 0),
        (MapKind::LRU_PERCPU_HASH, 4, 0),
        (MapKind::LPM_TRIE, 8, 1),
    ];
    let inputs: Vec<_> = (0..3000).map(input).collect();
    for (kind, key_size, flags) in kinds {
        let def = MapDef { flags, ..map("map", kind, [key_size, 8, 512]) };
        let lru = matches!(kind, MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH);
        let machine = assembled(vec![def], |a| {
            key(a);
            if kind == MapKind::LPM_TRIE {
                a.store32(R10.at(-8), 32).store32(R10.at(-4), R7);
            }
            update(a, "map").lookup("map", R10.at(-8));
            if !lru {
                delete(a, "map");
            }
            a.verdict(Verdict::Pass);
        });
        assert_eq!(allocations(&machine, &inputs), 0, "{kind:?} {flags}");
    }
}

#[test]
fn records_do_not_allocate() {
    let inputs: Vec<_> = (0..8).map(input).collect();
    let maps = vec![
        map("ring", MapKind::RINGBUF, [0, 0, 1 << 20]),
        map("queue", MapKind::QUEUE, [0, 8, 16]),
        map("bloom", MapKind::BLOOM_FILTER, [0, 8, 16]),
    ];
    let machine = assembled(maps, |a| {
        key(a).load_map(R1, "ring").mov(R2, R10).add(R2, -16).mov(R3, 16).mov(R4, 0);
        a.call(Helper::RINGBUF_OUTPUT).load_map(R1, "ring").mov(R2, 24).mov(R3, 0);
        let full = a.label();
        a.call(Helper::RINGBUF_RESERVE).jump_if(R0, Cond::Eq, 0, full);
        a.mov(R1, R0).mov(R2, 0).call(Helper::RINGBUF_SUBMIT).bind(full);
        for name in ["queue", "bloom"] {
            a.load_map(R1, name).mov(R2, R10).add(R2, -8).mov(R3, 0).call(Helper::MAP_PUSH_ELEM);
        }
        a.load_map(R1, "queue").mov(R2, R10).add(R2, -8).call(Helper::MAP_POP_ELEM);
        a.verdict(Verdict::Pass);
    });
    assert_eq!(allocations(&machine, &inputs), 0);
}

#[test]
fn helpers_on_packets_do_not_allocate() {
    let inputs: Vec<_> = (0..8).map(input).collect();
    let machine = assembled(vec![map("values", MapKind::ARRAY, [4, 64, 4])], |a| {
        key(a).store32(R10.at(-8), 0).lookup("values", R10.at(-8)).mov(R8, R0);
        a.mov(R1, R6).mov(R2, 4).mov(R3, R10).add(R3, -64).mov(R4, 40);
        a.call(Helper::XDP_LOAD_BYTES).mov(R1, R6).mov(R2, 4).mov(R3, R10).add(R3, -64);
        a.mov(R4, 40).call(Helper::XDP_STORE_BYTES).mov(R1, R6).mov(R2, 4).mov(R3, R8);
        a.mov(R4, 60).call(Helper::XDP_LOAD_BYTES);
        a.mov(R1, 0).mov(R2, 0).mov(R3, R8).mov(R4, 60).mov(R5, 0).call(Helper::CSUM_DIFF);
        a.mov(R1, R6).mov(R2, -20).call(Helper::XDP_ADJUST_HEAD);
        a.mov(R1, R6).mov(R2, 20).call(Helper::XDP_ADJUST_TAIL);
        a.mov(R1, R6).mov(R2, -8).call(Helper::XDP_ADJUST_META);
        a.call(Helper::KTIME_GET_NS).call(Helper::GET_PRANDOM_U32);
        a.mov(R1, 3).mov(R2, 0).call(Helper::REDIRECT).exit();
    });
    assert_eq!(allocations(&machine, &inputs), 0);
}

#[test]
fn callbacks_do_not_allocate() {
    let inputs: Vec<_> = (0..8).map(input).collect();
    let machine = assembled(vec![map("hash", MapKind::HASH, [4, 8, 8])], |a| {
        let callback = a.label();
        key(a);
        update(a, "hash").load_map(R1, "hash").load_function(R2, callback).mov(R3, 0).mov(R4, 0);
        a.call(Helper::FOR_EACH_MAP_ELEM).mov(R1, 4).load_function(R2, callback).mov(R3, 0);
        a.mov(R4, 0).call(Helper::LOOP).verdict(Verdict::Pass);
        a.function(callback, "callback").mov(R0, 0).exit();
    });
    assert_eq!(allocations(&machine, &inputs), 0);
}
