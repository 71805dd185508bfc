//! `attach` and `detach`: any XDP object on an interface.

use anyhow::Result;
use control::attach::AttachOptions;
use control::object;

use super::{Context, Exit};
use crate::args::{AttachArgs, DetachArgs};

pub fn attach(args: &AttachArgs, context: &Context) -> Result<Exit> {
    let mut opened = object::open(&args.object)?;
    opened.set_kind(args.program.as_deref(), args.kind.as_deref())?;
    opened.complete(&args.open.map_sizes, &args.open.kconfig)?;
    let options = AttachOptions {
        program: args.program.clone(),
        count: !args.no_count,
        placement: args.placement.clone().into(),
    };
    context.show(&control::attach::attach(
        &context.control,
        &args.iface,
        &mut opened,
        &options,
    )?)?;
    Ok(Exit::Done)
}

pub fn detach(args: &DetachArgs, context: &Context) -> Result<Exit> {
    let detached = control::attach::detach(&context.control, &args.iface, args.force)?;
    context.show(&detached)?;
    Ok(if detached.programs.is_empty() { Exit::No } else { Exit::Done })
}
