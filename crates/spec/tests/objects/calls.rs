//! Programs and the functions that they reach.

use spec::insn::{PSEUDO_CALL, PSEUDO_FUNC};
use spec::{Program, ProgramKind};

use crate::object;

#[test]
fn functions_follow_depth_first() {
    let table: [(&str, &[&str]); 5] = [
        ("calls_all", &["calls_all", "shared", "middle", "leaf", "replaceable", "hidden"]),
        ("calls_back", &["calls_back", "each", "leaf"]),
        ("calls_late", &["calls_late", "shared", "middle", "leaf"]),
        ("calls_none", &["calls_none"]),
        ("calls_library", &["calls_library", "beside", "elsewhere", "add"]),
    ];
    let (calls, beyond) = (object("calls.o"), object("beyond.o"));
    let programs: Vec<_> = calls.programs.iter().chain(&beyond.programs).collect();
    assert_eq!(programs.len(), table.len(), "functions that are called are no programs");
    for (name, wanted) in table {
        let program = programs.iter().find(|program| program.name == name).unwrap();
        let names: Vec<_> = program.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, wanted);
        assert_eq!(program.functions[0].slot, 0);
        check_calls(program);
    }
}

/// Each call and callback address leads to the start of a function.
fn check_calls(program: &Program) {
    let starts: Vec<_> = program.functions.iter().map(|function| function.slot).collect();
    for (slot, insn) in program.insns.iter().enumerate() {
        let call = insn.is_call() && insn.src == PSEUDO_CALL;
        if call || insn.is_wide() && insn.src == PSEUDO_FUNC {
            let target = (slot as i64 + i64::from(insn.imm) + 1) as usize;
            assert!(starts.contains(&target), "{}: slot {slot} leads to {target}", program.name);
        }
    }
}

#[test]
fn linkage_says_what_is_verified_alone() {
    let spec = object("calls.o");
    let btf = spec.btf.as_ref().unwrap();
    let program = spec.program("calls_all").unwrap();
    let table = [
        ("calls_all", true),
        ("shared", true),
        ("replaceable", true),
        ("hidden", false),
        ("middle", false),
        ("leaf", false),
    ];
    for (name, global) in table {
        let function = program.functions.iter().find(|f| f.name == name).unwrap();
        let ty = btf.ty(function.type_id).unwrap();
        assert_eq!(ty.name(), name);
        assert_eq!((function.global, ty.linkage() == 1), (global, global), "{name}");
    }
}

#[test]
fn sections_say_type_and_loading() {
    let spec = object("calls.o");
    let table = [
        ("calls_all", ProgramKind::XDP, true),
        ("calls_back", ProgramKind::XDP_FRAGS, true),
        ("calls_late", ProgramKind::XDP, false),
        ("calls_none", ProgramKind::XDP_DEVMAP, true),
    ];
    for (name, kind, autoload) in table {
        let program = spec.program(name).unwrap();
        assert_eq!((program.kind, program.autoload), (kind, autoload), "{name}");
    }
}

#[test]
fn section_names_have_types() {
    let table = [
        ("xdp", 6, 37, 0),
        ("xdp1", 6, 37, 0),
        ("xdp_fwd", 6, 37, 0),
        ("?xdp", 6, 37, 0),
        ("xdp/anything", 6, 37, 0),
        ("xdp.frags", 6, 37, 32),
        ("xdp/devmap", 6, 33, 0),
        ("xdp.frags/cpumap", 6, 35, 32),
        ("tc", 3, 0, 0),
        ("tcx/egress", 3, 47, 0),
        ("classifier/x", 3, 0, 0),
        ("kprobe/do_sys_open", 2, 0, 0),
        ("uprobe.multi.s//bin/sh:main", 2, 48, 16),
        ("cgroup/connect4", 18, 10, 0),
        ("sk_skb/stream_verdict", 14, 5, 0),
        ("sk_skb/other", 14, 0, 0),
        ("fentry.s/x", 26, 24, 16),
        ("syscall", 31, 0, 16),
        ("struct_ops.s/x", 27, 0, 16),
    ];
    for (name, program_type, attach_type, flags) in table {
        let wanted = ProgramKind { program_type, attach_type, flags };
        assert_eq!(ProgramKind::from_name(name), Some(wanted), "{name}");
    }
    assert_eq!(ProgramKind::XDP.name(), Some("xdp"));
    assert_eq!(ProgramKind::SYSCALL.name(), Some("syscall"));
    assert_eq!(ProgramKind::TC.name(), Some("sched_cls"));
    for name in ["prog", "", "tcp", "my_xdp", "kprobes", "license", ".text"] {
        assert_eq!(ProgramKind::from_name(name), None, "{name}");
    }
}

#[test]
fn lines_move_with_their_functions() {
    let spec = object("calls.o");
    let btf = spec.btf.as_ref().unwrap();
    let program = spec.program("calls_all").unwrap();
    for function in &program.functions {
        let line = program.line_at(function.slot).unwrap();
        assert_eq!(line.slot, function.slot, "{}: the kernel wants one here", function.name);
    }
    let leaf = program.functions.iter().find(|function| function.name == "leaf").unwrap();
    let in_leaf = program.lines.iter().filter(|line| line.slot >= leaf.slot);
    let text: Vec<_> = in_leaf.filter_map(|line| btf.string(line.text)).collect();
    assert!(text.iter().any(|text| text.contains("sum += x")), "{text:?}");
}

#[test]
fn a_call_into_a_function_is_an_error() {
    let mut bytes = crate::bytes("calls.o");
    let spec = object("calls.o");
    // The relocated call of `each`: its load holds a byte offset into .text.
    let each = spec.program("calls_back").unwrap();
    let load = each.insns.iter().find(|insn| insn.is_wide() && insn.src == PSEUDO_FUNC).unwrap();
    let code = [0x18, load.dst];
    let at = (0..bytes.len() - 16)
        .step_by(8)
        .find(|at| bytes[*at..].starts_with(&code) && bytes[at + 2..at + 4] == [0, 0])
        .unwrap();
    bytes[at + 4] ^= 8;
    let error = spec::Spec::parse("calls.o", &bytes).unwrap_err().to_string();
    assert!(error.starts_with("calls.o: section `xdp.frags`, symbol `.text`, offset"), "{error}");
    assert!(error.contains("no function starts where this points"), "{error}");
}
