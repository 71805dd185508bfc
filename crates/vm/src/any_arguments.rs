//! Calls every helper and kfunc with arbitrary arguments: it returns or faults, and never panics
//! or hangs.
//!
//! Arguments are sampled from values that a faulty program could obtain: the bounds of every
//! region, pointers to every map, functions, stale packets, results of earlier calls, and extreme
//! numbers.

use std::time::{Duration, Instant};

use spec::asm::{Assembler, Object};
use spec::{Input, MapDef, MapKind, ProgramKind, Spec, Verdict};

use crate::helpers::{all_functions, end_run};
use crate::machine::{Machine, Options};
use crate::memory::RegionId;
use crate::worker::Worker;

/// Calls of each function on each machine.
const ROUNDS: usize = 250;
/// Limit on the duration of one call.
const LONGEST: Duration = Duration::from_secs(20);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[(self.next() % list.len() as u64) as usize]
    }
}

/// A machine with a map of every type, and a function that returns 0.
fn all_maps() -> Machine {
    let rows = [
        (MapKind::HASH, [4, 8, 4, 0]),
        (MapKind::HASH, [700, 8, 4, 0]),
        (MapKind::HASH, [2000, 1200, 4, 1]),
        (MapKind::ARRAY, [4, 24, 3, 0]),
        (MapKind::ARRAY, [4, 24, 3, 1 << 7]),
        (MapKind::ARRAY, [4, 24, 3, 1 << 8]),
        (MapKind::PROG_ARRAY, [4, 4, 3, 0]),
        (MapKind::PERF_EVENT_ARRAY, [4, 4, 2, 0]),
        (MapKind::PERCPU_HASH, [4, 8, 2, 0]),
        (MapKind::PERCPU_ARRAY, [4, 8, 1, 0]),
        (MapKind::LRU_HASH, [4, 8, 2, 0]),
        (MapKind::LRU_PERCPU_HASH, [4, 8, 2, 0]),
        (MapKind::LPM_TRIE, [8, 8, 3, 1]),
        (MapKind::DEVMAP, [4, 8, 3, 0]),
        (MapKind::DEVMAP_HASH, [4, 8, 3, 0]),
        (MapKind::CPUMAP, [4, 8, 2, 0]),
        (MapKind::XSKMAP, [4, 4, 2, 0]),
        (MapKind::QUEUE, [0, 8, 2, 0]),
        (MapKind::STACK, [0, 8, 2, 0]),
        (MapKind::BLOOM_FILTER, [0, 8, 2, 0]),
        (MapKind::RINGBUF, [0, 0, 4096, 0]),
        (MapKind::USER_RINGBUF, [0, 0, 4096, 0]),
    ];
    let mut object = Object::new("any.o", "GPL");
    for (number, (kind, [key_size, value_size, max_entries, flags])) in rows.into_iter().enumerate()
    {
        let name = format!("map{number}");
        let def = MapDef { name, kind, key_size, value_size, max_entries, ..MapDef::default() };
        object.map(MapDef { flags, ..def });
    }
    let mut a = Assembler::new("zero", ProgramKind::XDP);
    a.verdict(Verdict::Aborted);
    object.program(a);
    let options = Options { cpus: 3, budget: 1 << 16, ..Options::default() };
    Machine::load(&object.finish().unwrap(), &options).unwrap()
}

/// Machines with the types, fields and functions of compiled objects.
fn compiled() -> Vec<Machine> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/prebuilt/test/");
    let names = ["maps.o", "helpers_objects.o", "helpers_lasting.o", "helpers_text.o", "beyond.o"];
    let machines = names.map(|name| {
        let spec = Spec::parse(name, &std::fs::read(format!("{folder}{name}")).unwrap()).unwrap();
        Machine::load(&spec, &Options { cpus: 2, budget: 1 << 14, ..Options::default() })
    });
    machines.into_iter().filter_map(Result::ok).collect()
}

/// Values that a program could put into a register.
fn interesting(worker: &Worker) -> Vec<u64> {
    let mut values = vec![0, 1, 2, 3, 4, 7, 8, 16, 24, 40, 64, 255, 511, 512, 513, 1024, 1025];
    values.extend([4095, 4096, 65_535, 65_536, 1 << 24, i32::MAX as u64, 1 << 31]);
    values.extend([u32::MAX.into(), 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX, u64::MAX - 11]);
    values.extend([RegionId::CONTEXT.at(0), RegionId::CONTEXT.at(4), RegionId::NULL.at(64)]);
    for at in [0, 8, 256, 448, 496, 504, 511, 512, 513, 1024] {
        values.push(RegionId::STACK.at(at));
    }
    let packet = worker.processor.memory.packet();
    let (start, end) = (worker.processor.frame.data(), worker.processor.frame.data_end());
    values.extend([start - 4, start, start + 14, end - 1, end, end + 1].map(|at| packet.at(at)));
    values.push(RegionId(packet.0 + 1).at(start));
    for map in &worker.processor.maps {
        values.push(RegionId::MAPS.at(map.attributes().number.into()));
        if let Some((_, layout)) = map.values() {
            let region = RegionId::values_of(map.attributes().number);
            for element in [0, 1, layout.elements - 1, layout.elements] {
                let at = layout.offset_of(element);
                values.extend(
                    [at, at + 4, at + 8, at + layout.size - 1, at + layout.size]
                        .map(|at| region.at(at)),
                );
            }
        }
    }
    values.extend([RegionId::MAPS.at(1 << 20), RegionId::MAPS.at((1 << 40) - 1)]);
    for (number, executable) in worker.processor.programs.iter().enumerate() {
        let ends = [0, executable.program.ops().len() as u64, 1, 7, 1 << 19];
        values.extend(ends.map(|slot| RegionId::FUNCTIONS.at((number as u64) << 20 | slot)));
    }
    values.push(RegionId::FUNCTIONS.at((1 << 40) - 1));
    values.extend((0..9).map(|id| RegionId::record(id).at(0)));
    values.extend((1..40).map(|type_id| type_id * 3));
    values
}

/// Fills the stack, where helpers expect keys, dynptrs and arrays, with interesting values.
fn fill_stack(worker: &mut Worker, values: &[u64], random: &mut Random) {
    for place in (0..512).step_by(8) {
        let value = if random.next().is_multiple_of(3) { random.of(values) } else { 0 };
        _ = worker.processor.memory.store64(RegionId::STACK.at(place), value);
    }
}

fn hammer(machine: &Machine, random: &mut Random) {
    let functions = all_functions();
    let mut worker = machine.worker(0);
    for _ in 0..functions.len() * ROUNDS / 16 {
        let len = 14 + (random.next() % 6000) as usize;
        worker.put(&Input { packet: vec![1; len], ..Input::default() }).unwrap();
        worker.processor.frames.reset();
        worker.processor.frames.depth = 1;
        let mut values = interesting(&worker);
        let plain = values.len();
        let mut result = Ok(0);
        for _ in 0..16 {
            fill_stack(&mut worker, &values, random);
            let (name, call) = &functions[(random.next() % functions.len() as u64) as usize];
            let args = [(); 5].map(|()| {
                let answered = values.len() > plain && random.next().is_multiple_of(4);
                random.of(if answered { &values[plain..] } else { &values })
            });
            let start = Instant::now();
            result = call(&mut worker.processor, &args);
            assert!(start.elapsed() < LONGEST, "{name} {args:x?} takes {:?}", start.elapsed());
            match result {
                Ok(answer) => values.extend([answer, answer.wrapping_add(8)]),
                Err(_) if worker.processor.local.thrown.is_some() => break,
                Err(_) => result = Ok(0),
            }
        }
        worker.processor.frames.depth = 0;
        _ = end_run(&mut worker.processor, result);
    }
}

#[test]
fn no_arguments_make_a_function_panic_or_hang() {
    let mut random = Random(0x5eed_0b1e_c75e_ed07);
    hammer(&all_maps(), &mut random);
    for machine in compiled() {
        hammer(&machine, &mut random);
    }
}
