//! `check`: loads each program without attaching it, and reports the result of the verifier.
//!
//! Rule: the object is read after privileges were dropped, and the loaded programs cannot be
//! attached or run.

use anyhow::Result;
use control::check;
use control::object::{self, Opened};
use spec::Program;

use super::{Context, Exit, confine};
use crate::args::CheckArgs;

pub fn run(args: &CheckArgs, context: &Context) -> Result<Exit> {
    confine(args)?;
    let mut opened = object::open(&args.object)?;
    opened.set_kind(args.program.as_deref(), args.kind.as_deref())?;
    opened.complete(&args.open.map_sizes, &args.open.kconfig)?;
    let programs = chosen(&opened, args.program.as_deref())?;
    let report = check::check(&opened, &programs, args.log)?;
    context.show(&report)?;
    Ok(if report.accepted { Exit::Done } else { Exit::No })
}

/// From here on, the process can only read the object and load programs.
fn confine(args: &CheckArgs) -> Result<()> {
    let mut named = confine::begin_loading()?;
    named.input(&args.object);
    named.end()
}

fn chosen<'a>(opened: &'a Opened, wanted: Option<&str>) -> Result<Vec<&'a Program>> {
    if wanted.is_some() || opened.spec.programs.is_empty() {
        return Ok(vec![opened.choose(wanted)?]);
    }
    Ok(opened.spec.programs.iter().collect())
}
