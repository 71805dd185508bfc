//! `disasm`: instructions of an object file, with source lines.
//!
//! Rule: the object is read after privileges were dropped, and nothing is loaded.

use anyhow::Result;
use control::assembly;
use control::inventory::listing::object_listing;
use control::object;

use super::{Context, Exit, confine};
use crate::args::DisasmArgs;

pub fn run(args: &DisasmArgs, context: &Context) -> Result<Exit> {
    let mut named = confine::begin()?;
    named.input(&args.object);
    named.end()?;
    let opened = object::open(&args.object)?;
    if args.assembly {
        context.show(&assembly::source(&opened.spec)?)?;
        return Ok(Exit::Done);
    }
    let programs = match &args.program {
        Some(name) => vec![opened.choose(Some(name))?],
        None => opened.spec.programs.iter().collect(),
    };
    context.show(&object_listing(&opened.spec, &programs))?;
    Ok(Exit::Done)
}
