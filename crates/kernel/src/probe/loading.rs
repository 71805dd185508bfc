//! Probes for which a program is loaded or run once.

use std::os::fd::AsFd;

use spec::asm::{Assembler, Object as Source, Reg::*, Size};
use spec::btf::Kind;
use spec::{Input, Insn, ProgramKind, Spec, Verdict};
use sys::bpf::ProgLoad;
use sys::bpf::uapi::{attach_type, prog_flag, prog_type};

use super::{Answer, Unavailable};
use crate::error::{Error, Result};
use crate::load::program::{Refusal, verify};
use crate::load::{Host, LoadOptions, Object};
use crate::program::{LiveRun, Program, TestRun};

pub(super) fn xdp(host: &mut Host) -> Answer {
    load(host, pass())?;
    Ok(())
}

/// Checks whether a loaded program has machine code.
pub(super) fn jit(host: &mut Host) -> Answer {
    match load(host, pass())?.info()?.jited_len {
        0 => Err(Unavailable::JitDisabled),
        _ => Ok(()),
    }
}

pub(super) fn btf(host: &mut Host) -> Answer {
    let spec = source(pass())?;
    let object = Object::load_on(host, &spec, &LoadOptions::default())?;
    if let Some(warning) = object.warnings().first() {
        return Err(Unavailable::WithoutTypes { warning: warning.clone() });
    }
    host.types()?.map(drop).ok_or(Unavailable::NoKernelTypes)
}

pub(super) fn subprograms(host: &mut Host) -> Answer {
    let mut a = Assembler::new("probe", ProgramKind::XDP);
    let called = a.label();
    a.call_local(called).exit();
    a.function(called, "called").verdict(Verdict::Pass);
    load(host, a)?;
    Ok(())
}

pub(super) fn frags(host: &mut Host) -> Answer {
    let kind = ProgramKind { flags: prog_flag::XDP_HAS_FRAGS, ..ProgramKind::XDP };
    let mut a = Assembler::new("probe", kind);
    a.verdict(Verdict::Pass);
    load(host, a)?;
    Ok(())
}

/// Uses an instruction of the fourth version of the instruction set: an unconditional byte swap.
pub(super) fn cpu_v4(host: &mut Host) -> Answer {
    let mut a = Assembler::new("probe", ProgramKind::XDP);
    a.mov(R0, 1).bswap16(R0).verdict(Verdict::Pass);
    load(host, a)?;
    Ok(())
}

pub(super) fn load_acquire(host: &mut Host) -> Answer {
    let mut a = Assembler::new("probe", ProgramKind::XDP);
    a.store64(R10.at(-8), 0).load_acquire(Size::Double, R0, R10.at(-8)).verdict(Verdict::Pass);
    load(host, a)?;
    Ok(())
}

pub(super) fn statistics(_: &mut Host) -> Answer {
    sys::bpf::enable_stats()?;
    Ok(())
}

pub(super) fn test_run(host: &mut Host) -> Answer {
    let run = TestRun { input: input(), ..Default::default() };
    load(host, pass())?.run(&run)?;
    Ok(())
}

pub(super) fn live_frames(host: &mut Host) -> Answer {
    let mut a = Assembler::new("probe", ProgramKind::XDP);
    a.verdict(Verdict::Drop);
    let run = LiveRun { input: input(), count: 1, ..Default::default() };
    load(host, a)?.live(&run)?;
    Ok(())
}

/// Loads a program that replaces a function of another one.
pub(super) fn freplace(host: &mut Host) -> Answer {
    let spec = source(pass())?;
    let target = load(host, pass())?;
    let type_id = spec.programs[0].functions[0].type_id;
    let replace = ProgLoad {
        kind: prog_type::EXT,
        attach_prog: Some(target.as_fd()),
        attach_btf_id: type_id,
        ..Default::default()
    };
    tracing(&spec, replace)
}

/// Loads a program for the entry of a function that every kernel with networking has.
pub(super) fn fentry(host: &mut Host) -> Answer {
    let spec = source(pass())?;
    let function = host.types()?.and_then(|types| types.find(Kind::Func, "eth_type_trans"));
    let type_id = function.ok_or(Unavailable::NoFunctionTypes)?;
    let entry = ProgLoad {
        kind: prog_type::TRACING,
        attach_type: attach_type::TRACE_FENTRY,
        attach_btf_id: type_id,
        ..Default::default()
    };
    tracing(&spec, entry)
}

/// Loads the program of `spec` with its types, as the kind of program that `load` describes.
fn tracing(spec: &Spec, load: ProgLoad<'_>) -> Answer {
    let btf = spec.btf.as_ref().ok_or(Unavailable::NoProgramTypes)?;
    let btf = sys::bpf::btf_load(btf.raw(), &mut [])?;
    let program = &spec.programs[0];
    let function = [0u32, program.functions[0].type_id];
    let func_info: Vec<u8> = function.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let code = Insn::bytes(&program.insns);
    let load = ProgLoad {
        name: "xway_probe",
        license: "GPL",
        insns: &code,
        btf: Some(btf.as_fd()),
        func_info: &func_info,
        ..load
    };
    match verify(&load) {
        Ok(_) => Ok(()),
        Err(Refusal { log: Some(log), .. }) if !log.decisive.is_empty() => {
            Err(Unavailable::Verifier { line: log.decisive })
        }
        Err(Refusal { error, .. }) => Err(Unavailable::System(error)),
    }
}

pub(super) fn pass() -> Assembler {
    let mut a = Assembler::new("xway_probe", ProgramKind::XDP);
    a.verdict(Verdict::Pass);
    a
}

pub(super) fn load(host: &mut Host, program: Assembler) -> Result<Program> {
    load_with(host, program, &LoadOptions::default())
}

pub(super) fn load_with(
    host: &mut Host,
    program: Assembler,
    options: &LoadOptions,
) -> Result<Program> {
    let spec = source(program)
        .map_err(|error| Error::Unsupported { what: "probe".to_owned(), why: error.to_string() })?;
    let (mut programs, _) = Object::load_on(host, &spec, options)?.into_parts();
    Ok(programs.remove(0))
}

fn source(program: Assembler) -> Result<Spec, spec::asm::Error> {
    let mut source = Source::new("xway_probe", "GPL");
    source.program(program);
    source.finish()
}

fn input() -> Input {
    Input { packet: vec![0; 60], ..Default::default() }
}
