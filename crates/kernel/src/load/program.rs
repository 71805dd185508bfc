//! Loads one program: first without a log, then again with the verifier's log if it is rejected.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use spec::{Insn, Spec, back_edges};
use sys::bpf::uapi::prog_flag;
use sys::bpf::{self, ProgLoad};
use sys::cap::{Cap, Caps};
use sys::errno::{E2BIG, EACCES, EAGAIN, ENOSPC};

use super::fixup::{self, Patched};
use super::maps::Made;
use super::symbols::Host;
use super::{Binding, LoadOptions, LoadedBtf, info, slack};
use crate::error::{Error, Result};
use crate::limits::{BOUND_ATTEMPTS, LOAD_ATTEMPTS, LOG_LIMIT, LOG_START};
use crate::memlock;
use crate::name;
use crate::program::Program;
use crate::verifier::{VerifierLog, is_whole};

/// What all programs of an object share.
pub(super) struct Loader<'a> {
    /// The object.
    pub spec: &'a Spec,
    /// Options of the load.
    pub options: &'a LoadOptions,
    /// Types of the object, if the kernel accepted them.
    pub btf: Option<&'a LoadedBtf>,
    /// Maps by the number of their definition.
    pub maps: &'a [Option<Made>],
}

impl Loader<'_> {
    /// Loads one program. Loops that only Linux 6.7 takes get jumps where the kernel requires them.
    pub fn load(&self, number: usize, host: &mut Host) -> Result<Program> {
        let program = &self.spec.programs[number];
        let refused = match self.load_code(program, number, host) {
            Err(error) if is_about_loop(&error) => error,
            other => return other,
        };
        match back_edges::with_jumps(program) {
            Some(program) => self.load_code(&program, number, host),
            None => Err(refused),
        }
    }

    fn load_code(
        &self,
        program: &spec::Program,
        number: usize,
        host: &mut Host,
    ) -> Result<Program> {
        match self.options.binding {
            Binding::Device(_) => self.load_bound(program, number, host),
            Binding::Any | Binding::Offload(_) => self.load_plain(program, number, host),
        }
    }

    /// Loads a program that must not be moved in memory.
    fn load_bound(
        &self,
        program: &spec::Program,
        number: usize,
        host: &mut Host,
    ) -> Result<Program> {
        let unsupported = |why: &str| {
            let what = format!("program `{}`, bound to a device", program.name);
            Err(Error::Unsupported { what, why: why.to_owned() })
        };
        if slack::hides_constants() {
            return unsupported(slack::HARDENED);
        }
        let length = program.insns.len();
        let mut room = slack::first(&program.insns);
        for _ in 0..BOUND_ATTEMPTS {
            let loaded = match self.load_plain(&slack::with_room(program, room), number, host) {
                Ok(loaded) => loaded,
                Err(error @ Error::Verifier { .. }) => {
                    // The log must have the numbers of the object's own instructions.
                    return Err(self.load_plain(program, number, host).err().unwrap_or(error));
                }
                Err(error) => return Err(error),
            };
            let translated = loaded.info()?.xlated_len as usize / size_of::<u64>();
            if translated <= length + room {
                return Ok(loaded);
            }
            room = slack::more(length, translated);
        }
        unsupported("the verifier makes it longer each time that it gets more room")
    }

    fn load_plain(
        &self,
        program: &spec::Program,
        number: usize,
        host: &mut Host,
    ) -> Result<Program> {
        let kind = self.options.kind.unwrap_or(program.kind);
        if kind.program_type == 0 {
            let (program, section) = (program.name.clone(), program.section.clone());
            return Err(Error::UnknownType { program, section });
        }
        if let Some(why) = foreign(kind.program_type) {
            let what = format!("program `{}` in section `{}`", program.name, program.section);
            return Err(Error::Unsupported { what, why: why.to_owned() });
        }
        let Patched { insns, modules } = fixup::apply(program, self.maps, host)?;
        let code = Insn::bytes(&insns);
        let (functions, lines) = (info::functions(program), info::lines(program));
        let kernel_name = name::sanitized(&program.name);
        let fd_array = host.fd_array(modules);
        let (device_flags, ifindex) = self.device();
        let mut load = ProgLoad {
            name: &kernel_name,
            kind: kind.program_type,
            attach_type: kind.attach_type,
            flags: kind.flags | self.options.flags | device_flags,
            license: &self.spec.license,
            insns: &code,
            fd_array: &fd_array,
            ifindex,
            ..Default::default()
        };
        if let Some(btf) = self.btf {
            load.btf = Some(btf.as_fd());
            load.func_info = if btf.functions { &functions } else { &[] };
            load.line_info = &lines;
        }
        let refusal = match attempt(&load, &mut []) {
            Ok(fd) => return Program::from_fd(fd, &program.name),
            Err(error) if self.options.tentative && error.is(E2BIG) => {
                return Err(Error::TooComplex { program: program.name.clone() });
            }
            Err(error) if self.options.tentative && error.is(EACCES) => {
                return Err(Error::Unexplained { program: program.name.clone(), errno: EACCES });
            }
            Err(error) => explain(&load, error),
        };
        match refusal {
            Ok(fd) => Program::from_fd(fd, &program.name),
            Err(refusal) => Err(self.explained(refusal, number)),
        }
    }

    fn device(&self) -> (u32, u32) {
        match self.options.binding {
            Binding::Any => (0, 0),
            Binding::Device(ifindex) => (prog_flag::XDP_DEV_BOUND_ONLY, ifindex.0),
            Binding::Offload(ifindex) => (0, ifindex.0),
        }
    }

    /// Adds what only the object knows: source lines, and fields that could not be resolved.
    fn explained(&self, refusal: Refusal, number: usize) -> Error {
        let program = &self.spec.programs[number];
        let Some(log) = refusal.log else {
            return Error::from_call(sys::Error { object: program.name.clone(), ..refusal.error });
        };
        let mut log = log.with_program(program, self.spec.btf.as_ref());
        log.lacks_perfmon = Caps::effective().is_ok_and(|caps| !caps.allows(Cap::Perfmon));
        // The verifier rejects the call that replaces the field, which does not explain the cause.
        let missing = program.unresolved.iter().find(|field| Some(field.slot) == log.slot);
        if let Some(field) = missing {
            log.decisive.clone_from(&field.text);
        }
        Error::Verifier {
            program: program.name.clone(),
            errno: refusal.error.errno,
            log: Box::new(log),
        }
    }
}

/// Whether the verifier refused an edge that closes a loop.
fn is_about_loop(error: &Error) -> bool {
    matches!(error, Error::Verifier { log, .. } if log.decisive.starts_with("back-edge from insn"))
}

/// Why programs of a type are not loaded: the kernel requires the function that they attach to.
fn foreign(program_type: u32) -> Option<&'static str> {
    use sys::bpf::uapi::prog_type as t;
    match program_type {
        t::TRACING => Some(
            "it traces the kernel (tp_btf, fentry, fexit, iter) and is attached to one of its \
             functions, which xway does not do; name the packet program of the object with \
             --program, and load this one with bpftool",
        ),
        t::LSM => Some("it is a security hook of the kernel; load it with bpftool"),
        t::EXT => Some("it replaces a function of another program; load it with bpftool"),
        t::STRUCT_OPS => Some("it implements an interface of the kernel; register it with bpftool"),
        _ => None,
    }
}

/// Why a load failed, with the verifier's log if it wrote one.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Error of the first attempt.
    pub error: sys::Error,
    /// The verifier's log, if it wrote one.
    pub log: Option<Box<VerifierLog>>,
}

/// Loads a program. Requests a log only if it is needed, since writing one costs time.
pub(crate) fn verify(load: &ProgLoad<'_>) -> Result<OwnedFd, Refusal> {
    attempt(load, &mut []).or_else(|error| explain(load, error))
}

/// Loads a program that was refused with this error again, with a log.
fn explain(load: &ProgLoad<'_>, error: sys::Error) -> Result<OwnedFd, Refusal> {
    let mut size = LOG_START;
    loop {
        let mut buffer = vec![0; size];
        let again = ProgLoad { log_level: 1, ..copy(load) };
        let answer = attempt(&again, &mut buffer);
        let text = text(&buffer);
        match answer {
            // A lack of memory or a race, over by now.
            Ok(fd) => return Ok(fd),
            Err(full) if full.is(ENOSPC) && !is_whole(&text) && size < LOG_LIMIT => size *= 8,
            Err(_) if text.trim().is_empty() => return Err(Refusal { error, log: None }),
            Err(_) => {
                return Err(Refusal { error, log: Some(Box::new(VerifierLog::parse(&text))) });
            }
        }
    }
}

/// What the kernel wrote before the closing zero.
fn text(buffer: &[u8]) -> std::borrow::Cow<'_, str> {
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end])
}

fn attempt(load: &ProgLoad<'_>, log: &mut [u8]) -> sys::Result<OwnedFd> {
    let mut left = LOAD_ATTEMPTS;
    // The log is written from its start each time, so one buffer serves all attempts.
    let log = std::cell::RefCell::new(log);
    loop {
        match memlock::with_room(|| bpf::prog_load(load, &mut log.borrow_mut())) {
            Err(error) if error.is(EAGAIN) && left > 1 => left -= 1,
            other => return other,
        }
    }
}

fn copy<'a>(load: &ProgLoad<'a>) -> ProgLoad<'a> {
    let btf: Option<BorrowedFd<'a>> = load.btf;
    ProgLoad { btf, ..*load }
}
