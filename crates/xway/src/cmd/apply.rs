//! `apply` and `save`: declared configuration.

use anyhow::Result;
use control::apply::{self, ApplyOptions, Plan, SaveOptions};
use control::declaration;

use super::{Context, Exit, confine};
use crate::args::{ApplyArgs, SaveArgs};
use crate::view::apply::Checked;

pub fn apply(args: &ApplyArgs, context: &Context) -> Result<Exit> {
    if args.check {
        return check(args, context);
    }
    let declarations = declaration::read(&args.dir)?;
    if let Some(time) = args.wait {
        apply::wait(&declarations, &args.interfaces, time)?;
    }
    if args.stop {
        return shown(&apply::stop(&context.control, declarations, &args.interfaces)?, context);
    }
    let mut plan = apply::plan(&context.control, declarations, &args.interfaces)?;
    if args.plan {
        let exit = shown(&plan, context)?;
        return Ok(if exit == Exit::Done && plan.has_changes() { Exit::No } else { exit });
    }
    let options = ApplyOptions {
        interfaces: args.interfaces.clone(),
        confirm: args.caution.wait.confirm,
        lockout: args.caution.lockout(),
    };
    plan.apply(&context.control, &options);
    shown(&plan, context)
}

/// Reads the files as the user who started the command, and nothing else.
fn check(args: &ApplyArgs, context: &Context) -> Result<Exit> {
    let mut named = confine::begin()?;
    named.declarations(&args.dir);
    named.end()?;
    let declarations = declaration::read(&args.dir)?;
    let files = declarations.files.len();
    let checked = Checked { files, errors: apply::check(declarations) };
    context.show(&checked)?;
    Ok(if checked.errors.is_empty() { Exit::Done } else { Exit::Code(FAILED) })
}

fn shown(plan: &Plan, context: &Context) -> Result<Exit> {
    context.show(plan)?;
    Ok(if plan.has_errors() { Exit::Code(FAILED) } else { Exit::Done })
}

pub fn save(args: &SaveArgs, context: &Context) -> Result<Exit> {
    let options = SaveOptions { interfaces: args.interfaces.clone(), force: args.force };
    let saved = apply::save(&context.control, &args.dir, &options)?;
    context.show(&saved)?;
    Ok(if saved.skipped.is_empty() { Exit::Done } else { Exit::No })
}

/// Exit code after errors that the result lists.
const FAILED: u8 = 2;
