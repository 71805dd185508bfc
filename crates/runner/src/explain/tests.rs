//! Programs that move a packet's ends, watched.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use spec::{Function, Input, Insn, Program, ProgramKind, Spec};
use vm::{Machine, Options, Run};

use super::recorder::Recorder;
use super::words::Words;
use super::{changes, went};
use crate::results::{Item, StepEffect};

/// Runs a program on an IPv4 packet: what it did in order, and the run.
fn watch(text: &str) -> (Vec<String>, Run) {
    watch_insns(spec::asm::text::parse(text).unwrap()).unwrap()
}

fn watch_insns(insns: Vec<Insn>) -> Result<(Vec<String>, Run), vm::Error> {
    let program = Program {
        name: "moves".to_owned(),
        kind: ProgramKind::XDP,
        autoload: true,
        functions: vec![Function::default()],
        insns,
        ..Program::default()
    };
    let spec = Spec { name: "moves".to_owned(), programs: vec![program], ..Spec::default() };
    let machine = Machine::load(&spec, &Options { budget: 500, ..Options::default() })?;
    let mut worker = machine.worker(0);
    let recorder = Arc::new(Mutex::new(Recorder::new(Words::new(&spec, machine.maps()))));
    worker.set_hook(Some(Box::new(Arc::clone(&recorder))));
    let run = worker.run(0, &Input { packet: packet(), ..Input::default() })?;
    drop(worker);
    let recorder = Arc::into_inner(recorder).unwrap().into_inner().unwrap();
    let recorded = recorder.finish(run.fault.as_deref());
    Ok((recorded.path.iter().flat_map(deeds).collect(), run))
}

fn deeds(item: &Item) -> Vec<String> {
    let Item::Insn { did, .. } = item else { return Vec::new() };
    let told = did.iter().map(|effect| match effect {
        StepEffect::Call { name, arguments, result } => {
            format!("{name}({}) = {}", arguments.join(", "), result.as_deref().unwrap_or("?"))
        }
        StepEffect::Write { place, old, new } => format!("{place}: {old} → {new}"),
        StepEffect::Branch { test, taken, .. } => format!("{test}: {taken}"),
        other => format!("{other:?}"),
    });
    told.collect()
}

fn packet() -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    packet.extend([0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0, 7, 0, 8, 0, 8, 0, 0]);
    packet
}

const PUSH_TAG: &str = "
    r6 = r1
    r2 = -4
    call 44
    if r0 != 0 goto out
    r2 = *(u32 *)(r6 +0)
    r3 = *(u32 *)(r6 +4)
    r1 = r2
    r1 += 18
    if r1 > r3 goto out
    r4 = *(u32 *)(r2 +4)
    *(u32 *)(r2 +0) = r4
    r4 = *(u32 *)(r2 +8)
    *(u32 *)(r2 +4) = r4
    r4 = *(u32 *)(r2 +12)
    *(u32 *)(r2 +8) = r4
    *(u32 *)(r2 +12) = 0x0a000081
    r0 = 2
    exit
    out:
    r0 = 1
    exit";

#[test]
fn a_tag_that_is_pushed_has_its_names() {
    let (told, run) = watch(PUSH_TAG);
    assert_eq!(
        told[..3],
        ["bpf_xdp_adjust_head(ctx, -4) = 0", "0 != 0: false", "packet+18 > packet+46: false",]
    );
    assert_eq!(told[3], "eth.dst: 0x00000000 → 0x02000000");
    assert_eq!(went(&run), ["to stack of interface 1"]);
    let changes = changes::fields(&packet(), &run.packet);
    let names: Vec<_> = changes.iter().map(|change| change.field.as_str()).collect();
    assert_eq!(names, ["eth.type", "vlan"]);
    assert_eq!(changes[1].old, None);
    assert!(changes[1].new.as_ref().unwrap().starts_with("tci id 10,"), "{changes:?}");
}

#[test]
fn metadata_does_not_shift_the_packets_names() {
    let (told, run) = watch(
        "r6 = r1
        r2 = -8
        call 54
        r2 = *(u32 *)(r6 +8)
        *(u32 *)(r2 +0) = 7
        r2 = *(u32 *)(r6 +0)
        r3 = *(u32 *)(r6 +4)
        r1 = r2
        r1 += 14
        if r1 > r3 goto out
        *(u8 *)(r2 +6) = 4
        *(u8 *)(r2 +7) = 0
        out:
        r0 = 1
        exit",
    );
    assert_eq!(
        told,
        [
            "bpf_xdp_adjust_meta(ctx, -8) = 0",
            "metadata: 0x00000000 → 0x07000000",
            "packet+14 > packet+42: false",
            "eth.src: 0x02 → 0x04",
        ]
    );
    assert_eq!(run.metadata.len(), 8);
    assert_eq!(went(&run), ["lost: dropped"]);
}

#[test]
fn a_call_that_stops_the_program_is_told_without_result() {
    let (told, run) = watch(
        "r1 = 0
        r2 = 0
        call 1
        r0 = 2
        exit",
    );
    assert_eq!(told[0], "bpf_map_lookup_elem(0, 0) = ?");
    assert!(told[1].contains("not a map pointer"), "{told:?}");
    assert_eq!(told.len(), 2);
    assert_eq!(went(&run), ["lost: fault"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_programs_are_told_like_others(
        slot in 0usize..20,
        code in any::<u8>(),
        registers in 0u8..11,
        off in -12i16..12,
        imm in -20i32..100,
    ) {
        let mut insns = spec::asm::text::parse(PUSH_TAG).unwrap();
        insns[slot] = Insn::new(code, registers, 10 - registers, off, imm);
        if let Ok((told, run)) = watch_insns(insns) {
            let stopped = told.iter().any(|effect| effect.starts_with("Fault"));
            prop_assert_eq!(stopped, run.fault.is_some(), "{:?}", told);
        }
    }
}
