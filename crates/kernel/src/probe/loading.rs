//! Programs that only need to load or to run once.

use std::os::fd::AsFd;

use spec::asm::{Assembler, Object as Source, Reg::*, Size};
use spec::btf::Kind;
use spec::{Input, Insn, ProgramKind, Spec, Verdict};
use sys::bpf::ProgLoad;
use sys::bpf::uapi::{attach_type, prog_flag, prog_type};

use super::{Answer, words};
use crate::error::{Error, Result};
use crate::load::program::{Refusal, verify};
use crate::load::{Host, LoadOptions, Object};
use crate::program::{LiveRun, Program, TestRun};

pub(super) fn xdp(host: &mut Host) -> Answer {
    told(load(host, pass()))
}

/// Machine code is there after a load, or it is not.
pub(super) fn jit(host: &mut Host) -> Answer {
    let info = load(host, pass()).and_then(|program| program.info());
    match info.map_err(|error| words(&error))?.jited_len {
        0 => Err("programs are interpreted: net.core.bpf_jit_enable is 0".to_owned()),
        _ => Ok(()),
    }
}

pub(super) fn btf(host: &mut Host) -> Answer {
    let spec = source(pass())?;
    let object = told_with(Object::load_on(host, &spec, &LoadOptions::default()))?;
    if let Some(warning) = object.warnings().first() {
        return Err(warning.clone());
    }
    match host.types() {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err("no /sys/kernel/btf/vmlinux: CONFIG_DEBUG_INFO_BTF is off".to_owned()),
        Err(error) => Err(words(&error)),
    }
}

pub(super) fn subprograms(host: &mut Host) -> Answer {
    let mut a = Assembler::new("probe", ProgramKind::XDP);
    let called = a.label();
    a.call_local(called).exit();
    a.function(called, "called").verdict(Verdict::Pass);
    told(load(host, a))
}

pub(super) fn frags(host: &mut Host) -> Answer {
    let kind = ProgramKind { flags: prog_flag::XDP_HAS_FRAGS, ..ProgramKind::XDP };
    let mut a = Assembler::new("probe", kind);
    a.verdict(Verdict::Pass);
    told(load(host, a))
}

/// An instruction that came with the fourth version of the set: a byte swap of any register.
pub(super) fn cpu_v4(host: &mut Host) -> Answer {
    let mut a = Assembler::new("probe", ProgramKind::XDP);
    a.mov(R0, 1).bswap16(R0).verdict(Verdict::Pass);
    told(load(host, a))
}

pub(super) fn load_acquire(host: &mut Host) -> Answer {
    let mut a = Assembler::new("probe", ProgramKind::XDP);
    a.store64(R10.at(-8), 0).load_acquire(Size::Double, R0, R10.at(-8)).verdict(Verdict::Pass);
    told(load(host, a))
}

pub(super) fn statistics(_: &mut Host) -> Answer {
    sys::bpf::enable_stats().map(drop).map_err(|error| error.to_string())
}

pub(super) fn test_run(host: &mut Host) -> Answer {
    let run = TestRun { input: input(), ..Default::default() };
    told(load(host, pass()).and_then(|program| program.run(&run)))
}

pub(super) fn live_frames(host: &mut Host) -> Answer {
    let mut a = Assembler::new("probe", ProgramKind::XDP);
    a.verdict(Verdict::Drop);
    let run = LiveRun { input: input(), count: 1, ..Default::default() };
    told(load(host, a).and_then(|program| program.live(&run)))
}

/// A program that takes the place of a function of another one.
pub(super) fn freplace(host: &mut Host) -> Answer {
    let spec = source(pass())?;
    let target = told_with(load(host, pass()))?;
    let type_id = spec.programs[0].functions[0].type_id;
    let replace = ProgLoad {
        kind: prog_type::EXT,
        attach_prog: Some(target.as_fd()),
        attach_btf_id: type_id,
        ..Default::default()
    };
    tracing(&spec, replace)
}

/// A program at the entry of a function that every kernel with a network has.
pub(super) fn fentry(host: &mut Host) -> Answer {
    let spec = source(pass())?;
    let types = told_with(host.types())?;
    let Some(type_id) = types.and_then(|types| types.find(Kind::Func, "eth_type_trans")) else {
        return Err("no types of the kernel's functions".to_owned());
    };
    let entry = ProgLoad {
        kind: prog_type::TRACING,
        attach_type: attach_type::TRACE_FENTRY,
        attach_btf_id: type_id,
        ..Default::default()
    };
    tracing(&spec, entry)
}

/// Loads the program of `spec` as what `load` says, with its types.
fn tracing(spec: &Spec, load: ProgLoad<'_>) -> Answer {
    let Some(btf) = &spec.btf else { return Err("no types".to_owned()) };
    let btf = sys::bpf::btf_load(btf.raw(), &mut []).map_err(|error| error.to_string())?;
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
            Err(log.decisive.clone())
        }
        Err(Refusal { error, .. }) => Err(error.to_string()),
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
    let spec =
        source(program).map_err(|why| Error::Unsupported { what: "probe".to_owned(), why })?;
    let (mut programs, _) = Object::load_on(host, &spec, options)?.into_parts();
    Ok(programs.remove(0))
}

fn source(program: Assembler) -> Result<Spec, String> {
    let mut source = Source::new("xway_probe", "GPL");
    source.program(program);
    source.finish().map_err(|error| error.to_string())
}

fn input() -> Input {
    Input { packet: vec![0; 60], ..Default::default() }
}

fn told<T>(answer: Result<T>) -> Answer {
    told_with(answer).map(drop)
}

fn told_with<T>(answer: Result<T>) -> Result<T, String> {
    answer.map_err(|error| words(&error))
}
