//! Runs repeat: equal packets give equal results, packets, and maps in equal order.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use spec::asm::Reg::{R0, R1, R2, R3, R4, R6, R7, R10};
use spec::asm::{Assembler, Cond, Helper, Object};
use spec::{Input, MapDef, MapKind, ProgramKind, Spec, Verdict};
use vm::{Machine, Options, TraceLine, Worker};

/// xorshift64*.
fn packets(count: usize) -> Vec<Input> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let packet = |_| {
        let len = 14 + (next() % 300) as usize;
        Input { packet: (0..len).map(|_| next() as u8).collect(), ..Input::default() }
    };
    (0..count).map(packet).collect()
}

/// Key and value.
type Element = (Vec<u8>, Vec<u8>);

/// All that can be seen of a machine after its programs took all packets.
#[derive(Debug, PartialEq)]
struct Seen {
    results: Vec<(Result<u32, String>, Vec<u8>)>,
    maps: Vec<Vec<Element>>,
    trace: (Vec<TraceLine>, u64),
}

fn seen(spec: &Spec, inputs: &[Input]) -> Option<Seen> {
    let options = Options { cpus: 2, budget: 1 << 16, ..Options::default() };
    let machine = Machine::load(spec, &options).ok()?;
    let mut workers: Vec<Worker> = (0..2).map(|cpu| machine.worker(cpu)).collect();
    let mut results = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let worker = &mut workers[number % 2];
        for program in machine.programs() {
            worker.put(input).unwrap();
            let result = worker.execute(program.number()).map_err(|fault| fault.to_string());
            results.push((result, worker.packet().into_owned()));
        }
    }
    let contents = |map: std::sync::Arc<vm::Map>| {
        let mut elements: Vec<Element> = Vec::new();
        let mut keep = |key: &[u8], value: &[u8]| elements.push((key.to_vec(), value.to_vec()));
        // Some types cannot be read: they have no elements here.
        let _ = map.scan(&mut || true, &mut keep);
        elements
    };
    let maps = machine.maps().into_iter().map(contents).collect();
    Some(Seen { results, maps, trace: machine.take_trace() })
}

#[test]
fn compiled_objects_repeat() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/prebuilt/");
    let inputs = packets(60);
    let mut loaded = 0;
    for folder in [folder.to_owned(), format!("{folder}test/")] {
        let mut files: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "o")) {
            let name = file.display().to_string();
            let spec = Spec::parse(&name, &std::fs::read(file).unwrap()).unwrap();
            let first = seen(&spec, &inputs);
            loaded += usize::from(first.is_some());
            assert!(first == seen(&spec, &inputs), "{name} is not the same twice");
        }
    }
    assert!(loaded > 9, "only {loaded} objects loaded");
}

/// Hashes that fill, evict and empty: elements come back in the same order.
#[test]
fn maps_are_walked_in_the_same_order() {
    let kinds = [
        (MapKind::HASH, 0),
        (MapKind::PERCPU_HASH, 0),
        (MapKind::LRU_HASH, 0),
        (MapKind::LRU_HASH, 2),
        (MapKind::LRU_PERCPU_HASH, 0),
        (MapKind::DEVMAP_HASH, 0),
    ];
    let mut object = Object::new("repeat.o", "GPL");
    for (number, (kind, flags)) in kinds.into_iter().enumerate() {
        let (name, key_size, max_entries) = (format!("map{number}"), 4, 40);
        let value_size = 8;
        object.map(MapDef {
            name,
            kind,
            flags,
            key_size,
            value_size,
            max_entries,
            ..MapDef::default()
        });
    }
    let mut a = Assembler::new("fill", ProgramKind::XDP);
    let drop = a.label();
    a.packet(R2, R3, R1).need(R2, R3, 14, R4, drop).load8(R7, R2.at(0)).load8(R6, R2.at(1));
    a.store32(R10.at(-4), R7).call(Helper::GET_PRANDOM_U32).store64(R10.at(-16), R0);
    for name in ["map0", "map1", "map2", "map3", "map4"] {
        let (put, done) = (a.label(), a.label());
        a.jump_if(R6, Cond::Gt, 80, put).load_map(R1, name).mov(R2, R10).add(R2, -4);
        a.call(Helper::MAP_DELETE_ELEM).jump(done).bind(put).load_map(R1, name);
        a.mov(R2, R10).add(R2, -4).mov(R3, R10).add(R3, -16).mov(R4, 0);
        a.call(Helper::MAP_UPDATE_ELEM).bind(done);
    }
    a.verdict(Verdict::Pass).bind(drop).verdict(Verdict::Drop);
    object.program(a);
    let (spec, inputs) = (object.finish().unwrap(), packets(3000));
    let first = seen(&spec, &inputs).unwrap();
    assert!(first.maps[..5].iter().all(|map| map.len() > 10), "the maps are nearly empty");
    assert!(first == seen(&spec, &inputs).unwrap(), "not the same twice");
}
