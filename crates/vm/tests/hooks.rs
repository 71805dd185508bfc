//! Watching a run: coverage by line and branch, and a record of events.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::{Arc, Mutex};

use spec::asm::Reg::{R1, R2, R3, R4, R10};
use spec::asm::{Assembler, Cond, Object};
use spec::{Input, ProgramKind, Verdict};
use vm::{ChangedElements, Changes, Coverage, Event, Hook, Machine, Options, Trace};

/// Passes packets of 14 bytes or more whose first byte is even.
fn machine() -> Machine {
    let mut a = Assembler::new("even", ProgramKind::XDP);
    let drop = a.label();
    a.note("too short");
    a.packet(R2, R3, R1).need(R2, R3, 14, R4, drop);
    a.note("odd");
    a.load8(R4, R2.at(0)).and(R4, 1).store64(R10.at(-8), 7);
    a.jump_if(R4, Cond::Ne, 0, drop);
    a.note("fine");
    a.verdict(Verdict::Pass);
    a.bind(drop);
    a.note("not fine");
    a.verdict(Verdict::Drop);
    let mut object = Object::new("watched", "GPL");
    object.program(a);
    Machine::load(&object.finish().unwrap(), &Options::default()).unwrap()
}

fn run<H: Hook + Send + 'static>(machine: &Machine, hook: &Arc<Mutex<H>>, packets: &[&[u8]]) {
    let mut worker = machine.worker(0);
    worker.set_hook(Some(Box::new(Arc::clone(hook))));
    for packet in packets {
        worker.put(&Input { packet: packet.to_vec(), ..Input::default() }).unwrap();
        worker.execute(0).unwrap();
    }
    assert!(worker.set_hook(None).is_some());
    worker.execute(0).unwrap();
}

#[test]
fn coverage_counts_lines_and_branches() {
    let machine = machine();
    let coverage = Arc::new(Mutex::new(Coverage::new(&machine)));
    run(&machine, &coverage, &[&[0; 20], &[1; 20], &[0; 64]]);
    let mut coverage = coverage.lock().unwrap();
    assert_eq!(coverage.runs(), 3);
    let lines = |coverage: &Coverage| -> Vec<_> {
        let lines = coverage.lines().into_iter();
        lines
            .map(|line| {
                let branches = line.branches.iter().map(|branch| (branch.taken, branch.passed));
                (line.text, line.hits, branches.collect::<Vec<_>>())
            })
            .collect()
    };
    let expected = [
        ("too short", 3, vec![(0, 3)]),
        ("odd", 3, vec![(1, 2)]),
        ("fine", 2, vec![]),
        ("not fine", 1, vec![]),
    ];
    let expected = expected.map(|(text, hits, branches)| (text.to_owned(), hits, branches));
    assert_eq!(lines(&coverage), expected);

    let other = coverage.clone();
    coverage.merge(&other);
    assert_eq!(coverage.runs(), 6);
    assert_eq!(lines(&coverage)[1], ("odd".to_owned(), 6, vec![(2, 4)]));
    let functions = coverage.functions();
    assert_eq!(functions.len(), 1);
    assert_eq!((functions[0].name.as_str(), functions[0].hits), ("even", 6));
    assert_eq!(functions[0].slots, functions[0].slots_hit);
}

#[test]
fn programs_that_never_ran_show_as_such() {
    let coverage = Coverage::new(&machine());
    assert_eq!(coverage.lines().len(), 4);
    assert!(coverage.lines().iter().all(|line| line.hits == 0));
    assert_eq!(coverage.functions()[0].slots_hit, 0);
}

#[test]
fn a_trace_tells_instructions_registers_branches_and_writes() {
    let machine = machine();
    let trace = Arc::new(Mutex::new(Trace::new(1000)));
    run(&machine, &trace, &[&[3; 20]]);
    let trace = trace.lock().unwrap();
    let told: Vec<String> = trace.events().iter().map(tell).collect();
    assert_eq!(
        told,
        [
            "r2 = *(u32 *)(r1 +0): r2 packet, byte 0",
            "r3 = *(u32 *)(r1 +4): r3 packet, byte 20",
            "r4 = r2: r4 packet, byte 0",
            "r4 += 14: r4 packet, byte 14",
            "if r4 > r3 goto pc+6:",
            "taken false",
            "r4 = *(u8 *)(r2 +0): r4 0x3",
            "r4 &= 1: r4 0x1",
            "*(u64 *)(r10 -8) = 7:",
            "writes 7 to stack of frame 0, offset -8",
            "if r4 != 0x0 goto pc+2:",
            "taken true",
            "w0 = 1: r0 0x1",
            "exit:",
            "ends with Ok(1)",
        ]
    );
}

#[test]
fn a_trace_is_bounded() {
    let machine = machine();
    let trace = Arc::new(Mutex::new(Trace::new(3)));
    run(&machine, &trace, &[&[3; 20]]);
    let mut trace = trace.lock().unwrap();
    assert_eq!((trace.events().len(), trace.dropped()), (3, 12));
    trace.clear();
    assert_eq!((trace.events().len(), trace.dropped()), (0, 0));
}

fn tell(event: &Event) -> String {
    match event {
        Event::Insn(insn) => {
            let text = insn.text();
            let text = text.split_once(' ').map_or("", |(_, text)| text).to_owned();
            let changed =
                insn.changed.iter().map(|(register, _, said)| format!(" r{register} {said}"));
            format!("{text}:{}", changed.collect::<String>())
        }
        Event::Branch { taken } => format!("taken {taken}"),
        Event::Call { name, result, .. } => format!("{name} = {result}"),
        Event::Write { place, value, .. } => format!("writes {value} to {place}"),
        Event::End(result) => format!("ends with {result:?}"),
    }
}

/// `large_ring` writes three elements of the map `ring`, and updates one of `flows` by its key.
#[test]
fn changed_elements_are_recorded_by_key() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/prebuilt/test/large.o");
    let spec = spec::Spec::parse("large.o", &std::fs::read(file).unwrap()).unwrap();
    let options = Options { programs: Some(vec!["large_ring".into()]), ..Options::default() };
    let machine = Machine::load(&spec, &options).unwrap();
    let changes = Arc::new(Mutex::new(Changes::new(&machine)));
    let coverage = Arc::new(Mutex::new(Coverage::new(&machine)));
    let mut worker = machine.worker(0);
    worker.set_hook(Some(Box::new((Arc::clone(&changes), Arc::clone(&coverage)))));
    worker.put(&Input { packet: vec![0; 64], ..Input::default() }).unwrap();
    worker.execute(machine.program("large_ring").unwrap()).unwrap();
    let changed = changes.lock().unwrap().take();
    let keys = |map: &str| match &changed[&spec.map_index(map).unwrap()] {
        ChangedElements::Keys(keys) => keys.iter().cloned().collect::<Vec<_>>(),
        ChangedElements::All => panic!("{map}: the keys are known"),
    };
    let mut expected = [0_u32, 12_345_678, 49_999_999].map(|key| key.to_ne_bytes().to_vec());
    expected.sort();
    assert_eq!(keys("ring"), expected);
    assert_eq!(keys("flows"), [7_u64.to_ne_bytes().to_vec()]);
    assert_eq!(changed.len(), 2, "no other map changed");
    assert_eq!(coverage.lock().unwrap().runs(), 1, "the second hook watches, too");
    assert!(changes.lock().unwrap().take().is_empty(), "what was taken is gone");
}
