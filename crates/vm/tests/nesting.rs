//! How deep calls may nest: as deep as in the kernel, and no deeper than the host can bear.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use spec::asm::{Assembler, Helper, Object, Reg::*};
use spec::{Initial, Input, MapDef, MapKind, ProgramKind, Spec};
use vm::{Machine, Options};

/// The first program's result.
fn run(spec: &Spec) -> Result<u32, String> {
    let machine = Machine::load(spec, &Options::default()).unwrap();
    let mut worker = machine.worker(0);
    worker.put(&Input { packet: vec![0; 60], ..Input::default() }).unwrap();
    worker.execute(0).map_err(|fault| fault.to_string())
}

fn spec(write: impl FnOnce(&mut Assembler)) -> Spec {
    let mut object = Object::new("nesting.o", "GPL");
    let mut a = Assembler::new("main", ProgramKind::XDP);
    write(&mut a);
    object.program(a);
    object.map(MapDef {
        name: "programs".to_owned(),
        kind: MapKind::PROG_ARRAY,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        initial: vec![Initial::Program { index: 0, program: 0 }],
        ..MapDef::default()
    });
    object.finish().unwrap()
}

#[test]
fn functions_that_make_tail_calls_leave_their_callers_waiting() {
    let depth = run(&spec(|a| {
        let f = a.label();
        a.call_local(f).add(R0, 1).exit();
        a.function(f, "f").mov(R3, 0).load_map(R2, "programs").call(Helper::TAIL_CALL);
        a.mov(R0, 0).exit();
    }));
    // 33 tail calls, and the program itself.
    assert_eq!(depth, Ok(34));
}

#[test]
fn callbacks_inside_callbacks_end_in_a_fault() {
    let result = run(&spec(|a| {
        let f = a.label();
        a.mov(R1, 1).load_function(R2, f).mov(R3, 0).mov(R4, 0).call(Helper::LOOP).exit();
        a.function(f, "f").mov(R1, 1).load_function(R2, f).mov(R3, 0).mov(R4, 0);
        a.call(Helper::LOOP).mov(R0, 0).exit();
    }));
    assert!(result.unwrap_err().contains("call depth"));
}
