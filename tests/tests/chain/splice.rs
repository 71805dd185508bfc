//! Generated code in the place of a function, on the engine and the kernel: what the host keeps in
//! registers survives it, in the place of the call and in that of the body.
//!
//! Not here: what splicing writes (tests of `spec::compose`).

use kernel::{LoadOptions, Object};
use spec::asm::Reg::*;
use spec::asm::{Assembler, Cond};
use spec::compose::splice;
use spec::{Input, MapKind, ProgramKind, Runtime, Spec};
use vm::VmRuntime;
use xway_tests::program::{map, object};

/// Answers `answer(first byte of the packet) + 1000 * (r6 to r9 are what they were)` by making it
/// the packet's first four bytes.
fn host(calls: usize) -> Spec {
    let mut a = Assembler::new("host", ProgramKind::XDP);
    let [answer, effect, bad, short] = [a.label(), a.label(), a.label(), a.label()];
    a.mov(R6, R1).packet(R2, R3, R1).need(R2, R3, 14, R4, short);
    a.mov(R7, 7).mov(R8, 8).mov(R9, R2).load8(R1, R2.at(0)).store64(R10.at(-8), R1);
    for _ in 0..calls {
        a.mov(R1, R10).add(R1, -8).call_local(answer);
    }
    a.jump_if(R7, Cond::Ne, 7, bad).jump_if(R8, Cond::Ne, 8, bad).add32(R0, 1000);
    a.load32(R1, R6.at(0)).jump_if(R1, Cond::Ne, R9, bad);
    a.bind(bad).store32(R9.at(0), R0).mov(R0, 2).exit();
    a.bind(short).mov(R0, 0).exit();
    a.function(answer, "answer").mov(R2, 1).call_local(effect).exit();
    a.function(effect, "effect").mov(R0, R2).add(R0, 5).exit();
    let mut data = map("data", MapKind::ARRAY, [4, 16, 1]);
    data.contents = Some((0..16).collect());
    data.frozen = true;
    object(vec![data], vec![a])
}

/// 3 for 1; effect(11) = 16 for 2; data[9] for 4; else 0. Uses every register, and
/// 16 bytes of stack.
fn code() -> Assembler {
    let mut a = Assembler::new("code", ProgramKind::XDP);
    let [three, call, load] = [a.label(), a.label(), a.label()];
    a.note("what was asked").load64(R6, R1.at(0)).store64(R10.at(-16), R6).mov(R7, 70);
    a.mov(R8, R7).mov(R9, R8).load64(R5, R10.at(-16)).mov32(R0, 0);
    a.jump_if(R5, Cond::Eq, 1, three).jump_if(R6, Cond::Eq, 2, call);
    a.jump_if(R6, Cond::Eq, 4, load).exit();
    a.bind(three).mov32(R0, 3).exit();
    a.bind(call).note("a call").mov(R1, R6).mov(R2, 11).call_function("effect").exit();
    a.bind(load).note("a load").load_map_value(R2, "data", 8).load8(R0, R2.at(1)).exit();
    a
}

fn answers<R: Runtime>(mut runtime: R, spec: &Spec) -> Vec<u32> {
    runtime.load(spec).unwrap_or_else(|error| panic!("{error}"));
    let mut answer = |first: u8| {
        let mut packet = vec![0; 64];
        packet[0] = first;
        let input = Input { packet, ..Input::default() };
        let outcome = runtime.run("host", &input).unwrap_or_else(|error| panic!("{error}"));
        u32::from_le_bytes(outcome.packet[..4].try_into().unwrap())
    };
    (0..5).map(&mut answer).collect()
}

#[test]
fn spliced_code_answers_and_keeps_registers() {
    let plain = host(1);
    assert_eq!(answers(VmRuntime::default(), &plain), [1006; 5]);
    for calls in [1, 2] {
        let spliced = splice(&host(calls), "host", "answer", code()).unwrap();
        let functions = spliced.program("host").unwrap().functions.len();
        assert_eq!(functions, calls + 1, "once called, it is taken in");
        let wanted = [1000, 1003, 1016, 1000, 1009];
        assert_eq!(answers(VmRuntime::default(), &spliced), wanted);
        assert_eq!(answers(kernel::KernelRuntime::default(), &spliced), wanted);
    }
}

#[test]
fn notes_are_the_source_lines_of_the_program_in_the_kernel() {
    let spliced = splice(&host(1), "host", "answer", code()).unwrap();
    let object = Object::load(&spliced, &LoadOptions::default()).unwrap();
    let program = object.program("host").unwrap();
    let dump = format!("{:?}", program.dump().unwrap());
    for note in ["what was asked", "a call", "a load"] {
        assert!(dump.contains(note), "{dump}");
    }
}
