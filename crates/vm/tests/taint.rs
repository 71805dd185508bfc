//! What is marked as different by nature, and what is not.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::{Arc, Mutex};

use spec::asm::Reg::{R0, R1, R2, R3, R6, R7, R10};
use spec::asm::{Assembler, Cond, Helper, Object};
use spec::{Input, MapDef, MapKind, ProgramKind, Verdict};
use vm::{Label, Machine, Options, Taint};

/// Runs a program with an array of values of 16 bytes and a hash, on one packet of 60 bytes.
fn watched(name: &str, write: impl FnOnce(&mut Assembler)) -> Arc<Mutex<Taint>> {
    let map = |name: &str, kind, value_size| MapDef {
        name: name.to_owned(),
        kind,
        key_size: 4,
        value_size,
        max_entries: 4,
        ..MapDef::default()
    };
    let mut object = Object::new("taint.o", "GPL");
    object.map(map("array", MapKind::ARRAY, 16));
    object.map(map("hash", MapKind::HASH, 8));
    let mut a = Assembler::new("program", ProgramKind::XDP);
    write(&mut a);
    object.program(a);
    let machine = Machine::load(&object.finish().unwrap(), &Options::default()).unwrap();
    let taint = Arc::new(Mutex::new(Taint::new(&machine, 0)));
    let mut worker = machine.worker(0);
    worker.set_hook(Some(Box::new(Arc::clone(&taint))));
    taint.lock().unwrap().start_packet();
    let run = worker.run(0, &Input { packet: vec![0; 60], ..Input::default() }).unwrap();
    assert_eq!(run.fault, None, "{name}");
    taint
}

/// Bytes of the array's first value that are marked.
fn marked(taint: &Taint) -> Vec<usize> {
    let labels = taint.value(0, &[0; 4]);
    (0..labels.len()).filter(|at| !labels[*at].is_empty()).collect()
}

/// Puts the array's first value into r7.
fn first_value(a: &mut Assembler) {
    let there = a.label();
    a.store32(R10.at(-4), 0).lookup("array", R10.at(-4)).mov(R7, R0);
    a.jump_if(R7, Cond::Ne, 0, there).verdict(Verdict::Drop).bind(there);
}

#[test]
fn marked_values_are_followed_into_map_values() {
    type Body = fn(&mut Assembler);
    let all: Vec<usize> = (8..16).collect();
    let rows: [(&str, Body, &[usize]); 7] = [
        ("clock", |a| _ = a.call(Helper::KTIME_GET_NS).store64(R7.at(8), R0), &all),
        ("low half", |a| _ = a.call(Helper::GET_PRANDOM_U32).store32(R7.at(0), R0), &[0, 1, 2, 3]),
        (
            "through the stack",
            |a| {
                a.call(Helper::KTIME_GET_NS).add(R0, 7).store64(R10.at(-16), R0);
                a.load64(R1, R10.at(-16)).store64(R7.at(8), R1);
            },
            &all,
        ),
        ("address", |a| _ = a.store64(R7.at(8), R7), &all),
        (
            "overwritten",
            |a| {
                a.call(Helper::KTIME_GET_NS).store64(R7.at(8), R0).store64(R7.at(8), 1);
            },
            &[],
        ),
        (
            "length of the packet",
            |a| {
                a.load32(R2, R6.at(4)).load32(R3, R6.at(0)).sub(R2, R3).store64(R7.at(8), R2);
            },
            &[],
        ),
        (
            "difference to itself",
            |a| {
                a.call(Helper::KTIME_GET_NS).sub(R0, R0).store64(R7.at(8), R0);
            },
            &[],
        ),
    ];
    for (name, body, expected) in rows {
        let taint = watched(name, |a| {
            a.mov(R6, R1);
            first_value(a);
            body(a);
            a.verdict(Verdict::Pass);
        });
        let taint = taint.lock().unwrap();
        assert_eq!(marked(&taint), expected, "{name}");
        assert_eq!((taint.verdict(), taint.map(0)), (Label::NONE, Label::NONE), "{name}");
    }
}

#[test]
fn a_branch_on_a_marked_value_marks_what_either_way_may_change() {
    let taint = watched("branch", |a| {
        let other = a.label();
        first_value(a);
        a.call(Helper::GET_PRANDOM_U32).jump_if(R0, Cond::Gt, 1 << 20, other);
        a.store64(R7.at(0), 1).bind(other).verdict(Verdict::Pass);
    });
    let taint = taint.lock().unwrap();
    assert_eq!(taint.verdict().causes(), ["random"]);
    assert_eq!(taint.packet().causes(), ["random"]);
    assert_eq!(taint.map(0).causes(), ["random"]);
    assert_eq!(taint.map(1), Label::NONE, "the program does not use it");
}

#[test]
fn a_branch_reads_a_source_register_only_if_it_compares_with_one() {
    // R0 is the source in both; an immediate of 0 is a comparison with null.
    for (by_register, causes) in [(true, &["random"][..]), (false, &[][..])] {
        let taint = watched("compared", |a| {
            let other = a.label();
            a.call(Helper::GET_PRANDOM_U32).mov(R6, 5);
            match by_register {
                true => a.jump_if(R6, Cond::Eq, R0, other),
                false => a.jump_if(R6, Cond::Eq, 5, other),
            };
            a.verdict(Verdict::Drop).bind(other).verdict(Verdict::Pass);
        });
        assert_eq!(taint.lock().unwrap().verdict().causes(), causes);
    }
}

#[test]
fn a_marked_key_marks_the_whole_map() {
    let taint = watched("key", |a| {
        a.call(Helper::GET_PRANDOM_U32).store32(R10.at(-4), R0).store64(R10.at(-16), 1);
        a.load_map(R1, "hash").mov(R2, R10).add(R2, -4).mov(R3, R10).add(R3, -16);
        a.mov(spec::asm::Reg::R4, 0).call(Helper::MAP_UPDATE_ELEM).verdict(Verdict::Pass);
    });
    let taint = taint.lock().unwrap();
    assert_eq!(taint.map(1).causes(), ["random"]);
    assert_eq!(taint.verdict(), Label::NONE);
}

#[test]
fn a_marked_result_marks_the_verdict() {
    let taint = watched("result", |a| _ = a.call(Helper::GET_PRANDOM_U32).and(R0, 1).exit());
    assert_eq!(taint.lock().unwrap().verdict().causes(), ["random"]);
}
