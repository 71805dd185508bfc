//! Members as programs of their own, each called by a tail call from a function of main.
//!
//! A function that makes a tail call returns the verdict of the program that it called, so main
//! counts and continues as in a composed chain. Each member has its own license, stack and kernel
//! configuration, and is verified alone; a call costs more than an inlined program. A member that
//! is bound to its device cannot be called, and is a function of main.

use kernel::{Mode, Object};
use spec::asm::{self, Assembler, Helper, Reg};
use spec::compose::{self, Composed, Form, Link};
use spec::{MapDef, MapKind, Program, ProgramKind, Spec};
use sys::errno::EINVAL;

use super::link::ChainLink;
use super::{Chain, Loaded};
use crate::error::{ChainError, Context as _, Error, Result};
use crate::member::ChainForm;
use crate::object::called;
use crate::target::Loading;

/// Program array with a member as its only entry.
pub const CALL_MAP: &str = "xway_call";
/// The kernel follows this number of tail calls for a packet.
const MOST_CALLS: usize = 33;

/// Whether the members cannot be composed, and tail calls can chain them.
pub fn is_way_out(error: &Error) -> bool {
    composing(error).is_some_and(|error| {
        use compose::Error::{KindsDiffer, LicensesDiffer, TwoKconfigs};
        matches!(error, KindsDiffer { .. } | LicensesDiffer { .. } | TwoKconfigs { .. })
    })
}

/// Why the members are not composed, in one line.
pub fn reason(error: &Error) -> String {
    let text = match (composing(error), error.kernel()) {
        (Some(error), _) => error.to_string(),
        (None, Some(error)) => error.to_string(),
        (None, None) => error.to_string(),
    };
    let line = text.lines().next().unwrap_or_default();
    line.split("; chain them").next().unwrap_or(line).to_owned()
}

fn composing(error: &Error) -> Option<&compose::Error> {
    match error {
        Error::Compose(error) => Some(error),
        _ => None,
    }
}

/// Loads each member, and main, which calls them.
pub fn load(chain: &Chain<'_>, tentative: bool) -> Result<Loaded> {
    let called_links = chain.links.iter().filter(|link| !is_bound(link, chain.mode));
    let count = called_links.count();
    if count > MOST_CALLS {
        return Err(ChainError::TooManyCalls { count, limit: MOST_CALLS }.into());
    }
    let returns = chain.confirm.is_some() && chain.earlier.0 == ChainForm::TailCalls;
    if returns && chain.earlier.1.len() == MOST_CALLS {
        return Err(ChainError::NoReturn { limit: MOST_CALLS }.into());
    }
    let kind = common_kind(&chain.links);
    let loading = Loading { mode: chain.mode, tentative };
    let member = |link| match is_bound(link, loading.mode) {
        true => Ok(None),
        false => member(chain, link, (kind, loading)).map(Some),
    };
    let members: Vec<Option<Object>> = chain.links.iter().map(member).collect::<Result<_>>()?;
    let stubs = chain.links.iter().map(|link| stub(&link.member.program, kind));
    let stubs: Vec<Spec> = stubs.collect::<Result<_>>()?;
    let links = chain.links.iter().zip(&stubs).zip(&members);
    let links = links.map(|((link, stub), member)| match member {
        Some(_) => Link { spec: stub, ..link.part() },
        None => link.part(),
    });
    let links: Vec<_> = links.collect();
    // At most 256 bytes of stack may lie above a function that makes a tail call, so a member that
    // is a part of main has a frame beside it.
    let form = if members.iter().all(Option::is_some) { Form::Inline } else { Form::Call };
    let Composed { spec, mut maps, probe_maps } = chain.compose(&links, form)?;
    let programs = [&[chain.main().to_owned()][..], &called(&spec, chain.main())].concat();
    let object = chain.load_main(&spec, programs, (chain.reuse(&maps)?, tentative));
    let object = object.map_err(|error| bound_main(chain, error))?;
    for ((link, member), names) in chain.links.iter().zip(&members).zip(&mut maps) {
        let Some(member) = member else { continue };
        let called = names.iter().find(|(own, _)| own == CALL_MAP);
        let array = object.map(called.map_or(CALL_MAP, |(_, name)| name))?;
        let fill = array.put_program(0, member.program(&link.member.program)?);
        fill.with_context(|| format!("`{}` cannot be called from a chain", link.member.name))?;
        names.extend(link.spec.maps.iter().map(|map| (map.name.clone(), map.name.clone())));
    }
    Ok(Loaded { object, members, maps, probe_maps })
}

/// Whether a member queries its device. The kernel lets no tail call reach such a program, so it is
/// a part of main, which then calls the others.
fn is_bound(link: &ChainLink, mode: Mode) -> bool {
    let program = &link.member.program;
    let programs = [&[program.clone()][..], &called(&link.spec, program)].concat();
    mode == Mode::Native && link.spec.asks_device(&programs)
}

/// The error of main. Earlier kernels refuse tail calls in a program that is bound, without a log.
fn bound_main(chain: &Chain<'_>, error: Error) -> Error {
    let bound = chain.links.iter().find(|link| is_bound(link, chain.mode));
    let invalid = error
        .kernel()
        .is_some_and(|error| error.errno() == Some(EINVAL) && !error.is_by_verifier());
    match bound.filter(|_| invalid) {
        Some(link) => {
            let (name, reason) = (link.member.name.clone(), error.to_string());
            ChainError::BoundMember { name, reason }.into()
        }
        None => error,
    }
}

/// All programs of an array agree on their kind.
fn common_kind(links: &[ChainLink]) -> ProgramKind {
    let mut programs = links.iter().filter_map(|link| link.spec.program(&link.member.program));
    let frags = ProgramKind::XDP_FRAGS.flags;
    let takes_frags = |program: &Program| program.kind.flags & frags != 0;
    match programs.all(takes_frags) {
        true => ProgramKind::XDP_FRAGS,
        false => ProgramKind::XDP,
    }
}

fn member(
    chain: &Chain<'_>,
    link: &ChainLink,
    (kind, loading): (ProgramKind, Loading),
) -> Result<Object> {
    let (mut spec, program) = (link.spec.clone(), &link.member.program);
    if let Some(own) = spec.programs.iter_mut().find(|own| own.name == *program) {
        own.kind = kind;
    }
    let mut reuse: Vec<_> = chain.decisions()?.into_iter().collect();
    for map in &spec.maps {
        reuse.extend(link.map(&map.name)?.map(|existing| (map.name.clone(), existing)));
    }
    let programs = [&[program.clone()][..], &called(&spec, program)].concat();
    let loaded = chain.target.load_sharing(&spec, programs, loading, reuse);
    loaded.with_context(|| format!("`{}` was not added", link.member.name))
}

/// A program that calls the one in its program array and returns its verdict.
///
/// Before Linux 6.18 the verifier does not see that a function with a tail call returns what the
/// called program does: it takes the verdict for failure as the only one, and removes the code for
/// all others. So that verdict, 0, is computed in a way that the verifier does not know.
fn stub(name: &str, kind: ProgramKind) -> Result<Spec> {
    let mut object = asm::Object::new(name, "Dual MIT/GPL");
    object.map(MapDef {
        name: CALL_MAP.into(),
        kind: MapKind::PROG_ARRAY,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        ..MapDef::default()
    });
    let mut code = Assembler::new(name, kind);
    code.mov(Reg::R6, Reg::R1);
    code.load_map(Reg::R2, CALL_MAP).mov(Reg::R3, 0).call(Helper::TAIL_CALL);
    // The distance of two pointers to the packet is any number to the verifier.
    code.packet(Reg::R0, Reg::R1, Reg::R6).packet(Reg::R1, Reg::R2, Reg::R6);
    code.sub(Reg::R0, Reg::R1).exit();
    object.program(code);
    Ok(object.finish().map_err(compose::Error::from)?)
}
