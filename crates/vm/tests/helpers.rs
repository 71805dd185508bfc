//! Tests of helpers without a kernel: given time, printed text, objects and locks.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

use std::path::Path;

use spec::asm::{Assembler, Helper, Object};
use spec::{Input, Map as _, ProgramKind, Spec, Verdict};
use vm::{Error, Machine, Options, Unavailable, Worker};

fn load(object: &str, options: &Options) -> Machine {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf/prebuilt/test");
    let spec = Spec::parse(object, &std::fs::read(folder.join(object)).unwrap()).unwrap();
    Machine::load(&spec, options).unwrap_or_else(|error| panic!("{error}"))
}

fn run(machine: &Machine, worker: &mut Worker, program: &str) -> Result<u32, Error> {
    worker.put(&Input { packet: vec![0; 60], ..Input::default() }).unwrap();
    Ok(worker.execute(machine.program(program).unwrap())?)
}

fn answer(machine: &Machine, place: u32) -> u64 {
    let value = machine.map("answers").unwrap().read(&place.to_ne_bytes()).unwrap();
    u64::from_ne_bytes(value.try_into().unwrap())
}

/// Keys of the clocks that fired, in order.
fn fired(machine: &Machine) -> Vec<u32> {
    let map = machine.map("fired").unwrap();
    let value = |place: u32| map.read(&place.to_ne_bytes()).unwrap();
    let keys = (0..16).map(|place| u32::from_ne_bytes(value(place).try_into().unwrap()));
    keys.take_while(|key| *key != 0).collect()
}

#[test]
fn timers_run_in_the_order_of_their_times_and_never_by_themselves() {
    let machine = load("helpers_lasting.o", &Options::default());
    let mut worker = machine.worker(0);
    run(&machine, &mut worker, "lasting_clocks").unwrap();
    for place in 0..5 {
        assert_eq!(answer(&machine, place), 0, "{place}");
    }
    assert_eq!(fired(&machine), [], "nothing runs while the packet does");
    let start = worker.now_ns();
    assert_eq!(worker.advance(start).unwrap(), 1);
    assert_eq!(fired(&machine), [3], "the queue");
    assert_eq!(worker.advance(start + 3_500_000).unwrap(), 4);
    assert_eq!(fired(&machine), [3, 2, 2, 1, 2]);
    worker.set_clock_ns(start + 4_500_000);
    assert_eq!(fired(&machine).len(), 5, "a clock that is set runs nothing");
    run(&machine, &mut worker, "lasting_guarded").unwrap();
    assert_eq!(fired(&machine).len(), 6, "the next packet lets it run first");
    machine.map("clocks").unwrap().delete(&2_u32.to_ne_bytes()).unwrap();
    assert_eq!(worker.advance(start + 1_000_000_000).unwrap(), 0, "its element is gone");
}

#[test]
fn what_programs_print_is_kept_for_the_caller() {
    let machine = load("helpers_text.o", &Options::default());
    let mut worker = machine.worker(0);
    run(&machine, &mut worker, "text_trace").unwrap();
    let (lines, lost) = machine.take_trace();
    let text: Vec<_> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(text, ["plain\n", "1 word ffffffffffffffff", "1 -2 3 4", "plain\n"]);
    assert_eq!(lost, 0);
    assert_eq!(machine.take_trace().0, []);
}

#[test]
fn a_lock_makes_counts_exact_whatever_runs_at_once() {
    const RUNS: u64 = 2000;
    let machine = load("helpers_lasting.o", &Options { cpus: 4, ..Options::default() });
    std::thread::scope(|scope| {
        for cpu in 0..4 {
            let machine = &machine;
            scope.spawn(move || {
                let mut worker = machine.worker(cpu);
                (0..RUNS).for_each(|_| {
                    run(machine, &mut worker, "lasting_guarded").unwrap();
                });
            });
        }
    });
    let value = machine.map("guarded").unwrap().read(&[0; 4]).unwrap();
    let word = |at: usize| u64::from_ne_bytes(value[at..at + 8].try_into().unwrap());
    assert_eq!((word(8), word(16)), (4 * RUNS, 8 * RUNS));
}

#[test]
fn an_element_takes_along_what_it_kept() {
    let machine = load("helpers_lasting.o", &Options::default());
    let mut worker = machine.worker(0);
    run(&machine, &mut worker, "lasting_taken_along").unwrap();
    let first = answer(&machine, 0);
    run(&machine, &mut worker, "lasting_taken_along").unwrap();
    assert_eq!(answer(&machine, 0), first, "the place was free again");
}

#[test]
fn lists_and_trees_outlive_runs_and_workers() {
    let machine = load("helpers_objects.o", &Options { cpus: 2, ..Options::default() });
    for cpu in [0, 1, 0] {
        let mut worker = machine.worker(cpu);
        for program in ["objects_list", "objects_tree", "objects_counted", "objects_kept"] {
            assert_eq!(run(&machine, &mut worker, program).unwrap(), 2, "{program}");
        }
    }
    assert_eq!(answer(&machine, 0), 7, "what an earlier run kept");
}

#[test]
fn programs_that_the_verifier_refuses_fault_and_leave_nothing() {
    let table = [
        ("lasting_leaked", "an allocated object is not dropped"),
        ("lasting_dropped_twice", "is not owned by the program"),
        ("lasting_still_locked", "is still locked"),
        ("lasting_unlocked", "the lock is not held"),
        ("lasting_no_lock", "not a special field of a value or an object"),
        ("lasting_preempted", "a section with preemption, interrupts or RCU held is not left"),
        ("lasting_beyond", "kernel object"),
    ];
    let faulty = table.iter().map(|(program, _)| *program);
    let programs = Some(faulty.chain(["lasting_guarded"]).map(str::to_owned).collect());
    let machine = load("helpers_lasting.o", &Options { programs, ..Options::default() });
    let mut worker = machine.worker(0);
    for (program, words) in table {
        let error = run(&machine, &mut worker, program).unwrap_err().to_string();
        assert!(error.contains(words), "{program}: {error}");
        assert_eq!(run(&machine, &mut worker, "lasting_guarded").unwrap(), 2, "after {program}");
    }
}

#[test]
fn a_function_that_is_not_supported_fails_at_load_with_name_and_reason() {
    let refusal = |call: &dyn Fn(&mut Assembler)| {
        let mut a = Assembler::new("asks", ProgramKind::XDP);
        call(&mut a);
        a.verdict(Verdict::Pass);
        let mut object = Object::new("asks.o", "GPL");
        object.program(a);
        let spec = object.finish().unwrap();
        match Machine::load(&spec, &Options::default()).unwrap_err() {
            Error::Function { function, cause, .. } => (function, cause),
            other => panic!("{other}"),
        }
    };
    let helpers = [
        (Helper::COPY_FROM_USER, "bpf_copy_from_user", Unavailable::MaySleep),
        (Helper::SNPRINTF_BTF, "bpf_snprintf_btf", Unavailable::NoKernel),
        (Helper::SKB_LOAD_BYTES, "bpf_skb_load_bytes", Unavailable::ProgramType),
        (Helper(999), "helper 999", Unavailable::ProgramType),
    ];
    for (helper, name, cause) in helpers {
        assert_eq!(refusal(&|a| _ = a.call(helper)), (name.to_owned(), cause));
    }
    let kfuncs = [
        ("bpf_task_from_pid", Unavailable::NoTasks),
        ("bpf_no_such_thing", Unavailable::UnknownKfunc),
    ];
    for (name, cause) in kfuncs {
        assert_eq!(refusal(&|a| _ = a.call_kfunc(name)), (name.to_owned(), cause));
    }
}
