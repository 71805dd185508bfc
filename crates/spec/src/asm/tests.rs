//! Programs, labels, mistakes and objects.

use super::Reg::*;
use super::*;
use crate::disasm::{Listing, SpecNames};
use crate::model::{MapDef, MapKind, Program, Spec};
use crate::runtime::Verdict;

fn xdp(name: &str) -> Assembler {
    Assembler::new(name, ProgramKind::XDP)
}

fn packets_map() -> MapDef {
    MapDef {
        name: "packets".to_owned(),
        kind: MapKind::PERCPU_ARRAY,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        ..MapDef::default()
    }
}

/// Drops UDP over IPv4 and counts it.
fn drop_udp() -> Spec {
    let mut object = Object::new("udp", "GPL");
    object.map(packets_map());
    let mut a = xdp("drop_udp");
    let [pass, count] = [a.label(), a.label()];
    a.note("rule 1: shorter than Ethernet and IPv4");
    a.packet(R2, R3, R1).need(R2, R3, 34, R4, pass);
    a.note("rule 2: UDP over IPv4");
    a.load16(R4, R2.at(12)).jump_if(R4, Cond::Ne, 0x0008, pass);
    a.load8(R4, R2.at(23)).jump_if(R4, Cond::Ne, 17, pass);
    a.call_local(count).verdict(Verdict::Drop);
    a.bind(pass).verdict(Verdict::Pass);
    a.function(count, "count");
    let out = a.label();
    a.store32(R10.at(-4), 0).lookup("packets", R10.at(-4)).jump_if(R0, Cond::Eq, 0, out);
    a.count(R0.at(0), 1, R1).bind(out).exit();
    object.program(a);
    object.finish().unwrap()
}

#[test]
fn a_packet_program_reads_as_it_was_written() {
    let spec = drop_udp();
    let program = &spec.programs[0];
    let names = SpecNames { spec: &spec, program };
    let text = Listing::new(program, &names).source(spec.btf.as_ref()).labels(true).to_string();
    let wanted = "\
drop_udp:
; rule 1: shorter than Ethernet and IPv4 @ udp:1
   0: (61) r2 = *(u32 *)(r1 +0)
   1: (61) r3 = *(u32 *)(r1 +4)
   2: (bf) r4 = r2
   3: (07) r4 += 34
   4: (2d) if r4 > r3 goto L1
; rule 2: UDP over IPv4 @ udp:2
   5: (69) r4 = *(u16 *)(r2 +12)
   6: (55) if r4 != 0x8 goto L1
   7: (71) r4 = *(u8 *)(r2 +23)
   8: (55) if r4 != 0x11 goto L1
   9: (85) call pc+4#count
  10: (b4) w0 = 1
  11: (95) exit
L1:
  12: (b4) w0 = 2
  13: (95) exit
count:
; count @ udp:3
  14: (62) *(u32 *)(r10 -4) = 0
  15: (bf) r2 = r10
  16: (07) r2 += -4
  17: (18) r1 = map[packets]
  19: (85) call bpf_map_lookup_elem#1
  20: (15) if r0 == 0x0 goto L2
  21: (79) r1 = *(u64 *)(r0 +0)
  22: (07) r1 += 1
  23: (7b) *(u64 *)(r0 +0) = r1
L2:
  24: (95) exit
";
    assert_eq!(text, wanted);
}

#[test]
fn every_function_has_a_type_and_a_line() {
    let spec = drop_udp();
    let btf = spec.btf.as_ref().unwrap();
    let program = &spec.programs[0];
    let types: Vec<_> = program.functions.iter().map(|f| btf.ty(f.type_id).unwrap()).collect();
    let seen: Vec<_> = types.iter().map(|ty| (ty.name(), ty.linkage())).collect();
    assert_eq!(seen, [("drop_udp", 1), ("count", 0)]);
    for function in &program.functions {
        assert!(program.lines.iter().any(|line| line.slot == function.slot), "{}", function.name);
    }
    assert!(btf.find(crate::btf::Kind::Struct, "xdp_md").is_some());
}

#[test]
fn odd_names_become_identifiers_in_types_only() {
    let mut object = Object::new("odd", "GPL");
    let mut a = xdp("7-rules");
    a.verdict(Verdict::Pass);
    object.program(a);
    let spec = object.finish().unwrap();
    let program = &spec.programs[0];
    assert_eq!(program.name, "7-rules");
    let btf = spec.btf.as_ref().unwrap();
    assert_eq!(btf.ty(program.functions[0].type_id).unwrap().name(), "_7_rules");
}

#[test]
fn notes_at_one_place_are_joined_and_hold_no_control_characters() {
    let mut a = xdp("noted");
    a.note("one").note("two\nlines\0").verdict(Verdict::Pass);
    let mut object = Object::new("noted", "GPL");
    object.program(a);
    let spec = object.finish().unwrap();
    let line = spec.programs[0].lines[0];
    assert_eq!(spec.btf.unwrap().string(line.text), Some("one; two lines "));
}

#[test]
fn distances_count_slots_from_the_next_one() {
    let mut a = xdp("loop");
    let out = a.label();
    a.mov(R0, 0);
    let head = a.here();
    a.load_imm64(R1, 1 << 40).add(R0, 1).jump_if(R0, Cond::Eq, 3, out).jump(head);
    a.bind(out).jump_far(head).exit();
    let program = a.finish().unwrap();
    let jumps: Vec<_> = [4, 5].map(|slot: usize| program.insns[slot].off).into();
    assert_eq!((jumps, program.insns[6].imm), (vec![1, -5], -6));
}

#[test]
fn a_callback_address_counts_from_the_next_slot() {
    let mut a = xdp("main");
    let body = a.label();
    a.load_function(R2, body).call(Helper::LOOP).verdict(Verdict::Pass);
    a.function(body, "body").mov(R0, 0).exit();
    let program = a.finish().unwrap();
    assert_eq!((program.insns[0].src, program.insns[0].imm), (4, 4));
}

/// Builds a program and returns what is wrong with it.
fn fault(write: impl FnOnce(&mut Assembler)) -> Fault {
    let mut a = xdp("wrong");
    write(&mut a);
    let error = a.finish().unwrap_err();
    assert!(error.to_string().starts_with("program \"wrong\": "), "{error}");
    error.fault
}

#[test]
fn mistakes_are_reported_at_the_end() {
    let far = |a: &mut Assembler, slots: usize| {
        let end = a.label();
        a.jump(end);
        for _ in 0..slots {
            a.mov(R0, 0);
        }
        a.bind(end).exit();
    };
    let unbound = fault(|a| {
        let label = a.label();
        a.jump(label).exit();
    });
    assert_eq!(unbound, Fault::Unbound { label: 0, slot: 0 });
    let twice = fault(|a| {
        let label = a.here();
        a.mov(R0, 0).bind(label).exit();
    });
    assert_eq!(twice, Fault::BoundTwice { label: 0, first: 0, again: 1 });
    assert_eq!(fault(|a| far(a, 32_768)), Fault::TooFar { slot: 0, distance: 32_768 });
    let behind = fault(|a| {
        let label = a.label();
        a.jump(label).bind(label);
    });
    assert_eq!(behind, Fault::PastEnd { label: 0, slot: 0 });
    let foreign = fault(|a| {
        let mut other = xdp("other");
        let label = other.label();
        a.jump(label).exit();
    });
    assert_eq!(foreign, Fault::Foreign { label: 0 });
    assert_eq!(fault(|_| ()), Fault::Empty);

    let mut fits = xdp("fits");
    far(&mut fits, 32_767);
    assert_eq!(fits.finish().unwrap().insns[0].off, 32_767);
}

#[test]
fn functions_have_borders() {
    let leaves = fault(|a| {
        let [label, function] = [a.label(), a.label()];
        a.call_local(function).jump(label).exit();
        a.function(function, "f").mov(R0, 0).bind(label).exit();
    });
    assert_eq!(leaves, Fault::LeavesFunction { slot: 1, target: 4 });
    let inside = fault(|a| {
        let label = a.label();
        a.call_local(label).bind(label).exit();
    });
    assert_eq!(inside, Fault::NoFunction { slot: 0, target: 1 });
    let empty = fault(|a| {
        let label = a.label();
        a.exit().function(label, "f");
    });
    assert_eq!(empty, Fault::EmptyFunction { name: "f".to_owned() });
}

/// An object with one map and a program whose references to maps `write` generates.
fn with_map(write: impl Fn(&mut Assembler) -> &mut Assembler) -> Result<Program, Fault> {
    let mut object = Object::new("maps", "GPL");
    object.map(packets_map());
    let mut a = xdp("main");
    write(a.mov(R0, 0)).exit();
    object.program(a);
    object.finish().map(|mut spec| spec.programs.remove(0)).map_err(|error| error.fault)
}

#[test]
fn maps_are_found_by_name_or_number() {
    for map in [MapRef::from("packets"), MapRef::from(0)] {
        let program = with_map(|a| a.load_map(R1, map.clone())).unwrap();
        assert_eq!(program.fixup_at(1), Some(&Target::Map { map: 0 }));
    }
    let value = with_map(|a| a.load_map_value(R1, "packets", 4)).unwrap();
    assert_eq!(value.fixup_at(1), Some(&Target::MapValue { map: 0, offset: 4 }));
    let kfunc = with_map(|a| a.call_kfunc("bpf_xdp_metadata_rx_hash")).unwrap();
    let target = kfunc.fixup_at(1).unwrap();
    assert!(matches!(target, Target::Kfunc { name, .. } if name == "bpf_xdp_metadata_rx_hash"));

    let name = "flows".to_owned();
    let unknown = with_map(|a| a.load_map(R1, "flows"));
    assert_eq!(unknown.unwrap_err(), Fault::UnknownMap { slot: 1, name });
    let outside = with_map(|a| a.load_map(R1, 1));
    assert_eq!(outside.unwrap_err(), Fault::NoSuchMap { slot: 1, index: 1, count: 1 });
    let name = "packets".to_owned();
    let beyond = with_map(|a| a.load_map_value(R1, "packets", 8));
    assert_eq!(beyond.unwrap_err(), Fault::OutsideValue { slot: 1, name, offset: 8 });
}

#[test]
fn two_programs_need_two_names() {
    let mut object = Object::new("twins", "GPL");
    for _ in 0..2 {
        let mut a = xdp("twin");
        a.verdict(Verdict::Pass);
        object.program(a);
    }
    assert_eq!(object.finish().unwrap_err().fault, Fault::NameTaken);
}
